"""The command that replays one's own sessions: backtest."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ratchet.cli import shapes, show, show_backtest
from ratchet.cli.app import home_option, json_option, opened
from ratchet.cli.folders import PATH
from ratchet.errors import NotFound, RatchetError, UsageError
from ratchet.ids import hex_of

if TYPE_CHECKING:
    from ratchet.lessons.backtest.backtest import Backtest
    from ratchet.ports import Progress
    from ratchet.runtime import Runtime

_LEFT_S = 7 * 86_400.0  # what a killed run left is kept for so long


@click.command()
@click.argument("paths", nargs=-1, type=PATH)
@click.option("--since", metavar="DATE", help="Count sessions from this day on, as 2026-03-01.")
@click.option("--html", "page", type=PATH, metavar="FILE", help="Write a page as well.")
@home_option
@json_option
def backtest(paths: tuple[Path, ...], since: str | None, page: Path | None, as_json: bool) -> None:
    """Replay your own sessions: what would lessons have saved?

    Asks at each failure what was known before that session, and looks whether it is what ended the failure. Without
    PATHS what `ratchet learn` has read is replayed; with them those histories alone, and nothing is kept
    but for a run that is killed: the same one goes on where it was.
    """
    start = _moment(since) if since else 0.0
    runtime = opened(begins=True)
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
    show_backtest.backtest(found, since=since or "")
    if page is not None:
        show.line(f"written: {page}")


def _of_histories(runtime: Runtime, paths: Sequence[Path], since: float, progress: Progress) -> Backtest:
    """The replay of these histories, learnt in a home of their own that is gone afterwards."""
    with _scratch(runtime.home, paths) as folder:
        config = replace(runtime.config, home=folder, database_url="", redis_url="", retention_days=0.0)
        with type(runtime)(config) as scratch:
            learned = scratch.learn(paths, progress=progress)
            found = scratch.lessons.backtest(since=since, progress=progress)
            silent = [] if found.failures else [*learned.quarantined, *learned.notes]
            if silent and not learned.outcomes:
                raise UsageError(f"no finished step to replay in {silent[0].path}: {silent[0].reason}")
            return found


@contextmanager
def _scratch(home: Path, paths: Sequence[Path]) -> Iterator[Path]:
    """A folder for these histories alone, deleted once they were replayed: a killed run goes on where it was."""
    above = home / "backtest"
    named = "\0".join(sorted(str(path.absolute()) for path in paths))
    folder = above / hex_of(named)[:16]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for other in above.iterdir():
        if other.stat().st_mtime < time.time() - _LEFT_S:
            shutil.rmtree(other, ignore_errors=True)
    try:
        yield folder
    except RatchetError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # another run is in it, or a home was there before
        above.rmdir()
        home.rmdir()


def _moment(day: str) -> float:
    try:
        found = datetime.fromisoformat(day)
    except ValueError:
        raise UsageError(f"--since {day!r} is no date: write it as 2026-03-01") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
