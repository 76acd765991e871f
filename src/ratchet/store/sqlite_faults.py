"""Says what a fault of SQLite or of the disk is, and what to do about it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from ratchet.errors import StoreError

ROOM_BYTES = 1 << 20
"""The room that must have come free before a disk that was full is written to again."""

_AGAIN = "move it aside (nothing was changed) and run `ratchet learn` again"
FULL = "the disk is full: free some space; what was recorded stays in the journal and is stored later"
_OTHER_HOME = "or choose another home (--home or RATCHET_HOME)"
_REMEDIES = (
    ("not a database", f"it is damaged or no store: {_AGAIN}"),
    ("malformed", f"it is damaged: {_AGAIN}"),
    ("is full", FULL),
    ("no space left", FULL),
    ("disk i/o error", "the disk failed or is full: check its space and health; the journal keeps what was recorded"),
    ("readonly", "it is read-only: nothing was written; give write access to the file and its folder"),
    ("locked", "another process has held it for too long: wait or end that process, then try again"),
    ("no such module: fts5", "this Python's SQLite lacks FTS5: use a Python whose sqlite3 module has it"),
    ("permission denied", f"no access: change its owner or mode, {_OTHER_HOME}"),
    ("unable to open", f"no access: check that its folder exists and may be written, {_OTHER_HOME}"),
    ("no such file", f"nothing can be made there: check its folder, {_OTHER_HOME}"),
)
"""What SQLite or the system says -> what to tell a person."""


def explained(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """Say what went wrong and what to do about it, for a person."""
    known = remedy_of(error)
    said = (error.strerror if isinstance(error, OSError) else None) or error  # its file is one of ours on the way
    return StoreError(
        f"{path}: {known} ({said})" if known else f"{path}: the store failed ({said}); see `ratchet doctor`"
    )


def remedy_of(error: sqlite3.Error | OSError) -> str:
    """Say what to do about a fault of a database file, for a person; "" where that is not known."""
    said = str(error).lower()
    return next((remedy for sign, remedy in _REMEDIES if sign in said), "")


def free_bytes(path: Path) -> int:
    """The room that is left on the disk of a file; 0 where it is not told."""
    try:
        about = os.statvfs(path.parent)
    except (AttributeError, OSError):  # Windows has no such call
        return 0
    return about.f_bavail * about.f_frsize


def found_full(path: Path, error: sqlite3.Error | OSError) -> int | None:
    """The room on the disk of a file where this fault says that it is full; None where it does not. A file that SQLite
    maps into memory is told as a fault of the disk where there is no room for it."""
    free = free_bytes(path)
    is_full = remedy_of(error) == FULL or ("disk i/o error" in str(error).lower() and free < ROOM_BYTES)
    return free if is_full else None
