"""Has it got worse, and since when? Scores of checks on a schedule beside those of a frozen baseline. Pure.

If nothing changed, checks and the runs of the baseline are alike, whatever their noise. A regression may have begun at
any check. For each such moment, the checks from there on are compared with all runs before, by the anytime-valid t test
of `ratchet.gate.normal`; the evidence is the mean over the moments of a horizon, which is an e-value again, so that it
reaches 1/alpha within the horizon with probability at most alpha, however often one looks (Ville; a mixture over
changepoints as in Shin, Ramdas, Rinaldo, "E-detectors", 2023). No threshold on a score is set by anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, log, sqrt

from ratchet.gate.bets import inside, log_mean, real, wealth, whole
from ratchet.gate.normal import EFFECTS, Running, Spread, contrast, log_evidence, most_evidence

ALPHA = 0.05
HORIZON = 800
"""Checks within which a false alarm has probability ALPHA: 200 days of one each six hours."""
APART = 8
"""Half of the weight is on moments so many checks apart, of which fewer share it: a small loss, which takes dozens of
checks, is found the sooner. The other half is on every moment: a large loss between two of those shows at once."""
_LONGEST = 240  # checks; whatever this many do not show is looked for from the baseline on
_Z90 = 1.2815515655446004  # the normal distribution's 90 % point
_QUIET = 2.0  # log of the most evidence below which a moment counts as none: it cannot matter among hundreds


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionState:
    """State of a watch after a check. `loss` is in units of the score, from `since` on (a check, from 0), the moment
    with the most evidence; None while there is none."""

    checks: int
    e_value: float
    alarm: int | None
    """The check at which it was proven, from 0; it stays."""
    since: int | None
    loss: float


class RegressionWatch:
    """Fed with the score of each check in its order; beyond the horizon nothing new is proven."""

    def __init__(self, baseline: Sequence[float], *, alpha: float = ALPHA, horizon: int = HORIZON) -> None:
        self._baseline = [real("baseline", score) for score in baseline]
        self._alpha = inside("alpha", alpha)
        self._horizon = whole("horizon", horizon, least=1)
        self._checks: list[float] = []
        self._state = RegressionState(checks=0, e_value=0.0, alarm=None, since=None, loss=0.0)

    @property
    def state(self) -> RegressionState:
        """The state by now. Reading it changes nothing."""
        return self._state

    def add(self, score: float) -> RegressionState:
        """Count one check."""
        self._checks.append(real("score", score))
        if len(self._checks) <= self._horizon and (self._state.alarm is None):
            self._look()
        return self._state

    def _look(self) -> None:
        last = len(self._checks) - 1
        logs: list[float] = []
        best: tuple[float, int, float] = (-inf, 0, 0.0)
        new, old = Running(), Running.of((*self._baseline, *self._checks))
        for n in range(last, -1, -1):
            new.add(-self._checks[n])
            old.drop(self._checks[n])
            if n and last - n > _LONGEST:
                continue
            found = contrast(new, Running(old.count, -old.mean, old.squares), Spread())
            if most_evidence(found) < _QUIET:
                continue
            log_e = log_evidence(found)
            logs.append(log_e + self._log_weight(n))
            best = max(best, (log_e, n, found.gain))
        e_value = wealth(log_mean(logs) + log(len(logs))) if logs else 0.0
        proven = e_value >= 1 / self._alpha
        self._state = RegressionState(
            checks=last + 1,
            e_value=e_value,
            alarm=last if proven else None,
            since=best[1] if logs else None,
            loss=best[2],
        )

    def _log_weight(self, moment: int) -> float:
        """The share of a moment; all of a horizon add up to 1."""
        coarse = -(-self._horizon // APART)
        return log(0.5 / self._horizon + (0.5 / coarse if moment % APART == 0 else 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPlan:
    """Checks until a regression of `loss` is told, which begins after `quiet` checks: in half of cases and in nine of
    ten; None where fewer are told within the horizon."""

    loss: float
    quiet: int
    median: int | None
    most: int | None


def watch_plan(noise: float, loss: float, *, baseline: int, quiet: int = 100) -> WatchPlan:
    """The checks that will tell of a loss, where one check varies by `noise`.

    The evidence of a loss of d noises grows by d^2 / 2 with each effective run (1 / (1/new + 1/old)), with a standard
    deviation of d for its root, up to log(moments / alpha); the test pays some more for not knowing d (our measurement:
    `benchmarks/watch.py`).
    """
    goal = log(2 * -(-HORIZON // APART) / ALPHA) + log(len(EFFECTS)) / 2

    def checks(z: float) -> int | None:
        wanted = ((z + sqrt(z * z + 2 * goal)) * noise / loss) ** 2
        return ceil(1 / (1 / wanted - 1 / (baseline + quiet))) if wanted < baseline + quiet else None

    return WatchPlan(loss=loss, quiet=quiet, median=checks(0.0), most=checks(_Z90))
