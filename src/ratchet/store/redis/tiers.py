"""The three tiers over one store: brought up to date, asked, and made anew."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import RedisError, StoreError
from ratchet.ids import hex_of, uuid7
from ratchet.records import Row, text_in, whole_in
from ratchet.store.address import masked
from ratchet.store.redis.longterm import INDEXED, Algorithm, RedisState, Vectors
from ratchet.store.redis.naming import NAME, place_of_keys
from ratchet.store.redis.server import ANSWER_S, RedisServer
from ratchet.store.redis.working import EpisodicMemory, WorkingMemory
from ratchet.store.retention import FORGOTTEN, RETENTION

if TYPE_CHECKING:
    from ratchet.ports import Progress, Store

log = logging.getLogger(__name__)

CHECKED_EVERY_S = 2.0
"""How old what another process wrote may be before it is found here, as for the copy that hooks read."""
PATIENCE_S = 0.25
"""How long a reading operation brings what is missing; the rest waits for the next."""
FORGETS_S = 30.0
"""How long taking out what is forgotten may take."""
STALLED_S = 60.0
"""How long a rebuild goes on in which no row comes in. One that moves takes as long as it takes."""
_TOLD_EVERY_S = 5.0  # of a rebuild: each look at what is missing reads the ids of all rows
_SHOWN = ("outcomes", "events", "session_tallies")
"""Tables of whose rows the texts stand in Redis."""


class RedisTiers:
    """The copies of one store in Redis. Every reading operation lets it catch up. A server that is away raises nothing:
    the store answers alone then."""

    def __init__(self, url: str, *, home: Path | None = None, file: Path | None = None) -> None:
        """`file` is that of the store, where it is one: a copy of it is another store, and gets a name of its own."""
        self._file = file
        note = home / f"redis-{hex_of(masked(url))[:12]}.rest" if home is not None else None
        self.server = RedisServer(url, note=note)
        self._lock = threading.Lock()
        self._checked_at = -inf
        self._place = ""
        self._vectors: dict[str, Vectors] = {}
        self._dirty = True
        self._gone = False

    def refresh(self, store: Store, *, within_s: float = PATIENCE_S) -> None:
        """Bring what the store has and Redis has not, for so long at most. Asked again within two seconds it does
        nothing, unless this process wrote meanwhile. Raises StoreError."""
        due = self._dirty or time.monotonic() >= self._checked_at + CHECKED_EVERY_S
        if not due or self.server.resting or not self._lock.acquire(blocking=False):
            return
        try:
            with self.server.patient(ANSWER_S):
                self._catch_up(store, until=time.monotonic() + within_s)
        except RedisError:
            self._forget()
        finally:
            self._checked_at = time.monotonic()
            self._lock.release()

    def rebuild(self, store: Store, progress: Progress, *, algorithm: Algorithm | None = None) -> list[RedisState]:
        """Take out all that Redis holds of this store and bring it anew. Raises RedisError, StoreError."""
        with self._lock:
            self.server.wake()
            self.server.drop(f"{self._placed(store)}:*")
            self._forget()
            most, moved_at = -1, time.monotonic()
            while not self._catch_up(store, until=time.monotonic() + _TOLD_EVERY_S, algorithm=algorithm):
                done = self._states(store)
                held, rows = sum(each.held for each in done), sum(each.rows for each in done)
                progress(held, rows, "rows")
                if held > most:
                    most, moved_at = held, time.monotonic()
                elif time.monotonic() > moved_at + STALLED_S:
                    raise RedisError(
                        f"Redis took no row for {STALLED_S:g} s: it holds {held:,} of {rows:,}. These stay,"
                        " and the next commands that read bring more; look at its memory and its log"
                    )
            return self._states(store)

    def forget(self, store: Store) -> None:
        """Take out all texts, and the vectors of rows that are gone, at once, also of the server's own log on the disk:
        what may stay is brought by a later call. Raises RedisError where that cannot be said to be done, StoreError."""
        with self._lock:
            self.server.wake()
            self._dirty = True
            with self.server.patient(FORGETS_S):
                self._take_out(store, self._placed(store))
                for each in self._tables(store):
                    each.take_out(store)
                self.server.rewrite()

    def states(self, store: Store) -> list[RedisState]:
        """Tell how much of what is searched Redis holds. Raises RedisError, StoreError."""
        with self._lock:
            self.server.wake()
            with self.server.patient(2 * ANSWER_S):
                self._catch_up(store, until=time.monotonic() + PATIENCE_S)
                return self._states(store)

    def near(self, store: Store, table: str, weights: Mapping[str, float], limit: int) -> list[str] | None:
        """Ids of the rows nearest to these features; None where the store must be asked instead. Raises StoreError."""
        if table not in {each.table for each in INDEXED}:
            return None
        if time.monotonic() >= self._checked_at + CHECKED_EVERY_S:
            self.refresh(store, within_s=0.0)
        held = self._vectors.get(table)
        if held is None or not held.ready:
            return None
        try:
            return held.near(weights, limit)
        except RedisError:
            return None

    def written(self, table: str) -> None:
        """Note that this process wrote to a table: Redis is not asked about it before it caught up."""
        held = self._vectors.get(table)
        if held is not None:
            held.ready = False
        self._dirty = True

    def deleted(self, table: str) -> None:
        """Note that rows of a table are gone: what Redis shows of them goes at the next call, without delay."""
        self.written(table)
        self._gone = self._gone or table in _SHOWN

    def close(self) -> None:
        self.server.close()

    def _catch_up(self, store: Store, *, until: float, algorithm: Algorithm | None = None) -> bool:
        place = self._placed(store)
        self._dirty = False
        now = time.time()
        marks = _marks(store)
        if self._gone or self.server.ask(lambda redis: redis.get(f"{place}:forgotten")) != marks:
            self._take_out(store, place)
        WorkingMemory(self.server, place).catch_up(store, now=now)
        EpisodicMemory(self.server, place).catch_up(store, now=now)
        if _marks(store) != marks:  # somebody forgot what was just read here
            self._take_out(store, place)
        found = [each.catch_up(store, until=until, algorithm=algorithm) for each in self._tables(store)]
        return all(found)

    def _tables(self, store: Store) -> Iterable[Vectors]:
        if not self._vectors:
            place = self._placed(store)
            self._vectors = {each.table: Vectors(self.server, each, place) for each in INDEXED}
        return self._vectors.values()

    def _placed(self, store: Store) -> str:
        """The beginning of all keys of this store: several may share one server."""
        while not self._place:
            held = store.get("meta", NAME)
            if held is None:
                try:
                    store.swap("meta", NAME, 0, {"id": uuid7()[-12:], **(place_of(self._file) or {})})
                except StoreError as error:  # read-only: it is searched without
                    raise RedisError(f"the store has no name in Redis yet: {error}") from error
                continue
            if not is_copy(held, place_of(self._file)) or not self._renamed(store, held):
                self._place = place_of_keys(text_in(held, "id"))
        return self._place

    def _renamed(self, store: Store, held: Row) -> bool:
        """Give a copied store a name of its own in Redis, said once; False where it cannot be written. Raises
        RedisError where two stores would write under one name."""
        made: Row = {"id": uuid7()[-12:], **(place_of(self._file) or {})}
        try:
            if store.swap("meta", NAME, whole_in(held, "revision"), made):
                log.warning("%s is a copy: in Redis it has a name of its own from now on", self._file)
        except StoreError as error:
            raise RedisError(f"the store is a copy and has no name of its own in Redis yet: {error}") from error
        return True

    def _take_out(self, store: Store, place: str) -> None:
        """Take out all texts; what may stay is brought again."""
        self._gone = True  # until it is done
        marks = _marks(store)
        with self.server.patient(FORGETS_S):
            for kind in ("session:*", "trace:*", "sessions", "events*"):
                self.server.drop(f"{place}:{kind}")
            self.server.ask(lambda redis: redis.set(f"{place}:forgotten", marks))
        self._gone = False

    def _states(self, store: Store) -> list[RedisState]:
        return [each.state(store) for each in self._vectors.values()]

    def _forget(self) -> None:
        for each in self._vectors.values():
            each.ready = False
        self._dirty = True


def place_of(file: Path | None) -> Row | None:
    """The place of a store's file: its device, its number there, its path; None where it has none."""
    if file is None:
        return None
    try:
        status = file.stat()
    except OSError:
        return None
    return {"device": str(status.st_dev), "inode": str(status.st_ino), "path": str(file.resolve())}


def is_copy(held: Row, place: Row | None) -> bool:
    """Tell whether a name in Redis was given to another file. One that was moved keeps its number; a device may get
    another one at a restart. Names of before places were noted are believed."""
    if place is None or "inode" not in held:
        return False
    elsewhere = held["device"] != place["device"] and held["path"] != place["path"]
    return held["inode"] != place["inode"] or elsewhere


def _marks(store: Store) -> bytes:
    """A text that differs whenever anything was forgotten."""
    return repr([whole_in(store.get("meta", name) or {}, "revision") for name in (FORGOTTEN, RETENTION)]).encode()
