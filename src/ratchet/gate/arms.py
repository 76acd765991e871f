"""Tests of two arms: does the new one harm (`CanaryTest`), does it help (`PromoteTest`)? Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import inf, log
from typing import Literal, Self

from ratchet.errors import UsageError
from ratchet.gate.bets import (
    BetTable,
    Counts,
    history,
    inside,
    label_table,
    label_weights,
    log_mean,
    log_mixture,
    margin_table,
    real,
    truth,
    wealth,
    whole,
)
from ratchet.gate.paired import EvidenceLedger, PairedGate
from ratchet.gate.rank import RankBet

__all__ = ["CanaryTest", "Counts", "EvidenceLedger", "PairedGate", "PromoteTest", "RankBet"]

MARGIN_LIMIT = 0.02  # a non-inferiority margin above two points lets small harms add up
_ROUNDING = 1e-9  # of the room's running sum, over any history


class _ArmTest(ABC):
    """Counts per share and the evidence in them; what the two tests of a trial have in common.

    All that is kept are integers, so merging is adding, in any order. The evidence is computed from them, and only when
    it can have reached the threshold: `room` is a lower bound of log(1/alpha) - log(e_value), lowered at each unit by
    the most that any bet gains from it. Under the null that is one look in about ten units.
    """

    __slots__ = ("_alpha", "_before", "_cells", "_counts", "_gains", "_room", "_settled", "_share")

    def __init__(self, *, share: float, alpha: float, before: tuple[int, int]) -> None:
        self._alpha = inside("alpha", alpha)
        self._before = history(before)
        self._counts: dict[float, list[int]] = {}
        self._room = log(1 / self._alpha)
        self._settled = False
        self.stage(share)

    @abstractmethod
    def _table(self, share: float) -> BetTable:
        """The bets at a share."""

    @abstractmethod
    def _mixture(self, logs: Sequence[float]) -> float:
        """The logarithm of the bets' wealth together, given each one's."""

    def stage(self, share: float) -> None:
        """Units from here on fall to the new arm with this probability, in (0, 1).

        Any change is allowed that looks only at units counted before it.
        """
        self._share = inside("share", share)
        self._cells = self._counts.setdefault(self._share, [0, 0, 0, 0])
        self._gains = self._table(self._share).gains

    def update(self, *, new_arm: bool, ok: bool) -> None:
        """Count the outcome of one unit that got its arm at the current share."""
        cell = (0 if truth("new_arm", new_arm) else 1) + (2 if truth("ok", ok) else 0)
        self._cells[cell] += 1
        self._room -= self._gains[cell]
        if self._room <= _ROUNDING:
            self._look()

    def add(self, counts: Mapping[float, Sequence[int]]) -> None:
        """Add what a store kept: the inverse of `counts`."""
        checked = {inside("share", share): [whole("count", n) for n in cells] for share, cells in counts.items()}
        if any(len(cells) != 4 for cells in checked.values()):
            raise UsageError(f"counts are {counts!r}: four integers a share are needed, as `counts` gives them")
        for share, cells in checked.items():
            held = self._counts.setdefault(share, [0, 0, 0, 0])
            for i, n in enumerate(cells):
                held[i] += n
        self._look()

    def merge(self, other: Self) -> None:
        """Add what another process counted of the same trial.

        The evidence is then that of all units, whoever counted them. A decision that `other` gave by itself is not
        taken over: several parts, each with its own alpha, would together err more often than alpha says.
        Raises UsageError when the two test different things.
        """
        if type(other) is not type(self) or other._asked() != self._asked():
            raise UsageError("only tests of the same kind, alpha, history and margin can be merged")
        self.add(other.counts)

    @property
    def counts(self) -> dict[float, Counts]:
        """Share -> (fail_new, fail_old, ok_new, ok_old), for the shares that have any."""
        return {share: (c[0], c[1], c[2], c[3]) for share, c in self._counts.items() if any(c)}

    @property
    def e_value(self) -> float:
        """The evidence now, computed from the counts; 1 at the start. It may fall again after a decision."""
        return wealth(self._log_e())

    @property
    def ceiling(self) -> float:
        """An upper bound of `e_value` that costs next to nothing."""
        return self.e_value if self._settled else wealth(log(1 / self._alpha) - self._room + _ROUNDING)

    def _look(self) -> None:
        if not self._settled:
            log_e = self._log_e()
            self._settled = wealth(log_e) >= 1 / self._alpha
            self._room = inf if self._settled else log(1 / self._alpha) - log_e

    def _log_e(self) -> float:
        """The same for the same counts, in whatever order they came: the shares are summed from the smallest."""
        logs: list[float] = []
        for share in sorted(self._counts):
            a, b, c, d = cells = self._counts[share]
            if any(cells):
                here = [a * w + b * x + c * y + d * z for w, x, y, z in self._table(share).bets]
                logs = [one + more for one, more in zip(logs, here, strict=True)] if logs else here
        return self._mixture(logs) if logs else 0.0

    def _asked(self) -> tuple[object, ...]:
        return (self._alpha, self._before)


class CanaryTest(_ArmTest):
    """Is the new arm worse than the old one? H0: at every moment it is at least as good, while both may drift.

    `share`: probability of the new arm, in (0, 1). `alpha`: the chance of ever reverting a change that does no harm.
    `before`: (ok, total) of the old arm's history, which gives power and never validity; (0, 0) where there is none.
    """

    __slots__ = ()

    def __init__(self, *, share: float, alpha: float = 0.05, before: tuple[int, int] = (0, 0)) -> None:
        super().__init__(share=share, alpha=alpha, before=before)

    def _table(self, share: float) -> BetTable:
        return label_table(share, True)

    def _mixture(self, logs: Sequence[float]) -> float:
        return log_mixture(logs, label_weights(self._before, True))

    @property
    def decision(self) -> Literal["wait", "revert"]:
        """`revert` once the evidence has reached 1/alpha, and from then on."""
        return "revert" if self._settled else "wait"


class PromoteTest(_ArmTest):
    """Is the new arm better than the old one (`margin=None`), or at most `margin` worse (0 to .02)?

    Non-inferiority is for changes declared neutral, and is charged to a budget (`gate.trial`); a change that was
    opened to help is kept on superiority alone. `before` informs superiority only.
    """

    __slots__ = ("_margin",)

    def __init__(
        self, *, share: float, alpha: float = 0.05, before: tuple[int, int] = (0, 0), margin: float | None = None
    ) -> None:
        self._margin = None if margin is None else real("margin", margin)
        if self._margin is not None and not 0 <= self._margin <= MARGIN_LIMIT:
            raise UsageError(f"margin is {margin!r}: use None (proven better) or a number from 0 to {MARGIN_LIMIT:g}")
        super().__init__(share=share, alpha=alpha, before=before)

    def _table(self, share: float) -> BetTable:
        return label_table(share, False) if self._margin is None else margin_table(share, self._margin)

    def _mixture(self, logs: Sequence[float]) -> float:
        return log_mixture(logs, label_weights(self._before, False)) if self._margin is None else log_mean(logs)

    @property
    def decision(self) -> Literal["wait", "keep"]:
        """`keep` once the evidence has reached 1/alpha, and from then on."""
        return "keep" if self._settled else "wait"

    def _asked(self) -> tuple[object, ...]:
        return (*super()._asked(), self._margin)
