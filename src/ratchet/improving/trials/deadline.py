"""When an exposure without an outcome counts as failed, and when a unit of several calls has ended."""

from __future__ import annotations

from collections.abc import Mapping

from ratchet.improving.trials.arms import LASTING_DEADLINE_S
from ratchet.records import Json, UnitKind, number_in

CALL_DEADLINE_S = 600.0
_WAITS_S = 300.0  # what all waits of a guarded call may come to, unless set


def deadline_of(
    unit: UnitKind, defaults: Mapping[str, Json], base: Mapping[str, Json], after: Mapping[str, Json]
) -> float:
    """Seconds after which a unit of the trial has failed: a day where it has several calls, else `call_deadline_of`."""
    return LASTING_DEADLINE_S if unit != "call" else call_deadline_of(defaults, base, after)


def call_deadline_of(defaults: Mapping[str, Json], base: Mapping[str, Json], after: Mapping[str, Json]) -> float:
    """Seconds that a call may take in either arm by the timeout that is set, with all its tries and waits; 600 where no
    timeout is set. A unit that is silent for longer has no call under way."""
    longest = [_longest_call_s({**defaults, **base}), _longest_call_s({**defaults, **base, **after})]
    return CALL_DEADLINE_S if None in longest else max(each for each in longest if each is not None)


def _longest_call_s(values: Mapping[str, Json]) -> float | None:
    timeout_s = number_in(values, "timeout_s", 0.0)
    if timeout_s <= 0:
        return None
    retries = number_in(values, "max_retries", 0.0)
    models = values.get("fallback_models")
    tries = (1 + retries) * (1 + (len(models) if isinstance(models, list) else 0)) + number_in(
        values, "empty_retries", 0.0
    )
    waits_s = number_in(values, "wait_budget_s", _WAITS_S) if retries else 0.0
    return timeout_s * tries + waits_s
