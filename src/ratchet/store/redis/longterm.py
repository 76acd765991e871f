"""Long-term memory in Redis: vectors of what the store remembers, searched through RediSearch by redisvl.

It holds ids and vectors, and no text. A search names candidates; their rows are read from the store, so that what was
retired or forgotten there is never shown from here.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, nan
from typing import TYPE_CHECKING, Literal, cast

from ratchet.errors import RedisError
from ratchet.records import Json, Row, number_in, text_in, whole_in
from ratchet.store.redis.vectors import SIZE, vector_of

if TYPE_CHECKING:
    from redis import Redis
    from redisvl.index import SearchIndex

    from ratchet.ports import Store
    from ratchet.store.redis.server import RedisServer

Algorithm = Literal["flat", "hnsw"]

EXACT = 10_000
"""Rows up to which every vector is compared (FLAT: 1 ms at 10,000, 10 at 100,000); beyond, a graph is asked (HNSW)."""
SEARCH_S = 1.0
"""How long a search may take: the store's own has the answer by then."""
SPARE = 32
"""Nearest vectors that are looked at beside those asked for: a hashed vector is an estimate, and some are retired."""
_SEARCHED = 128  # of the graph, for each search: of 64 it missed 4 % more
_BATCH = 500  # rows of the store at once
_WRITTEN = 50  # of these in one transaction: a graph takes 1 ms for each, in which the server answers nobody
_BUSY = inf
_NO_FEATURES = array("f", [1.0, *[0.0] * (SIZE - 1)]).tobytes()
_OVERLAP_S = 60.0  # clocks of the machines that write to one store differ, and transactions take time


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """A table whose rows have vectors of their `terms`; `moved` names the column that tells when one was written."""

    table: str
    moved: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisState:
    """One table's vectors: how many rows the store has and Redis, by which algorithm they are searched, and whether
    they are asked (else the store is)."""

    table: str
    rows: int
    held: int
    algorithm: Algorithm
    ready: bool


INDEXED = (Indexed(table="lessons", moved="updated_at"), Indexed(table="patterns", moved="created_at"))


