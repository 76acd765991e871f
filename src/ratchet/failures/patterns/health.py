"""The last outcomes of each agent, one row per agent, and the health read from them."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from operator import itemgetter
from struct import Struct
from typing import NamedTuple, TypeAlias
from zlib import crc32

from ratchet.errors import Conflict
from ratchet.failures.health import HALF_LIFE_CALLS, RECENT, Health, health_of, score_of
from ratchet.ports import Store
from ratchet.records import Json, Row, whole_in

Ran: TypeAlias = "list[Json]"
"""[started_at, outcome id, 1 or 0]"""

NAMED = 20
"""Of so many of an agent's last outcomes the id is kept; of older ones its hash alone, which orders those that began at
once. A row is read and written with every batch, so its length is most of what it costs."""
_RECORD = Struct(">dI")  # when it began; 31 bits of the id's hash, and whether it went well
_CHARS = 16  # of a record in base64: 12 bytes fill them, so that records can be cut off and appended

_Key: TypeAlias = "tuple[float, int]"
"""An outcome as a record: what it is ordered by, and whether it went well."""


class _Last(NamedTuple):
    """Row of `recents`: a record for each outcome, oldest first, and the ids of the newest ones."""

    records: str
    ids: list[Json]


def keep_recent(store: Store, ran: Mapping[str, Sequence[Ran]]) -> None:
    """Merge new outcomes into the last `RECENT` of their agents: by started_at, those that began at once by the hash of
    their ids, whatever order they arrive in.

    Call it inside the transaction that inserts them. Raises Conflict when there is none and another writer came first.
    """
    agents: list[Json] = [*ran]
    held = {str(row["agent"]): row for row in store.find("recents", {"agent": ("in", agents)}).rows} if agents else {}
    rows: list[Row] = []
    for agent, new in ran.items():
        known = held.get(agent, {})
        before = _last(known)
        after = _merged(before, new)
        if after != before:  # else it was an old history: none of it is among the last
            said: Row = {"outcomes": after.records, "ids": after.ids}
            rows.append({"agent": agent, "revision": known.get("revision", 0), **said})
    if rows and store.swap_many("recents", rows) < len(rows):
        raise Conflict("an agent's last outcomes changed while new ones were added; try again")


def drop_recent(store: Store, ran: Mapping[str, Sequence[Ran]]) -> None:
    """Take outcomes out of the last ones of their agents; an agent that has no other is known no more. Call it in the
    transaction that deletes them."""
    for agent, gone in ran.items():
        row = store.get("recents", agent) or {}
        last, keys = _last(row), {*map(_key, gone)}
        held = _keys(last.records)
        names: list[Json] = [*[""] * (len(held) - len(last.ids)), *last.ids]
        kept = [(key, name) for key, name in zip(held, names, strict=True) if key not in keys]
        if not kept:
            store.delete("recents", {"agent": agent})
        elif len(kept) < len(held):
            text = b2a_base64(b"".join(_RECORD.pack(*key) for key, _ in kept), newline=False).decode()
            ids: list[Json] = [name for _, name in kept][-NAMED:]
            store.swap("recents", agent, whole_in(row, "revision"), {"agent": agent, "outcomes": text, "ids": ids})


def recent(row: Row) -> list[Ran]:
    """The outcomes in a row of `recents`, oldest first; all but the last `NAMED` without their id."""
    last = _last(row)
    found: list[Ran] = [[at, "", hashed & 1] for at, hashed in _keys(last.records)]
    for ran, name in zip(reversed(found), reversed(last.ids), strict=False):
        ran[1] = name
    return found


def health(store: Store, *, agent: str | None = None) -> Health:
    """Health of every agent and overall (or of one agent), from its last outcomes: never scans history."""
    where = None if agent is None else {"agent": agent}
    rows = store.find("recents", where, order=("agent",)).rows
    return health_of({str(row["agent"]): [bool(ran[2]) for ran in recent(row)] for row in rows})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStanding:
    """Standing of one agent: its score in [0, 1], and of its last calls (at most `HALF_LIFE_CALLS`) how many failed."""

    agent: str
    score: float
    calls: int
    failed: int
    last_at: float


def standings(store: Store) -> list[AgentStanding]:
    """Tell how every agent stands, the worst first."""
    found = []
    for row in store.find("recents", order=("agent",)).rows:
        ran = recent(row)
        score = score_of(bool(each[2]) for each in ran)
        if score is None:
            continue
        last = ran[-HALF_LIFE_CALLS:]
        failed, last_at = sum(not each[2] for each in last), last[-1][0]
        assert isinstance(last_at, int | float)
        found.append(
            AgentStanding(agent=str(row["agent"]), score=score, calls=len(last), failed=failed, last_at=last_at)
        )
    return sorted(found, key=lambda each: (each.score, each.agent))


def _merged(held: _Last, new: Sequence[Ran]) -> _Last:
    """`held` and `new` in order. What is new is nearly always newer than all that is held, which is then not taken
    apart; else what began behind the first of it is written anew."""
    text, known = held
    keys, ids = [*map(_key, new)], [ran[1] for ran in new]
    if keys != sorted(keys) or (text and _keys(text[-_CHARS:])[0] > keys[0]):
        before = _keys(text)
        kept = bisect_right(before, min(keys))
        behind = before[kept:]
        names = [*known[-len(behind) :]] if behind else []
        names[:0] = [""] * (len(behind) - len(names))  # older than those with names, as they will be
        both = sorted(zip([*keys, *behind], [*ids, *names], strict=True), key=itemgetter(0))
        keys, ids = [key for key, _ in both], [name for _, name in both]
        text, known = text[: kept * _CHARS], known[: max(0, len(known) - len(behind))]
    text += b2a_base64(b"".join(starmap(_RECORD.pack, keys)), newline=False).decode()
    return _Last(text[-RECENT * _CHARS :], [*known, *ids][-NAMED:])


def _key(ran: Ran) -> _Key:
    at, name, ok = ran
    return at, crc32(f"{name}".encode("utf-8", "replace")) & ~1 | ok  # type: ignore[operator,return-value]


def _keys(records: str) -> list[_Key]:
    return list(_RECORD.iter_unpack(a2b_base64(records)))


def _last(row: Row) -> _Last:
    held, ids = row.get("outcomes"), row.get("ids")
    if isinstance(held, str) and isinstance(ids, list):
        return _Last(held, ids)
    # As it was kept before: as lists, or as lines.
    found = held if isinstance(held, list) else held.split("\n") if isinstance(held, str) and held else []
    old = [_ran(each) if isinstance(each, str) else each for each in found]
    return _merged(_Last("", []), [each for each in old if isinstance(each, list)]) if old else _Last("", [])


def _ran(line: str) -> Ran:
    ok, at, name = line.split(" ", 2)
    return [float(at), name, int(ok)]


__all__ = ["NAMED", "Health", "Ran", "health", "keep_recent", "recent"]
