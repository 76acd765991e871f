"""Evidence from scores whose noise is normal and of unknown size: an anytime-valid t test. Pure.

Two versions are compared by the difference of their mean scores; the noise of one run is estimated from the repeats of
every version at once. Nothing is said of the size of the noise or of the means: both are integrated out by the right
Haar prior, under which the likelihood ratio of an effect against none is an e-value at every run, however runs were
allotted and whenever one looks (Hendriksen, de Heide, Grunwald, Bernoulli 2021; Perez-Ortiz, Lardy, de Heide,
Grunwald, Annals of Statistics 2024). Under an effect below 0 it is smaller still: the ratio of noncentral t densities
is monotone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, lgamma, log, log1p, sqrt
from typing import Literal

from ratchet.gate.bets import log_mean

EFFECTS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 12.0)
"""Gains in units of the noise of one run, each bet on alike: a gain between two of them costs next to nothing."""

_REACH = 7.0  # widths of the peak on either side: what lies beyond is below 1e-11 of the whole
_TAIL = 20.0  # on the left it may fall no faster than v^power: so many e-folds more,
_FALL = 9.0  # but at least as fast as exp(-(v - peak)^2 / 2)
_STEPS = 80  # off by less than 1e-6 for every tilt in [-30, 40] and freedom from 1 (our measurement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """A difference of two means: `gain`, from `runs` effective runs (1 / (1/n + 1/m)), beside noise known by the sum of
    `squares` of `freedom` residuals."""

    gain: float
    runs: float
    squares: float
    freedom: int

    @property
    def noise(self) -> float:
        """Estimated standard deviation of one run."""
        return sqrt(self.squares / self.freedom)


@dataclass(frozen=True, slots=True)
class Spread:
    """Sum of squared residuals about the means of the versions that it is of, and its degrees of freedom."""

    squares: float = 0.0
    freedom: int = 0

    def with_runs(self, runs: Running, sign: Literal[1, -1] = 1) -> Spread:
        """Add the runs of one version, or take them out again."""
        squares = max(0.0, self.squares + sign * runs.squares)  # rounding, where all are taken out
        return Spread(squares, self.freedom + sign * max(runs.count - 1, 0))


@dataclass(slots=True)
class Running:
    """The runs of one version, by their number, mean and squared residuals (Welford, Technometrics 4, 1962): however
    many there are, one more costs the same."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        off = value - self.mean
        self.mean += off / self.count
        self.squares += off * (value - self.mean)

    def drop(self, value: float) -> None:
        """Take out a value that was added."""
        self.count -= 1
        off = value - self.mean
        self.mean = self.mean - off / self.count if self.count else 0.0
        self.squares = max(0.0, self.squares - off * (value - self.mean)) if self.count else 0.0

    @classmethod
    def of(cls, values: Iterable[float]) -> Running:
        made = cls()
        for value in values:
            made.add(value)
        return made


def contrast(new: Running, old: Running, others: Spread) -> Contrast:
    """Compare runs of a new version with those of the old; the `others` only tell of the noise."""
    spread = others.with_runs(new).with_runs(old)
    return Contrast(
        gain=new.mean - old.mean,
        runs=1 / (1 / new.count + 1 / old.count),
        squares=spread.squares,
        freedom=spread.freedom,
    )


def most_evidence(of: Contrast) -> float:
    """A bound on `log_evidence` that costs next to nothing.

    The ratio of one effect is e^(-d^2/2) E[e^(d s v)], with d = effect sqrt(runs), s^2 the gain's share of all squares,
    v^2 chi-squared with freedom + 1: at most E[e^(s^2 v^2 / 2)], whatever the effect.
    """
    if of.freedom == 0 or of.gain <= 0:
        return 0.0
    whole = of.squares + of.runs * of.gain**2
    share = of.runs * of.gain**2 / whole if whole else 0.0
    return -(of.freedom + 1) / 2 * log1p(-share) if share < 1 else inf


def least_ratio(of: Contrast, effect: float) -> float:
    """A bound on `log_ratio` from below that costs next to nothing: e^(-d^2/2 + d s E[v]), by Jensen's inequality."""
    whole = of.squares + of.runs * of.gain**2
    if of.freedom == 0 or not whole:
        return -inf
    d, share = effect * sqrt(of.runs), of.gain * sqrt(of.runs / whole)
    return -(d**2) / 2 + d * share * sqrt(2) * exp(lgamma(of.freedom / 2 + 1) - lgamma((of.freedom + 1) / 2))


def log_evidence(of: Contrast) -> float:
    """The logarithm of the e-value that the gain is above 0: the mean over `EFFECTS`."""
    return log_mean([log_ratio(of, effect) for effect in EFFECTS])


def log_ratio(of: Contrast, effect: float) -> float:
    """The logarithm of how much likelier a true gain of `effect` (in noises of one run) makes what was seen than none.

    The noise is 1/u with u^freedom exp(-(squares + runs gain^2) u^2 / 2) as its density; with v for u in units of that
    scale, the ratio is exp(-runs effect^2 / 2) E[exp(b v)]. 0 runs of freedom tell nothing: the ratio is 1.
    """
    if of.freedom == 0:
        return 0.0
    scale = sqrt(of.squares + of.runs * of.gain**2)
    tilt = of.runs * effect * of.gain / scale if scale else 0.0
    return -of.runs * effect**2 / 2 + _log_moment(of.freedom, tilt) - _log_moment_at_0(of.freedom)


def _log_moment(freedom: int, tilt: float) -> float:
    """log of the integral of v^freedom exp(-v^2/2 + tilt v) over v > 0, by the trapezoid rule over log v: the integrand
    is analytic and dies out on both sides, so the rule's error falls exponentially with its steps."""
    power = freedom + 1
    peak = (tilt + sqrt(tilt**2 + 4 * power)) / 2
    width = 1 / sqrt(peak**2 + power)
    top = power * log(peak) - peak**2 / 2 + tilt * peak
    first = log(peak) - min(_REACH * width + _TAIL / power, -log1p(-_FALL / peak) if peak > _FALL + 1 else inf)
    step = (log(peak) + _REACH * width - first) / _STEPS
    total = 0.0
    for n in range(_STEPS + 1):
        x = first + n * step
        v = exp(x)
        total += exp(power * x - v * v / 2 + tilt * v - top)
    return top + log(total * step)


@lru_cache(maxsize=4096)
def _log_moment_at_0(freedom: int) -> float:
    return (freedom - 1) / 2 * log(2) + lgamma((freedom + 1) / 2)
