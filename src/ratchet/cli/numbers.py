"""Numbers as options take them."""

from __future__ import annotations

from math import isfinite

import click


class Finite(click.FloatRange):
    """A number in a range, and not `nan` or `inf`, which limit and measure nothing."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value} is not finite: give a number", param, ctx)
        return number
