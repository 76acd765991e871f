"""Decide about a pattern: resolve, ignore or mute it, assign it, leave a note. A row a pattern; the timeline has the
rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from ratchet.errors import Conflict, UsageError
from ratchet.failures.patterns.merging import current
from ratchet.records import Decided, Pattern, Row, Triage, number_in, text_in, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store

DECIDED: tuple[Decided, ...] = get_args(Decided)
_TEXT_CHARS = 2_000


def triaged(store: Store, patterns: Sequence[Pattern], decisions: Sequence[Row], *, now: float) -> list[Pattern]:
    """The patterns with what was decided about them. A decision stands under the present id of its pattern: one that
    was merged into another keeps its own only where that has none."""
    found: dict[str, Row] = {}
    for row in decisions:
        present = current(store, str(row["pattern"]))
        if present == row["pattern"] or present not in found:
            found[present] = row
    return [
        replace(each, triage=standing(found[each.id], each.last_seen, now)) if each.id in found else each
        for each in patterns
    ]


def standing(row: Row, last_seen: float, now: float) -> Triage:
    """Tell what a decision means now: a resolved pattern that failed since has come back, and a mute ends."""
    state, at, until = text_in(row, "state"), number_in(row, "at"), number_in(row, "until")
    shown = Triage(
        state=next((each for each in DECIDED if each == state), "open"),
        at=at,
        until=until,
        assigned=text_in(row, "assigned"),
        note=text_in(row, "note"),
    )
    if shown.state == "resolved" and last_seen > at:
        return replace(shown, state="regressed")
    return replace(shown, state="open") if shown.state == "muted" and until <= now else shown


def decide(
    store: Store,
    pattern_id: str,
    *,
    now: float,
    state: Decided | None = None,
    until: float | None = None,
    assigned: str | None = None,
    note: str | None = None,
) -> str:
    """Write down what a person decided; what is None stays. Returns the pattern's present id. Raises NotFound;
    UsageError for a state that is none, for `muted` without a moment to come, for nothing decided; Conflict."""
    from ratchet.failures.redaction.text import clean

    given = {"state": state, "assigned": assigned, "note": note}
    changed = {name: clean(value, _TEXT_CHARS).strip() for name, value in given.items() if value is not None}
    _check(state, until, now, changed)
    present = current(store, pattern_id)
    with store.transaction():
        held = store.get("triage", present) or {}
        row: Row = {"state": "open", **held, "pattern": present, **changed}
        if state is not None:
            row |= {"at": now, "until": until if state == "muted" else None}
        if not store.swap("triage", present, whole_in(held, "revision"), row):
            raise Conflict(f"pattern {present} was triaged by somebody else at this moment; look again")
        _noted(store, present, now, state, changed)
    return present


def _noted(store: Store, pattern: str, now: float, state: Decided | None, changed: Mapping[str, str]) -> None:
    """A line of the timeline."""
    from ratchet.ids import uuid7

    verb = "triaged" if state is None else "reopened" if state == "open" else state
    said: Row = {name: value for name, value in changed.items() if name != "state" and value}
    event: Row = {"id": uuid7(), "noun": "pattern", "record": pattern, "verb": verb, "at": now, **said}
    store.insert_new("events", [event])


def _check(state: str | None, until: float | None, now: float, changed: Mapping[str, str]) -> None:
    if not changed:
        raise UsageError("nothing was decided; give a state, somebody to assign it to, or a note")
    if state is not None and state not in DECIDED:
        raise UsageError(f"no state {state!r}; a pattern can be {', '.join(DECIDED)}")
    if state == "muted" and (until is None or until <= now):
        raise UsageError("mute it until a moment to come; `ignored` is for good")
    if until is not None and state != "muted":
        raise UsageError("`until` belongs to the state `muted`")
