"""`ratchet evolve`: better an agent on a benchmark, and see, take or undo what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args

import click

from ratchet import evolveshapes
from ratchet.bench.agents import agent_of
from ratchet.benchground import ExecutorName
from ratchet.cli import show, show_evolve
from ratchet.cli.app import home_option, json_option, opened
from ratchet.cli.means import variable
from ratchet.cli.numbers import Finite
from ratchet.cli.stopping import draining
from ratchet.episodebook import Landing
from ratchet.errors import UsageError
from ratchet.evolveasked import EvolveAsked, EvolveMeans, resolution

EXITS = {"ended": 0, "budget": 1, "failed": 6, "cancelled": 130}
PROPOSALS, USD, SECONDS = 20, 10.0, 86_400.0


@click.group(invoke_without_command=True)
@click.option("--agent", metavar="DIR|SPEC", help="A folder with a ratchet-agent.toml, or what runs the agent.")
@click.option("--bench", "name", default="core", show_default=True, metavar="NAME", help="The benchmark.")
@click.option("--proposer", metavar="NAME", help="settings, model[:NAME], command:WORDS, script:FILE, or a plugin.")
@click.option("--proposals", default=PROPOSALS, show_default=True, type=click.IntRange(1), help="At most so many.")
@click.option("--budget-usd", type=Finite(0), help="Money for all of it.  [default: 10]")
@click.option("--budget-s", type=Finite(0, min_open=True), help="Seconds for all of it.  [default: a day]")
@click.option("--parallel", default=1, show_default=True, type=click.IntRange(1, 256), help="Evaluations at once.")
@click.option("--batch", default=1, show_default=True, type=click.IntRange(1, 64), help="Candidates that race at once.")
@click.option("--explore", is_flag=True, help="Draw parents from all versions, by performance and novelty.")
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(1), help="Runs of each sealed task.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of all draws.")
@click.option("--executor", default="threads", show_default=True, type=click.Choice(get_args(ExecutorName)))
@click.option("--resume", metavar="ID", help="Go on with a run that was stopped, killed, or out of budget.")
@click.option("--net", default="none", show_default=True, type=click.Choice(["none", "host"]), help="For the proposer.")
@click.option("--pass-env", "passed_on", multiple=True, metavar="NAME", help="A variable that the proposer gets.")
@click.option("--ro", "readable", multiple=True, type=click.Path(path_type=Path), help="A path that it may read.")
@click.option("--model", default="", metavar="NAME", help="Who proposes: provider:name, or several by commas.")
@click.option("--allow-unknown-price", is_flag=True, help="Use a model or program whose price is not known.")
@click.option("--unsafe-no-sandbox", "unsafe", is_flag=True, help="Plain processes, no protection; kept on record.")
@home_option
@json_option
@click.pass_context
def evolve(
    ctx: click.Context,
    agent: str | None,
    name: str,
    proposer: str | None,
    proposals: int,
    budget_usd: float | None,
    budget_s: float | None,
    parallel: int,
    batch: int,
    explore: bool,
    repeats: int,
    seed: int,
    executor: str,
    resume: str | None,
    net: str,
    passed_on: tuple[str, ...],
    readable: tuple[Path, ...],
    model: str,
    allow_unknown_price: bool,
    unsafe: bool,
    command_home: Path | None,
    as_json: bool,
) -> None:
    """Better an agent on a benchmark, and keep only what is proven.

    Each proposal is tried in a sandbox on fresh runs, in pairs with the version that counts. Nothing of the agent's own
    folder changes: `ratchet evolve apply ID` takes the result.

    Ctrl-C once lets what is under way end, twice stops it; either way --resume goes on.

    \b
    Exit codes: 0 ended; 1 the budget ended it first; 6 it could not go on; 130 stopped.
    """
    if ctx.invoked_subcommand is not None:
        ctx.obj = command_home or ctx.obj
        return
    if (agent is None) == (resume is None):
        raise UsageError("give --agent DIR|SPEC, or --resume ID; `ratchet evolve list` names earlier runs")
    if agent is not None and proposer is None:
        raise UsageError("say who proposes: --proposer settings, model, command:WORDS or script:FILE")
    runtime = opened(command_home)
    book = runtime.evolutions
    with draining() as asked_to_stop, show_evolve.watching(quiet=as_json) as told:
        means = EvolveMeans(
            unsafe=unsafe,
            net="host" if net == "host" else "none",
            environ=dict(map(variable, passed_on)),
            readable=readable,
            allow_unknown_price=allow_unknown_price,
            model=model,
            executor=cast("ExecutorName", executor),
            told=told,
            stopping=asked_to_stop.is_set,
        )
        if resume is not None:
            ended = book.resume(resume, means, usd=budget_usd, seconds=budget_s)
        else:
            asked = EvolveAsked(
                agent=agent_of(agent or "", cwd=Path.cwd()),
                benchmark=runtime.benchmarks.benchmark(name),
                proposer=proposer or "",
                proposals=proposals,
                usd=USD if budget_usd is None else budget_usd,
                seconds=SECONDS if budget_s is None else budget_s,
                parallel=parallel,
                batch=batch,
                explore=explore,
                repeats=repeats,
                seed=seed,
            )
            if not as_json:
                click.echo(resolution(asked))
            ended = book.run(asked, means)
    candidates = book.candidates(ended.id)
    show.as_json(evolveshapes.evolution(ended)) if as_json else show_evolve.ended(ended, candidates)
    ctx.exit(EXITS.get(ended.state, 1))


@evolve.command("list")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1))
@home_option
@json_option
def list_evolutions(limit: int, command_home: Path | None, as_json: bool) -> None:
    """Runs, newest first."""
    found = opened(command_home).evolutions.list(limit=limit)
    show.as_json([evolveshapes.evolution(each) for each in found]) if as_json else show_evolve.evolutions(found)


@evolve.command("show")
@click.argument("run")
@click.option("--diffs", is_flag=True, help="With each candidate's diff.")
@home_option
@json_option
def show_evolution(run: str, diffs: bool, command_home: Path | None, as_json: bool) -> None:
    """One run: every candidate, what became of it and why, and what the whole is worth."""
    book = opened(command_home).evolutions
    held, candidates = book.show(run), book.candidates(run)
    if as_json:
        show.as_json(evolveshapes.detail(held, candidates))
    else:
        show_evolve.evolution(held, candidates, diffs=diffs)


@evolve.command("tree")
@click.argument("run")
@home_option
@json_option
def show_tree(run: str, command_home: Path | None, as_json: bool) -> None:
    """The archive of a run as a tree: each version below the one that it came from."""
    book = opened(command_home).evolutions
    held, candidates = book.show(run), book.candidates(run)
    show.as_json(evolveshapes.tree(held, candidates)) if as_json else show_evolve.tree(held, candidates)


@evolve.command("apply")
@click.argument("run")
@click.option("--apply", "applies", is_flag=True, help="Write the result into the agent's folder.")
@click.option("--branch", metavar="NAME", help="Put the result onto a new git branch.")
@click.option("--patch", metavar="FILE", help="Write the result as a patch.")
@home_option
@json_option
def apply(
    run: str, applies: bool, branch: str | None, patch: str | None, command_home: Path | None, as_json: bool
) -> None:
    """Take what a run kept: onto a branch, as a patch, or into the folder; as a patch on the screen, without any.

    Edits that you made meanwhile stay; where both changed the same lines, nothing is written.
    """
    wanted = [
        Landing(to="apply") if applies else None,
        Landing(to="branch", name=branch) if branch is not None else None,
        Landing(to="patch", name=patch) if patch is not None else None,
    ]
    given = [each for each in wanted if each is not None]
    if len(given) > 1:
        raise UsageError("use one of --apply, --branch and --patch")
    held, text = opened(command_home).evolutions.apply(run, given[0] if given else None)
    if as_json:
        show.as_json({**evolveshapes.evolution(held), "patch": text})
    elif given:
        click.echo(f"result: {held.applied}; undo with: ratchet evolve revert {run}" if applies else held.applied)
    else:
        click.echo(text, nl=False)


@evolve.command("revert")
@click.argument("run")
@home_option
@json_option
def revert(run: str, command_home: Path | None, as_json: bool) -> None:
    """Take an applied result out of the agent's folder again, and nothing else."""
    held = opened(command_home).evolutions.revert(run)
    show.as_json(evolveshapes.evolution(held)) if as_json else click.echo(f"the result of {run} is taken out again")
