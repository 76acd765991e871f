"""Words of declared text columns, found through SQLite's FTS5 and ranked by BM25.

The index holds no text of its own: it refers to the table by row number, and triggers keep it in step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ratchet.store.rows import read_names
from ratchet.store.sql import conditions, quoted

if TYPE_CHECKING:
    from ratchet.ports import Where
    from ratchet.records import Json
    from ratchet.store.declaring import Table


def index_of(table: Table) -> str:
    return f"{table.name}_words"


def create(table: Table) -> list[str]:
    """Statements that build the index of a table's `words` and keep it in step with every later write."""
    name, columns = index_of(table), quoted(table.words)
    fresh = ", ".join(f'new."{word}"' for word in table.words)
    stale = ", ".join(f'old."{word}"' for word in table.words)
    remove = f'INSERT INTO "{name}" ("{name}", rowid, {columns}) VALUES (\'delete\', old.rowid_, {stale});'
    put = f'INSERT INTO "{name}" (rowid, {columns}) VALUES (new.rowid_, {fresh});'
    # Underscores join a word, since they do in names of functions and variables.
    tokens = "tokenize=\"unicode61 remove_diacritics 0 tokenchars '_'\""
    options = f"content='{table.name}', content_rowid='rowid_', {tokens}"
    return [
        f'CREATE VIRTUAL TABLE "{name}" USING fts5({columns}, {options})',
        f'CREATE TRIGGER "{name}_in" AFTER INSERT ON "{table.name}" BEGIN {put} END',
        f'CREATE TRIGGER "{name}_out" AFTER DELETE ON "{table.name}" BEGIN {remove} END',
        f'CREATE TRIGGER "{name}_new" AFTER UPDATE OF {columns} ON "{table.name}" BEGIN {remove} {put} END',
    ]


def select(table: Table, words: Sequence[str], where: Where | None, limit: int) -> tuple[str, list[Json]]:
    """Rows that share any of the words, best first."""
    name = index_of(table)
    said, values = conditions(table, where, prefix="held.")
    columns = ", ".join(f'held."{column}"' for column in read_names(table))
    text = (
        f'SELECT {columns} FROM "{name}" AS found JOIN "{table.name}" AS held ON held.rowid_ = found.rowid '
        f'WHERE "{name}" MATCH ?'
    )
    if said:
        text += f" AND {said}"
    return f"{text} ORDER BY found.rank LIMIT ?", [_any_of(words), *values, limit]


def _any_of(words: Sequence[str]) -> str:
    """Each word quoted, so that nothing in it is query syntax; a NUL would end the query's text."""
    quotes = (word.replace("\0", " ").replace('"', '""') for word in dict.fromkeys(words))
    return " OR ".join(f'"{word}"' for word in quotes)
