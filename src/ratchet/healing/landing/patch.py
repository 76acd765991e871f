"""Writes a result as a patch file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ratchet.healing.patches import diff_text
from ratchet.sandbox.command import FileChange


def write(file: Path, changes: Iterable[FileChange]) -> None:
    """Write changes for `git apply -p1`, exactly: also a secret that stands on a line beside them. So a new file is for
    its owner alone to read."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(diff_text(changes).encode("utf-8", "surrogateescape"))
