"""The sandbox where user namespaces are forbidden, as in most containers: Landlock, a system-call filter, limits.

It shows the files where they are (nothing is mounted), opens no socket at all, and has no view with layers. The
processes of a job are found by descent instead of by namespace.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import Refused
from ratchet.sandbox import interpreter, running
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import ETC, NETWORK_ETC, checked, readable
from ratchet.sandbox.environments import Environments, environments
from ratchet.sandbox.plan import Plan, sandbox_uid

if TYPE_CHECKING:
    from ratchet.sandbox.command import Command, Ran
    from ratchet.sandbox.interpreter import Interpreter

_ETC = ("passwd", "group", "hosts")  # where they lie: nothing else can stand in their place


class Landlock:
    """Sandbox by Landlock (port `Sandbox`). Needs Linux 5.13, no privilege."""

    name = "landlock"
    overlays = False

    def run(
        self,
        command: Command,
        *,
        cancelled: Callable[[], bool] | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Ran:
        folder = checked(command.view.folder)
        if command.view.layers:
            raise Refused("Landlock cannot show layers: use a workspace that copies")
        if os.path.lexists(folder / ".git"):
            # Rules only add up: a folder within a writable one cannot be taken out again.
            raise Refused(f"{folder} is a repository, which Landlock cannot hide: work on a copy without .git")
        with temporary() as place:
            made = planned(command, folder, place)
            return running.run(made, command.stdin, isolation=self.name, cancelled=cancelled, on_output=on_output)


@contextmanager
def temporary() -> Iterator[Path]:
    """A folder for a command's TMPDIR and HOME, its own user's, gone afterwards whatever is in it."""
    place = Path(tempfile.mkdtemp(prefix="ratchet-"))
    uid = sandbox_uid()
    try:
        for each in (place / "tmp", place / "home"):
            each.mkdir(mode=0o700)
            if uid is not None:
                os.chown(each, uid, uid)
        place.chmod(0o711)
        yield place
    finally:
        remove_tree(place)


def environ_of(python: Interpreter, place: Path) -> dict[str, str]:
    """The scrubbed environment of a command that sees the host's paths."""
    return {
        "PATH": f"{python.bin}:{interpreter.SYSTEM_PATH}",
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "USER": "sandbox",
        "LOGNAME": "sandbox",
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",
        **dict(python.environ),
    }


def python_for(command: Command, folder: Path) -> tuple[Interpreter, Environments]:
    """The interpreter of a command that sees the host's paths, and the virtual environments of its folder."""
    found = environments(folder)
    overlaid = {str(venv): venv for venv in (found.venv, *command.view.overlaid.values()) if venv is not None}
    return interpreter.of(folder, overlaid, command.readable), found


def planned(command: Command, folder: Path, place: Path) -> Plan:
    """The plan of a command; `place` holds its TMPDIR and HOME. Raises Refused."""
    python, found = python_for(command, folder)
    shown = [*python.paths, *map(str, command.view.overlaid.values()), *(str(readable(p)) for p in command.readable)]
    etc = [f"/etc/{name}" for name in (*ETC, *_ETC, *(NETWORK_ETC if command.net == "host" else ()))]
    return Plan(
        means="landlock",
        argv=list(command.argv),
        environ={**environ_of(python, place), **command.environ},
        cwd=str(folder),
        folder=str(folder),
        in_place=True,
        limits=command.limits,
        closed=found.closed,
        unused=list(found.unused),
        net=command.net,
        readable=[*shown, *etc],
        hidden=list(interpreter.ANSWERS),
        temporary=str(place),
    )