class Vectors:
    """The vectors of one table's rows. `place` is the beginning of all its keys, as `name` gives it."""

    def __init__(self, server: RedisServer, indexed: Indexed, place: str) -> None:
        self._server = server
        self._indexed = indexed
        self._name = f"{place}:{indexed.table}"
        self._state = f"{self._name}:state"
        self._held = f"{self._name}:ids"
        self._index: SearchIndex | None = None
        self._algorithm: Algorithm = "flat"
        self._rows = 0
        self._keys = 0  # of the server, when it was last asked: while none goes no row does
        self.ready = False
        """Whether it held all that the store had when it was last looked at, and nobody here wrote since."""

    def near(self, weights: Mapping[str, float], limit: int) -> list[str]:
        """Ids of the rows that are nearest to these features. Raises RedisError, also where the server holds less than
        it did: it answers for all rows or for none."""
        index, vector = self._index, vector_of(weights)
        if index is None or vector is None:
            raise RedisError("there is nothing to compare")
        from redisvl.query import VectorQuery

        wanted = limit + SPARE
        query = VectorQuery(
            vector=vector,
            vector_field_name="vector",
            num_results=wanted,
            return_score=False,
            ef_runtime=max(wanted, _SEARCHED) if self._algorithm == "hnsw" else None,
        )

        def asked(redis: Redis) -> tuple[list[str], float]:
            found = index.query(query.no_content())
            keys, before = cast(int, redis.dbsize()), self._keys
            self._keys = keys
            held = _searchable(index) if keys < before else self._rows  # which takes three times as long as a search
            return [str(each["id"]).removeprefix(f"{self._name}:row:") for each in found], held

        try:
            found, held = self._server.ask(asked, within_s=SEARCH_S)
        except RedisError:
            self.ready = False
            raise
        if len({*found}) < min(wanted, self._rows) or not self._rows <= held < _BUSY:
            self.ready = False
            raise RedisError(f"{self._server.shown} holds fewer rows than a moment ago")
        return found

    def catch_up(self, store: Store, *, until: float, algorithm: Algorithm | None = None) -> bool:
        """Bring what changed, until this moment of the monotonic clock; tell whether it is `ready` now. What is missing
        is brought by a later call. Raises RedisError, StoreError."""
        self.ready = False
        known = self._known()
        mark, count, moved = self._mark(store)
        index = self._made(known, count, algorithm)
        held = self._server.ask(self._count)
        since = float(known.get("moved", "nan"))
        # The server made room, somebody deleted keys, or nothing true is known of what was brought.
        if self._server.ask(lambda _: _searchable(index)) < held or not (since <= moved or "begun" in known):
            self._begin(moved)
            known, held, since = {"begun": repr(moved)}, 0, nan
        if known.get("mark") != mark or held != count or "begun" in known:
            if since <= moved and not self._brought(store, (">=", since - _OVERLAP_S), until):
                return False
            if self._server.ask(self._count) != count and not self._reconciled(store, until):
                return False
            begun = float(known.get("begun", "nan"))
            if begun < moved and not self._brought(store, (">", begun), until):
                return False
            fresh = {"mark": mark, "moved": repr(moved)}
            self._server.ask(partial(self._note, fresh))
        self._rows = count
        self._keys = self._server.ask(lambda redis: cast(int, redis.dbsize()))
        self.ready = count <= self._server.ask(lambda _: _searchable(index)) < _BUSY
        return self.ready

    def state(self, store: Store) -> RedisState:
        """Tell how much of the table Redis holds. Raises RedisError, StoreError."""
        held = self._server.ask(self._count)
        _, count, _ = self._mark(store)
        table = self._indexed.table
        return RedisState(table=table, rows=count, held=held, algorithm=self._algorithm, ready=self.ready)

    def _known(self) -> dict[str, str]:
        def asked(redis: Redis) -> dict[str, str]:
            held = cast("dict[bytes, bytes]", redis.hgetall(self._state))
            known = {key.decode(): value.decode() for key, value in held.items()}
            for name in {"moved", "begun"} & {*known}:
                float(known[name])
            return known

        return self._server.ask(asked)

    def _count(self, redis: Redis) -> int:
        return int(cast(int, redis.scard(self._held)))

    def _mark(self, store: Store) -> tuple[str, int, float]:
        """A text that differs whenever a row does, the number of rows, and when the last was written."""
        newest = f"max:{self._indexed.moved}"
        found = store.sum_by(self._indexed.table, (), ("count:*", "revision", newest))[0]
        count = whole_in(found, "count:*")
        return f"{SIZE} {count} {found['revision']} {found[newest]}", count, number_in(found, newest)

    def _made(self, known: Mapping[str, str], count: int, asked: Algorithm | None) -> SearchIndex:
        """The index, made where it is missing or of the other kind: of what stands here already, too."""
        chosen = asked or known.get("asked", "")
        graph = chosen == "hnsw" or (not chosen and (count > EXACT or known.get("algorithm") == "hnsw"))
        wanted: Algorithm = "hnsw" if graph else "flat"
        index = self._index if self._index is not None and self._algorithm == wanted else self._of(wanted)
        self._index, self._algorithm = index, wanted
        if known.get("algorithm") != wanted or not self._server.ask(lambda _: index.exists()):
            self._server.ask(lambda _: index.create(overwrite=True, drop=False))
            self._server.ask(lambda redis: redis.hset(self._state, "algorithm", wanted))
        if asked:
            self._server.ask(lambda redis: redis.hset(self._state, "asked", asked))
        return index

    def _of(self, algorithm: Algorithm) -> SearchIndex:
        from redisvl.index import SearchIndex

        attrs = {"dims": SIZE, "distance_metric": "cosine", "algorithm": algorithm, "datatype": "float32"}
        schema = {
            "index": {"name": self._name, "prefix": f"{self._name}:row"},
            "fields": [{"name": "id", "type": "tag"}, {"name": "vector", "type": "vector", "attrs": attrs}],
        }
        return SearchIndex.from_dict(schema, redis_client=self._server.client)

    def _begin(self, moved: float) -> None:
        """Begin anew: with nothing, and a note of when the last row had been written by then."""
        self._server.drop(f"{self._name}:row:*")

        def begin(redis: Redis) -> object:
            piped = redis.pipeline()
            piped.delete(self._held)
            piped.hdel(self._state, "mark", "moved")
            piped.hset(self._state, "begun", repr(moved))
            return piped.execute()

        self._server.ask(begin)

    def _note(self, fresh: Mapping[str, str], redis: Redis) -> object:
        piped = redis.pipeline()
        piped.hset(self._state, mapping=fresh)
        piped.hdel(self._state, "begun")
        return piped.execute()

    def _brought(self, store: Store, moved: tuple[str, float], until: float) -> bool:
        """Bring the rows that were written then; tell whether there was time for all."""
        rows = store.find(self._indexed.table, {self._indexed.moved: moved}).rows
        return self._loaded(_batches(rows), until)

    def _reconciled(self, store: Store, until: float) -> bool:
        """Bring every row that is missing here, and take out those that the store no longer has."""
        there, here = self.take_out(store)
        missing = sorted(there - here)
        pieces = (missing[at : at + _BATCH] for at in range(0, len(missing), _BATCH))
        asked: Iterator[list[Json]] = ([*piece] for piece in pieces)
        rows = (store.find(self._indexed.table, {"id": ("in", ids)}).rows for ids in asked)
        return self._loaded(rows, until)

    def take_out(self, store: Store) -> tuple[set[str], set[str]]:
        """Take out the rows that the store no longer has; return the ids of those there and of those that were here.
        Raises RedisError, StoreError."""
        there = {str(row["id"]) for row in store.sum_by(self._indexed.table, ("id",), ())}
        here = self._server.ask(
            lambda redis: {each.decode() for each in cast("set[bytes]", redis.smembers(self._held))}
        )
        gone = sorted(here - there)
        for at in range(0, len(gone), _BATCH):
            self._dropped(gone[at : at + _BATCH])
        return there, here

    def _dropped(self, ids: Sequence[str]) -> None:
        def drop(redis: Redis) -> object:
            piped = redis.pipeline()
            piped.unlink(*map(self._key, ids))
            piped.srem(self._held, *ids)
            return piped.execute()

        self._server.ask(drop)

    def _loaded(self, batches: Iterable[Sequence[Row]], until: float) -> bool:
        """Write rows that the store gave, batch by batch; tell whether there was time for all."""
        for rows in batches:
            for at in range(0, len(rows), _WRITTEN):
                self._server.ask(partial(self._write, rows[at : at + _WRITTEN]))
                if time.monotonic() > until:
                    return False
        return True

    def _write(self, rows: Sequence[Row], redis: Redis) -> object:
        """Write rows, those without any feature at a place of their own: a search of as many as there are finds all."""
        piped = redis.pipeline()
        for row in rows:
            vector = vector_of(dict.fromkeys(text_in(row, "terms").split(), 1.0))
            piped.hset(self._key(row["id"]), mapping={"id": row["id"], "vector": vector or _NO_FEATURES})
        piped.sadd(self._held, *(str(row["id"]) for row in rows))
        return piped.execute()

    def _key(self, row_id: Json) -> str:
        return f"{self._name}:row:{row_id}"


def _searchable(index: SearchIndex) -> float:
    """The number of rows that a search finds; `_BUSY` while the server still makes the index of what is there."""
    info = index.info()
    return _BUSY if int(info["indexing"]) else int(info["num_docs"])


def _batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    return (rows[at : at + _BATCH] for at in range(0, len(rows), _BATCH))
