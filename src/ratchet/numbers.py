"""Reads numbers out of what others wrote. JSON has whole numbers beyond every float, and Python's JSON has NaN, too."""

from __future__ import annotations

from math import isfinite


def finite(value: object) -> float | None:
    """The number as a float; None for what is none: another type, a boolean, NaN, infinite, beyond every float."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None
