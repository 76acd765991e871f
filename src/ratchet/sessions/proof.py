"""Looks for what is left of forgotten sessions: in every column of every table, and in every file of the home.

The one place that may name a session is where reading stands (the paths of `cursors`): clients call a history by its
session, and a file whose name is gone would be read again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.recording.journal import FOLDER as JOURNAL
from ratchet.records import Json, Row, text_in, whole_in
from ratchet.store.opening import STORE_NAME
from ratchet.store.paging import PAGE_ROWS, rows_of
from ratchet.store.schema import TABLES

if TYPE_CHECKING:
    from ratchet.ports import Store

_PATHS = ("path", "file")
_BATCH = 500
_CHUNK_BYTES = 1 << 24
_LEAST_NAME = 8  # characters; a shorter session's name is a word that stands anywhere


@dataclass(slots=True, kw_only=True)
class RowsLeft:
    """Rows that still name a session or a step, by table, and the other sessions whose rows they are."""

    rows: dict[str, int] = field(default_factory=dict)
    quoting: tuple[str, ...] = ()


def counted(store: Store, sessions: Sequence[str], named: Mapping[str, str]) -> dict[str, int]:
    """Count the rows of these sessions in the tables that name them, by the column that does."""
    found: dict[str, int] = {}
    for table, column in named.items():
        for start in range(0, len(sessions), _BATCH):
            some: list[Json] = [*sessions[start : start + _BATCH]]
            rows = store.sum_by(table, (), ("count:*",), {column: ("in", some)})
            found[table] = found.get(table, 0) + whole_in(rows[0], "count:*")
    return {table: count for table, count in found.items() if count}


def rows_left(store: Store, sessions: Sequence[str], steps: Sequence[str], named: Mapping[str, str]) -> RowsLeft:
    """Find the rows of all tables in which one of these names still stands. Reads the whole store."""
    found = RowsLeft(rows=counted(store, sessions, named))
    names = [name for name in (*sessions, *steps) if len(name) >= _LEAST_NAME]
    quoting: set[str] = set()
    for table in TABLES.values() if names else ():
        held = _naming(rows_of(store, table.name, {}, order=table.key), table.name, names)
        mine = [row for row in held if row.get(named.get(table.name, "")) not in sessions]  # the others were counted
        if mine:
            found.rows[table.name] = found.rows.get(table.name, 0) + len(mine)
            quoting |= {text_in(row, named[table.name]) for row in mine if table.name in named}
    found.quoting = tuple(sorted(quoting - {""}))
    return found


def _naming(rows: Iterator[Row], table: str, names: Sequence[str]) -> Iterator[Row]:
    """The rows in which a name stands. A thousand are looked at as one text first: nearly all hold none."""
    while some := [*islice(rows, PAGE_ROWS)]:
        texts = [_text_of(table, row) for row in some]
        whole = "\n".join(texts)
        there = [name for name in names if name in whole]
        if there:
            yield from (row for row, text in zip(some, texts, strict=True) if any(name in text for name in there))


def _text_of(table: str, row: Row) -> str:
    if table == "cursors":
        row = {name: value for name, value in row.items() if name not in _PATHS}
    return json.dumps(row, ensure_ascii=False)


def files_left(home: Path, sessions: Sequence[str], steps: Sequence[str]) -> Iterator[str]:
    """Find the files below the home in which one of these names still stands. In the store's own only steps are looked
    for, also where a row was: it may name a history."""
    for path in sorted(each for each in home.rglob("*") if each.is_file() and not each.is_symlink()):
        names = [*steps] if path.name.startswith(STORE_NAME) else [*steps, *sessions]
        if _holds(path, [name.encode() for name in names if len(name) >= _LEAST_NAME]):
            yield str(path.relative_to(home))


def _holds(path: Path, names: Sequence[bytes]) -> bool:
    longest = max(map(len, names), default=0)
    with path.open("rb") as file:
        tail = b""
        while chunk := file.read(_CHUNK_BYTES):
            held = tail + chunk
            if any(name in held for name in names):
                return True
            tail = held[-longest:]
    return False


def way_out(name: str) -> str:
    """Say what to do about a file in which something is left."""
    if name.startswith(STORE_NAME):
        return ", outside its rows; once no other process has it open: ratchet compact --older-than 36500"
    if name.startswith(JOURNAL):
        return "; it goes once it is moved and nobody writes to it: ratchet learn"
    return "; it is yours to look into, and to delete"
