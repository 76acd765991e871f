"""No sandbox: limits, a scrubbed environment and a clean end, but nothing between the command and the machine.

Only for `--unsafe-no-sandbox`; every record of what ran so says "none".
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import Refused
from ratchet.sandbox.host import HostSandbox, plan_on_host, python_for

if TYPE_CHECKING:
    from ratchet.sandbox.command import Command
    from ratchet.sandbox.plan import Plan


class Plain(HostSandbox):
    """Plain processes (port `Sandbox`)."""

    name = "none"

    def planned(self, command: Command, place: Path) -> Plan:
        folder = Path(command.view.folder).resolve()
        if not folder.is_dir() or command.view.layers:
            raise Refused(f"{folder} cannot be worked in without a sandbox: name a folder")
        return replace(plan_on_host("plain", command, folder, place, *python_for(command, folder)), in_place=False)
