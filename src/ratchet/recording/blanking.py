"""Blanks lines of the journal that are in the store already, where a segment cannot be deleted yet: others still write
to its end."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.recording.journal import FOLDER, segments
from ratchet.records import whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store

_ASCII = (True, False)  # a line may be written either way


def blank(store: Store, home: Path, names: Sequence[str]) -> None:
    """Overwrite the lines that name one of these with line ends, as far as each segment was drained: writers append
    behind, readers go on from there, and an empty line says nothing. Raises OSError, StoreError."""
    quoted = [json.dumps(name, ensure_ascii=plain).encode("utf-8", "replace") for name in names for plain in _ASCII]
    for path in segments(str(home)):
        drained = whole_in(store.get("cursors", f"{FOLDER}/{Path(path).name}"), "offset")
        if not drained:
            continue
        fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            place = 0
            for line in os.pread(fd, drained, 0).split(b"\n"):
                if any(name in line for name in quoted):
                    os.pwrite(fd, b"\n" * len(line), place)
                place += len(line) + 1
        finally:
            os.close(fd)
