"""Lengths of time as people read them, on pages, in terminals and in reports alike."""

from __future__ import annotations

LOST = (
    "Time lost runs from each failure to its fix; where none is known, it is what the failed steps took. Patterns "
    "overlap, so it does not add up, and is not the waste of `ratchet sessions cost`."
)
"""What a pattern's time counts, in the words that stand beside every list of them."""
IMPACT = "Impact, which orders them with the sessions: a minute a failure and those lost, weighed by its severity."
"""What a pattern's impact counts, in the words that stand beside every list of them."""
_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def span(seconds: float | None) -> str:
    """Say how long something took, in its largest unit and two figures; "-" where nobody knows."""
    if seconds is None:
        return "-"
    if 0 < seconds < 1:
        return f"{1_000 * seconds:.0f} ms" if seconds >= 0.001 else "under 1 ms"
    size, unit = next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])
    said = f"{seconds / size:.0f}" if seconds >= 10 * size else f"{seconds / size:.1f}".removesuffix(".0")
    return f"{said} {unit}"
