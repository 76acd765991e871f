"""Reads a long table piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ratchet.ports import Store, Where
    from ratchet.records import Row

PAGE_ROWS = 1_000  # rows read at once while iterating


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
