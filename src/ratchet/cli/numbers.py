"""Numbers as options take them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from math import isfinite
from typing import TYPE_CHECKING, ClassVar

import click

if TYPE_CHECKING:
    from ratchet.runtime import Runtime


class Finite(click.FloatRange):
    """A number in a range, and not `nan` or `inf`, which limit and measure nothing."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value} is not finite: give a number", param, ctx)
        return number


class Span(click.ParamType[float]):
    """A span of time, as seconds: 90s, 30m, 6h, 1d."""

    name = "span"
    _SECONDS: ClassVar = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        said = str(value).strip()
        if not (said[:-1].isdecimal() and said[-1:] in self._SECONDS and int(said[:-1]) > 0):
            self.fail(f"{said!r} is no span of time: write it as 90s, 30m, 6h or 1d", param, ctx)
        return int(said[:-1]) * self._SECONDS[said[-1]]


class Moment(click.ParamType[float]):
    """A moment, as Unix seconds: a day (2026-03-01), a time (2026-03-01T10:00), or so long ago (7d, 24h, 30m)."""

    name = "moment"
    _AGO: ClassVar = {"d": 86_400.0, "h": 3_600.0, "m": 60.0}

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        said = str(value).strip()
        try:
            if said[:-1].isdecimal() and said[-1:] in self._AGO:
                return time.time() - int(said[:-1]) * self._AGO[said[-1]]
            found = datetime.fromisoformat(said)
        except (ValueError, OverflowError):
            self.fail(f"{said!r} is no moment: write it as 2026-03-01, or as 7d, 24h, 30m ago", param, ctx)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def say_last(runtime: Runtime, since: float | None) -> None:
    """Print when the last step was, where a time begins after it, and how to ask for as long a time up to that: a range
    of the pages ends with the last step, `--since 14d` now."""
    if since is not None and (last := runtime.failing.window("all").last) < since:
        before = last - (time.time() - since)
        click.echo(f"The last step is of {_day(last)}; as much time up to it: --since {_day(before)}")


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()
