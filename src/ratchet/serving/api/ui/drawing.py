"""Small charts as SVG, drawn on the server: readable without a script, and each says in words what it shows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_HIGH = 100  # of a drawing's own grid; a page stretches it


def spark(values: Sequence[int], what: str = "failures") -> Markup:
    """Bars of a few counts, oldest first; says how many there are, and where most of them lie."""
    most, width = max(values, default=0), 4
    # One path of numbers alone: a hundred of them stand on a page.
    bars = "".join(
        f"M{n * width} {_HIGH - high}h{width - 1}V{_HIGH}h{1 - width}z"
        for n, value in enumerate(values)
        if (high := _height(value, most))
    )
    said = f"{sum(values):,} {what}, {most:,} in the busiest of {len(values)} stretches" if most else f"no {what}"
    wide = max(1, len(values)) * width
    return Markup(
        '<svg class="spark" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<path class="ground" d="M0 {}H{}"/><path d="{}"/></svg>'
    ).format(wide, _HIGH, said, _HIGH - 1, wide, bars)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One column of a stacked chart: what stands below it, and its parts by name."""

    label: str
    parts: Mapping[str, int]


def stacked(columns: Sequence[Drawn], names: Sequence[str], what: str) -> Markup:
    """Columns of parts on top of each other, in the order of `names`; each column tells its counts when pointed at."""
    most = max((sum(each.parts.values()) for each in columns), default=0)
    drawn = []
    for n, each in enumerate(columns):
        top = float(_HIGH)
        rects = Markup()
        for name in names:
            high = _HIGH * each.parts.get(name, 0) / most if most else 0
            if high:
                top -= high
                rects += Markup('<rect class="fill-{}" x="{}" y="{:.2f}" width="8" height="{:.2f}"/>').format(
                    name, n * 10 + 1, top, high
                )
        told = ", ".join(f"{each.parts[name]:,} {name}" for name in names if each.parts.get(name)) or f"no {what}"
        drawn.append(
            Markup('<g><title>{}: {}</title><rect class="reach" x="{}" y="0" width="10" height="{}"/>{}</g>').format(
                each.label, told, n * 10, _HIGH, rects
            )
        )
    total = sum(sum(each.parts.values()) for each in columns)
    return Markup(
        '<svg class="stack" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    ).format(max(1, len(columns)) * 10, _HIGH, f"{total:,} {what} over time", Markup().join(drawn))


def shares(parts: Sequence[tuple[str, float]], what: str) -> Markup:
    """One bar, cut into named parts of a whole."""
    whole = sum(value for _, value in parts) or 1.0
    x = 0.0
    drawn = []
    for name, value in parts:
        width = _HIGH * value / whole
        drawn.append(
            Markup('<rect class="fill-{}" x="{:.2f}" y="0" width="{:.2f}" height="10"/>').format(name, x, width)
        )
        x += width
    return Markup(
        '<svg class="shares" viewBox="0 0 {} 10" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    ).format(_HIGH, what, Markup().join(drawn))


def ticks(moments: Sequence[float], *, step_s: float) -> list[str]:
    """Labels below a chart's columns: the first, the middle and the last, as precise as their distance."""
    if not moments:
        return []
    style = "%H:%M" if step_s < 3_600 * 6 else "%d %b" if moments[-1] - moments[0] < 86_400 * 300 else "%b %Y"
    chosen = [moments[0], moments[len(moments) // 2], moments[-1]] if len(moments) > 2 else list(moments)
    return [str(escape(time.strftime(style, time.gmtime(at)).lstrip("0"))) for at in chosen]


def _height(value: int, most: int) -> int:
    """A bar's height; something that happened is seen, however rare."""
    return max(8, round(_HIGH * value / most)) if value else 0
