"""Shapes of plans. Each is checked by simulating it: pure data, whatever its author's program says."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ratchet.evolving.scorers.plans import assignment, routes, schedule, steps
from ratchet.evolving.scorers.plans.found import Found
from ratchet.records import Json

SHAPES: dict[str, Callable[[Mapping[str, Json], Json], Found]] = {
    "steps": steps.check,
    "schedule": schedule.check,
    "assignment": assignment.check,
    "routes": routes.check,
}
"""Each raises BadAnswer where the answer has another shape."""
