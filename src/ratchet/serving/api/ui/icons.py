"""Icons as inline SVG, one stroke wide, and the mark of the product."""

from __future__ import annotations

from functools import lru_cache
from math import cos, pi, sin

from markupsafe import Markup

# Drawn on a grid of 24, stroked with the colour of the text around them.
_PATHS = {
    "overview": "M4 4h7v9H4zM13 4h7v5h-7zM13 11h7v9h-7zM4 15h7v5H4z",
    "sessions": "M4 5h16v14H4zM8 10l3 2.5L8 15M13 15h3",
    "search": "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.3 15.3 20 20",
    "patterns": "M12 4 3 9l9 5 9-5zM3.5 13.5 12 18l8.5-4.5",
    "fails": "M5 20V10M12 20V4M19 20v-7",
    "cost": "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z"
    "M14.8 9.2c-.5-1-1.5-1.5-2.8-1.5-1.5 0-2.8.8-2.8 2.1 0 3 5.8 1.5 5.8 4.4 0 1.3-1.3 2.1-3 2.1"
    "-1.4 0-2.5-.6-3-1.6M12 6v1.7M12 16.3V18",
    "lessons": "M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11M9 8h6",
    "skills": "M12 3.5 20 8v8l-8 4.5L4 16V8zM4 8l8 4.5L20 8M12 12.5v8",
    "recall": "M4 12a8 8 0 1 0 2.6-5.9M4 4v4.5h4.5M12 8v4.5l3 1.8",
    "report": "M6 3h9l4 4v14H6zM14.5 3v4.5H19M9.5 13h6M9.5 16.5h6",
    "trials": "M9.5 3.5h5M10.5 3.5v6L5 19a1.5 1.5 0 0 0 1.3 2h11.4a1.5 1.5 0 0 0 1.3-2l-5.5-9.5v-6M8 15h8",
    "proposals": "M4 13 6.5 5h11L20 13v6H4zM4 13h5l1 2.5h4l1-2.5h5",
    "settings": "M4 7h9M17 7h3M4 17h3M11 17h9M13 4.5v5M7 14.5v5",
    "episodes": "M12 20S4 15 4 9.3A4.2 4.2 0 0 1 12 7.5a4.2 4.2 0 0 1 8 1.8C20 15 12 20 12 20zM12 9.5v5M9.5 12h5",
    "teams": "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM2.5 19a5.5 5.5 0 0 1 11 0M16 7a2.5 2.5 0 1 0 0 5"
    "M15.5 14.2a5 5 0 0 1 6 4.8",
    "evolve": "M6 4v16M6 14c0-4 12-2 12-8M18 3.5a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
    "bench": "M4 17a8.5 8.5 0 1 1 16 0M12 16l4-6",
    "live": "M3 12h4l3-7 4 14 3-7h4",
    "good": "M5 12.5 10 17.5 19 7",
    "bad": "M6 6l12 12M18 6 6 18",
    "warn": "M12 4 2.8 20h18.4zM12 10v4.5M12 17.2v.3",
    "plain": "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
    "back": "M7 7.5h9a4.5 4.5 0 0 1 0 9h-4M10 4 6.5 7.5 10 11",
    "mute": "M6 16V10.5a6 6 0 0 1 9-5.2M18 10v6H9M10.5 19.5h3M4 4l16 16",
    "clock": "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 7.5V12l3.5 2",
    "person": "M12 4a3.8 3.8 0 1 0 0 7.6A3.8 3.8 0 0 0 12 4zM4.5 20a7.5 7.5 0 0 1 15 0",
    "note": "M5 4h14v11l-5 5H5zM14 20v-5h5M8.5 9h7M8.5 12.5h4",
    "edit": "M4 20l1-4.5L15.5 5l3.5 3.5L8.5 19zM13.5 7l3.5 3.5",
    "copy": "M8.5 8.5H20V20H8.5zM15.5 8.5V4H4v11.5h4.5",
    "up": "M12 19V5M6 11l6-6 6 6",
    "down": "M12 5v14M6 13l6 6 6-6",
    "link": "M9 17H7A5 5 0 0 1 7 7h2M15 7h2a5 5 0 0 1 0 10h-2M8.5 12h7",
    "menu": "M4 7h16M4 12h16M4 17h16",
    "keys": "M3 7h18v11H3zM7 11h.1M11 11h.1M15 11h.1M8 14.8h8",
    # groups of kinds
    "provider": "M7 18h10a4 4 0 0 0 .6-7.95A6 6 0 0 0 6 11.2 3.5 3.5 0 0 0 7 18z",
    "access": "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
    "model": "M12 3.5 14 10l6.5 2-6.5 2-2 6.5-2-6.5L3.5 12l6.5-2z",
    "tool": "M14.5 6.5a4.5 4.5 0 0 1 5.5 5.7L17 9.5l-2 2 2.7 3M14.5 6.5 18 4M13 10l-8.5 8.5 1.5 1.5 8.5-8.5",
    "code": "M8.5 7 3.5 12l5 5M15.5 7l5 5-5 5M13.5 5l-3 14",
    "run": "M5 12a7 7 0 0 1 12-5l2 2M19 4.5V9h-4.5M19 12a7 7 0 0 1-12 5l-2-2M5 19.5V15h4.5",
}
_TEETH = 9


@lru_cache(maxsize=128)  # a hundred stand on a page
def icon(name: str) -> Markup:
    """An icon beside a text that says the same: a screen reader skips it."""
    return Markup(
        '<svg class="icon" viewBox="0 0 24 24" width="16" height="16" aria-hidden="true" focusable="false">'
        '<path d="{}"/></svg>'
    ).format(_PATHS.get(name, _PATHS["plain"]))


def mark() -> Markup:
    """The product's mark: a ratchet wheel, whose teeth let it turn one way only, and its pawl."""
    return Markup(
        '<svg class="mark" viewBox="0 0 32 32" width="26" height="26" aria-hidden="true" focusable="false">{}</svg>'
    ).format(shapes("mark-wheel", "mark-pawl"))


def shapes(wheel: str, pawl: str) -> Markup:
    """The two shapes of the mark, each with a class; docs and the favicon give them colours instead."""
    return Markup('<path class="{}" fill-rule="evenodd" d="{}"/><path class="{}" d="{}"/>').format(
        wheel, wheel_path(), pawl, PAWL
    )


PAWL = "M27.6 3.2a2 2 0 0 1 1.2 2.7l-3.9 7.3-4.3-1.5 4.2-7.6a2 2 0 0 1 2.8-.9z"


def wheel_path(middle: float = 15.0, below: float = 17.0, outer: float = 12.5, inner: float = 9.2) -> str:
    """Outline of the wheel with its hole: each tooth rises slowly and falls steeply."""
    points = []
    for tooth in range(_TEETH):
        start = 2 * pi * tooth / _TEETH - 0.75
        for angle, radius in ((start, inner), (start + 2 * pi / _TEETH * 0.86, outer)):
            points.append(f"{middle + radius * cos(angle):.2f} {below + radius * sin(angle):.2f}")
    hole = 3.6
    around = f"M{middle - hole} {below}a{hole} {hole} 0 1 0 {2 * hole} 0 {hole} {hole} 0 1 0 {-2 * hole} 0z"
    return f"M{'L'.join(points)}z{around}"
