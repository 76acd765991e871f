"""Working and episodic memory in Redis: the sessions in flight with their last steps, and the timeline as a stream.

For programs in any language that watch agents live: a hash `session:<id>` and a stream `trace:<id>` of each session in
flight, a sorted set `sessions` of them by their last step, a stream `events` of the timeline. All of it is read from
the store, already redacted, and goes by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from ratchet.records import Json, Row, number_in, text_in, whole_in

if TYPE_CHECKING:
    from redis import Redis

    from ratchet.ports import Store
    from ratchet.store.redis.server import RedisServer

IN_FLIGHT_S = 3_600.0
"""How long a session stays in working memory after its last step."""
TRACE_S = 86_400.0
"""How long its trace stays."""
SESSIONS = 1_000
"""Sessions in flight at most: those with the newest steps."""
STEPS = 200
"""Steps of a trace: the last of its session."""
EVENTS = 10_000
"""Events that the stream keeps, about."""
_SAID = 500  # characters of a text
_LATE_S = 600.0  # that an event may be dated before one written earlier
_TOLD = ("agent", "project", "model", "calls", "failures", "tokens", "cost_usd")


class WorkingMemory:
    """Sessions in flight. `place` is the beginning of all keys."""

    def __init__(self, server: RedisServer, place: str) -> None:
        self._server = server
        self._place = place

    def catch_up(self, store: Store, *, now: float) -> None:
        """Bring the sessions that had a step since. Raises RedisError, StoreError."""
        since = now - IN_FLIGHT_S
        tallies = store.find("session_tallies", {"max_at": (">", since)}, order=("-max_at",), limit=SESSIONS).rows
        sessions = f"{self._place}:sessions"

        def calls(redis: Redis) -> list[int | None]:
            piped = redis.pipeline(transaction=False)
            piped.zremrangebyscore(sessions, "-inf", since)
            for each in tallies:
                piped.hget(self._key("session", each), "calls")
            _, *counts = cast("list[bytes | None]", piped.execute())
            if len(counts) != len(tallies):
                raise LookupError("there are not as many answers as questions")
            return [None if each is None else int(each) for each in counts]

        known = self._server.ask(calls)
        for tally, count in zip(tallies, known, strict=True):
            if count != whole_in(tally, "calls"):
                self._bring(store, tally)

    def _key(self, kind: str, tally: Row) -> str:
        return f"{self._place}:{kind}:{text_in(tally, 'session')}"

    def _bring(self, store: Store, tally: Row) -> None:
        session, last_at = text_in(tally, "session"), number_in(tally, "max_at")
        steps = store.find("outcomes", {"session": session}, order=("-started_at", "-id"), limit=STEPS).rows[::-1]
        told: Row = {name: value for name in _TOLD if (value := tally.get(name)) not in (None, "")}
        told |= {"started_at": tally.get("min_at"), "last_at": last_at}
        told |= {f"last_{name}": value for name, value in _step(steps[-1]).items()} if steps else {}
        hash_key, trace_key = self._key("session", tally), self._key("trace", tally)

        def write(redis: Redis) -> object:
            piped = redis.pipeline()
            piped.delete(hash_key, trace_key)
            piped.hset(hash_key, mapping=_flat(told))
            piped.expireat(hash_key, int(last_at + IN_FLIGHT_S))
            for name, step in zip(_names(steps), steps, strict=True):
                piped.xadd(trace_key, _flat({"id": step["id"], **_step(step)}), id=name)
            piped.expireat(trace_key, int(last_at + TRACE_S))
            piped.zadd(f"{self._place}:sessions", {session: last_at})
            return piped.execute()

        self._server.ask(write)


class EpisodicMemory:
    """The timeline as a stream, in the order in which events arrive here, each once."""

    def __init__(self, server: RedisServer, place: str) -> None:
        self._server = server
        self._stream = f"{place}:events"
        self._seen = f"{place}:events:seen"

    def catch_up(self, store: Store, *, now: float) -> None:
        """Bring the events since the last that was brought; of a new stream the newest. Raises RedisError,
        StoreError."""

        def newest(redis: Redis) -> float | None:
            found = cast("list[tuple[bytes, float]]", redis.zrange(self._seen, -1, -1, withscores=True))
            return float(found[0][1]) if found else None

        last = self._server.ask(newest)
        since = 0.0 if last is None else min(now, last) - _LATE_S
        rows = store.find("events", {"at": (">=", since)}, order=("-at", "-id"), limit=EVENTS).rows[::-1]
        if rows:
            self._server.ask(lambda redis: redis.transaction(lambda piped: self._add(piped, rows), self._seen))

    def _add(self, piped: Redis, rows: Iterable[Row]) -> None:
        """Add what is new, in one transaction with the note of it: another process that adds the same makes this one
        look again."""
        known = {each.decode() for each in cast("list[bytes]", piped.zrange(self._seen, 0, -1))}
        fresh = [row for row in rows if str(row["id"]) not in known]
        piped.multi()
        for row in fresh:
            piped.xadd(self._stream, _flat(row), maxlen=EVENTS, approximate=True)
            piped.zadd(self._seen, {str(row["id"]): number_in(row, "at")})
        if fresh:
            piped.zremrangebyscore(self._seen, "-inf", f"({max(number_in(row, 'at') for row in fresh) - _LATE_S!r}")


def _step(row: Row) -> dict[str, Json]:
    """A step in the words of an outcome, without what it has not."""
    step, failure = row.get("step"), row.get("failure")
    told: dict[str, Json] = {
        "at": row["started_at"],
        "agent": row["agent"],
        "task": row.get("task"),
        "tool": text_in(step, "tool"),
        "target": text_in(step, "target")[:_SAID],
        "ok": row.get("ok"),
        "kind": text_in(failure, "kind"),
        "message": text_in(failure, "message")[:_SAID],
        "duration_s": row.get("duration_s"),
        "cost_usd": row.get("cost_usd"),
    }
    return {name: value for name, value in told.items() if value not in (None, "")}


def _names(steps: Iterable[Row]) -> Iterable[str]:
    """The ids of a trace's entries: the moment of each step, so that they stay the same when the trace is written
    again."""
    last, same = -1, 0
    for row in steps:
        moment = max(0, int(number_in(row, "started_at") * 1_000))
        same = same + 1 if moment == last else 0
        last = moment
        yield f"{moment}-{same + (moment == 0)}"  # 0-0 is no id


def _flat(row: Mapping[str, Json]) -> dict[str, str]:
    """The fields as Redis holds them: texts as they are, all else as JSON."""
    return {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items() if value is not None
    }
