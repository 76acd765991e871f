"""`ratchet trials`, `proposals`, `pulse`, `loop`: changes on trial, and the loop that moves them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext

import click

from ratchet.cli import shapes, show, show_trials
from ratchet.cli.app import Commands, home_option, json_option, opened
from ratchet.cli.numbers import Finite
from ratchet.errors import NotFound, UsageError
from ratchet.improving.assembly import Foreground, Rounds
from ratchet.improving.loop.improve import Ticked
from ratchet.records import Json, Metric, ProposalState, TrialMode, TrialState
from ratchet.team.overseer.assembly import overseer_of
from ratchet.team.overseer.judging import Action
from ratchet.team.overseer.overseer import USUAL
from ratchet.team.overseer.rows import Intervention

TRIAL_STATES = ("planned", "open", "paused", "kept", "reverted", "undecided")
PROPOSAL_STATES = ("open", "trial", "kept", "reverted", "undecided", "rejected", "closed")


@click.group(cls=Commands)
def trials() -> None:
    """Changes on trial: each beside a control arm, kept only when proven better."""


@trials.command("list")
@click.option("--state", type=click.Choice(TRIAL_STATES), help="Only those in this state.")
@click.option("--agent", help="Only those of this agent.")
@home_option
@json_option
def list_trials(state: TrialState | None, agent: str | None, as_json: bool) -> None:
    """All trials, newest first."""
    found = opened().trials.list(state=state, agent=agent)
    show.as_json([shapes.trials.TrialShape.built(each) for each in found]) if as_json else show_trials.trials(found)


@trials.command("show")
@click.argument("trial_id", required=False)
@home_option
@json_option
def show_trial(trial_id: str | None, as_json: bool) -> None:
    """One trial (the newest unless named): both arms, and the evidence against its threshold."""
    book = opened().trials
    newest = [each.id for each in book.list(limit=1)] if trial_id is None else [trial_id]
    if not newest:
        raise NotFound("there is no trial yet; open one with `ratchet trials open` or `ratchet proposals approve`")
    found = book.show(newest[0])
    show.as_json(shapes.trials.TrialDetailShape.shown(found)) if as_json else show_trials.trial(found)


@trials.command("open")
@click.argument("agent")
@click.option(
    "--set", "pairs", multiple=True, required=True, metavar="KNOB=VALUE", help="A new value; may be repeated."
)
@click.option("--reason", default="", help="Why; kept with the trial.")
@click.option(
    "--metric",
    type=click.Choice(("success", "latency", "cost", "score")),
    default="success",
    show_default=True,
    help="What is to become better.",
)
@click.option(
    "--trade", "trades", multiple=True, metavar="METRIC=FACTOR", help="What may become worse, e.g. latency=3."
)
@click.option("--mode", type=click.Choice(("coin", "switchback", "advisory")), help="How the control comes about.")
@click.option("--deadline", "deadline_s", type=float, help="Seconds after which a call without outcome has failed.")
@home_option
@json_option
def open_trial(
    agent: str,
    pairs: tuple[str, ...],
    reason: str,
    metric: Metric,
    trades: tuple[str, ...],
    mode: TrialMode | None,
    deadline_s: float | None,
    as_json: bool,
) -> None:
    """Try new settings of AGENT on a share of its calls."""
    found = opened().trials.open(
        f"settings:{agent}",
        {name: _value(text) for name, text in map(_pair, pairs)},
        reason=reason,
        metric=metric,
        trade={name: _factor(name, text) for name, text in map(_pair, trades)},
        mode=mode,
        deadline_s=deadline_s,
    )
    show.as_json(shapes.trials.TrialShape.built(found)) if as_json else show_trials.moved(found)


@trials.command("stop")
@click.argument("trial_id")
@click.option("--keep", is_flag=True, help="Keep the new values, which nothing has proven then.")
@click.option("--reason", default="", help="Why; kept with the trial.")
@home_option
@json_option
def stop(trial_id: str, keep: bool, reason: str, as_json: bool) -> None:
    """End a trial at once: the old values stay."""
    found = opened().trials.stop(trial_id, keep=keep, reason=reason)
    show.as_json(shapes.trials.TrialShape.built(found)) if as_json else show_trials.moved(found)


@click.group(cls=Commands)
def proposals() -> None:
    """Fixes that were thought of: approve one to put it on trial."""


@proposals.command("list")
@click.option("--state", type=click.Choice(PROPOSAL_STATES), help="Only those in this state.")
@click.option("--agent", help="Only those for this agent.")
@home_option
@json_option
def list_proposals(state: ProposalState | None, agent: str | None, as_json: bool) -> None:
    """All proposals, newest first."""
    book = opened().proposals
    found = book.list(state=state, agent=agent)
    if as_json:
        show.as_json([shapes.trials.ProposalShape.told(book, each) for each in found])
    else:
        show_trials.proposals([(each, book.old(each)) for each in found])


@proposals.command("show")
@click.argument("proposal_id")
@home_option
@json_option
def show_proposal(proposal_id: str, as_json: bool) -> None:
    """One proposal: the failures behind it, and what it would change."""
    book = opened().proposals
    found = book.show(proposal_id)
    show.as_json(shapes.trials.ProposalShape.told(book, found)) if as_json else show_trials.proposal(
        found, book.old(found)
    )


@proposals.command("approve")
@click.argument("proposal_id")
@click.option(
    "--deadline",
    "deadline_s",
    type=Finite(0, min_open=True),
    help="Seconds after which a run without an outcome counts as failed (default: from the agent's history).",
)
@home_option
@json_option
def approve(proposal_id: str, deadline_s: float | None, as_json: bool) -> None:
    """Put it on trial."""
    book = opened().proposals
    found = book.approve(proposal_id, deadline_s=deadline_s)
    show.as_json(shapes.trials.ProposalShape.told(book, found)) if as_json else show_trials.decided(found)


@proposals.command("reject")
@click.argument("proposal_id")
@click.option("--reason", default="", help="Why; kept with the proposal.")
@home_option
@json_option
def reject(proposal_id: str, reason: str, as_json: bool) -> None:
    """Do not do it, and do not propose it for this pattern again."""
    book = opened().proposals
    found = book.reject(proposal_id, reason=reason)
    show.as_json(shapes.trials.ProposalShape.told(book, found)) if as_json else show_trials.decided(found)


@click.group(cls=Commands)
def pulse() -> None:
    """After how many failures each agent is looked at.

    By how busy it is, unless you say otherwise.
    """


@pulse.command("list")
@home_option
@json_option
def list_pulses(as_json: bool) -> None:
    """The thresholds of every agent, and why."""
    found = opened().pulses.list()
    show.as_json([shapes.trials.PulseShape.built(each) for each in found]) if as_json else show_trials.pulses(found)


@pulse.command("set")
@click.argument("agent")
@click.option("--critical/--not-critical", default=None, help="Look after a single failure.")
@click.option("--failures", type=click.IntRange(1), help="Look after this many ...")
@click.option("--window-h", type=float, help="... within this many hours ...")
@click.option("--cooldown-h", type=float, help="... and then not again for this many hours.")
@home_option
def set_pulse(
    agent: str, critical: bool | None, failures: int | None, window_h: float | None, cooldown_h: float | None
) -> None:
    """Set the thresholds of AGENT, or mark it as critical."""
    found = opened().pulses.set(
        agent,
        critical=critical,
        failures=failures,
        window_s=None if window_h is None else window_h * 3600,
        cooldown_s=None if cooldown_h is None else cooldown_h * 3600,
    )
    click.echo(show_trials.pulse_line(agent, found))


@pulse.command("clear")
@click.argument("agent")
@home_option
def clear_pulse(agent: str) -> None:
    """Go back to the thresholds by measured calls."""
    click.echo(show_trials.pulse_line(agent, opened().pulses.clear(agent)))


@click.command()
@click.option("--once", is_flag=True, help="Go round once and end, with exit code 1 if a step failed.")
@click.option("--interval", "interval_s", type=Finite(0, min_open=True), help="Seconds between two rounds.")
@click.option("--auto-fix/--no-auto-fix", default=None, help="Start safe fixes as trials, or only propose them.")
@click.option("--oversee/--no-oversee", default=True, help="Look after running sessions, teams and tasks, too.")
@click.option(
    "--may",
    multiple=True,
    type=click.Choice(("pause", "cancel")),
    help="What the overseer may do besides telling; may be given twice.",
)
@click.option("--second-opinion", metavar="MODEL", help="Ask this model before the overseer does more than tell.")
@home_option
@json_option
def loop(
    once: bool,
    interval_s: float | None,
    auto_fix: bool | None,
    oversee: bool,
    may: tuple[Action, ...],
    second_opinion: str | None,
    as_json: bool,
) -> None:
    """Watch the agents: try fixes, keep what is proven.

    Proposes fixes, tries them, keeps what is proven and reverts what hurts. Beside that it looks at what runs at this
    moment, and tells work that goes round in circles. Runs until it is interrupted (Ctrl-C or SIGTERM), after the round
    under way.
    """
    runtime = opened()
    overseer = overseer_of(runtime, allowed=(*USUAL, *may), model=second_opinion or "")

    def said(done: Ticked, told: Sequence[Intervention] = ()) -> None:
        if as_json:
            show.as_json(shapes.trials.TickShape.built(done, interventions=told))
        else:
            show_trials.ticked(done, quiet=not once)
            show_trials.intervened(told)

    def tick() -> Ticked:
        return runtime.tick(auto_fix=auto_fix)

    def looked(told: Sequence[Intervention]) -> None:
        if told:
            said(Ticked(), told)

    if once:
        done = tick()
        said(done, overseer.look() if oversee else ())
        click.get_current_context().exit(1 if done.faults else 0)
    with (
        overseer.watching(looked) if oversee else nullcontext(),
        Foreground(Rounds(tick, runtime.look, interval_s or runtime.config.loop_interval_s), said=said) as going,
    ):
        if not as_json:
            click.echo("watching; Ctrl-C ends it")
        going.run()


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UsageError(f"{text!r} is no pair: write NAME=VALUE")
    return name, value


def _value(text: str) -> Json:
    """JSON where it is JSON (3, 0.5, true, ["a", "b"]), else the text itself."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value


def _factor(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"--trade {name}={text}: the factor is no number") from error
