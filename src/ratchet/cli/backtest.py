"""The command that replays one's own sessions: backtest."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ratchet.cli import shapes, show, show_backtest
from ratchet.cli.app import home_option, json_option, opened
from ratchet.cli.folders import PATH
from ratchet.errors import NotFound, UsageError

if TYPE_CHECKING:
    from ratchet.lessons.backtest.backtest import Backtest
    from ratchet.ports import Progress
    from ratchet.runtime import Runtime


@click.command()
@click.argument("paths", nargs=-1, type=PATH)
@click.option("--since", metavar="DATE", help="Count sessions from this day on, as 2026-03-01.")
@click.option("--html", "page", type=PATH, metavar="FILE", help="Write a page as well.")
@home_option
@json_option
def backtest(
    paths: tuple[Path, ...], since: str | None, page: Path | None, command_home: Path | None, as_json: bool
) -> None:
    """Replay your own sessions: what would lessons have saved?

    Asks at each failure what was known before that session, and looks whether it is what ended the failure. Without
    PATHS what `ratchet learn` has read is replayed; with them those histories alone, and nothing is kept.
    """
    start = _moment(since) if since else 0.0
    runtime = opened(command_home)
    if not paths and not runtime.exists:
        raise NotFound(f"nothing was learnt in {runtime.home} yet: run `ratchet learn`, or name a history")
    with show.progress(quiet=as_json) as progress:
        found = (
            _of_histories(runtime, paths, start, progress)
            if paths
            else runtime.lessons.backtest(since=start, progress=progress)
        )
    if page is not None:
        from ratchet.lessons.backtest.telling import page as drawn
        from ratchet.lessons.portable import write

        write(page, drawn(found))
    if as_json:
        show.as_json(shapes.lessons.BacktestShape.built(found))
        return
    show_backtest.backtest(found)
    if page is not None:
        show.line(f"written: {page}")


def _of_histories(runtime: Runtime, paths: Sequence[Path], since: float, progress: Progress) -> Backtest:
    """The replay of these histories, learnt in a home of their own that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="ratchet-backtest-") as folder:
        config = replace(runtime.config, home=Path(folder), database_url="", retention_days=0.0)
        with type(runtime)(config) as scratch:
            scratch.learn(paths, progress=progress)
            return scratch.lessons.backtest(since=since, progress=progress)


def _moment(day: str) -> float:
    try:
        found = datetime.fromisoformat(day)
    except ValueError:
        raise UsageError(f"--since {day!r} is no date: write it as 2026-03-01") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
