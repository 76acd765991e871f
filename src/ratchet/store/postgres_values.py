"""Values as Postgres takes them, so that a row comes back as it went in.

Postgres refuses three things that SQLite takes: a NUL in a text, a number where the column's type is another, and an
index entry of more than 2,704 bytes. A text that does not fit stands in its column in a form that does, under which it
is found, and as it was in the row's body.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cache

from ratchet.errors import UsageError
from ratchet.ports import Where
from ratchet.records import Json, Row
from ratchet.store import rows as codec
from ratchet.store.declaring import Column, Table
from ratchet.store.sql import listed

_INDEXED_BYTES = 800  # three such columns fit into an index entry
SAFE_CHARS = _INDEXED_BYTES // 4
"""A text of so many fits into an index, whatever its letters: they take at most four bytes each."""
_PREFIX_CHARS = 120


class _Places:
    """Places in a row's values of the columns that need a look."""

    def __init__(self, table: Table) -> None:
        self.columns = [table.by_name.get(name) for name in codec.column_names(table)]  # None: the body
        indexed = {*table.key, *(name for index in table.indexes for name in index.columns)}
        self.switches = [at for at, each in enumerate(self.columns) if each and each.type == "bool"]
        self.reals = [at for at, each in enumerate(self.columns) if each and each.type == "real"]
        self.indexed = [
            at for at, each in enumerate(self.columns) if each and each.type == "text" and each.name in indexed
        ]
        self.names = frozenset(self.columns[at].name for at in self.indexed)  # type: ignore[union-attr]


@cache
def _places(table: Table) -> _Places:
    return _Places(table)


def indexed(table: Table) -> frozenset[str]:
    """The text columns that an index or the key holds."""
    return _places(table).names


def values_of(table: Table, row: Row) -> list[Json]:
    """`rows.values_of` for Postgres: switches as 0 and 1, NaN as NULL, and no text too long for its index."""
    values = codec.values_of(table, row)
    places = _places(table)
    for at in places.switches:
        value = values[at]
        if value is True or value is False:
            values[at] = 1 if value else 0
    for at in places.reals:
        if values[at] != values[at]:
            values[at] = None
    for at in places.indexed:
        value = values[at]
        if type(value) is str and len(value) > SAFE_CHARS and len(value.encode("utf-8", "replace")) > _INDEXED_BYTES:
            return fitted(table, row)
    return values


def fitted(table: Table, row: Row) -> list[Json]:
    """Values that Postgres does not refuse: the slow path. Raises UsageError for one of no column type."""
    values = codec.values_of(table, row)
    indexed = _places(table).names
    altered: Row = {}
    for at, column in enumerate(_places(table).columns):
        if column is None:
            continue
        try:
            fit = _fit(column, values[at], indexed=column.name in indexed)
        except UsageError as error:
            raise UsageError(f"table {table.name}, column {column.name}: {error}") from None
        if fit is None and (column.required or column.name in table.key):
            raise UsageError(f"table {table.name}, column {column.name}: there is no value; give one")
        if column.of is None and column.type == "text" and isinstance(values[at], str) and fit != values[at]:
            altered[column.name] = values[at]
        values[at] = fit
    if altered and table.body:
        rest = {name: value for name, value in row.items() if name not in table.known}
        values[-1] = codec.encode({**rest, **altered})
    return values


def fitted_where(table: Table, where: Where | None) -> Where | None:
    """Conditions whose values are what their columns hold."""
    if not where:
        return where
    fit: dict[str, Json | tuple[str, Json]] = {}
    for name, wanted in where.items():
        column = table.by_name.get(name)
        operator, value = wanted if isinstance(wanted, tuple) else ("=", wanted)
        if column is None:  # reported where the statement is made
            fit[name] = wanted
        elif operator == "in":
            fit[name] = (operator, _alike([asked(table, column, each) for each in listed(table, name, value)]))
        else:
            fit[name] = (operator, asked(table, column, value))
    return fit


def asked(table: Table, column: Column, value: Json) -> Json:
    """One value to compare a column with."""
    if isinstance(value, float) and column.type != "text" and not math.isnan(value):
        return value  # an hour may be compared with a fraction of one
    return _fit(column, value, indexed=column.name in _places(table).names)


def _alike(values: Sequence[Json]) -> list[Json]:
    """A list of one type, which an array needs."""
    if any(isinstance(value, float) for value in values):
        return [float(value) if isinstance(value, int) else value for value in values]
    return list(values)


def _fit(column: Column, value: Json, *, indexed: bool) -> Json:
    plain = codec.plain(value)
    if column.type == "text":
        return plain if plain is None else _text(str(plain), indexed=indexed)
    if isinstance(plain, str):
        plain = _number(plain)
    if isinstance(plain, float) and math.isnan(plain):
        return None
    if column.type == "bool" and plain is not None:
        return 1 if plain else 0
    if column.type == "int" and isinstance(plain, float):
        return codec.plain(round(max(min(plain, 2.0**64), -(2.0**64))))  # type: ignore[return-value]
    return plain  # type: ignore[return-value]


def _number(said: str) -> float:
    try:
        return float(said)
    except ValueError:
        raise UsageError(f"{said[:40]!r} is no number; give one") from None


def _text(value: str, *, indexed: bool) -> str:
    value = value.replace("\0", "\ufffd")
    if not indexed or len(value.encode()) <= _INDEXED_BYTES:
        return value
    return f"{value[:_PREFIX_CHARS]}\u2026{hashlib.sha256(value.encode()).hexdigest()}"
