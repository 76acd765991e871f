"""Compare before and after where no coin can be tossed, and say when to stop regardless. Pure.

Without a control arm nothing can tell a change that hurts from an outage that began with it, and a short history cannot
tell a change that hurts from chance. So this advises, says so, and refuses to arm where it would be blind. The sounder
way is to toss for blocks of calls (`ratchet.improving.trials.blocks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, lgamma, log, log1p
from typing import Literal

from ratchet.gate.bets import RELATIVE_DROPS, history, inside, log_mean, truth, wealth, whole

STOP_ALPHA = 0.005  # of the hard stop, and of the bound on the old failure rate it stands on
LEAST_STREAK = 3
CAVEAT = "no control arm: an outage that began with the change looks the same as a change that hurts"


def history_needed(rate: float, drop: float, *, alpha: float = 0.05) -> int:
    """Count the old calls that a before/after test needs to see success fall from `rate` by `drop`.

    log(1/alpha) / KL(rate || rate - drop): with fewer, the data after the change could not reach 1/alpha against every
    history that fits. 60 for .95 -> .85, 117 for .80 -> .70 at .05.
    """
    inside("rate", rate)
    worse = inside("rate - drop", rate - inside("drop", drop))
    gap = rate * log(rate / worse) + (1 - rate) * log((1 - rate) / (1 - worse))
    return ceil(log(1 / inside("alpha", alpha)) / gap)


def failure_bound(before: tuple[int, int], *, alpha: float = STOP_ALPHA) -> float:
    """The upper 1 - alpha bound of the failure rate after (ok, total), 1 without history (Clopper and Pearson 1934)."""
    ok, total = history(before)
    return _bound(total - ok, total, inside("alpha", alpha))


@lru_cache(maxsize=64)  # a long history costs milliseconds, and is asked about at every streak
def _bound(failures: int, total: int, alpha: float) -> float:
    if failures == total:
        return 1.0
    low, high = failures / total, 1.0
    for _ in range(60):  # halves the interval below the spacing of floats
        middle = (low + high) / 2
        if _at_most(failures, total, middle) > alpha:
            low = middle
        else:
            high = middle
    return high


def _at_most(count: int, total: int, rate: float) -> float:
    """P(X <= count), X binomial(total, rate), for count below the mean: terms fall from the last one on."""
    log_last = (
        lgamma(total + 1)
        - lgamma(count + 1)
        - lgamma(total - count + 1)
        + (count * log(rate) if count else 0.0)
        + (total - count) * (log1p(-rate) if rate < 1 else -1e9)
    )
    sum_, term = 1.0, 1.0
    for i in range(count, 0, -1):
        term *= i * (1 - rate) / ((total - i + 1) * rate)
        sum_ += term
        if term < sum_ * 1e-17:
            break
    return exp(log_last) * sum_


def streak_limit(units: int, before: tuple[int, int]) -> int | None:
    """Count the failures in a row, ending at unit number `units` after the change, that stop it: None without history,
    and where all of it failed.

    k(t) = max(3, ceil(log(t (t + 1) / .005) / log(1 / q))), q the upper 99.5 % bound of the old failure rate: a streak
    of k has probability at most q^k, and .005 / (t (t + 1)) sums to .005 over all t.
    """
    t = whole("units", units, least=1)
    bound = failure_bound(before)
    if bound >= 1:
        return None
    return max(LEAST_STREAK, ceil(log(t * (t + 1) / STOP_ALPHA) / log(1 / bound)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Advice from a before/after comparison, no decision: nothing is reverted on `looks worse` unless a person, or a
    rule of theirs, says so; `stop` is the hard stop."""

    verdict: Literal["too little history", "wait", "looks worse", "stop"]
    e_value: float
    why: str


class BeforeAfter:
    """Is success after the change worse than before it? Holds only while nothing but the change changed.

    The old rate is taken at its lower 1 - alpha/2 bound, and the units since bet against it at alpha/2: a change that
    does no harm is called worse with probability at most alpha, whenever one looks. `drop`: the fall of success that
    must be visible for the test to arm.
    """

    __slots__ = (
        "_alpha",
        "_before",
        "_drop",
        "_floor",
        "_logs",
        "_needed",
        "_seen",
        "_stopped_by",
        "_streak",
        "_units",
    )

    def __init__(self, *, before: tuple[int, int], alpha: float = 0.05, drop: float = 0.10) -> None:
        self._before = history(before)
        self._alpha = inside("alpha", alpha)
        self._drop = inside("drop", drop)
        self._floor = 1 - failure_bound(self._before, alpha=alpha / 2)
        self._logs = [0.0] * len(RELATIVE_DROPS)
        self._units = 0
        self._streak = 0
        self._stopped_by = 0  # failures in a row
        self._seen = False
        ok, total = self._before
        rate = min(max((ok + 1) / (total + 2), self._drop + 0.01), 0.99)  # of a history without failures, too
        self._needed = history_needed(rate, self._drop, alpha=self._alpha)

    @property
    def needed(self) -> int:
        """Old calls needed for the test to arm."""
        return self._needed

    @property
    def armed(self) -> bool:
        """Tell whether the history suffices to see a fall of `drop`."""
        return self._before[1] >= self._needed and self._floor > 0

    def update(self, *, ok: bool) -> None:
        """Count one unit since the change, in the order in which they started."""
        succeeded = truth("ok", ok)
        self._units += 1
        self._streak = 0 if succeeded else self._streak + 1
        if self._streak >= LEAST_STREAK and not self._stopped_by:
            limit = streak_limit(self._units, self._before)
            self._stopped_by = self._streak if limit is not None and self._streak >= limit else 0
        if self.armed:
            floor = self._floor
            self._logs = [
                held + (log1p(-drop) if succeeded else log1p(floor * drop / (1 - floor)))
                for held, drop in zip(self._logs, RELATIVE_DROPS, strict=True)
            ]
            self._seen = self._seen or self.e_value >= 2 / self._alpha

    @property
    def e_value(self) -> float:
        """Evidence that success fell below the lower bound of the old rate; 1 while not armed."""
        return wealth(log_mean(self._logs))

    @property
    def advice(self) -> Advice:
        """Return what may be said now."""
        e_value = self.e_value
        if self._stopped_by:
            why = f"{self._stopped_by} failures in a row, more than the history allows; {CAVEAT}"
            return Advice(verdict="stop", e_value=e_value, why=why)
        if not self.armed:
            why = f"{self._before[1]} old calls known, {self.needed} needed to see a fall of {self._drop:.0%}"
            return Advice(verdict="too little history", e_value=e_value, why=why)
        if self._seen:
            return Advice(verdict="looks worse", e_value=e_value, why=CAVEAT)
        return Advice(verdict="wait", e_value=e_value, why=f"evidence {e_value:.3g} of {2 / self._alpha:g}")
