"""A unit's outcome: written to its exposure in the transaction in which the outcome arrives."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nextafter

from ratchet.improving.trials.arms import CHANNEL
from ratchet.ports import Store
from ratchet.records import Json, Row, number_in, whole_in

_SAID = ("calls", "ok", "duration_s", "cost_usd", "score")


def settle_units(store: Store, outcomes: Sequence[Row], *, known: float = 0.0) -> int:
    """Tell the exposures of these new outcomes how their units did; return how many were told.

    Call it once for each outcome, in the transaction that inserts it, after the exposures of its batch. A unit of
    several calls has failed iff its last one did; time and cost add up. Its answer is that of its first calls up to a
    silence of `quiet_s`, after which it is read and must not change: what comes then, or after the deadline, counts for
    nothing. `known` is the moment up to which the outcomes' home had been drained: what ended by then came too late
    for it, and counts just after it.
    """
    told = 0
    for row in outcomes:
        met = row.get("trials")
        if isinstance(met, dict):
            for trial, unit in met.items():
                told += _tell(store, trial, str(unit), row, known)
    return told


def _tell(store: Store, trial: str, unit: str, outcome: Row, known: float) -> bool:
    exposure = store.get("exposures", (trial, unit))
    if exposure is None or exposure.get("channel") != CHANNEL:
        return False
    ended_at = max(number_in(outcome, "started_at") + number_in(outcome, "duration_s"), nextafter(known, inf))
    if ended_at > number_in(exposure, "due_at"):
        return False
    spells = _joined([*_spells(exposure), _spell(outcome, ended_at)], number_in(exposure, "quiet_s", inf))
    told: Row = {name: value for name, value in exposure.items() if name not in _SAID} | spells[0] | {"settled": True}
    if "quiet_s" in exposure:
        told["spells"] = [*spells]
    return store.swap("exposures", (trial, unit), whole_in(exposure, "revision"), told)


def _spell(outcome: Row, ended_at: float) -> Row:
    """Calls of a unit without a silence between them: here the one of an outcome."""
    spell: Row = {"first_at": ended_at, "settled_at": ended_at, "calls": 1, "ok": bool(outcome.get("ok"))}
    return spell | {
        name: outcome[name] for name in ("duration_s", "cost_usd", "score") if outcome.get(name) is not None
    }


def _spells(exposure: Row) -> list[Row]:
    held: Json = exposure.get("spells")
    if isinstance(held, list):
        return [each for each in held if isinstance(each, dict)]
    if not exposure.get("settled"):
        return []
    at = number_in(exposure, "settled_at")
    return [{"first_at": at, "settled_at": at} | {name: exposure[name] for name in _SAID if name in exposure}]


def _joined(spells: list[Row], quiet_s: float) -> list[Row]:
    """The spells in order of time, as one where the silence between them is no longer than `quiet_s`."""
    found: list[Row] = []
    for each in sorted(spells, key=lambda spell: number_in(spell, "first_at")):
        if found and number_in(each, "first_at") - number_in(found[-1], "settled_at") <= quiet_s:
            found[-1] = _together(found[-1], each)
        else:
            found.append(each)
    return found


def _together(one: Row, other: Row) -> Row:
    """Two spells as one: the later call says how it went, time and cost add up."""
    later = other if number_in(other, "settled_at") >= number_in(one, "settled_at") else one
    sums: Row = {
        name: number_in(one, name) + number_in(other, name)
        for name in ("duration_s", "cost_usd")
        if name in one or name in other
    }
    calls = whole_in(one, "calls") + whole_in(other, "calls")
    return {**one, **other, **later, **sums, "first_at": one["first_at"], "calls": calls}
