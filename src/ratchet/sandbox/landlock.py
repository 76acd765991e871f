"""The sandbox where user namespaces are forbidden, as in most containers: Landlock, a system-call filter, limits.

It shows the files where they are (nothing is mounted), opens no socket but connected pairs, and has no view with
layers. The processes of a job are found by descent instead of by namespace.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import Refused
from ratchet.sandbox import interpreter
from ratchet.sandbox.bubblewrap import ETC, NETWORK_ETC, checked, readable
from ratchet.sandbox.host import HostSandbox, plan_on_host, python_for

if TYPE_CHECKING:
    from ratchet.sandbox.command import Command
    from ratchet.sandbox.plan import Plan

_ETC = ("passwd", "group", "hosts")  # where they lie: nothing else can stand in their place


class Landlock(HostSandbox):
    """Sandbox by Landlock (port `Sandbox`). Needs Linux 5.13, no privilege."""

    name = "landlock"

    def planned(self, command: Command, place: Path) -> Plan:
        folder = checked(command.view.folder)
        if command.view.layers:
            raise Refused("Landlock cannot show layers: use a workspace that copies")
        if os.path.lexists(folder / ".git"):
            # Rules only add up: a folder within a writable one cannot be taken out again.
            raise Refused(f"{folder} is a repository, which Landlock cannot hide: work on a copy without .git")
        python, found = python_for(command, folder)
        shown = [
            *python.paths,
            *map(str, command.view.overlaid.values()),
            *(str(readable(p)) for p in command.readable),
        ]
        etc = [f"/etc/{name}" for name in (*ETC, *_ETC, *(NETWORK_ETC if command.net == "host" else ()))]
        made = plan_on_host("landlock", command, folder, place, python, found)
        return replace(made, readable=[*shown, *etc], hidden=list(interpreter.ANSWERS))
