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
        merged = sorted([*_outcomes(known), *new], key=_when)[-RECENT:]
        rows.append({"agent": agent, "revision": known.get("revision", 0), "outcomes": [*merged]})
    if store.swap_many("recents", rows) < len(rows):
        raise Conflict("an agent's last outcomes changed while new ones were added; try again")


def health(store: Store, *, agent: str | None = None) -> Health:
    """Health of every agent and overall (or of one agent), from its last outcomes: never scans history."""
    where = None if agent is None else {"agent": agent}
    rows = store.find("recents", where, order=("agent",)).rows
    return health_of({str(row["agent"]): [bool(ran[2]) for ran in _outcomes(row)] for row in rows})


def _outcomes(row: Row) -> list[Ran]:
    held = row.get("outcomes")
    return [ran for ran in held if isinstance(ran, list)] if isinstance(held, list) else []


__all__ = ["Health", "Ran", "health", "keep_recent"]
