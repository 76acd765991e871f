"""Small charts as SVG, drawn on the server: readable without a script, and each says in words what it shows."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_HIGH = 100  # of a drawing's own grid; a page stretches it
_STEPS, _TICKS = 4, 5  # of a chart's scale, and labels below it


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
    """One column of a stacked chart: its label when pointed at, its parts by name, what may stand below it (`again`
    where the label before it says the same), and the address that it leads to."""

    label: str
    parts: Mapping[str, int]
    below: str = ""
    again: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart with its axes: the numbers of its scale from the top down, and a label below every so many columns;
    `parts` names those that it has any of."""

    drawn: Markup
    scale: tuple[str, ...]
    ticks: Markup
    parts: frozenset[str]


def stacked(columns: Sequence[Drawn], names: Mapping[str, str], what: str, *, unit: int = 1) -> Plot | None:
    """Columns of parts on top of each other, in the order of `names` (a part -> its words); each column tells its
    counts when pointed at. The scale, and what is told, is in units of so many; None where there is nothing to draw."""
    most = max((sum(each.parts.values()) for each in columns), default=0)
    if not most:
        return None
    scale = _scale(most / unit, whole=unit == 1)
    top, wide = scale[0] * unit, len(columns) * 10
    lines = "".join(f"M0 {_HIGH * n / (len(scale) - 1):.2f}H{wide}" for n in range(len(scale) - 1))
    drawn = [f'<path class="grid" d="{lines}"/>']
    for n, each in enumerate(columns):
        y = float(_HIGH)
        rects = ""
        for name in names:
            high = _HIGH * each.parts.get(name, 0) / top
            if high:
                y -= high
                rects += f'<rect class="fill-{name}" x="{n * 10 + 1}" y="{y:.2f}" width="8" height="{high:.2f}"/>'
        said = (f"{said} {_told(each.parts[name], unit)}" for name, said in names.items() if each.parts.get(name))
        told = escape(f"{each.label}: {', '.join(said) or f'no {what}'}")
        column = f'<title>{told}</title><rect class="reach" x="{n * 10}" y="0" width="10" height="{_HIGH}"/>{rects}'
        linked = f'<a href="{escape(each.address)}" tabindex="-1" aria-label="{told}">{column}</a>'
        drawn.append(linked if each.address else f"<g>{column}</g>")
    total = sum(sum(each.parts.values()) for each in columns)
    role = "group" if any(each.address for each in columns) else "img"
    chart = Markup(
        '<svg class="stack" viewBox="0 0 {} {}" preserveAspectRatio="none" role="{}" aria-label="{}">{}</svg>'
    ).format(wide, _HIGH, role, f"{_told(total, unit)} {what} over time", Markup("".join(drawn)))  # noqa: S704  (escaped)
    parts = frozenset(name for each in columns for name, count in each.parts.items() if count)
    return Plot(chart, tuple(f"{each:,.10g}" for each in scale), _ticks(columns), parts)


def _told(value: int, unit: int) -> str:
    return f"{value:,}" if unit == 1 else f"{value / unit:,.2f}"


def _scale(most: float, *, whole: bool) -> list[float]:
    """Round numbers at equal distances from above the largest value down to 0, as an axis names them."""
    power = 10.0 ** math.floor(math.log10(most / _STEPS))
    steps = [each * power for each in (1, 2, 2.5, 5, 10)]
    step = next(each for each in steps if each * _STEPS >= most and (not whole or each == int(each)))
    return [n * step for n in range(math.ceil(most / step), -1, -1)]


def _ticks(columns: Sequence[Drawn]) -> Markup:
    """Labels in the middle of every so many columns: no more than fit a phone, and none twice in a row."""
    apart = math.ceil(len(columns) / _TICKS)
    texts, last = Markup(), ""
    for n in range(0, len(columns), apart):
        said = columns[n].below if columns[n].below != last else columns[n].again
        texts += Markup('<text x="{:.2f}%" y="12">{}</text>').format(100 * (n + 0.5) / len(columns), said)
        last = columns[n].below
    return Markup('<svg class="ticks" aria-hidden="true">{}</svg>').format(texts)


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


def below(moments: Sequence[float], *, step_s: float) -> list[str]:
    """Name the columns that begin at these moments (UTC), as precisely as their distance asks."""
    long = bool(moments) and moments[-1] - moments[0] >= 86_400 * 300
    style = "%H:%M:%S" if step_s < 12 else "%H:%M" if step_s < 3_600 * 6 else "%b %Y" if long else "%d %b"
    cut = "" if style.startswith("%H") else "0"
    return [time.strftime(style, time.gmtime(at)).lstrip(cut) for at in moments]


def _height(value: int, most: int) -> int:
    """A bar's height; something that happened is seen, however rare."""
    return max(8, round(_HIGH * value / most)) if value else 0
