"""`ratchet evolve`: better an agent on a benchmark, and see, take or undo what came of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from ratchet.cli import shapes, show, show_evolve
from ratchet.cli.app import Commands, home_option, json_option, opened
from ratchet.cli.evolve_options import means_options, run_options
from ratchet.cli.landings import landing_of
from ratchet.cli.numbers import Finite
from ratchet.cli.stopping import draining, heard
from ratchet.errors import UsageError
from ratchet.evolving.bench.agents import agent_of
from ratchet.evolving.request import EvolveAsked, EvolveMeans, resolution

EXITS = {"ended": 0, "budget": 1, "failed": 6, "cancelled": 130}


@click.group(cls=Commands, invoke_without_command=True)
@click.option("--agent", metavar="DIR|SPEC", help="A folder with a ratchet-agent.toml, or what runs the agent.")
@click.option("--bench", "name", default="core", show_default=True, metavar="NAME", help="The benchmark.")
@click.option(
    "--proposer", default="settings", show_default=True, metavar="NAME",
    help="settings, model[:NAME], command:WORDS, script:FILE, or a plugin.",
)  # fmt: skip
@click.option("--resume", metavar="ID", help="Go on with a run that was stopped, killed, or out of budget.")
@click.option("--budget-usd", type=Finite(0), help="Money for all of it.  [default: 10]")
@click.option("--budget-s", type=Finite(0, min_open=True), help="Seconds for all of it.  [default: a day]")
@run_options
@means_options
@home_option
@json_option
@click.pass_context
def evolve(
    ctx: click.Context,
    agent: str | None,
    name: str,
    proposer: str,
    resume: str | None,
    budget_usd: float | None,
    budget_s: float | None,
    asked: Callable[..., EvolveAsked],
    means: Callable[[], EvolveMeans],
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
        return
    if (agent is None) == (resume is None):
        raise UsageError("give --agent DIR|SPEC, or --resume ID; `ratchet evolve list` names earlier runs")
    runtime = opened(begins=True)
    book = runtime.evolutions
    with draining() as asked_to_stop, show_evolve.watching(quiet=as_json) as told:
        given = replace(means(), told=heard(told, asked_to_stop), stopping=asked_to_stop.is_set)
        if resume is not None:
            ended = book.resume(resume, given, usd=budget_usd, seconds=budget_s)
        else:
            request = asked(
                agent=agent_of(agent or "", cwd=Path.cwd()),
                benchmark=runtime.benchmarks.benchmark(name),
                proposer=proposer,
                usd=10.0 if budget_usd is None else budget_usd,
                seconds=86_400.0 if budget_s is None else budget_s,
            )
            if not as_json:
                heard(click.echo, asked_to_stop)(resolution(request))
            ended = book.run(request, given)
    candidates = book.candidates(ended.id)
    with suppress(BrokenPipeError):  # it ended as it did, whoever reads of it
        show.as_json(shapes.evolving.EvolutionShape.built(ended)) if as_json else show_evolve.ended(ended, candidates)
    ctx.exit(EXITS.get(ended.state, 1))


@evolve.command("list")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1))
@home_option
@json_option
def list_evolutions(limit: int, as_json: bool) -> None:
    """Runs, newest first."""
    book = opened().evolutions
    found = book.list(limit=limit)
    if as_json:
        show.as_json(shapes.evolving.EvolutionListedShape.listed(book, found))
    else:
        show_evolve.evolutions(found, book.tallies([each.id for each in found]))


@evolve.command("show")
@click.argument("run")
@click.option("--diffs", is_flag=True, help="With each candidate's diff.")
@home_option
@json_option
def show_evolution(run: str, diffs: bool, as_json: bool) -> None:
    """One run: every candidate, what became of it and why, and what the whole is worth."""
    book = opened().evolutions
    held, candidates = book.show(run), book.candidates(run)
    if as_json:
        show.as_json(shapes.evolving.EvolutionDetailShape.built(held, candidates=candidates))
    else:
        show_evolve.evolution(held, candidates, diffs=diffs)


@evolve.command("tree")
@click.argument("run")
@home_option
@json_option
def show_tree(run: str, as_json: bool) -> None:
    """The archive of a run as a tree: each version below the one that it came from."""
    book = opened().evolutions
    held, candidates = book.show(run), book.candidates(run)
    show.as_json(shapes.evolving.EvolutionTreeShape.grown(held, candidates)) if as_json else show_evolve.tree(
        held, candidates
    )


@evolve.command("apply")
@click.argument("run")
@click.option("--apply", "applies", is_flag=True, help="Write the result into the agent's folder.")
@click.option("--branch", metavar="NAME", help="Put the result onto a new git branch.")
@click.option("--patch", metavar="FILE", help="Write the result as a patch.")
@home_option
@json_option
def apply(run: str, applies: bool, branch: str | None, patch: str | None, as_json: bool) -> None:
    """Take what a run kept: onto a branch, as a patch, or into the folder; as a patch on the screen, without any.

    Edits that you made meanwhile stay; where both changed the same lines, nothing is written.
    """
    landing = landing_of(applies=applies, branch=branch, patch=patch)
    held, text = opened().evolutions.apply(run, landing)
    if as_json:
        show.as_json(shapes.evolving.EvolutionPatchShape.built(held, patch=text))
    elif landing.to:
        click.echo(f"result: {held.applied}; undo with: ratchet evolve revert {run}" if applies else held.applied)
    else:
        click.echo(text, nl=False)


@evolve.command("revert")
@click.argument("run")
@home_option
@json_option
def revert(run: str, as_json: bool) -> None:
    """Take an applied result out of the agent's folder again, and nothing else."""
    held = opened().evolutions.revert(run)
    show.as_json(shapes.evolving.EvolutionShape.built(held)) if as_json else click.echo(
        f"the result of {run} is taken out again"
    )
