"""Trials and the timeline as rows of the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import cast

from ratchet.errors import Conflict, NotFound
from ratchet.ports import Store, Where
from ratchet.records import Change, Json, Row, Trial, TrialState

OPEN: tuple[TrialState, ...] = ("planned", "open", "paused")
"""States in which a trial holds its target."""
STATES: tuple[TrialState, ...] = (*OPEN, "kept", "reverted", "undecided")

_NAMES = tuple(field.name for field in fields(Trial))
_CHANGE_NAMES = tuple(field.name for field in fields(Change))


def row_of(trial: Trial) -> Row:
    """The trial as it is stored; its columns repeat what lists filter by."""
    row = cast("Row", asdict(trial))
    row["ramp"] = [list(stage) for stage in trial.ramp]
    row["before"] = list(trial.before)
    row["metrics"] = list(trial.metrics)
    change = trial.change
    return {
        **row,
        "change": change_row(change),
        "target": change.target,
        "agent": change.agent,
        "pattern": change.pattern,
    }


def trial_of(row: Row) -> Trial:
    """The trial that a row holds. Fields of a newer version are ignored."""
    known: dict[str, object] = {name: row[name] for name in _NAMES if row.get(name) is not None}
    known["change"] = change_of(cast("Row", row["change"]))
    for name in ("before", "metrics"):
        known[name] = tuple(cast("list[Json]", row.get(name) or ()))
    known["ramp"] = tuple(
        (int(stage[0]), float(stage[1])) for stage in cast("list[list[float]]", row.get("ramp") or [])
    )
    return Trial(**known)  # type: ignore[arg-type]


def change_row(change: Change) -> Row:
    return {**cast("Row", asdict(change)), "new": dict(change.new), "trade": dict(change.trade)}


def change_of(row: Mapping[str, Json]) -> Change:
    return Change(**{name: row[name] for name in _CHANGE_NAMES if row.get(name) is not None})  # type: ignore[arg-type]


def trial(store: Store, trial_id: str) -> Trial:
    """One trial. Raises NotFound."""
    row = store.get("trials", trial_id)
    if row is None:
        raise NotFound(f"no trial {trial_id}; `ratchet trials list` names those that there are")
    return trial_of(row)


def trials(
    store: Store,
    *,
    states: tuple[TrialState, ...] = STATES,
    target: str | None = None,
    agent: str | None = None,
    limit: int | None = None,
) -> list[Trial]:
    """Trials, newest first."""
    where: dict[str, Json | tuple[str, Json]] = {"state": ("in", [*states])}
    if target is not None:
        where["target"] = target
    if agent is not None:
        where["agent"] = agent
    said: Where = where
    return [trial_of(row) for row in store.find("trials", said, order=("-created_at",), limit=limit).rows]


def write(store: Store, held: Trial, **changes: object) -> Trial:
    """Store the trial with these changes at its next revision. Raises Conflict when somebody else moved it first."""
    moved = replace(held, **changes)  # type: ignore[arg-type]
    if not store.swap("trials", held.id, held.revision, row_of(moved)):
        raise Conflict(
            f"trial {held.id} was changed by somebody else meanwhile; look again: ratchet trials show {held.id}"
        )
    return replace(moved, revision=held.revision + 1)
