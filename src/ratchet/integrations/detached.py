"""Leaves work to a process that outlives the hook: at a session's end the host waits for little more than a second.

Lean: hook processes import this.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, NoReturn

    Task = Literal["reviewed", "turn", "sweep", "end"]
    """A repository's lessons, the new lines of a session, those of all that grew beside it, the end of a session."""

_NICE = 10  # the person's next command comes first
_LOOK_S = 0.01
_MAIN = "import sys;sys.path.insert(0,sys.argv.pop(1));from ratchet.integrations.settle import main;main(sys.argv[1:])"


def start(home: str, task: Task, *, client: str, project: str = "", session: str = "", transcript: str = "") -> int:
    """Start what `integrations.settle` does with these, in a process of its own; its id (0: it cannot be waited for).

    Returns at once. Raises OSError when no process can be started.
    """
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    arguments = [task, "--home", home, "--client", client]
    arguments += ["--session", session, "--transcript", transcript, "--project", project]
    command = [sys.executable, "-I", "-S", "-c", _MAIN, source, *arguments]
    if not hasattr(os, "fork"):
        import subprocess

        nothing = subprocess.DEVNULL
        subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)  # noqa: S603  (our own command)
        return 0
    child = os.fork()
    if child == 0:
        _become(command)
    return child


def wait_for(child: int, limit_s: float) -> None:
    """Until the process ends, but no longer than the limit; it goes on without us."""
    give_up = time.monotonic() + limit_s
    while child and time.monotonic() < give_up and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(_LOOK_S)


def _become(command: list[str]) -> NoReturn:
    """In the child: leave the host's session, descriptors and timers, then turn into the command."""
    try:
        os.setsid()
        os.nice(_NICE)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.closerange(3, 256)
        os.execv(command[0], command)  # noqa: S606  (our own command)
    finally:
        os._exit(1)  # whatever happened: a second hook must never go on here
