"""Sandboxes whose commands see the files where they lie; each has a HOME and a TMPDIR of its own beside them."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ratchet.errors import Refused
from ratchet.sandbox import interpreter, network, running
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.environments import Environments, environments
from ratchet.sandbox.plan import Means, Plan, sandbox_uid

if TYPE_CHECKING:
    from ratchet.sandbox.command import Command, Ran
    from ratchet.sandbox.interpreter import Interpreter


class HostSandbox(ABC):
    """Runs what `planned` makes of a command (port `Sandbox`)."""

    name: ClassVar[str]
    overlays: ClassVar[bool] = False

    @abstractmethod
    def planned(self, command: Command, place: Path) -> Plan:
        """The plan of a command; `place` holds its TMPDIR and HOME. Raises Refused, SandboxError."""

    def run(
        self,
        command: Command,
        *,
        cancelled: Callable[[], bool] | None = None,
        paused: Callable[[], bool] | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Ran:
        if command.net.startswith(network.PREFIX):
            raise Refused(
                f"the sandbox {self.name} cannot hold a command to named domains, which takes a network of its own: "
                "use --net none, or accept all of your network with --net host"
            )
        with temporary() as place:
            made = self.planned(command, place)
            return running.run(
                made, command.stdin, isolation=self.name, cancelled=cancelled, paused=paused, on_output=on_output
            )


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
    return interpreter.of(folder, overlaid, command), found


def plan_on_host(
    means: Means, command: Command, folder: Path, place: Path, python: Interpreter, found: Environments
) -> Plan:
    """The plan of a command that runs in its folder, as all of these sandboxes have it."""
    return Plan(
        means=means,
        argv=list(command.argv),
        environ={**environ_of(python, place), **command.environ},
        cwd=str(folder),
        folder=str(folder),
        in_place=True,
        limits=command.limits,
        closed=found.closed,
        unused=list(found.unused),
        net=command.net,
        temporary=str(place),
    )
