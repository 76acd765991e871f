"""The three tiers over one store: brought up to date, asked, and made anew."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from ratchet.errors import RedisError, StoreError
from ratchet.ids import uuid7
from ratchet.records import text_in, whole_in
from ratchet.store.redis.longterm import INDEXED, Algorithm, RedisState, Vectors
from ratchet.store.redis.server import RedisServer
from ratchet.store.redis.working import EpisodicMemory, WorkingMemory
from ratchet.store.retention import FORGOTTEN, RETENTION

if TYPE_CHECKING:
    from redis import Redis

    from ratchet.ports import Progress, Store

CHECKED_EVERY_S = 2.0
"""How old what another process wrote may be before it is found here, as for the copy that hooks read."""
PATIENCE_S = 0.25
"""How long a reading operation brings what is missing; the rest waits for the next."""
_TOLD_EVERY_S = 5.0  # of a rebuild: each look at what is missing reads the ids of all rows
_NAME = "redis"
_DROPPED = 500  # keys at once


class RedisTiers:
    """The copies of one store in Redis. Every reading operation lets it catch up. A server that is away raises nothing:
    the store answers alone then."""

    def __init__(self, url: str) -> None:
        self.server = RedisServer(url)
        self._lock = threading.Lock()
        self._checked_at = -inf
        self._place = ""
        self._vectors: dict[str, Vectors] = {}
        self._dirty = True

    def refresh(self, store: Store, *, within_s: float = PATIENCE_S) -> None:
        """Bring what the store has and Redis has not, for so long at most. Asked again within two seconds it does
        nothing, unless this process wrote meanwhile. Raises StoreError."""
        due = self._dirty or time.monotonic() >= self._checked_at + CHECKED_EVERY_S
        if not due or self.server.resting or not self._lock.acquire(blocking=False):
            return
        try:
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
            self.server.ask(partial(_drop, f"{self._placed(store)}:*"))
            self._forget()
            while not self._catch_up(store, until=time.monotonic() + _TOLD_EVERY_S, algorithm=algorithm):
                done = self._states(store)
                progress(sum(each.held for each in done), sum(each.rows for each in done), "rows")
            return self._states(store)

    def states(self, store: Store) -> list[RedisState]:
        """Tell how much of what is searched Redis holds. Raises RedisError, StoreError."""
        with self._lock:
            self.server.wake()
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

    def close(self) -> None:
        self.server.close()

    def _catch_up(self, store: Store, *, until: float, algorithm: Algorithm | None = None) -> bool:
        place = self._placed(store)
        if not self._vectors:
            self._vectors = {each.table: Vectors(self.server, each, place) for each in INDEXED}
        self._dirty = False
        now = time.time()
        self._heed_forgetting(store, place)
        WorkingMemory(self.server, place).catch_up(store, now=now)
        EpisodicMemory(self.server, place).catch_up(store, now=now)
        found = [each.catch_up(store, until=until, algorithm=algorithm) for each in self._vectors.values()]
        return all(found)

    def _placed(self, store: Store) -> str:
        """The beginning of all keys of this store: several may share one server."""
        while not self._place:
            held = store.get("meta", _NAME)
            if held is None:
                try:
                    store.swap("meta", _NAME, 0, {"id": uuid7()[-12:]})
                except StoreError as error:  # read-only: it is searched without
                    raise RedisError(f"the store has no name in Redis yet: {error}") from error
                continue
            self._place = f"ratchet:{text_in(held, 'id')}"
        return self._place

    def _heed_forgetting(self, store: Store, place: str) -> None:
        """Take out all texts where anything was forgotten since they were brought; what may stay is brought again."""
        marks = [whole_in(store.get("meta", name) or {}, "revision") for name in (FORGOTTEN, RETENTION)]
        said, key = repr(marks).encode(), f"{place}:forgotten"
        held = self.server.ask(lambda redis: redis.get(key))
        if held == said:
            return
        for kind in ("session:*", "trace:*", "sessions", "events*"):
            self.server.ask(partial(_drop, f"{place}:{kind}"))
        self.server.ask(lambda redis: redis.set(key, said))

    def _states(self, store: Store) -> list[RedisState]:
        return [each.state(store) for each in self._vectors.values()]

    def _forget(self) -> None:
        for each in self._vectors.values():
            each.ready = False
        self._dirty = True


def _drop(pattern: str, redis: Redis) -> None:
    keys: list[bytes] = []
    for key in redis.scan_iter(match=pattern, count=1_000):
        keys.append(key)
        if len(keys) == _DROPPED:
            redis.unlink(*keys)
            keys.clear()
    if keys:
        redis.unlink(*keys)
