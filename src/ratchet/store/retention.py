"""Delete what is old, by policy; what was learnt from it stays.

What goes: outcomes (but for the newest of every signature, which is its pattern's example) and the index of their
steps, what was said, lines of the timeline that tell of no decision, lines in quarantine, and the diffs and workspaces
of healing. What stays: all tallies, patterns, lessons, trials and their exposures, proposals, money. Nothing that an
open trial, an unsettled exposure or an unread session still needs is old.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ratchet import ids
from ratchet.errors import UsageError
from ratchet.ports import Store, Where
from ratchet.records import Json, Row, number_in, whole_in
from ratchet.store.paging import rows_of

DAY_S = 86_400.0
RETENTION = "retention"
"""The row of `meta` that says before when outcomes are gone: one that arrives later than that is not counted again."""
FORGOTTEN = "forgotten"
"""The row of `meta` that knows, by their hash, the sessions that a person had forgotten: their histories are not read
again."""
_DECISIONS = frozenset(("trial", "proposal", "lesson", "settings"))
"""What the timeline says of these is kept: it is their history."""
_SHED = ("diff", "without_secrets", "note", "memo")
"""What is large about an attempt, and of use only while somebody might go back to it."""
_OPEN = ("planned", "open", "paused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """Rows that went, by table (of attempts: those that lost their diff). `before` is the time (Unix seconds) before
    which outcomes were old."""

    before: float
    removed: Mapping[str, int]


class Retention:
    """The policy of one home. `days` 0 keeps all."""

    def __init__(self, store: Callable[[], Store], days: float) -> None:
        self._store = store
        self._days = days
        self._due_at = 0.0

    def when_due(self, *, now: float | None = None) -> Compacted | None:
        """Once a day, what the policy says; None where it says nothing or was followed today. Raises StoreError."""
        now = time.time() if now is None else now
        if not self._days or now < self._due_at:
            return None
        self._due_at = number_in(self._store().get("meta", RETENTION) or {}, "at") + DAY_S
        return self.compact(now=now) if now >= self._due_at else None

    def compact(
        self, days: float | None = None, *, dry_run: bool = False, whole: bool = False, now: float | None = None
    ) -> Compacted:
        """Remove what is older than `days` (the policy's, unless given); with `dry_run` only count it. `whole` gives
        the space back to the disk, too. In small transactions: nobody waits long, and a kill loses nothing.

        Raises UsageError where neither says how long, StoreError.
        """
        days = self._days if days is None else days
        if not days >= 1:
            raise UsageError("nothing says how long to keep: --older-than DAYS (1 at least), or RATCHET_RETENTION_DAYS")
        now = time.time() if now is None else now
        store = self._store()
        before = max(0.0, now - days * DAY_S)
        needed = min(before, _needed_from(store))
        if not dry_run:
            _remember(store, needed, now)
        removed = {
            "outcomes": _count(store, "outcomes", _old_outcomes(store, needed, at_once=dry_run), dry_run=dry_run),
            "events": _count(store, "events", _old_events(store, before), dry_run=dry_run),
            "quarantine": _count(store, "quarantine", [{"at": ("<", before)}], dry_run=dry_run),
            "sayings": _count(store, "sayings", [{"at": ("<", needed)}], dry_run=dry_run),
            "steps": _count(store, "steps", [{"at": ("<", needed)}], dry_run=dry_run),
            "step_places": _count(store, "step_places", [{"at": ("<", needed)}], dry_run=dry_run),
        }
        removed |= _shed_episodes(store, before, dry_run=dry_run)
        removed |= _shed_teams(store, before, dry_run=dry_run)
        if whole and not dry_run:
            store.compact()
        return Compacted(before=needed, removed=removed)


def _shed_teams(store: Store, before: float, *, dry_run: bool) -> dict[str, int]:
    """Runs of teams that ended long ago, whole, and what the overseer did about work of that time. A task that is done
    stays as long as its run may be gone on with."""
    old: Where = {"state": ("!=", "running"), "ended_at": ("<", before)}
    runs: Json = [row["id"] for row in store.find("team_runs", old).rows]
    removed = {
        table: _count(store, table, [{column: ("in", runs)}] if runs else [], dry_run=dry_run)
        for table, column in (("team_tasks", "run"), ("team_mail", "run"), ("team_runs", "id"))
    }
    for table in ("interventions", "watches"):
        removed[table] = _count(store, table, [{"at": ("<", before)}], dry_run=dry_run)
    return removed


def _needed_from(store: Store) -> float:
    """The start of what is still to be read: by an open trial, to settle a credit, or to mine a session."""
    states: Json = [*_OPEN]
    pending = rows_of(store, "sessions", {"pending": True}, order=("session",))
    return min(
        _first(store, "trials", {"state": ("in", states)}, "created_at"),
        _first(store, "exposures", {"settled": False}, "at"),
        *(_first(store, "outcomes", {"session": row["session"]}, "started_at") for row in pending),
    )


def _first(store: Store, table: str, where: Where, column: str) -> float:
    found = store.sum_by(table, (), (f"min:{column}",), where)[0][f"min:{column}"]
    return float("inf") if found is None else float(str(found))


def _old_outcomes(store: Store, before: float, *, at_once: bool) -> Iterator[Where]:
    """List what to delete, piece by piece: a day of successes, then each signature's failures but for its newest."""
    old: Where = {"signature": None, "started_at": ("<", before)}
    if at_once:
        yield old
    while not at_once and (start := _first(store, "outcomes", old, "started_at")) < before:
        end = min(before, start + DAY_S)
        yield {"signature": None, "started_at": ("<", end)}
        old = {"signature": None, "started_at": (">=", end)}
    for row in store.sum_by("outcomes", ("signature",), (), {"started_at": ("<", before), "signature": ("!=", None)}):
        of_it: dict[str, Json | tuple[str, Json]] = {"signature": row["signature"], "started_at": ("<", before)}
        newest = store.find("outcomes", {"signature": row["signature"]}, order=("-started_at",), limit=1).rows
        yield {**of_it, "id": ("!=", newest[0]["id"])} if newest else of_it


def _old_events(store: Store, before: float) -> Iterator[Where]:
    for row in store.sum_by("events", ("noun",), (), {"at": ("<", before)}):
        if row["noun"] not in _DECISIONS:
            yield {"noun": row["noun"], "at": ("<", before)}


def _count(store: Store, table: str, pieces: Iterable[Where], *, dry_run: bool) -> int:
    if dry_run:
        return sum(int(str(store.sum_by(table, (), ("count:*",), where)[0]["count:*"])) for where in pieces)
    return sum(store.delete(table, where) for where in pieces)


def _shed_episodes(store: Store, before: float, *, dry_run: bool) -> dict[str, int]:
    """Take the diffs off attempts of episodes that ended long ago, and their ways back."""
    shed = {"attempts": 0, "checkpoints": 0}
    for episode in rows_of(store, "episodes", {"ended_at": ("<", before)}, order=("id",)):
        whose: Where = {"episode": episode["id"]}
        for row in store.find("attempts", whose).rows:
            if any(row.get(name) for name in _SHED):
                shed["attempts"] += 1
                if not dry_run:
                    key = (str(row["episode"]), str(row["n"]))
                    light: Row = {name: value for name, value in row.items() if name not in _SHED}
                    store.swap("attempts", key, whole_in(row, "revision"), light)
        shed["checkpoints"] += _count(store, "checkpoints", [whose], dry_run=dry_run)
    return shed


def _remember(store: Store, before: float, now: float) -> None:
    with store.transaction():
        held = store.get("meta", RETENTION) or {}
        row: Row = {"before": max(before, number_in(held, "before")), "at": now}
        store.swap("meta", RETENTION, whole_in(held, "revision"), row)


def forgotten(store: Store) -> frozenset[str]:
    """The hashes of sessions that are never to be stored again."""
    held = (store.get("meta", FORGOTTEN) or {}).get("sessions")
    return frozenset(map(str, held)) if isinstance(held, list) else frozenset()


def hash_of(session: str) -> str:
    """The hash by which a forgotten session is known."""
    return ids.hex_of(f"forgotten\0{session}")[:24]


def remember_forgotten(store: Store, sessions: Iterable[str]) -> None:
    """Note that these sessions are never to be stored again."""
    held = store.get("meta", FORGOTTEN) or {}
    known: list[Json] = [*sorted(forgotten(store) | {hash_of(each) for each in sessions})]
    store.swap("meta", FORGOTTEN, whole_in(held, "revision"), {"sessions": known})


def forget_before(store: Store, before: float, now: float) -> None:
    """Note that no outcome from before a moment is to be stored again."""
    _remember(store, before, now)
