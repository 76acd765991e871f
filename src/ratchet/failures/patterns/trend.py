"""Tell whether a pattern is new, rising, steady, falling or quiet: an exact test of the later half against the
earlier.

Under a steady rate per call, of the n failures of a window each falls into its later half with the probability of that
half's share of the calls, so the later half's count is binomial (two Poisson counts, conditioned on their sum:
Przyborowski & Wilenski, Biometrika 31, 1940). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ratchet.records import Trend

LEVEL = 0.05
"""One-sided level of each test: of steady patterns, at most one in twenty is called rising, and one falling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """A window cut at `middle` (Unix seconds): failures of a pattern and calls of its agents, earlier and later."""

    start: float
    middle: float
    earlier: int
    later: int
    calls_earlier: int
    calls_later: int


def trend(halves: Halves, *, first_seen: float, last_seen: float) -> Trend:
    """Compare the halves.

    new: never seen before the later half. quiet: not seen in the whole window although its agents ran, or not in the
    later half where a steady rate would have shown it with 95 %. rising, falling: the later half holds more, or fewer,
    than a steady rate explains (exact binomial, one-sided, 5 %). steady: all else, too few to tell included.
    """
    if first_seen >= halves.middle:
        return "new"
    if last_seen < halves.start and halves.calls_earlier + halves.calls_later:
        return "quiet"
    count, share = halves.earlier + halves.later, share_of(halves)
    if tail(count, halves.earlier, 1 - share) <= LEVEL:  # so many in the earlier half, so few in the later
        return "falling" if halves.later else "quiet"
    return "rising" if tail(count, halves.later, share) <= LEVEL else "steady"


def share_of(halves: Halves) -> float:
    """The later half's share of the exposure: of its agents' calls, so that twice the work with twice the failures is
    steady. Where most calls are failures of this pattern (a log that holds only failures), calls say nothing; time
    does, and the halves are equally long."""
    calls = halves.calls_earlier + halves.calls_later
    if calls < 2 * (halves.earlier + halves.later) or not calls:
        return 0.5
    return halves.calls_later / calls


def tail(n: int, at_least: int, p: float) -> float:
    """P(X >= at_least) for X binomial (n, p), exact; costs some standard deviations of terms, whatever n is."""
    if at_least <= 0 or (p >= 1.0 and at_least <= n):
        return 1.0
    if at_least > n or p <= 0.0:
        return 0.0
    if at_least > n * p:
        return min(1.0, _beyond(n, at_least, p))
    return max(0.0, 1.0 - _beyond(n, n - at_least + 1, 1 - p))


def _beyond(n: int, first: int, p: float) -> float:
    """The sum of the binomial terms from `first`, which lies above the mean, so that terms only shrink."""
    term = exp(lgamma(n + 1) - lgamma(first + 1) - lgamma(n - first + 1) + first * log(p) + (n - first) * log(1 - p))
    total, odds = term, p / (1 - p)
    for k in range(first, n):
        term *= (n - k) / (k + 1) * odds
        total += term
        if term < total * 1e-16:
            break
    return total
