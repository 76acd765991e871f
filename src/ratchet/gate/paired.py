"""Accepting proposals on a noisy benchmark: evidence of one from pairs of fresh runs, and the levels of a whole run.

Pure; public in `ratchet.gate`. The pairs' e-value bets on the mean of d: prod(1 + bet d), averaged over bets
(Waudby-Smith and Ramdas, JRSS-B 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, log1p, sqrt
from typing import Literal

from ratchet.errors import UsageError
from ratchet.gate.bets import inside, log_mean, positive, real, truth, wealth, whole


class PairedGate:
    """Does a candidate beat the incumbent on the same tasks? One pair a task: d = new score - old score, in
    [-1, 1], both from fresh runs on a task drawn at random. A run that could not be measured is no pair.

    `keep` once the e-value reaches 1/alpha. `revert` (given up, the incumbent stays) once, from 30 pairs on, the mean
    plus `doubt` standard errors lies below `mde`, or at `cap` pairs. Giving up never makes a false keep more likely.
    """

    __slots__ = ("_alpha", "_cap", "_doubt", "_logs", "_mde", "_n", "_settled", "_squares", "_sum")

    LAMBDAS = (0.1, 0.2, 0.35, 0.55, 0.8)
    PATIENCE = 30

    def __init__(self, alpha: float, mde: float = 0.05, cap: int = 1500, doubt: float = 1.0) -> None:
        self._alpha = inside("alpha", alpha)
        self._mde = inside("mde", mde)
        self._cap = whole("cap", cap, least=1)
        self._doubt = positive("doubt", doubt)
        self._n = 0
        self._sum = 0.0
        self._squares = 0.0
        self._logs = [0.0] * len(self.LAMBDAS)
        self._settled: Literal["wait", "keep", "revert"] = "wait"

    def update(self, d: float) -> None:
        """Count one pair. After a decision, further pairs change nothing."""
        self.update_round((d,))

    def update_round(self, round_of: Sequence[float]) -> None:
        """Count a pair of each task of a fixed set, and look once. Valid without a draw at random: a product over
        tasks with fixed bets is at most that of their mean gain (geometric below arithmetic mean), which is at most 1
        where the set as a whole is no better."""
        gains = [real("d", d) for d in round_of]
        for gain in gains:
            if not -1 <= gain <= 1:
                raise UsageError(f"d is {gain!r}: the difference of two scores in [0, 1] lies in [-1, 1]")
        if self._settled != "wait":
            return
        for gain in gains:
            self._n += 1
            self._sum += gain
            self._squares += gain * gain
            if gain:
                self._logs = [held + log1p(bet * gain) for held, bet in zip(self._logs, self.LAMBDAS, strict=True)]
        if any(gain > 0 for gain in gains) and self.e_value >= 1 / self._alpha:
            self._settled = "keep"
        elif self._n >= self._cap or self._is_hopeless():
            self._settled = "revert"

    def _is_hopeless(self) -> bool:
        if self._n < self.PATIENCE:
            return False
        variance = max(self._squares / self._n - self.mean**2, 0.0)
        return self.mean + self._doubt * sqrt(variance / self._n) < self._mde

    @property
    def pairs(self) -> int:
        """Number of pairs counted."""
        return self._n

    @property
    def mean(self) -> float:
        """Mean difference so far (0 without pairs)."""
        return self._sum / self._n if self._n else 0.0

    @property
    def e_value(self) -> float:
        """The evidence that the candidate is better; 1 at the start."""
        return wealth(log_mean(self._logs))

    @property
    def decision(self) -> Literal["wait", "keep", "revert"]:
        """Sticky: once it is not `wait`, it stays."""
        return self._settled


class EvidenceLedger:
    """Set how strong the next proposal's evidence must be, so that the expected share of false keeps stays at most
    `fdr` at any time of a run, whatever depends on what (e-LOND: Xu and Ramdas 2024).

    `planned`: how many proposals the run will make (levels are spread evenly; proposals beyond it get the last level),
    or None for an open-ended run.
    """

    __slots__ = ("_fdr", "_kept", "_planned", "_tried")

    def __init__(self, fdr: float, planned: int | None = None) -> None:
        self._fdr = inside("fdr", fdr)
        self._planned = None if planned is None else whole("planned", planned, least=1)
        self._tried = 0
        self._kept = 0

    @property
    def level(self) -> float:
        """The alpha of the next proposal: it is kept when its e-value reaches 1/level."""
        return self.levels(1)[0]

    def levels(self, count: int) -> tuple[float, ...]:
        """The alphas of the next `count` proposals when they are raced at once: by the keeps from before the race."""
        first = self._tried + 1
        return tuple(self._fdr * (self._kept + 1) * self._gamma(t) for t in range(first, first + whole("count", count)))

    def record(self, kept: bool) -> None:
        """Note the decision about the proposal that `level` was asked for."""
        self._kept += truth("kept", kept)
        self._tried += 1

    def _gamma(self, t: int) -> float:
        if self._planned is not None:
            return 1 / self._planned
        return 0.0772 * log(max(t, 2)) / (t * exp(sqrt(log(t))))
