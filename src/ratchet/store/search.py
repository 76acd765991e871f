"""Terms of a declared column, found through SQLite's FTS5 and weighed by who asks.

The index knows only in which rows a term is (contentless, `detail=none`: some 2 bytes a term and row). A table beside
it holds how many rows have each term: counting a common one's takes longer than all else of a search. Triggers keep
both in step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ratchet.errors import UsageError
from ratchet.store.rows import read_names
from ratchet.store.sql import conditions

if TYPE_CHECKING:
    from ratchet.ports import Where
    from ratchet.records import Json
    from ratchet.store.declaring import Table


ALL = 100_000
"""Rows that a search may put in order: more than anybody asks for, but a limit keeps their order."""


def terms_of(table: Table) -> str:
    return f"{table.name}_terms"


def spread_of(table: Table) -> str:
    return f"{table.name}_spread"


def searched(table: Table) -> Table:
    """The table. Raises UsageError for one that has no terms to search."""
    if not table.terms:
        raise UsageError(f"table {table.name} has no terms to match")
    return table


def words_of(table: Table) -> str:
    return f"{table.name}_having"


def worded(table: Table) -> Table:
    """The table. Raises UsageError for one that has no words to search."""
    if not table.words:
        raise UsageError(f"table {table.name} has no words to search")
    return table


def asked_words(words: Sequence[str]) -> list[str]:
    """The words that can be in a row. Raises UsageError for none."""
    found = [word for word in dict.fromkeys(words) if word.isalnum()]
    if not found:
        raise UsageError("name a word to search for")
    return found


def create_words(table: Table) -> list[str]:
    """Statements that build the index of a table's `words` and keep it in step. Nothing counts them: who asks for all
    of some words needs no weights."""
    name, column = words_of(table), f'"{table.words}"'
    put = f'INSERT INTO "{name}" (rowid, {column}) VALUES (new.rowid_, new.{column});'
    remove = f'INSERT INTO "{name}" ("{name}", rowid, {column}) VALUES (\'delete\', old.rowid_, old.{column});'
    has, had = f"new.{column} <> ''", f"old.{column} <> ''"
    changed = f"old.{column} IS NOT new.{column}"
    on = f'UPDATE OF {column} ON "{table.name}"'
    return [
        f"CREATE VIRTUAL TABLE \"{name}\" USING fts5({column}, content='', detail='none', columnsize=0)",
        f'CREATE TRIGGER "{name}_in" AFTER INSERT ON "{table.name}" WHEN {has} BEGIN {put} END',
        f'CREATE TRIGGER "{name}_out" AFTER DELETE ON "{table.name}" WHEN {had} BEGIN {remove} END',
        f'CREATE TRIGGER "{name}_old" BEFORE {on} WHEN {had} AND {changed} BEGIN {remove} END',
        f'CREATE TRIGGER "{name}_new" AFTER {on} WHEN {has} AND {changed} BEGIN {put} END',
    ]


def optimized(tables: Collection[Table]) -> list[str]:
    """Statements after which no index holds a word of a row that was deleted."""
    names = [words_of(table) for table in tables if table.words]
    names += [terms_of(table) for table in tables if table.terms]
    return [f'INSERT INTO "{name}" ("{name}") VALUES (\'optimize\')' for name in names]


def having(
    table: Table, words: Sequence[str], without: Sequence[str], where: Where | None, limit: int
) -> tuple[str, list[Json]]:
    """Rows that have all of these words and none of the others, those written last first: in the order of the index."""
    name = words_of(table)
    said, values = conditions(table, where, prefix="held.")
    columns = ", ".join(f'held."{column}"' for column in read_names(table))
    text = f'SELECT {columns} FROM "{name}" CROSS JOIN "{table.name}" AS held ON held.rowid_ = "{name}".rowid '
    text += f'WHERE "{name}" MATCH ?' + (f" AND {said}" if said else "")
    asked = "(" + " AND ".join(f'"{word}"' for word in words) + ")" + "".join(f' NOT "{word}"' for word in without)
    return f'{text} ORDER BY "{name}".rowid DESC LIMIT ?', [asked, *values, limit]


def create(table: Table) -> list[str]:
    """Statements that build the index of a table's `terms` and keep it in step with every later write."""
    name, counts, column = terms_of(table), spread_of(table), f'"{table.terms}"'

    def each(row: str) -> str:
        listed = f"'[\"' || replace({row}.{column}, ' ', '\",\"') || '\"]'"
        return f"SELECT '' AS term UNION ALL SELECT value FROM json_each({listed})"

    put = (
        f'INSERT INTO "{name}" (rowid, {column}) VALUES (new.rowid_, new.{column}); '
        f'INSERT INTO "{counts}" (term, n) SELECT term, 1 FROM ({each("new")}) WHERE true '
        "ON CONFLICT (term) DO UPDATE SET n = n + 1;"
    )
    remove = (
        f'INSERT INTO "{name}" ("{name}", rowid, {column}) VALUES (\'delete\', old.rowid_, old.{column}); '
        f'UPDATE "{counts}" SET n = n - 1 WHERE term IN ({each("old")}); '
        f'DELETE FROM "{counts}" WHERE n < 1 AND term IN ({each("old")});'
    )
    has, had = f"new.{column} <> ''", f"old.{column} <> ''"
    changed = f"old.{column} IS NOT new.{column}"
    on = f'UPDATE OF {column} ON "{table.name}"'
    return [
        f"CREATE VIRTUAL TABLE \"{name}\" USING fts5({column}, content='', detail='none', columnsize=0)",
        f'CREATE TABLE "{counts}" (term TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID',
        f'CREATE TRIGGER "{name}_in" AFTER INSERT ON "{table.name}" WHEN {has} BEGIN {put} END',
        f'CREATE TRIGGER "{name}_out" AFTER DELETE ON "{table.name}" WHEN {had} BEGIN {remove} END',
        f'CREATE TRIGGER "{name}_old" BEFORE {on} WHEN {had} AND {changed} BEGIN {remove} END',
        f'CREATE TRIGGER "{name}_new" AFTER {on} WHEN {has} AND {changed} BEGIN {put} END',
    ]


def weigh(
    table: Table, weights: Mapping[str, float], where: Where | None, limit: int, *, ordered: int = ALL
) -> tuple[str, list[Json]]:
    """Rows by the sum of the weights of their terms, the highest first.

    The best `ordered` are looked at one by one in that order (CROSS JOIN keeps it) until enough of them meet `where`.
    """
    name = terms_of(table)
    said, values = conditions(table, where, prefix="held.")
    columns = ", ".join(f'held."{column}"' for column in read_names(table))
    one = f'SELECT rowid AS at, ? AS weight FROM "{name}" WHERE "{name}" MATCH ?'
    summed = (
        f"SELECT at, sum(weight) AS score FROM ({' UNION ALL '.join([one] * len(weights))}) "
        f"GROUP BY at ORDER BY score DESC, at LIMIT {ordered}"
    )
    text = f'SELECT {columns} FROM ({summed}) AS found CROSS JOIN "{table.name}" AS held ON held.rowid_ = found.at'
    if said:
        text += f" WHERE {said}"
    asked: list[Json] = [each for term, weight in weights.items() for each in (weight, f'"{term}"')]
    return f"{text} LIMIT ?", [*asked, *values, limit]
