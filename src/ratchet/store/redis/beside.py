"""A store whose searches ask Redis first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ratchet.errors import RedisError
from ratchet.records import Json, Row, text_in
from ratchet.store.redis.naming import NAME, place_of_keys

if TYPE_CHECKING:
    from ratchet.ports import Progress, Store, Where
    from ratchet.store.redis.longterm import Algorithm, RedisState
    from ratchet.store.redis.tiers import RedisTiers


class StoreBesideRedis:
    """`ports.Store` in SQL, which is the truth, with `match` by the vectors that Redis holds of it.

    Redis names the nearest rows; they are read, filtered, weighed and put in order here, as without it. Where it is
    away, behind, short of a row, or knows too few rows that meet the conditions, and where these are about more than
    the state of a row, the store's own search answers: Redis only estimates, so that nothing is known is said by the
    store alone.
    """

    def __init__(self, store: Store, tiers: RedisTiers) -> None:
        self.store = store
        self.tiers = tiers
        # Redis has no part in these.
        self.transaction, self.get, self.find, self.sum_by = store.transaction, store.get, store.find, store.sum_by
        self.add, self.having, self.spread, self.changes = store.add, store.having, store.spread, store.changes

    def match(
        self, table: str, weights: Mapping[str, float], where: Where | None = None, *, limit: int = 64
    ) -> list[Row]:
        near = None if {*(where or ())} - {"state"} else self.tiers.near(self.store, table, weights, limit)
        if near:
            ids: list[Json] = [*near]
            rows = self.store.find(table, {**(where or {}), "id": ("in", ids)}).rows
            if len(rows) >= min(limit, len(near)) and (found := _weighed(rows, weights)[:limit]):
                return found
        return self.store.match(table, weights, where, limit=limit)

    def catch_up(self) -> None:
        """Bring to Redis what it lacks, for a quarter of a second at most; nothing where it is away. Raises
        StoreError."""
        self.tiers.refresh(self.store)

    def forget(self) -> None:
        """Take out of Redis at once what is gone from the store. Raises RedisError where it cannot be said to be gone
        there, StoreError."""
        self.tiers.forget(self.store)

    def rebuild(self, progress: Progress, *, algorithm: Algorithm | None = None) -> list[RedisState]:
        """Take out all that Redis holds of this store and bring it anew; `algorithm` stays chosen for later. Raises
        RedisError, StoreError."""
        return self.tiers.rebuild(self.store, progress, algorithm=algorithm)

    def states(self) -> list[RedisState]:
        """Tell how much of what is searched Redis holds. Raises RedisError, StoreError."""
        return self.tiers.states(self.store)

    # -- the store's verbs -----------------------------------------------------------------------------------------

    def insert_new(self, table: str, rows: Sequence[Row]) -> list[int]:
        self.tiers.written(table)
        return self.store.insert_new(table, rows)

    def swap(self, table: str, key: str | tuple[str, ...], revision: int, row: Row) -> bool:
        self.tiers.written(table)
        return self.store.swap(table, key, revision, row)

    def swap_many(self, table: str, rows: Sequence[Row]) -> int:
        self.tiers.written(table)
        return self.store.swap_many(table, rows)

    def delete_before(self, table: str, column: str, value: float) -> int:
        count = self.store.delete_before(table, column, value)
        if count:
            self.tiers.deleted(table)
        return count

    def delete(self, table: str, where: Where) -> int:
        count = self.store.delete(table, where)
        if count:
            self.tiers.deleted(table)
        return count

    def derive(self) -> None:
        self.tiers.written("patterns")
        self.store.derive()

    def compact(self) -> None:
        self.store.compact()
        self.catch_up()  # what is gone here stands there no longer

    def close(self) -> None:
        self.store.close()
        self.tiers.close()


def taken_out(store: Store) -> str:
    """Take out at once what is gone from a store of what stands beside it; return why that cannot be said to be done,
    else "". Raises StoreError."""
    if not isinstance(store, StoreBesideRedis):
        name = text_in(store.get("meta", NAME) or {}, "id")  # it was copied to a Redis, which keeps what it was told
        return name and (
            f"the Redis that this store was copied to, in keys that begin by {place_of_keys(name)}: set"
            " RATCHET_REDIS_URL, which is not set now, and run `ratchet services rebuild`"
        )
    try:
        store.forget()
    except RedisError as error:
        return str(error)
    return ""


def _weighed(rows: Sequence[Row], weights: Mapping[str, float]) -> list[Row]:
    """The rows that have any of the terms, by the sum of their weights: what a search of the store gives."""
    scored = [(sum([weights.get(term, 0.0) for term in text_in(row, "terms").split()]), row) for row in rows]
    scored.sort(key=lambda each: (-each[0], str(each[1]["id"])))
    return [row for score, row in scored if score > 0]
