"""Converting lengths."""

from table import METRES


def convert(value, unit, to):
    return value * METRES[to] / METRES[unit]


def add(first, second):
    """The sum of two (value, unit) in the unit of the first."""
    value, unit = first
    return value + convert(*second, unit), unit


def shown(value, unit):
    """In the largest unit that leaves at least one."""
    for other in ("km", "m", "cm"):
        if convert(value, unit, other) >= 1:
            return f"{convert(value, unit, other):g} {other}"
    return f"{convert(value, unit, 'mm'):g} mm"
