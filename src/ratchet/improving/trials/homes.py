"""Homes that may meet a trial, and the moment up to which the journal of each is in the store.

The gate reads a trial's units in the order in which they started, up to the earliest of these moments: nothing that
began before it can still turn up, so that what was read once never changes. A home joins before its calls can meet the
trial; what a drain finds late (a call that stood between its clock and its journal, a clock that was set back, a home
that was silent for longer than the deadline) counts from the moment it was found.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf, nextafter
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.ids import uuid7
from ratchet.improving.trials.arms import CHANNEL
from ratchet.lessons import exposure
from ratchet.recording.drain import Drained, drain
from ratchet.records import Row, Trial, number_in, whole_in

if TYPE_CHECKING:
    from ratchet.failures.patterns.ingest import Ingested
    from ratchet.ports import Store

FILE = "home-id"
_SOURCE = "trials"


def join(store: Store, home: str, open_trials: Sequence[str]) -> None:
    """Keep which trials this home may meet from now on, before any of its calls can. Raises StoreError, OSError."""
    wanted = sorted(open_trials)
    held = store.get("cursors", _key(home)) if wanted or _has_joined(home) else None
    if (held or {}).get("trials", []) == wanted:
        return
    with store.transaction():
        held = store.get("cursors", _key(home)) or {}
        # No unit of a home that joins now can stand before what others have decided by.
        newest = max((number_in(row, "at") for row in _all(store)), default=0.0)
        at = number_in(held, "at") if held.get("trials") else newest
        row: Row = {"source": _SOURCE, "at": at, "trials": [*wanted]}
        store.swap("cursors", _key(home), whole_in(held, "revision"), row)


def has_joined(store: Store, home: str) -> bool:
    """Tell whether calls of this home ever could meet a trial of this store."""
    return _has_joined(home) and store.get("cursors", _key(home)) is not None


def drained(store: Store, home: str, at: float) -> None:
    """Keep that all that was journalled in this home before `at` (Unix seconds, its own clock) is in the store."""
    if not _has_joined(home):
        return
    held = store.get("cursors", _key(home))
    if held is None or not held.get("trials") or number_in(held, "at") >= at:
        return
    _move(store, _key(home), at)


def known_until(store: Store, home: str) -> float:
    """The moment up to which this home has been drained; 0.0 where it meets no trial."""
    return number_in(store.get("cursors", _key(home)), "at") if _has_joined(home) else 0.0


def placed(exposures: Sequence[Row], known: float) -> list[Row]:
    """The exposures of a drain, those of trials at the end of what is `known` where they come too late for it."""
    return [_moved(row, known) if row.get("channel") == CHANNEL else row for row in exposures]


def known_of(store: Store, trial: Trial, *, now: float) -> float:
    """The moment up to which a trial's units are known: the earliest of its homes, each waited for until the deadline.

    A trial that no home has joined (one of an older version) is known up to its deadline.
    """
    waited = now - trial.deadline_s
    return min((max(number_in(row, "at"), waited) for row in _all(store) if _meets(row, trial.id)), default=waited)


def pass_silent(store: Store, trial: Trial, *, now: float) -> None:
    """Wait no longer for homes that have told nothing for as long as the deadline. Call it before deciding: what they
    tell later counts from here."""
    for row in _all(store):
        if _meets(row, trial.id) and number_in(row, "at") < now - trial.deadline_s:
            _move(store, str(row["path"]), now - trial.deadline_s)


def observe(store: Store, home: str, *, until: float = inf) -> Drained:
    """Move what was journalled in a home into the store (see `drain`), and keep up to when that is all of it. Raises
    StoreError."""

    def take(store: Store, rows: Sequence[Row]) -> Ingested:
        from ratchet.improving.trials.settle import settle_units  # who only reads has nothing to take in
        from ratchet.lessons import learning

        return learning.take(store, rows, lambda store, new: settle_units(store, new, known=known_until(store, home)))

    def place(store: Store, exposures: Sequence[Row]) -> list[Row]:
        return placed(exposures, known_until(store, home))

    began = time.time()
    done = drain(store, home, take, began, place=place, until=until)
    if done.whole:
        drained(store, home, began)
    return done


def _move(store: Store, key: str, at: float) -> None:
    with store.transaction():
        held = store.get("cursors", key)
        if held is not None and number_in(held, "at") < at:
            store.swap("cursors", key, whole_in(held, "revision"), {**held, "at": at})


def _moved(row: Row, known: float) -> Row:
    if number_in(row, "at") > known:
        return row
    at = nextafter(known, inf)
    return {**row, "at": at, "due_at": number_in(row, "due_at") + at - number_in(row, "at")}


def _all(store: Store) -> list[Row]:
    return store.find("cursors", {"source": _SOURCE}).rows


def _meets(row: Row, trial_id: str) -> bool:
    trials = row.get("trials")
    return isinstance(trials, list) and trial_id in trials


def _has_joined(home: str) -> bool:
    return Path(home, FILE).exists()


def _key(home: str) -> str:
    """The name of a home's cursor: its own, wherever the folder is moved or mounted."""
    path = Path(home, FILE)
    try:
        return f"home/{exposure.small_text(str(path))}"
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return f"home/{exposure.settled_text(str(path), uuid7())}"
