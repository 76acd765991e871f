"""`ratchet migrate`, `compact`: where everything is kept, and for how long."""

from __future__ import annotations

import time

import click

from ratchet.cli import shapes, show
from ratchet.cli.app import home_option, json_option, opened


@click.command()
@click.option(
    "--to",
    "target",
    required=True,
    metavar="URL|FILE",
    help="postgresql://USER:PASSWORD@HOST/DATABASE, or the path of a SQLite file.",
)
@click.option("--quiet", is_flag=True, help="No progress.")
@home_option
@json_option
def migrate(target: str, quiet: bool, as_json: bool) -> None:
    """Copy everything into a database, or back into a file, and prove it.

    The target must be empty, or hold a part of the same: a run that was cut off is continued. Nothing is taken away
    from where it was, and which of the two is used is for you to say: RATCHET_DATABASE_URL.
    """
    runtime = opened()
    with show.progress(quiet=quiet or as_json) as progress:
        done = runtime.move(target, progress=progress)
    if as_json:
        show.as_json(shapes.machine.MigratedShape.built(done, rows=sum(each.rows for each in done.tables)))
        return
    width = max(len(each.table) for each in done.tables)
    for each in done.tables:
        if each.rows:
            same = "the same" if each.same else "DIFFERENT"
            show.line(
                f"{each.table:<{width}}  {each.rows:>10,} rows  {each.copied:>10,} copied  {each.hash[:12]}  {same}"
            )
    rows = sum(each.rows for each in done.tables)
    show.line(f"{rows:,} rows in {len(done.tables)} tables: counts and hashes agree on both sides")
    show.line(f"from {done.source}")
    show.line(f"to   {done.target}")
    show.line(f"next {done.advice}")


@click.command()
@click.option("--older-than", "days", type=float, metavar="DAYS", help="Instead of the setting retention_days.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@home_option
@json_option
def compact(days: float | None, dry_run: bool, as_json: bool) -> None:
    """Remove old outcomes, events and diffs; lessons and tallies stay.

    Patterns and trials stay, too, the newest example of every failure, and what an open trial still needs. The space is
    given back to the disk. `ratchet loop` does the same once a day where retention_days is set.
    """
    done = opened().retention.compact(days, dry_run=dry_run, whole=True)
    if as_json:
        show.as_json(shapes.machine.CompactedShape.built(done, dry_run=dry_run))
        return
    until = time.strftime("%Y-%m-%d", time.gmtime(done.before))
    show.line(f"{'would remove' if dry_run else 'removed'} what is older than {until}")
    for name, count in done.removed.items():
        show.line(f"  {count:>10,} {'diffs of attempts' if name == 'attempts' else name}")
