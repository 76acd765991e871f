"""The last outcomes of each agent, one row per agent, and the health read from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from ratchet.errors import Conflict
from ratchet.health import RECENT, Health, health_of
from ratchet.ports import Store
from ratchet.records import Json, Row

Ran: TypeAlias = "list[Json]"
"""[started_at, outcome id, 1 or 0]"""

NAMED = 20
"""Of so many of an agent's last outcomes the id is kept; of older ones only its end, which orders those that began at
once. A row is read and written with every batch, so its length is most of what it costs."""
_END = 6  # characters
_MARK = ";"  # before every line: JSON and COPY leave it as it is, where a line break is escaped


class _Last(NamedTuple):
    """What a row of `recents` holds: a line for each outcome, oldest first, and the ids of the newest ones."""

    lines: str
    ids: list[Json]


def keep_recent(store: Store, ran: Mapping[str, Sequence[Ran]]) -> None:
    """Merge new outcomes into the last `RECENT` of their agents: by started_at and the id's end, whatever order they
    arrive in.

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
            said: Row = {"outcomes": after.lines, "ids": after.ids}
            rows.append({"agent": agent, "revision": known.get("revision", 0), **said})
    if rows and store.swap_many("recents", rows) < len(rows):
        raise Conflict("an agent's last outcomes changed while new ones were added; try again")


def recent(row: Row) -> list[Ran]:
    """The outcomes in a row of `recents`, oldest first; of all but the last `NAMED` only the end of the id."""
    last = _last(row)
    found = [_ran(line) for line in last.lines.split(_MARK)[1:]]
    for ran, name in zip(reversed(found), reversed(last.ids), strict=False):
        ran[1] = name
    return found


def health(store: Store, *, agent: str | None = None) -> Health:
    """Health of every agent and overall (or of one agent), from its last outcomes: never scans history."""
    where = None if agent is None else {"agent": agent}
    rows = store.find("recents", where, order=("agent",)).rows
    return health_of({str(row["agent"]): [bool(ran[2]) for ran in recent(row)] for row in rows})


def _merged(held: _Last, new: Sequence[Ran]) -> _Last:
    """`held` and `new` in order. What is new is nearly always newer than all that is held, which is then not taken
    apart; else only what began behind the first of it."""
    began = [ran[0] for ran in new]
    ids = [ran[1] for ran in new]
    text, lines = held.lines, _lines(new)
    if began == sorted(set(began)) and (not text or _order(text[text.rindex(_MARK) + 1 :])[0] < began[0]):  # type: ignore[operator, type-var]
        text, ids = text + lines, [*held.ids, *ids]
    else:
        kept, known = text.split(_MARK)[1:], held.ids.copy()
        added = [(_order(line), line, name) for line, name in zip(lines.split(_MARK)[1:], ids, strict=True)]
        first = min(order for order, _, _ in added)
        while kept and (order := _order(kept[-1])) > first:
            added.append((order, kept.pop(), known.pop() if known else ""))
        added.sort(key=itemgetter(0))
        text = "".join([f"{_MARK}{line}" for line in (*kept, *(line for _, line, _ in added))])
        ids = [*known, *(name for _, _, name in added)]
    over = text.count(_MARK) - RECENT
    if over > 0:
        text = f"{_MARK}{text.split(_MARK, over + 1)[-1]}"
    return _Last(text, ids[-NAMED:])


def _lines(new: Sequence[Ran]) -> str:
    text = "".join([f"{_MARK}{ok} {at!r} {name[-_END:]}" for at, name, ok in new])  # type: ignore[index]
    if text.count(_MARK) == len(new):
        return text
    return "".join([f"{_MARK}{ok} {at!r} {str(name)[-_END:].replace(_MARK, ' ')}" for at, name, ok in new])


def _order(line: str) -> tuple[float, str, str]:
    ok, at, end = line.split(" ", 2)
    return float(at), end, ok


def _ran(line: str) -> Ran:
    ok, at, end = line.split(" ", 2)
    return [float(at), end, int(ok)]


def _last(row: Row) -> _Last:
    held, ids = row.get("outcomes"), row.get("ids")
    if isinstance(held, str) and isinstance(ids, list):
        return _Last(held, ids)
    # As it was kept before: as lists, or as lines with whole ids.
    found = held if isinstance(held, list) else held.split("\n") if isinstance(held, str) and held else []
    old = [_ran(each) if isinstance(each, str) else each for each in found]
    ran = [each for each in old if isinstance(each, list)]
    return _Last(_lines(ran), [name for _, name, _ in ran[-NAMED:]])


__all__ = ["NAMED", "Health", "Ran", "health", "keep_recent", "recent"]
