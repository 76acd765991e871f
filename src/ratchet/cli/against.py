"""`ratchet compare`: features of other projects beside one's own, each with the file and line that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from ratchet.cli import shapes, show
from ratchet.cli.app import home_option, json_option, opened
from ratchet.cli.folders import PATH
from ratchet.cli.numbers import Finite
from ratchet.cli.show import console, number, plain
from ratchet.cli.terminal import Styled
from ratchet.evolving.competitors.book import compare_projects, say, write_plans
from ratchet.evolving.competitors.comparing import ComparedFeature, FeatureTable
from ratchet.evolving.competitors.features import KINDS
from ratchet.evolving.competitors.prose import TableProse


@click.command()
@click.argument("others", nargs=-1, required=True, metavar="[NAME=]PATH|URL...")
@click.option("--own", type=PATH, default=Path(), help="Your own project (default: here).")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only these kinds of features.")
@click.option("--all", "whole", is_flag=True, help="Every feature, not only what your own lacks.")
@click.option("--limit", default=30, show_default=True, type=click.IntRange(1), help="Rows, and plans.")
@click.option("--plans", type=PATH, metavar="FOLDER", help="Write a plan for each gap, for `ratchet run --plan FILE`.")
@click.option("--program", default="", metavar="CMD", help="Your own command: plans then check its --help.")
@click.option(
    "--prose/--no-prose", default=None, help="Have a model write about the gaps.  [default: where one is set]"
)
@click.option("--model", default="", metavar="NAME", help="Who writes: provider:name, or command:WORDS.")
@click.option("--budget-usd", default=0.10, show_default=True, type=Finite(0), help="For the prose.")
@click.option("--allow-unknown-price", "unpriced", is_flag=True, help="Use a model whose price is not known.")
@home_option
@json_option
def compare(
    others: Sequence[str], own: Path, kinds: Sequence[str], whole: bool, limit: int, plans: Path | None, program: str,
    prose: bool | None, model: str, budget_usd: float, unpriced: bool, as_json: bool,
) -> None:  # fmt: skip
    """Compare your project with others: commands, options, tools, endpoints, topics.

    PATH is a folder or a bare git folder, URL an https:// or ssh:// address, NAME what the table calls it. Files are
    read, nothing of theirs is run.
    What is not found in files may be there all the same: a cell says what shows a feature, an empty one proves nothing.

    Where a model is set (see `ratchet models`), it writes sentences about the gaps; one that the lines do not hold is
    dropped.
    """
    table = compare_projects(own, others)
    rows = [each for each in (table.rows if whole else table.gaps) if not kinds or each.kind in kinds]
    if plans is not None:
        for path in write_plans(table, plans, program=program, limit=limit, kinds=kinds):
            click.echo(f"written: {path}", err=as_json)
    if not as_json:
        _table(table, rows, limit)
    said = TableProse()
    models = opened(begins=True).models.choice if prose is not False else None
    if models is not None and (prose or model or models.named()):
        gaps = [each for each in rows[:limit] if each.is_gap(table.own)]
        said = say(gaps, models, model=model, usd=budget_usd, unpriced=unpriced, told=note)
    if as_json:
        about = {id(row): [line.text for line in said.lines if row in line.rows] for row in rows[:limit]}
        show.as_json([shapes.bench.ComparedFeatureShape.built(each, said=about[id(each)]) for each in rows[:limit]])
    _prose(said, quiet=as_json)


def note(text: str) -> None:
    """Name it while it is waited for."""
    click.echo(text, err=True)


def _prose(said: TableProse, *, quiet: bool) -> None:
    """Sentences with the lines that hold them; on stderr, why there are none."""
    if said.problem:
        click.echo(f"no prose: {said.problem}", err=True)
    if quiet or not said.lines:
        return
    out = console()
    dropped = f"; {number(said.dropped, 'sentence')} without evidence dropped" if said.dropped else ""
    out.print(f"\n{plain(said.by, 60)} says{dropped}:")
    for line in said.lines:
        out.print(Styled("  ").append(plain(line.text, 300), "default"))
        for row in line.rows:
            places = ", ".join(f"{project} {cell.place}" for project, cell in row.cells.items())
            out.print(Styled("      ").append(plain(f"{row.name}: {places}", 300), "cyan"))


def _table(table: FeatureTable, rows: Sequence[ComparedFeature], limit: int) -> None:
    out = console()
    gaps = number(len(table.gaps), "gap")
    out.print(f"{table.own} beside {', '.join(table.others)}: {number(len(table.rows), 'feature')}, {gaps}")
    for each in rows[:limit]:
        had = f"{sum(other in each.cells for other in table.others)} of {len(table.others)}"
        line = Styled(f"{each.kind:<9}").append(plain(each.name, 60), "bold")
        line.append(" " * max(1, 33 - len(each.name)) + had, "default")
        out.print(line.append("  gap" if each.is_gap(table.own) else "", "yellow"))
        for project, found in each.cells.items():
            cell = Styled(f"         {plain(project, 30)} ").append(plain(found.place, 120), "cyan")
            out.print(cell.append("  ").append(plain(found.shown, 110), "dim"))
    if len(rows) > limit:
        kinds = Counter(each.kind for each in rows[limit:])
        said = ", ".join(number(kinds[each], each) for each in KINDS if kinds[each])
        out.print(f"{len(rows) - limit} more ({said}): --limit {len(rows)}, or --kind")
