"""`ratchet ab`: whether memory pays, measured on your own tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from ratchet.cli import shapes, show, show_heal
from ratchet.cli.app import home_option, json_option, opened
from ratchet.cli.folders import PATH
from ratchet.cli.means import means_options
from ratchet.cli.numbers import Finite
from ratchet.cli.stopping import draining
from ratchet.errors import UsageError
from ratchet.healing.book import HealMeans
from ratchet.healing.comparison import Compare, again, begin, compare, projects
from ratchet.healing.episode import Budget
from ratchet.healing.project_check import argv_of
from ratchet.sandbox.beneath import remove_tree

CANCELLED = 130


@click.command()
@click.option("--tasks", "folder", type=PATH, help="A folder of failing projects.")
@click.option("--resume", metavar="ID", help="Go on with a comparison that was stopped or killed.")
@click.option(
    "--seeds", default=1, show_default=True, type=click.IntRange(1), help="How often each task is run an arm."
)
@click.option("--check", metavar="CMD", help="The check of every task; its own, unless given.")
@click.option("--solver", default="repair", show_default=True, help="As in `ratchet run`.")
@click.option("--attempts", default=5, show_default=True, type=click.IntRange(1))
@click.option("--budget-usd", default=1.0, show_default=True, type=Finite(0), help="Money for each run.")
@click.option("--budget-s", default=300.0, show_default=True, type=Finite(0, min_open=True), help="Seconds.")
@click.option("--candidates", default=2000, show_default=True, type=click.IntRange(1), help="Changes tried a try.")
@means_options
@home_option
@json_option
def ab(
    folder: Path | None,
    resume: str | None,
    seeds: int,
    check: str | None,
    solver: str,
    attempts: int,
    budget_usd: float,
    budget_s: float,
    candidates: int,
    means: Callable[[], HealMeans],
    as_json: bool,
) -> None:
    """Measure whether memory pays on your tasks.

    Runs each task without memory, with a shuffled memory and with the real one, under the same limits and in the same
    order, each arm starting from nothing; prints totals, medians and the ratio with its 95 % interval.

    Ctrl-C once lets what is under way end and shows what is known by then, twice stops it. What was done is kept until
    all is done: --resume ID goes on, after a kill, too, and runs nothing twice.
    """
    if (folder is None) == (resume is None):
        raise UsageError("give --tasks DIR, or --resume ID")
    runtime = opened(begins=True)
    root = runtime.home / "ab"
    if folder is None:
        name = resume or ""
        asked, place = again(root, name)
    else:
        asked = Compare(
            folder=folder,
            seeds=seeds,
            check=argv_of(check) if check else (),
            solver=solver,
            budget=Budget(attempts=attempts, usd=budget_usd, seconds=budget_s, candidates=candidates),
        )
        projects(folder)  # nothing is begun of what cannot be done
        name, place = begin(root, asked)
        if not as_json:
            show.line(f"{name}  (if it is cut short: ratchet ab --resume {name})")
    with draining() as stop, show.progress(quiet=as_json) as progress:
        found = compare(asked, runtime.episodes, means(), progress, place=place, stopping=stop.is_set)
    is_whole = len(found.runs) == found.planned
    if is_whole:
        remove_tree(place)
    show.as_json(shapes.comparison.ComparisonShape.built(found)) if as_json else show_heal.compared(found)
    if not is_whole:
        if not as_json:
            show.line(f"Next: ratchet ab --resume {name}")
        raise SystemExit(CANCELLED)
