"""What decides whether a change is rolled back: Ratchet's gate, and what is used instead.

To add a policy, write one small class: `name`, `control` (whether it needs units of the old arm beside the new),
`__init__` taking the old arm's history, and `update` that counts one unit and says whether to roll back now; then name
it in `POLICIES`.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

from guard_worlds import Unit
from ratchet.gate.arms import CanaryTest


class Policy(Protocol):
    """`control`: fed with both arms by a coin; otherwise every unit after the change runs the new setting."""

    name: str
    control: bool

    def update(self, unit: Unit, share: float) -> bool:
        """Count one unit; whether the change is to be rolled back."""
        ...


class MakePolicy(Protocol):
    """A policy's class: called with the old arm's history."""

    name: str

    def __call__(self, history: Sequence[Unit]) -> Policy: ...


class Gate:
    """Ratchet: a bet on the label, with a control arm."""

    name = "ratchet"
    control = True

    def __init__(self, history: Sequence[Unit]) -> None:
        self._share = 0.5
        self.test = CanaryTest(share=0.5, before=(sum(unit.ok for unit in history), len(history)))

    def update(self, unit: Unit, share: float) -> bool:
        if share != self._share:
            self._share = share
            self.test.stage(share)
        self.test.update(new_arm=unit.new_arm, ok=unit.ok)
        return self.test.decision == "revert"


Verdict = tuple[bool, str]


def fixed_rule(before: dict[str, float], after: dict[str, float]) -> Verdict:
    """self-improving-loop 0.1.3's rule (`AutoRollback.should_rollback`), restated: success 10 points lower, mean
    latency 20 % higher, or five failures in a row."""
    if before["success_rate"] > 0 and before["success_rate"] - after["success_rate"] > 0.10:
        return True, "success"
    slow = before["avg_duration_sec"]
    if slow > 0 and (after["avg_duration_sec"] - slow) / slow > 0.20:
        return True, "latency"
    return after["consecutive_failures"] >= 5, "streak"


@cache
def installed_rule() -> Callable[[dict[str, float], dict[str, float]], Verdict] | None:
    """The package's own code for the rule, if it is installed."""
    try:
        from self_improving_loop.rollback import AutoRollback
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        rollback = AutoRollback(folder)  # it makes a folder for its backups, which judging does not need

    def rule(before: dict[str, float], after: dict[str, float]) -> Verdict:
        reverts, why = rollback.should_rollback("agent", "change", before, after)
        return bool(reverts), str(why)

    return rule


class FixedRule:
    """self-improving-loop 0.1.3: every call since the change against the history, from the tenth on.

    Its own code judges where it is installed. The figures are summed up as its `_calculate_metrics` does, without
    reading the whole log each time.
    """

    name = "self-improving-loop"
    control = False
    WINDOW = 10

    def __init__(self, history: Sequence[Unit]) -> None:
        self._rule = installed_rule() or fixed_rule
        self._before = {
            "success_rate": sum(unit.ok for unit in history) / len(history) if history else 0.0,
            "avg_duration_sec": sum(unit.latency_s for unit in history) / len(history) if history else 0.0,
        }
        self._calls = self._ok = self._streak = 0
        self._seconds = 0.0

    def update(self, unit: Unit, share: float) -> bool:
        del share
        self._calls += 1
        self._ok += unit.ok
        self._streak = 0 if unit.ok else self._streak + 1
        self._seconds += unit.latency_s
        if self._calls < self.WINDOW:
            return False
        after = {
            "success_rate": self._ok / self._calls,
            "avg_duration_sec": self._seconds / self._calls,
            "consecutive_failures": self._streak,
        }
        return self._rule(self._before, after)[0]


class PeekedZTest:
    """A one-sided two-sample z-test at 5 % with a control arm, looked at after every call from ten of each arm on."""

    name = "z-test, peeked at"
    control = True
    CRITICAL = 1.6449

    def __init__(self, history: Sequence[Unit]) -> None:
        del history
        self._n = [0, 0]
        self._failed = [0, 0]

    def update(self, unit: Unit, share: float) -> bool:
        del share
        self._n[unit.new_arm] += 1
        self._failed[unit.new_arm] += not unit.ok
        old, new = self._n
        if min(old, new) < 10:
            return False
        pooled = sum(self._failed) / (old + new)
        spread = math.sqrt(pooled * (1 - pooled) * (1 / old + 1 / new))
        return spread > 0 and (self._failed[1] / new - self._failed[0] / old) / spread > self.CRITICAL


class Cusum:
    """Page's CUSUM of standardised failures against the history's rate, reference .5 and limit 5 (the textbook's)."""

    name = "CUSUM"
    control = False

    def __init__(self, history: Sequence[Unit]) -> None:
        self._rate = (sum(not unit.ok for unit in history) + 0.5) / (len(history) + 1)
        self._spread = math.sqrt(self._rate * (1 - self._rate))
        self._sum = 0.0

    def update(self, unit: Unit, share: float) -> bool:
        del share
        self._sum = max(0.0, self._sum + ((not unit.ok) - self._rate) / self._spread - 0.5)
        return self._sum > 5


class PageHinkley:
    """The Page-Hinkley test of failures with the defaults of the stream-learning libraries: delta .005, limit 50, from
    30 calls on. It learns its mean from the history, too."""

    name = "Page-Hinkley"
    control = False

    def __init__(self, history: Sequence[Unit]) -> None:
        self._n = 0
        self._mean = self._sum = self._least = 0.0
        for unit in history:
            self.update(unit, 1.0)

    def update(self, unit: Unit, share: float) -> bool:
        del share
        failed = not unit.ok
        self._n += 1
        self._mean += (failed - self._mean) / self._n
        self._sum = 0.9999 * self._sum + failed - self._mean - 0.005
        self._least = min(self._least, self._sum)
        return self._n >= 30 and self._sum - self._least > 50


POLICIES: tuple[MakePolicy, ...] = (Gate, FixedRule, PeekedZTest, Cusum, PageHinkley)
OTHERS: tuple[MakePolicy, ...] = POLICIES[1:]
