"""Timeline, as people read it: the events of the store. No loop reads them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence

from ratchet.errors import NotFound
from ratchet.failures.redaction.text import clean
from ratchet.ports import Store
from ratchet.records import Json, Page, Row
from ratchet.store.paging import rows_of

MOST = 5_000
"""Events of one look."""


def note(store: Store, noun: str, record: str, verb: str, at: float, **details: Json) -> None:
    """Add one line to the timeline; call it in the transaction of what it tells."""
    # Ids that sort by the moment of writing: several events may share one `at`.
    event: Row = {
        "id": f"e{time.time_ns():016x}{os.urandom(4).hex()}",
        "noun": noun,
        "record": record,
        "verb": verb,
        "at": at,
    }
    said = {name: clean(value) if isinstance(value, str) else value for name, value in details.items()}
    store.insert_new("events", [{**event, **{name: value for name, value in said.items() if value not in ("", None)}}])


def events(store: Store, record: str) -> list[Row]:
    """List what happened to one record, in order."""
    return store.find("events", {"record": record}, order=("at", "id")).rows


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
