"""Opens SQLite databases that anybody may have made: read only, real tables only, and never without an end."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

_WAIT_S = 5.0  # for an owner that writes
_CELL_BYTES = 64 << 20
_STEPS, _STEPS_A_BYTE = 20_000_000, 50  # of SQLite's machine, for all statements together
_TICK = 100_000  # steps between two looks


@contextmanager
def opened(path: str) -> Iterator[sqlite3.Connection]:
    """A connection whose statements all together take no more than what reading a file of this size takes.

    A statement that would take more raises sqlite3.OperationalError ("interrupted"). A text that is no UTF-8 is mended.
    """
    left = (_STEPS + _STEPS_A_BYTE * Path(path).stat().st_size) // _TICK

    def spent() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)) as held:
        held.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _CELL_BYTES)
        held.set_progress_handler(spent, _TICK)
        held.text_factory = lambda raw: raw.decode("utf-8", "replace")
        yield held


def has_tables(held: sqlite3.Connection, names: Collection[str]) -> bool:
    """Tell whether all these are tables that hold their rows: a view or a virtual table runs what its maker wrote."""
    real = held.execute("SELECT lower(name) FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'")
    return {name for (name,) in real} >= set(names)
