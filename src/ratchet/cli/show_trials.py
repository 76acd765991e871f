"""Draws trials and proposals for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import log
from typing import TYPE_CHECKING

import click

from ratchet.cli.show import ago, console, line, plain
from ratchet.cli.terminal import Styled
from ratchet.failures.spans import span
from ratchet.improving.trials.trials import OPEN
from ratchet.improving.trials.words import first_look, moves, old_values, proof
from ratchet.team.overseer.rows import Intervention

if TYPE_CHECKING:
    from ratchet.improving.book import TrialDetail, Watched
    from ratchet.improving.loop.improve import Ticked
    from ratchet.improving.loop.pulse import Pulse
    from ratchet.improving.trials.evidence import Arm, Evidence
    from ratchet.records import Change, Json, Proposal, Row, Trial

STYLE = {
    "open": "cyan",
    "trial": "cyan",
    "paused": "yellow",
    "kept": "green",
    "reverted": "red",
    "undecided": "yellow",
    "rejected": "red",
}
WIDTH = 40  # characters of a bar


def trials(found: Sequence[Trial]) -> None:
    out = console()
    if not found:
        out.print("No trials yet. Next: ratchet proposals list, or ratchet trials open AGENT --set KNOB=VALUE.")
    for each in found:
        line = Styled(f"{each.state:<9}", STYLE.get(each.state, "default"))
        line.append(f" {_labelled(each)}{each.change.target}  ", "default").append(plain(_values(each), 100))
        out.print(line.append(f"  {each.id}", "dim"))
        if each.reason:
            out.print(Styled("  ").append(plain(each.reason, 200)))


def trial(detail: TrialDetail) -> None:
    out = console()
    held, said = detail.trial, detail.evidence
    out.print(Styled(f"{held.id}  ", "bold").append(held.state, STYLE.get(held.state, "default")))
    out.print(Styled(f"{_labelled(held)}{held.change.target}: ").append(plain(_values(held), 200)))
    for what in (held.change.reason, held.reason):
        if what:
            out.print(Styled("  ").append(plain(what, 300)))
    if held.attempt > 1:
        out.print(f"  attempt {held.attempt} of the same edit: each spends an alpha of {held.alpha:g}")
    if held.mode == "advisory":
        out.print(Styled("advisory: there is no control arm, and nothing is proven", "yellow"))
    else:
        _arms(held, said, detail.words.missing)
    out.print("")
    for event in detail.events:
        at = datetime.fromtimestamp(float(str(event["at"])), tz=UTC)
        out.print(Styled(f"{at:%Y-%m-%d %H:%M:%S}  {event['verb']:<9} ", "dim").append(_details(event)))


def _arms(held: Trial, said: Evidence, missing: str) -> None:
    out = console()
    out.print("")
    _arm("new", said.new)
    _arm("old", said.old)
    if "latency" in said.metrics:
        out.print(Styled(f"a failed unit counts with its deadline, {span(held.deadline_s)}", "dim"))
    effect = said.effect
    if effect.estimate is not None:
        out.print(
            f"difference {100 * effect.estimate:+.1f} points of success; 95 % interval of all "
            f"{effect.shown + effect.withheld:,} counted, valid at any time: "
            f"{100 * effect.low:+.0f} to {100 * effect.high:+.0f}"
        )
    out.print(f"{said.exposures} units met the trial, {said.waiting} of them are still to be counted")
    if missing:
        out.print(Styled(missing))
    out.print(f"share of the new arm: {held.share:.0%}")
    if said.crossing:
        out.print(f"\ndecided by {proof(said.crossing, said.threshold)}; what came after it decides nothing")
    out.print(f"\nevidence {'of all units' if said.crossing else f'(decides at {said.threshold:g})'}")
    _evidence("to keep", said.toward, said.threshold, "green")
    _evidence("to revert", said.against, said.threshold, "red")
    if len(said.metrics) > 1:
        each = ", ".join(f"{name} {value:.3g}" for name, value in said.metrics.items())
        out.print(Styled(f"  against it by metric: {each}", "dim"))


def _arm(name: str, arm: Arm) -> None:
    out = console()
    if arm.rate is None:
        out.print(f"{name}  no unit has been counted yet")
        return
    line = Styled(f"{name}  ").append("█" * round(arm.rate * WIDTH), "green" if name == "new" else "blue")
    line.append("░" * (WIDTH - round(arm.rate * WIDTH)), "dim")
    line.append(f" {arm.ok} of {arm.units} succeeded ({arm.rate:.1%})")
    if arm.latency_s is not None:
        line.append(f", {span(arm.latency_s)} each")
    if arm.cost_usd is not None:
        line.append(f", ${arm.cost_usd:.4f} each")
    if arm.score is not None:
        line.append(f", score {arm.score:.2f}")
    out.print(line)


def _evidence(name: str, value: float, threshold: float, style: str) -> None:
    """A bar on a logarithmic scale, from none (1) to decided."""
    filled = min(1.0, max(0.0, log(max(value, 1e-9)) / log(threshold)))
    bar = Styled("█" * round(filled * WIDTH), style).append("·" * (WIDTH - round(filled * WIDTH)), "dim")
    said = f"{value:.3g}" if value >= 0.01 else "almost none"
    console().print(Styled(f"  {name:<9} ").append(bar).append(f"| {said}"))


def changes(found: Sequence[Trial]) -> None:
    """Show what became of the changes, each measured against its own control."""
    out = console()
    if found:
        out.print(Styled("\nWhat became of the changes", "bold"))
    for each in found:
        line = Styled(f"{each.state:<9}", STYLE.get(each.state, "default"))
        line.append(f" {_labelled(each)}{each.change.target}  ", "default").append(plain(_values(each), 100))
        out.print(line.append(f"  {each.id}", "dim"))
        low, high, estimate = (each.figures.get(name) for name in ("low", "high", "estimate"))
        if isinstance(estimate, float) and isinstance(low, float) and isinstance(high, float):
            out.print(
                f"  {100 * estimate:+.1f} points of success; 95 % interval of all units "
                f"{100 * low:+.0f} to {100 * high:+.0f}"
            )


def moved(held: Trial) -> None:
    line(f"{held.id} is {held.state}" + (f": {held.reason}" if held.reason else ""))
    if held.state in OPEN:
        said = first_look(held)
        if said:
            line(said)
        click.echo(f"next: ratchet trials show {held.id}")


def proposals(found: Sequence[tuple[Proposal, Mapping[str, Json]]]) -> None:
    """Each with the values that it would change, as they are."""
    out = console()
    if not found:
        out.print("Nothing is proposed. ratchet loop looks for what keeps failing.")
    for each, old in found:
        line = Styled(f"{each.state:<9}", STYLE.get(each.state, "default")).append(f" {each.agent}  ", "default")
        out.print(line.append(f"{each.kind}: ").append(plain(each.title, 120)).append(f"  {each.id}", "dim"))
        if each.change is not None:
            out.print(Styled("  ").append(plain(_change(each.change, old), 160)))


def proposal(each: Proposal, old: Mapping[str, Json]) -> None:
    out = console()
    out.print(Styled(f"{each.id}  ", "bold").append(each.state, STYLE.get(each.state, "default")))
    out.print(Styled(f"{each.agent}, {each.kind}: ").append(plain(each.title, 300)))
    seen = each.evidence
    if seen:
        hours = float(str(seen["window_s"])) / 3600
        out.print(f"because of {seen['failures']} failures in {hours:g} hours and {seen['calls']} calls")
    out.print(f"pattern {each.pattern}; first proposed {ago(each.created_at)}")
    if each.change is None:
        out.print("advice for a person: nothing that Ratchet could change by itself")
    else:
        out.print(Styled(f"{each.fix}: ").append(plain(_change(each.change, old), 300)))
        for metric, factor in each.change.trade.items():
            out.print(f"  {metric} may grow up to {factor:g} times")
    if each.trial:
        out.print(f"trial: ratchet trials show {each.trial}")
    if each.reason:
        out.print(Styled("reason: ").append(plain(each.reason, 300)))


def decided(each: Proposal) -> None:
    line(f"{each.id} is {each.state}" + (f": {each.reason}" if each.reason else ""))
    if each.state == "trial":
        click.echo(f"next: ratchet trials show {each.trial}")


def pulses(found: Sequence[Watched]) -> None:
    if not found:
        click.echo("No agent ever ran here.")
    for each in found:
        click.echo(pulse_line(each.agent, each.pulse))


def pulse_line(agent: str, held: Pulse) -> str:
    return (
        f"{plain(agent, 60).plain}: {held.failures} failures in {held.window_s / 3600:g} hours, "
        f"then not again for {held.cooldown_s / 3600:g} ({held.why})"
    )


def ticked(done: Ticked, *, quiet: bool) -> None:
    said = [
        f"{what} {', '.join(ids)}"
        for what, ids in (
            ("proposed", done.proposed),
            ("opened trial", done.opened),
            ("settled trial", done.settled),
            ("closed proposal", done.closed),
            ("retired lesson", done.retired),
            ("FAILED", done.faults),
        )
        if ids
    ]
    if said or not quiet:
        click.echo("; ".join(said) or "nothing to do")


def intervened(done: Sequence[Intervention]) -> None:
    """A line for each thing that the overseer did."""
    for each in done:
        what = each.action or f"left alone ({each.opinion})"
        click.echo(f"{each.subject} is {each.judgement.replace('_', ' ')}: {each.reason}; overseer: {what}")


def _labelled(held: Trial) -> str:
    return "" if held.mode == "coin" else f"[{held.mode}] "


def _values(held: Trial) -> str:
    old = old_values(held, {})
    return ", ".join(f"{key} {old.get(key, 'default')} -> {value}" for key, value in held.change.new.items())


def _change(change: Change, old: Mapping[str, Json]) -> str:
    return f"{change.target}: " + moves(old, change.new)


def _details(event: Row) -> Styled:
    known = ("id", "noun", "record", "verb", "at", "target")
    return plain(", ".join(f"{name} {value}" for name, value in event.items() if name not in known), 200)
