"""Batches as text: a COPY, or one statement to which each column is one text that the server takes apart.

A parameter for each value costs this process four times as much. Only plain values travel so: where one has to be
fitted, or holds what separates here, the answer is None, and the batch goes value by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from types import NoneType
from typing import NamedTuple

from ratchet.records import Json, Row
from ratchet.store import rows as codec
from ratchet.store import sql
from ratchet.store.declaring import Column, Table
from ratchet.store.postgres_values import SAFE_CHARS, indexed
from ratchet.store.sql import POSTGRES

UNIT, NULL = "\x1f", "\x1e"
"""ASCII's separators of units and of records."""
ARRAYS = {"text": "text[]", "int": "bigint[]", "real": "double precision[]", "bool": "smallint[]"}
_SAFE_INT = 2**62
_TYPES: dict[str, set[type]] = {"text": {str}, "int": {int}, "real": {float, int}, "bool": {bool}}


class _Columns(NamedTuple):
    """All columns of a batch as texts, and how many of these stand for NULL."""

    texts: list[Sequence[str]]
    nulls: int


def lines_of(table: Table, rows: Sequence[Row]) -> bytes | None:
    """The batch as COPY reads it, with `NULL` for NULL. Raises UnicodeEncodeError for half a surrogate pair."""
    columns = _columns(table, rows)
    if columns is None:
        return None
    text = "\n".join(map("\t".join, zip(*columns.texts, strict=True)))
    # Nothing but bodies is likely to hold a backslash: all of them are escaped at once, and what else would have to be
    # is only looked for.
    ends = text.count("\t") == len(rows) * (len(columns.texts) - 1) and text.count("\n") == len(rows) - 1
    if not ends or "\r" in text or text.count(NULL) != columns.nulls:
        return None
    return f"{text.replace(chr(92), chr(92) * 2)}\n".encode()


def texts_of(table: Table, rows: Sequence[Row]) -> list[str] | None:
    """The batch for `upsert` and `swap`: a text for each column. None, too, where a key occurs twice."""
    columns = _columns(table, rows)
    if columns is None:
        return None
    names = codec.column_names(table)
    if len(set(zip(*(columns.texts[names.index(name)] for name in table.key), strict=True))) < len(rows):
        return None
    joined = [UNIT.join(texts) for texts in columns.texts]
    whole = "".join(joined)
    if whole.count(UNIT) != len(joined) * (len(rows) - 1) or whole.count(NULL) != columns.nulls or "\0" in whole:
        return None
    try:
        whole.encode()
    except UnicodeEncodeError:
        return None
    return joined


def _columns(table: Table, rows: Sequence[Row]) -> _Columns | None:
    """The values of each column, plain and of its type, as Postgres reads them."""
    columns: list[tuple[Column | None, Sequence[Json]]] = [
        (table.by_name[name], [*map(table.made[name], rows)] if name in table.made else values)
        for name, values in zip(table.names, _apiece(table, rows), strict=True)
    ]
    for parent, fields in table.copies:
        nested = [held if isinstance(held := row.get(parent), dict) else {} for row in rows]
        columns += [(table.by_name[name], [held.get(name) for held in nested]) for name in fields]
    known = table.known
    if table.body:
        bodies: list[Json] = []
        for row in rows:
            rest = {name: value for name, value in row.items() if name not in known}
            bodies.append(codec.encode(rest) if rest else None)
        columns.append((None, bodies))
    elif not all(map(known.issuperset, rows)):
        return None
    texts: list[Sequence[str]] = []
    nulls = 0
    limited = indexed(table)
    for column, values in columns:
        types = set(map(type, values))
        said = _texts(column.type if column else "text", values, types)
        if said is None or (column and column.name in limited and max(map(len, said)) > SAFE_CHARS):
            return None
        texts.append(said)
        nulls += values.count(None) if NoneType in types else 0
    return _Columns(texts, nulls)


def _apiece(table: Table, rows: Sequence[Row]) -> Iterable[Sequence[Json]]:
    """The values of each column that rows carry under its name."""
    if table.whole is not None:
        try:
            return zip(*map(table.whole, rows), strict=True)
        except KeyError:  # a row lacks some
            pass
    return [[row.get(name) for row in rows] for name in table.names]


def _texts(type_: str, values: Sequence[Json], types: set[type]) -> Sequence[str] | None:
    """A column's values as texts; None where one is of another type."""
    if types == {NoneType}:
        return [NULL] * len(values)
    if types - {NoneType} - _TYPES[type_]:
        return None
    if type_ == "text":
        return [NULL if value is None else value for value in values] if NoneType in types else values  # type: ignore[misc, return-value]
    if type_ == "bool":
        return [NULL if value is None else "1" if value else "0" for value in values]
    if type_ == "int" and max(abs(value) for value in values if value is not None) > _SAFE_INT:  # type: ignore[arg-type]
        return None
    said = [NULL if value is None else repr(value) for value in values] if NoneType in types else [*map(repr, values)]
    return None if type_ == "real" and "nan" in said else said


@cache
def copy(table: Table) -> str:
    """Takes `lines_of`."""
    names = sql.quoted(codec.column_names(table))
    return f"COPY \"{table.name}\" ({names}) FROM STDIN (NULL '{NULL}')"


@cache
def _apart(table: Table) -> str:
    """Takes the columns of `texts_of` apart on the server."""
    columns = [table.by_name.get(name) for name in codec.column_names(table)]
    types = [ARRAYS[column.type] if column else "text[]" for column in columns]
    arrays = ", ".join(f"string_to_array(%s, '{UNIT}', '{NULL}')::{type_}" for type_ in types)
    return f"unnest({arrays})"


@cache
def upsert(table: Table) -> str:
    """`add` as one statement."""
    return sql.upsert(table, POSTGRES, source=f"SELECT * FROM {_apart(table)}")


@cache
def swap(table: Table) -> str:
    """`swap` of known rows as one statement."""
    names = codec.column_names(table)
    changes = ", ".join(f'"{name}" = said."{name}"' + (" + 1" if name == "revision" else "") for name in names)
    same = " AND ".join(f'held."{name}" = said."{name}"' for name in (*table.key, "revision"))
    return (
        f'UPDATE "{table.name}" AS held SET {changes} FROM {_apart(table)} AS said ({sql.quoted(names)}) WHERE {same}'
    )
