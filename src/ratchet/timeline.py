"""What happened, as people read it: the events of the store. No loop reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ratchet.errors import NotFound
from ratchet.paging import rows_of
from ratchet.ports import Page, Store
from ratchet.records import Json, Row

MOST = 5_000
"""Events of one look."""


class Timeline:
    """The events of one store, oldest first."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def since(self, at: float) -> Sequence[Row]:
        """Events that are dated `at` (Unix seconds) or later: the newest of them, in order."""
        rows = self._store().find("events", {"at": (">=", at)}, order=("-at", "-id"), limit=MOST).rows
        return rows[::-1]

    def of(self, records: Sequence[str]) -> list[Row]:
        """Everything that happened to some records, in order."""
        asked: dict[str, Json | tuple[str, Json]] = {"record": ("in", [*records])}
        return self._store().find("events", asked, order=("at", "id")).rows

    def after(self, event_id: str) -> Iterator[Row]:
        """All that comes after this event, in order, read as it is iterated. Raises NotFound for an unknown event."""
        store = self._store()
        held = store.get("events", event_id)
        if held is None:
            raise NotFound(f"no event {event_id}; it was cleared away, or is of another store")
        place = (held["at"], event_id)
        rows = rows_of(store, "events", {"at": (">=", held["at"])}, order=("at", "id"))
        return (row for row in rows if (row["at"], row["id"]) > place)

    def page(self, *, noun: str | None = None, limit: int, cursor: str | None = None) -> Page:
        """Events, newest first; of one noun."""
        where: dict[str, Json | tuple[str, Json]] = {} if noun is None else {"noun": noun}
        return self._store().find("events", where, order=("-at", "-id"), limit=limit, cursor=cursor)
