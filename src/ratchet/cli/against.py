"""`ratchet compare`: features of other projects beside one's own, each with the file and line that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ratchet.cli import shapes, show
from ratchet.cli.app import json_option
from ratchet.cli.folders import PATH
from ratchet.cli.show import console, number, plain
from ratchet.cli.terminal import Styled
from ratchet.evolving.competitors.book import compare_projects, write_plans
from ratchet.evolving.competitors.comparing import ComparedFeature, FeatureTable
from ratchet.evolving.competitors.features import KINDS


@click.command()
@click.argument("others", nargs=-1, required=True, metavar="[NAME=]PATH|URL...")
@click.option("--own", type=PATH, default=Path(), help="Your own project (default: here).")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only these kinds of features.")
@click.option("--all", "whole", is_flag=True, help="Every feature, not only what your own lacks.")
@click.option("--limit", default=30, show_default=True, type=click.IntRange(1), help="Rows, and plans.")
@click.option("--plans", type=PATH, metavar="FOLDER", help="Write a plan for each gap, for `ratchet run --plan FILE`.")
@click.option("--program", default="", metavar="CMD", help="Your own command: plans then check its --help.")
@json_option
def compare(
    others: Sequence[str], own: Path, kinds: Sequence[str], whole: bool, limit: int, plans: Path | None, program: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Compare your project with others: commands, options, tools, endpoints, topics.

    PATH is a folder or a bare git folder, URL an https:// or ssh:// address, NAME what the table calls it. Files are
    read, nothing of theirs is run.
    What is not found in files may be there all the same: a cell says what shows a feature, an empty one proves nothing.
    """
    table = compare_projects(own, others)
    rows = [each for each in (table.rows if whole else table.gaps) if not kinds or each.kind in kinds]
    if plans is not None:
        narrowed = FeatureTable(own=table.own, others=table.others, rows=tuple(rows))
        for path in write_plans(narrowed, plans, program=program, limit=limit):
            click.echo(f"written: {path}", err=as_json)
    if as_json:
        show.as_json([shapes.bench.ComparedFeatureShape.built(each) for each in rows[:limit]])
    else:
        _table(table, rows, limit)


def _table(table: FeatureTable, rows: Sequence[ComparedFeature], limit: int) -> None:
    out = console()
    gaps = number(sum(each.is_gap(table.own) for each in rows), "gap")
    out.print(f"{table.own} beside {', '.join(table.others)}: {number(len(rows), 'feature')}, {gaps}")
    for each in rows[:limit]:
        had = f"{sum(other in each.cells for other in table.others)} of {len(table.others)}"
        line = Styled(f"{each.kind:<9}").append(plain(each.name, 60), "bold")
        line.append(" " * max(1, 33 - len(each.name)) + had, "default")
        out.print(line.append("  gap" if each.is_gap(table.own) else "", "yellow"), soft_wrap=True)
        for project, found in each.cells.items():
            cell = Styled(f"         {plain(project, 30)} ").append(plain(found.place, 120), "cyan")
            out.print(cell.append("  ").append(plain(found.shown, 110), "dim"), soft_wrap=True)
    if len(rows) > limit:
        out.print(f"{len(rows) - limit} more: --limit {len(rows)}")
