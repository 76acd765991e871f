"""No sandbox: limits, a scrubbed environment and a clean end, but nothing between the command and the machine.

Only for `--unsafe-no-sandbox`; every record of what ran so says "none".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import Refused
from ratchet.sandbox import running
from ratchet.sandbox.landlock import environ_of, python_for, temporary
from ratchet.sandbox.plan import Plan

if TYPE_CHECKING:
    from ratchet.sandbox.command import Command, Ran


class Plain:
    """Plain processes (port `Sandbox`)."""

    name = "none"
    overlays = False

    def run(
        self,
        command: Command,
        *,
        cancelled: Callable[[], bool] | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Ran:
        folder = Path(command.view.folder).resolve()
        if not folder.is_dir() or command.view.layers:
            raise Refused(f"{folder} cannot be worked in without a sandbox: name a folder")
        with temporary() as place:
            python, found = python_for(command, folder)
            made = Plan(
                means="plain",
                argv=list(command.argv),
                environ={**environ_of(python, place), **command.environ},
                cwd=str(folder),
                folder=str(folder),
                in_place=False,
                limits=command.limits,
                closed=found.closed,
                unused=list(found.unused),
                net=command.net,
                temporary=str(place),
            )
            return running.run(made, command.stdin, isolation=self.name, cancelled=cancelled, on_output=on_output)
