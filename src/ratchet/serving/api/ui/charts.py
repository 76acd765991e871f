"""Values of a chart: values for the script, and the same as rows of a table for everybody else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_DAY_S = 86_400.0
_FORTNIGHT = 14
_MOST_DAYS = 730  # a chart of more is a line that nobody can read


def every_day(days: Sequence[tuple[float, int]], *, until: float) -> list[tuple[float, int]]:
    """Counts of each day until a moment, a fortnight at least: a day without any counts 0, and is no gap to be drawn
    over."""
    counted = {int(at // _DAY_S): count for at, count in days}
    last = max([int(until // _DAY_S), *counted])
    first = max(min([last - _FORTNIGHT + 1, *counted]), last - _MOST_DAYS)
    return [(day * _DAY_S, counted.get(day, 0)) for day in range(first, last + 1)]


def evidence(curve: Sequence[tuple[int, float, float]], threshold: float) -> dict[str, Any]:
    """Evidence toward and against a change by units, on a logarithmic scale, beside the threshold of both."""
    kept = [(units, _bounded(toward), _bounded(against)) for units, against, toward in curve]
    lines = [
        {"name": "keep", "y": [toward for _, toward, _ in kept]},
        {"name": "revert", "y": [against for _, _, against in kept]},
        {"name": "threshold", "y": [threshold for _ in kept], "dashed": True},
    ]
    rows = [[units, f"{toward:.3g}", f"{against:.3g}", f"{threshold:.3g}"] for units, toward, against in kept]
    said = {"below": "runs that count", "beside": "odds, to 1"}
    return {
        "x": [units for units, _, _ in kept],
        "lines": lines,
        "rows": rows[::-1],
        **said,
    }


def _bounded(value: float) -> float:
    """Within what a logarithmic scale draws: evidence can grow beyond every bound."""
    return min(max(value, 1e-6), 1e9)
