"""The last outcomes of each agent, one row per agent, and the health read from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import TypeAlias

from ratchet.errors import Conflict
from ratchet.health import RECENT, Health, health_of
from ratchet.ports import Store
from ratchet.records import Json, Row

Ran: TypeAlias = "list[Json]"
"""[started_at, outcome id, 1 or 0]"""

_when = itemgetter(0, 1)


def keep_recent(store: Store, ran: Mapping[str, Iterable[Ran]]) -> None:
    """Merge new outcomes into the last `RECENT` of their agents: by (started_at, id), whatever order they arrive in.

    Call it inside the transaction that inserts them. Raises Conflict when there is none and another writer came first.
    """
    agents: list[Json] = [*ran]
    held = {str(row["agent"]): row for row in store.find("recents", {"agent": ("in", agents)}).rows} if agents else {}
    rows: list[Row] = []
    for agent, new in ran.items():
        known = held.get(agent, {})
        lines, newest = _lines(known), sorted(new, key=_when)[-RECENT:]
        if len(lines) == RECENT and _when(newest[-1]) < _when(_ran(lines[0])):
            continue  # an old history: none of it is among the last
        merged = "\n".join(_merged(lines, newest))
        rows.append({"agent": agent, "revision": known.get("revision", 0), "outcomes": merged})
    if rows and store.swap_many("recents", rows) < len(rows):
        raise Conflict("an agent's last outcomes changed while new ones were added; try again")


def recent(row: Row) -> list[Ran]:
    """The outcomes in a row of `recents`, oldest first."""
    return [_ran(line) for line in _lines(row)]


def health(store: Store, *, agent: str | None = None) -> Health:
    """Health of every agent and overall (or of one agent), from its last outcomes: never scans history."""
    where = None if agent is None else {"agent": agent}
    rows = store.find("recents", where, order=("agent",)).rows
    return health_of({str(row["agent"]): [bool(ran[2]) for ran in recent(row)] for row in rows})


def _merged(held: list[str], new: list[Ran]) -> list[str]:
    """Lines in order; takes from `held`. What is new is nearly always about the newest, too: only the held lines behind
    the first of it are read, since 200 numbers to text and back, for every agent and batch, are most of what this
    costs."""
    first = _when(new[0])
    later = []
    while held and (when := _when(_ran(held[-1]))) > first:
        later.append((when, held.pop()))
    added = sorted([*later, *((_when(ran), _line(ran)) for ran in new)])
    return [*held, *(line for _, line in added)][-RECENT:]


def _line(ran: Ran) -> str:
    at, name, ok = ran
    return f"{ok} {at!r} {name}".replace("\n", " ")


def _ran(line: str) -> Ran:
    ok, at, name = line.split(" ", 2)
    return [float(at), name, int(ok)]


def _lines(row: Row) -> list[str]:
    held = row.get("outcomes")
    if isinstance(held, list):  # as it was kept before lines were
        return [_line(ran) for ran in held if isinstance(ran, list)]
    return held.split("\n") if isinstance(held, str) and held else []


__all__ = ["Health", "Ran", "health", "keep_recent", "recent"]
