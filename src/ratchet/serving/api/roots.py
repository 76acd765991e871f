"""Folders in which tasks may be started, and commands run."""

from __future__ import annotations

import os
from pathlib import Path

from ratchet.errors import UsageError
from ratchet.serving.api.serving import Served


def allowed(folder: str, held: Served) -> str:
    """The folder itself, links followed, where tasks may be started and commands run in it: what a link leads to later
    is of no account. Raises UsageError."""
    if "\0" in folder:
        raise UsageError("no folder has a name with a NUL in it")
    roots = held.serving.roots
    place = Path(os.path.realpath(folder))  # a chain of links without an end has no place, and is no fault
    if roots and not any(place.is_relative_to(root.resolve()) for root in roots):
        below = ", ".join(map(str, roots))
        raise UsageError(
            f"nothing may run in that folder; name a folder below {below}, or start the server with another --root"
        )
    return str(place)
