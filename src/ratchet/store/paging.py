"""Reads a long table piece by piece."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ratchet.ports import Store, Where
    from ratchet.records import Json, Row

PAGE_ROWS = 1_000  # rows read at once while iterating
_VALUES = 500  # of one condition; SQLite's oldest limit is 999


def rows_of(store: Store, table: str, where: Where, *, order: Sequence[str], limit: int | None = None) -> Iterator[Row]:
    """The rows of a query, at most `limit`, read as they are iterated. Raises StoreError."""
    cursor: str | None = None
    left = limit
    while left is None or left > 0:
        asked = PAGE_ROWS if left is None else min(left, PAGE_ROWS)
        page = store.find(table, where, order=order, limit=asked, cursor=cursor)
        yield from page.rows
        if page.cursor is None:
            return
        cursor = page.cursor
        left = None if left is None else left - len(page.rows)


def in_parts(values: Collection[str]) -> Iterator[list[Json]]:
    """Yield values in order, as many at a time as one condition takes."""
    ordered = sorted(values)
    for start in range(0, len(ordered), _VALUES):
        yield [*ordered[start : start + _VALUES]]


def rows_among(store: Store, table: str, column: str, values: Collection[str]) -> Iterator[Row]:
    """The rows whose column holds one of these values, however many those are. Raises StoreError."""
    for some in in_parts(values):
        yield from store.find(table, {column: ("in", some)}).rows
