"""Between a row (a plain dict) and the values of a table's columns, the same for every database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from ratchet.errors import StoreError, UsageError
from ratchet.records import Json, Row, whole_in

if TYPE_CHECKING:
    from ratchet.store.declaring import Table

Value: TypeAlias = "str | int | float | bytes | None"

_INT64_MAX = 2**63 - 1


def _encoder() -> Callable[[Row], str]:
    """Compact JSON in ASCII, so that a lone surrogate from a foreign file survives as the escape it came as.

    `json` builds a new C encoder at every call, which costs as much as encoding a row (0.8 of 1.6 us): build it once.
    """
    plain = json.JSONEncoder(separators=(",", ":"), check_circular=False)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # an interpreter without the C module
        return plain.encode
    pieces = make(None, plain.default, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True)
    return lambda row: "".join(pieces(row, 0))


encode = _encoder()
"""A dict as the text of a body."""


def column_names(table: Table) -> tuple[str, ...]:
    """All columns in the order of `values_of`."""
    body = ("body",) if table.body else ()
    return (*table.names, *(name for _, fields in table.copies for name in fields), *body)


def read_names(table: Table) -> tuple[str, ...]:
    """The columns that `row_of` wants."""
    return (*table.names, *(("body",) if table.body else ()))


def values_of(table: Table, row: Row) -> list[Json]:
    """One row as values. Absent fields are NULL; fields without a column go into the body.

    Raises UsageError for an unknown field of a table that has no body.
    """
    if table.whole is not None and len(row) == len(table.names):
        try:
            return [*table.whole(row)]
        except KeyError:  # it has another field
            pass
    values: list[Json] = [*map(row.get, table.names)]
    for name, make in table.made.items():
        values[table.names.index(name)] = make(row)
    for parent, fields in table.copies:
        nested = row.get(parent)
        values += map(nested.get, fields) if isinstance(nested, dict) else (None,) * len(fields)
    known = table.known
    rest = {name: value for name, value in row.items() if name not in known}
    if table.body:
        values.append(encode(rest) if rest else None)
    elif rest:
        raise UsageError(f"table {table.name} has no field {', '.join(sorted(rest))}; it has {', '.join(table.names)}")
    return values


def storable(table: Table, values: Sequence[Json]) -> list[Value]:
    """Values that no database refuses: lone surrogates replaced, integers beyond 64 bits clamped, NaN as NULL.

    The slow path, taken when a batch was refused. Raises UsageError naming the column whose value is of no column type.
    """
    fit: list[Value] = []
    for name, value in zip(column_names(table), values, strict=True):
        try:
            fit.append(plain(value))
        except UsageError as error:
            raise UsageError(f"table {table.name}, column {name}: {error}") from None
    return fit


def plain(value: Json) -> Value:
    """One value as `storable` makes it. Raises UsageError for one of no column type."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int):
        return max(-_INT64_MAX, min(_INT64_MAX, int(value)))
    if value is None or isinstance(value, float):
        return value
    raise UsageError(f"a {type(value).__name__} cannot be stored there; give a plain value")


def row_of(table: Table, values: Sequence[Value]) -> Row:
    """The row that `values_of` took apart; NULL columns are absent."""
    row: Row = {name: value for name, value in zip(table.names, values, strict=False) if value is not None}  # type: ignore[misc]
    for name in table.booleans:
        if name in row:
            row[name] = bool(row[name])
    if table.body:
        body = values[-1]
        if body is not None:
            row.update(_decode(table, str(body)))
    return row


@cache
def rows_of(names: tuple[str, ...]) -> Callable[[Iterable[Sequence[Value]]], list[Row]]:
    """Make rows of the columns of a query: a dict that is written out takes a quarter of one that is zipped."""
    places = [f"v{at}" for at in range(len(names))]
    fields = ", ".join(f"{name!r}: {place}" for name, place in zip(names, places, strict=True))
    made: Callable[[Iterable[Sequence[Value]]], list[Row]] = eval(  # noqa: S307  (of places and quoted names alone)
        f"lambda found: [{{{fields}}} for {', '.join(places)}, in found]"
    )
    return made


def key_values(table: Table, key: str | tuple[str, ...]) -> tuple[str, ...]:
    """A row's key as its columns' values. Raises UsageError for one of another number of columns."""
    values = (key,) if isinstance(key, str) else tuple(key)
    if len(values) != len(table.key):
        raise UsageError(f"a row of table {table.name} is named by ({', '.join(table.key)}), got {len(values)} of them")
    return values


def key_of(table: Table, row: Row) -> tuple[str, ...]:
    """The key that a row bears."""
    return tuple(str(row[name]) for name in table.key)


def revision_of(row: Row) -> int:
    """The revision that a row was read at; 0 for a new one."""
    return whole_in(row, "revision")


def swapped(table: Table, key: str | tuple[str, ...], revision: int, row: Row) -> Row:
    """A row as a swap at `revision` writes it. Raises UsageError for a table whose rows are never changed."""
    if not table.swappable:
        raise UsageError(f"table {table.name} has no revision; its rows are never changed")
    return {**row, **dict(zip(table.key, key_values(table, key), strict=True)), "revision": revision + 1}


_decoded = json.JSONDecoder().raw_decode
"""`json.loads` without its look for blanks around a body, which has none: a third less time."""


def _decode(table: Table, body: str) -> Row:
    try:
        found, end = _decoded(body)
        if end != len(body):
            raise ValueError(f"it goes on at {end}")
    except ValueError as error:
        raise StoreError(
            f"table {table.name}: a row's body is not JSON ({error}); the store was written to by "
            "something else; restore the file from a backup"
        ) from error
    return found if isinstance(found, dict) else {}
