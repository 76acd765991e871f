"""Read what sessions left behind, in a process of its own: the new lines of a turn, a session's end, the histories of
a project that grew.

Started by `detached`, with nobody watching: faults go to the hook's log, and a time cap ends it (what is then left is
done by the next one, or by any reading command).
"""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from ratchet import hookpath, registry
from ratchet.errors import Conflict
from ratchet.files import Locked
from ratchet.lessons import exposure, reviewed
from ratchet.runtime import Runtime

TIME_CAP_S = 120.0
EVENT = "settle"
TASKS = ("reviewed", "turn", "sweep", "end")
"""See `detached.Task`."""
_WAIT_S = 30.0  # for another reader of the same session: what it has not seen is read then


def main(arguments: Sequence[str]) -> None:
    """Do one task: `TASK --home PATH --client package.module:Class [--session ID] [--transcript PATH]
    [--project PATH]`. Never raises."""
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=TASKS)
    for name in ("home", "client", "session", "transcript", "project"):
        parser.add_argument(f"--{name}", default="")
    given = parser.parse_args(arguments)
    _end_in_time(given.home)
    try:
        with Runtime.open(home=given.home) as runtime:
            _do(runtime, given)
        exposure.forget_sessions(given.home)
    except Exception as fault:  # noqa: BLE001  (the edge of a process that nobody watches)
        hookpath.log_fault(given.home, EVENT, fault)


def _do(runtime: Runtime, given: argparse.Namespace) -> None:
    client = registry.client(given.client)
    if given.project and reviewed.is_there(given.project):
        reviewed.note(given.home, given.project)
        runtime.lessons.load_reviewed(Path(given.project))
    histories = [path for each in client.histories(given.transcript) if (path := Path(each).expanduser()).exists()]
    if given.task == "end" and given.session:
        with _alone(given.home, given.session, _WAIT_S):
            runtime.settle(given.session, histories)
    elif given.task == "turn" and histories:
        try:
            with _alone(given.home, given.transcript, 0.0):
                runtime.read_on(histories)
        except Conflict:
            return  # the one before is at it: the next one, or the session's end, reads the rest
    elif given.task == "sweep":
        try:
            with _alone(given.home, "sweep", 0.0):
                runtime.sweep(client.beside(given.transcript))
        except Conflict:
            return


def _alone(home: str, what: str, wait_s: float) -> Locked:
    """One process at a time on one matter."""
    from ratchet.ids import hex_of

    busy = Conflict(f"another process reads {what}")
    return Locked(Path(home) / "hook" / "reading" / hex_of(what)[:24], busy, wait_s=wait_s)


def _end_in_time(home: str) -> None:
    def end() -> None:
        hookpath.log_fault(home, EVENT, TimeoutError(f"not done after {TIME_CAP_S:.0f} s; the rest is done later"))
        os._exit(0)

    timer = threading.Timer(TIME_CAP_S, end)
    timer.daemon = True
    timer.start()
