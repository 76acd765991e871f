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
from ratchet.healing.book import HealMeans
from ratchet.healing.comparison import Compare, compare
from ratchet.healing.episode import Budget
from ratchet.healing.project_check import argv_of


@click.command()
@click.option("--tasks", "folder", required=True, type=PATH, help="A folder of failing projects.")
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
    folder: Path,
    seeds: int,
    check: str | None,
    solver: str,
    attempts: int,
    budget_usd: float,
    budget_s: float,
    candidates: int,
    means: Callable[[], HealMeans],
    command_home: Path | None,
    as_json: bool,
) -> None:
    """Measure whether memory pays on your tasks.

    Runs each task without memory, with a shuffled memory and with the real one, under the same limits and in the same
    order, each arm starting from nothing; prints totals, medians and the ratio with its 95 % interval.
    """
    asked = Compare(
        folder=folder,
        seeds=seeds,
        check=argv_of(check) if check else (),
        solver=solver,
        budget=Budget(attempts=attempts, usd=budget_usd, seconds=budget_s, candidates=candidates),
    )
    book = opened(command_home).episodes
    with show.progress(quiet=as_json) as progress:
        found = compare(asked, book, means(), progress)
    show.as_json(shapes.comparison.ComparisonShape.built(found)) if as_json else show_heal.compared(found)
