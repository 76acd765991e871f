"""Measure how much lessons help. Statistics on counts of a coin-tossed experiment, valid whenever one looks.

Everything here is a function of integers, (successes, failures) per arm and per share, so that merging processes adds
integers and two machines agree. The share of a unit is the probability with which it was shown its lesson.

**The interval.** For a unit with arm A (1 = shown, probability pi) and success Y, and for any centre m and bet size k,

    1 + k ((A - pi)(Y - m) - pi (1 - pi) d)

has mean 1 when P(Y | shown) - P(Y | withheld) = d, at most 1 when the difference is at most d (k >= 0), whatever the
rates themselves do over time, since A is independent of what would have happened. Products over units and averages
over (m, k) keep that, and by Ville's inequality the average exceeds 1/alpha with probability at most alpha, at any
time, however often one peeks. The interval holds every d that neither direction rejects at alpha/2. It is the
betting confidence sequence of Waudby-Smith and Ramdas (JRSS-B 2024, section 4) on augmented inverse-propensity scores,
each bet scaled by pi (1 - pi) so that one k fits all shares; a fixed mixture replaces their running bets because it
needs counts only. We chose it over the empirical-Bernstein sequence of Howard et al. (Annals of Statistics 2021,
section 4.2), whose width grows with the score's range 1/(1 - pi) = 5 to 20 and which needs several times the units;
and over universal inference on the 2 x 2 table, which assumes rates that never drift.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

ALPHA = 0.05
# The bet that grows fastest is (difference) / (p (1 - p)): .05 fits one point, 1.6 fits 30 points at p = .75.
_BETS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
_CENTRES = (0.1, 0.3, 0.5, 0.7, 0.9)
_RUIN = 0.95  # one unit may cost at most this part of the stake: the logarithm stays finite
_PRIOR_SPREAD = 0.10  # how far lessons' true effects are expected to lie from the pooled one
_SPREADS = tuple(step / 50 for step in range(1, 26))  # the spreads considered: 2 to 50 points
_TELLING_WIDTH = 0.20  # an interval wider than this cannot tell +10 points from -10


class LessonCounts(NamedTuple):
    """Units of one share: the integers that everything is computed from."""

    shown_ok: int = 0
    shown_failed: int = 0
    withheld_ok: int = 0
    withheld_failed: int = 0

    def plus(self, other: LessonCounts) -> LessonCounts:
        return LessonCounts(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def shown(self) -> int:
        return self.shown_ok + self.shown_failed

    @property
    def withheld(self) -> int:
        return self.withheld_ok + self.withheld_failed


Tallies = Mapping[float, LessonCounts]
"""Share of shown -> counts of the units tossed with it."""

Verdict = Literal["helps", "harms", "no clear effect", "not enough data yet"]


def tally(units: Iterable[tuple[float, bool, bool]]) -> dict[float, LessonCounts]:
    """Counts of (share, shown, succeeded) units."""
    tallies: dict[float, LessonCounts] = {}
    for share, shown, succeeded in units:
        cell = (0 if shown else 2) + (0 if succeeded else 1)
        counts = list(tallies.get(share, LessonCounts()))
        counts[cell] += 1
        tallies[share] = LessonCounts(*counts)
    return tallies


def merged(several: Iterable[Tallies]) -> dict[float, LessonCounts]:
    """The sum of tallies."""
    total: dict[float, LessonCounts] = {}
    for tallies in several:
        for share, counts in tallies.items():
            total[share] = total.get(share, LessonCounts()).plus(counts)
    return total


def e_value(tallies: Tallies, *, effect: float = 0.0, better: bool = True) -> float:
    """Evidence against "the difference never exceeds `effect`" (`better=False`: "is never below `effect`").

    1 is none; 20 is reached by luck in at most 1 of 20 experiments, at whatever moments one looks. Shares of 0 and 1
    carry no evidence. Inf when beyond the range of a float.
    """
    exponents = [0.0] * (len(_CENTRES) * len(_BETS))
    for share, (shown_ok, shown_failed, withheld_ok, withheld_failed) in tallies.items():
        if 0 < share < 1:
            exponents = [
                x + shown_ok * a + shown_failed * b + withheld_ok * c + withheld_failed * d
                for x, (a, b, c, d) in zip(exponents, _log_factors(share, effect, better), strict=True)
            ]
    top = max(exponents)
    log_mean = top + math.log(sum([math.exp(x - top) for x in exponents]) / len(exponents))
    return math.exp(log_mean) if log_mean < 700 else math.inf


@lru_cache(maxsize=2048)
def _log_factors(share: float, effect: float, better: bool) -> list[tuple[float, float, float, float]]:
    """For each (centre, bet) the logarithm by which one unit of each cell of `LessonCounts` multiplies the evidence."""
    cost = share * (1 - share) * (effect if better else -effect)
    factors = []
    for centre in _CENTRES:
        gains = [_gain(share, centre, better, cell) for cell in range(4)]
        # The bet that no unit can ruin, whatever effect in [-1, 1] is tested: one cap for all of them keeps the
        # evidence falling in `effect`, which is what lets `interval` search by halving.
        largest = _RUIN / (share * (1 - share) - min(gains))
        for bet in _BETS:
            a, b, c, d = (math.log1p(min(bet, largest) * (gain - cost)) for gain in gains)
            factors.append((a, b, c, d))
    return factors


def _gain(share: float, centre: float, better: bool, cell: int) -> float:
    shown, succeeded = cell < 2, cell % 2 == 0
    gain = (shown - share) * (succeeded - centre)
    return gain if better else -gain


def interval(tallies: Tallies, *, alpha: float = ALPHA) -> tuple[float, float]:
    """(low, high) of the difference in success, shown minus withheld: holds the truth at all times at once with
    probability 1 - `alpha`. (-1, 1) where nothing is known, and where the arms contradict the shares (then no
    difference fits, and something other than the coin chose)."""
    limit = 2 / alpha  # half of alpha for each side
    return spanned(lambda effect, better: e_value(tallies, effect=effect, better=better), limit, limit)


def spanned(evidence: Callable[[float, bool], float], helps_from: float, harms_from: float) -> tuple[float, float]:
    """The interval of effects that `evidence` (of an effect, and a direction: `e_value`) rejects in neither direction:
    it speaks from `helps_from` on against effects that are too low, from `harms_from` on against those too high."""

    def low(better: bool, limit: float) -> float:
        """The largest effect that is still rejected as "at most this"; for the other side, of the negated effect."""
        sign = 1.0 if better else -1.0
        rejected, open_ = -1.0, 1.0
        if evidence(sign * rejected, better) < limit:
            return -1.0
        for _ in range(20):  # 2 / 2**20: a thousandth of a point
            middle = (rejected + open_) / 2
            if evidence(sign * middle, better) >= limit:
                rejected = middle
            else:
                open_ = middle
        return rejected

    lowest, highest = low(True, helps_from), -low(False, harms_from)
    return (lowest, highest) if lowest <= highest else (-1.0, 1.0)


def difference(tallies: Tallies) -> tuple[float, float] | None:
    """(estimate, variance) of shown minus withheld, None where an arm is empty.

    Estimated within each share and averaged by precision: the share changes over time, and so may the rates. The
    variance uses the pooled rate with one success and one failure added, so that 3 of 3 is not certainty.
    """
    total = weights = 0.0
    for counts in tallies.values():
        if not (counts.shown and counts.withheld):
            continue
        rate = (counts.shown_ok + counts.withheld_ok + 1) / (counts.shown + counts.withheld + 2)
        weight = 1 / (rate * (1 - rate) * (1 / counts.shown + 1 / counts.withheld))
        total += weight * (counts.shown_ok / counts.shown - counts.withheld_ok / counts.withheld)
        weights += weight
    return (total / weights, 1 / weights) if weights else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A measured effect: `estimate` in points of success (0.15 = 15 more of 100), None while an arm is empty."""

    estimate: float | None
    low: float
    high: float
    evidence: float
    shown: int
    withheld: int
    shown_ok: int
    withheld_ok: int
    verdict: Verdict


