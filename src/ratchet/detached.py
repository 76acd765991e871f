"""Leaves work to a process that outlives the hook: at a session's end the host waits for little more than a second.

Lean: hook processes import this.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_NICE = 10  # the person's next command comes first
_MAIN = "import sys;sys.path.insert(0,sys.argv.pop(1));from ratchet.settling import main;main(sys.argv[1:])"


def settle(home: str, session: str, transcript: str, project: str) -> None:
    """Read the session's transcript, drain and settle credit, in a process of its own (see `ratchet.settling`).

    Returns at once. Raises OSError when no process can be started.
    """
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    arguments = ["--home", home, "--session", session, "--transcript", transcript, "--project", project]
    command = [sys.executable, "-I", "-S", "-c", _MAIN, source, *arguments]
    if not hasattr(os, "fork"):
        import subprocess

        nothing = subprocess.DEVNULL
        subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)  # noqa: S603  (our own command)
        return
    child = os.fork()
    if child == 0:
        _become(command)


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
    except OSError:
        os._exit(1)
