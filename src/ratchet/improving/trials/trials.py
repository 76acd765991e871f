"""Trials and the timeline as rows of the store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ratchet.arguments import named_row
from ratchet.errors import Conflict
from ratchet.records import Json, Row, Trial, TrialState, as_row, record_of

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

OPEN: tuple[TrialState, ...] = ("planned", "open", "paused")
"""States in which a trial holds its target."""
STATES: tuple[TrialState, ...] = (*OPEN, "kept", "reverted", "undecided")


def row_of(trial: Trial) -> Row:
    """The trial as it is stored; its columns repeat what lists filter by."""
    change = trial.change
    return {**as_row(trial), "target": change.target, "agent": change.agent, "pattern": change.pattern}


def trial(store: Store, trial_id: str) -> Trial:
    """One trial. Raises NotFound."""
    return record_of(Trial, named_row(store, "trials", trial_id, "trial", "trials list"))


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
    return [record_of(Trial, row) for row in store.find("trials", said, order=("-created_at",), limit=limit).rows]


def write(store: Store, held: Trial, **changes: object) -> Trial:
    """Store the trial with these changes at its next revision. Raises Conflict when somebody else moved it first."""
    moved = replace(held, **changes)  # type: ignore[arg-type]
    if not store.swap("trials", held.id, held.revision, row_of(moved)):
        raise Conflict(
            f"trial {held.id} was changed by somebody else meanwhile; look again: ratchet trials show {held.id}"
        )
    return replace(moved, revision=held.revision + 1)