def measure(tallies: Tallies, *, alpha: float = ALPHA) -> Effect:
    """The effect with its anytime-valid interval and what may be said of it."""
    return effect_of(tallies, interval(tallies, alpha=alpha), e_value(tallies))


def effect_of(tallies: Tallies, span: tuple[float, float], evidence: float) -> Effect:
    """The effect of these counts, whose interval and evidence are known."""
    guess = difference(tallies)
    total = LessonCounts()
    for counts in tallies.values():
        total = total.plus(counts)
    return Effect(
        estimate=None if guess is None else guess[0],
        low=span[0],
        high=span[1],
        evidence=evidence,
        shown=total.shown,
        withheld=total.withheld,
        shown_ok=total.shown_ok,
        withheld_ok=total.withheld_ok,
        verdict=_verdict(*span),
    )


def _verdict(low: float, high: float) -> Verdict:
    if low > 0:
        return "helps"
    if high < 0:
        return "harms"
    return "no clear effect" if high - low <= _TELLING_WIDTH else "not enough data yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """One lesson's effect, drawn towards the pooled one: `weight` is how much its own data count (0 to 1)."""

    estimate: float
    spread: float  # standard deviation of what is left to chance
    weight: float


def shrink(lessons: Mapping[str, Tallies]) -> dict[str, Shrunk]:
    """Each lesson's effect by partial pooling; one without both arms gets the pooled effect.

    Model: a lesson's observed difference is normal around its true one with the variance of `difference`; true ones
    are normal around the pooled difference; their spread has a half-normal prior of 10 points (weakly informative, as
    Gelman, Bayesian Analysis 2006, advises where groups are few) and enters by its posterior mean. Only differences
    against the control arm enter: a lesson on an easy pattern wins often without helping.
    """
    observed = {key: guess for key, tallies in lessons.items() if (guess := difference(tallies)) is not None}
    pooled = difference(merged(lessons.values()))
    centre = pooled[0] if pooled else 0.0
    spread2 = _between_variance(list(observed.values()), centre)
    shrunk = {}
    for key in lessons:
        if key not in observed:
            shrunk[key] = Shrunk(estimate=centre, spread=math.sqrt(spread2), weight=0.0)
            continue
        estimate, variance = observed[key]
        weight = spread2 / (spread2 + variance)
        shrunk[key] = Shrunk(
            estimate=weight * estimate + (1 - weight) * centre,
            spread=math.sqrt(weight * variance),
            weight=weight,
        )
    return shrunk


def _between_variance(observed: list[tuple[float, float]], centre: float) -> float:
    """Posterior mean of the variance of true effects around the pooled one, over a grid of spreads."""
    logs = [
        -((spread / _PRIOR_SPREAD) ** 2) / 2
        - sum(
            math.log(variance + spread**2) + (estimate - centre) ** 2 / (variance + spread**2)
            for estimate, variance in observed
        )
        / 2
        for spread in _SPREADS
    ]
    top = max(logs)
    weights = [math.exp(x - top) for x in logs]
    return sum(w * spread**2 for w, spread in zip(weights, _SPREADS, strict=True)) / sum(weights)
