"""Settle a session that has ended, in a process of its own: read the transcript, drain, mine, settle credit.

Started by `detached`, with nobody watching: faults go to the hook's log, and a time cap ends it (what is then left is
done by the next one, or by any reading command).
"""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from ratchet import hookpath
from ratchet.lessons import exposure, reviewed
from ratchet.runtime import Runtime

TIME_CAP_S = 120.0
EVENT = "settle"


def main(arguments: Sequence[str]) -> None:
    """Settle an ended session: `--home PATH --session ID [--transcript PATH] [--project PATH]`; without a session only
    read the project's reviewed lessons. Never raises."""
    parser = argparse.ArgumentParser()
    for name in ("home", "session", "transcript", "project"):
        parser.add_argument(f"--{name}", default="")
    given = parser.parse_args(arguments)
    _end_in_time(given.home)
    try:
        with Runtime.open(home=given.home) as runtime:
            if given.project and (Path(given.project) / reviewed.FILE).is_file():
                reviewed.note(given.home, given.project)
                runtime.lessons.load_reviewed(Path(given.project))
            if given.session:
                runtime.settle(given.session, histories_of(given.transcript))
        exposure.forget_sessions(given.home)
    except Exception as fault:  # noqa: BLE001  (the edge of a process that nobody watches)
        hookpath.log_fault(given.home, EVENT, fault)


def histories_of(transcript: str) -> list[Path]:
    """A session's own file, and the folder beside it that holds its subagents' files; those that exist."""
    if not transcript:
        return []
    path = Path(transcript).expanduser()
    return [each for each in (path, path.with_suffix("")) if each.exists()]


def _end_in_time(home: str) -> None:
    def end() -> None:
        hookpath.log_fault(home, EVENT, TimeoutError(f"not done after {TIME_CAP_S:.0f} s; the rest is done later"))
        os._exit(0)

    timer = threading.Timer(TIME_CAP_S, end)
    timer.daemon = True
    timer.start()
