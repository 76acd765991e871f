"""A unit's outcome: written to its exposure in the transaction in which the outcome arrives."""

from __future__ import annotations

from collections.abc import Sequence

from ratchet.improving.trials.arms import CHANNEL
from ratchet.ports import Store
from ratchet.records import Row, number_in, whole_in


def settle_units(store: Store, outcomes: Sequence[Row]) -> int:
    """Tell the exposures of these new outcomes how their units did; return how many were told.

    Call it once for each outcome, in the transaction that inserts it, after the exposures of its batch. A unit of
    several calls has failed iff its last one did; time and cost add up. An outcome that ended after the deadline
    changes nothing: its unit has failed by then.
    """
    told = 0
    for row in outcomes:
        met = row.get("trials")
        if isinstance(met, dict):
            for trial, unit in met.items():
                told += _tell(store, trial, str(unit), row)
    return told


def _tell(store: Store, trial: str, unit: str, outcome: Row) -> bool:
    exposure = store.get("exposures", (trial, unit))
    if exposure is None or exposure.get("channel") != CHANNEL:
        return False
    ended_at = number_in(outcome, "started_at") + number_in(outcome, "duration_s")
    if ended_at > number_in(exposure, "due_at"):
        return False
    told: Row = {**exposure, "settled": True, "settled_at": ended_at, "calls": whole_in(exposure, "calls") + 1}
    for name in ("duration_s", "cost_usd"):
        if outcome.get(name) is not None:
            told[name] = number_in(exposure, name) + number_in(outcome, name)
    if ended_at >= number_in(exposure, "settled_at"):
        told["ok"] = bool(outcome.get("ok"))
        if outcome.get("score") is not None:
            told["score"] = outcome["score"]
    return store.swap("exposures", (trial, unit), whole_in(exposure, "revision"), told)
