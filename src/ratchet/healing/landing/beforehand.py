"""Says before any work is done that its result could not be taken to where it is wanted."""

from __future__ import annotations

import os
from pathlib import Path

from ratchet.errors import UsageError
from ratchet.healing.landing import branch


def check(project: Path, to: str, name: str) -> None:
    """`to` is "branch", "patch" or anything that is always possible; `name` the branch's name or the patch's file.

    Raises UsageError for a file that cannot be written; for a branch what `branch.check` raises.
    """
    if to == "branch":
        branch.check(project, name)
    elif to == "patch":
        place = Path(name)
        if place.is_dir() or not os.access(place if place.exists() else place.parent, os.W_OK):
            raise UsageError(f"the patch cannot be written to {name}: name a file in a folder that is there")
