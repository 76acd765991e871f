"""Processes of the machine, as a test that looks for what was left running sees them."""

from __future__ import annotations

import os
from pathlib import Path


def running_with(mark: str) -> list[str]:
    """Command lines of other processes that hold a mark: the name of a home or of a project."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdecimal() and int(each.name) != os.getpid():
            try:
                line = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if mark in line:
                found.append(line)
    return found
