"""Counts a replayed session, and keeps counts while a replay runs, so that one that is killed goes on where it was."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from ratchet import __version__
from ratchet.lessons.backtest.prices import usd_per_token
from ratchet.lessons.backtest.replay import ReplayedSession
from ratchet.lessons.mining.waste import seconds
from ratchet.ports import Store
from ratchet.records import Json, Row, as_row, number_in, record_of, text_in, whole_in

KEPT_EVERY_S = 2.0
"""Between two writes of what was counted: a kill costs so much at most, and a replay of seconds writes nothing."""
_COUNTED_TABLES = ("outcomes", "resolutions", "habits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """Saved failed calls with their time, tokens and cost: `cached` tokens are among them and were read from a cache,
    as far as the history says so. `cost_usd` is None where no price is known."""

    turns: int = 0
    duration_s: float = 0.0
    tokens: int = 0
    cached: int = 0
    cost_usd: float | None = None

    def plus(self, other: Saving) -> Saving:
        """Both together."""
        known = [each for each in (self.cost_usd, other.cost_usd) if each is not None]
        return Saving(
            turns=self.turns + other.turns,
            duration_s=self.duration_s + other.duration_s,
            tokens=self.tokens + other.tokens,
            cached=self.cached + other.cached,
            cost_usd=sum(known) if known else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedSession:
    """One session replayed, with what right lessons spare in it: told at the failure, and told before it."""

    session: ReplayedSession
    saved: Saving
    saved_before: Saving


def counted(store: Store, session: ReplayedSession) -> CountedSession:
    """Sum up what is spared, each failing call once, however many lessons would have spared it. Raises StoreError."""
    if not session.spared_before:
        return CountedSession(session=session, saved=Saving(), saved_before=Saving())
    rows = store.find("outcomes", {"session": session.session}, order=("started_at",)).rows
    spent = seconds(rows)
    answers = store.find("message_tokens", {"step": ("in", [*session.spared_before])}).rows
    cached = {text_in(each, "step"): whole_in(each, "cached") for each in answers}
    return CountedSession(
        session=session,
        saved=_saved(rows, spent, cached, session.spared),
        saved_before=_saved(rows, spent, cached, session.spared_before),
    )


def _saved(rows: Iterable[Row], spent: Mapping[str, float], cached: Mapping[str, int], ids: Collection[str]) -> Saving:
    saved = Saving()
    for row in rows:
        name = str(row["id"])
        if name not in ids:
            continue
        tokens, model = int(number_in(row, "tokens")), text_in(row, "model")
        price = usd_per_token(model) if model and tokens else None
        cost = None if price is None else tokens * price
        read = min(tokens, cached.get(name, 0))
        one = Saving(turns=1, duration_s=spent.get(name, 0.0), tokens=tokens, cached=read, cost_usd=cost)
        saved = saved.plus(one)
    return saved


class KeptCounts:
    """Sessions that an earlier replay of the same store counted before it ended early, and those of this one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stamp = _stamp(store)
        self._waiting: list[CountedSession] = []
        self._written_at = time.monotonic()
        self._chunks = 0
        self.known: dict[str, CountedSession] = {}
        while (row := self._row(self._chunks)) is not None and row.get("stamp") == self._stamp:
            found = [record_of(CountedSession, each) for each in cast("list[Json]", row.get("sessions") or [])]
            self.known.update((each.session.session, each) for each in found)
            self._chunks += 1

    def add(self, found: CountedSession) -> None:
        """Keep one more; it is written with others. Raises StoreError."""
        self._waiting.append(found)
        if time.monotonic() - self._written_at < KEPT_EVERY_S:
            return
        held = self._row(self._chunks) or {}
        rows: list[Json] = [as_row(each) for each in self._waiting]
        row: Row = {"stamp": self._stamp, "sessions": rows}
        self._store.swap("meta", _name(self._chunks), whole_in(held, "revision"), row)
        self._waiting, self._written_at, self._chunks = [], time.monotonic(), self._chunks + 1

    def forget(self) -> None:
        """The replay has ended: drop what was kept for a next one. Raises StoreError."""
        chunk = 0
        while self._row(chunk) is not None:
            self._store.delete("meta", {"name": _name(chunk)})
            chunk += 1

    def _row(self, chunk: int) -> Row | None:
        return self._store.get("meta", _name(chunk))


def _name(chunk: int) -> str:
    return f"backtest:{chunk}"


def _stamp(store: Store) -> str:
    """Names what is replayed: with another row, or another version of Ratchet, nothing that was kept counts."""
    held: list[Json] = [__version__]
    for table in _COUNTED_TABLES:
        at = "started_at" if table == "outcomes" else "at"
        rows = store.sum_by(table, (), ("count:*", f"min:{at}", f"max:{at}"))
        held += [[str(value) for _, value in sorted(row.items())] for row in rows]
    return hashlib.sha256(json.dumps(held).encode()).hexdigest()
