"""Destinations of a result: the project itself, a branch, or a patch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ratchet.healing.landing import branch, files, patch
from ratchet.sandbox.command import FileChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """Destination of a result. Without any, nothing outside the workspace changes."""

    to: Literal["", "apply", "branch", "patch"] = ""
    name: str = ""
    """The branch's name, or the patch's file."""
    doubtful: bool = False
    """Whether a result for which too little speaks is written into the project, too."""

    @property
    def text(self) -> str:
        return " ".join(filter(None, (self.to, self.name)))


def land(landing: Landing, folder: Path, changes: Sequence[FileChange], *, home: Path, message: str) -> None:
    """Bring a result to where it is wanted. Raises Conflict where somebody changed the same lines meanwhile."""
    if landing.to == "apply":
        files.apply(folder, changes, lock=lock_of(home, folder))
    elif landing.to == "branch":
        branch.commit(folder, landing.name, changes, message=message)
    elif landing.to == "patch":
        patch.write(Path(landing.name), changes)


def lock_of(home: Path, folder: Path) -> Path:
    """The file that everybody locks who applies to a folder."""
    return home / "locks" / hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
