"""Worlds in which a change is tried: what succeeds, how long it takes, and when the background turns bad.

Success is independent given the background. Two arms live through the same background: a drift swings both (0.8 on
the logit, period 1,000 calls, random phase), an outage hits both (starts with probability 1/500 a call, lasts 25 calls
in the mean, leaves a tenth of success).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

Background = Literal["flat", "drift", "outage"]
BACKGROUNDS: tuple[Background, ...] = ("flat", "drift", "outage")

DRIFT_LOGIT = 0.8
DRIFT_PERIOD = 1_000
OUTAGE_START = 1 / 500
OUTAGE_END = 1 / 25
OUTAGE_LEAVES = 0.1
LATENCY_SPREAD = 0.8
_TABLE = 4_000  # phases of the drift that are told apart


class Unit(NamedTuple):
    """One unit as a policy sees it. `latency_s` is that of a success; a failure takes its deadline."""

    new_arm: bool
    ok: bool
    latency_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The old arm succeeds at `old`, the new one at `new` (before the background), `slower` times as slow."""

    old: float
    new: float
    background: Background = "flat"
    slower: float = 1.0
    with_latency: bool = False

    def history(self, chance: Random, calls: int) -> list[Unit]:
        """Calls of the old arm before the change, under the same background."""
        units = self.units(chance, share=0.0)
        return [next(units) for _ in range(calls)]

    def units(self, chance: Random, *, share: float, ramp: bool = False) -> Iterator[Unit]:
        """Units in the order in which they start, their arm by a coin of probability `share` (or the ramp's)."""
        draw = chance.random
        log_slower = math.log(self.slower)
        pairs = _rates(self, chance)
        for i, (old, new) in enumerate(pairs):
            arm = draw() < (ramp_share(i) if ramp else share)
            latency_s = 1.0
            if self.with_latency:
                latency_s = math.exp(chance.gauss(log_slower if arm else 0.0, LATENCY_SPREAD))
            yield Unit(arm, draw() < (new if arm else old), latency_s)


def ramp_share(unit: int) -> float:
    """The ramp of guard's defaults."""
    return 0.10 if unit < 40 else 0.25 if unit < 100 else 0.50


def _rates(world: World, chance: Random) -> Iterator[tuple[float, float]]:
    """(old, new) success of each unit in turn."""
    if world.background == "drift":
        yield from _drifting(world, chance)
    factor = 1.0
    while True:
        if world.background == "outage":
            if factor == 1.0:
                factor = OUTAGE_LEAVES if chance.random() < OUTAGE_START else 1.0
            elif chance.random() < OUTAGE_END:
                factor = 1.0
        yield world.old * factor, world.new * factor


def _drifting(world: World, chance: Random) -> Iterator[tuple[float, float]]:
    swings = [DRIFT_LOGIT * math.sin(2 * math.pi * i / _TABLE) for i in range(_TABLE)]
    pairs = [(_shifted(world.old, swing), _shifted(world.new, swing)) for swing in swings]
    at, step = chance.randrange(_TABLE), _TABLE // DRIFT_PERIOD
    while True:
        yield pairs[at % _TABLE]
        at += step


def _shifted(rate: float, logit: float) -> float:
    odds = rate / (1 - rate) * math.exp(logit)
    return odds / (1 + odds)


def relative_entropy(p: float, q: float) -> float:
    """KL(p || q) of two coins."""
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def shortest_delay(old: float, new: float, *, share: float = 0.5, alpha: float = 0.05) -> float:
    """No test at level alpha that sees two arms finds the change sooner, in the mean: log(1/alpha) over the information
    of one unit."""
    middle = share * new + (1 - share) * old
    return math.log(1 / alpha) / (share * relative_entropy(new, middle) + (1 - share) * relative_entropy(old, middle))


def in_flight(
    chance: Random, *, success: float, slots: int, units: int, slow_failure_s: float, fast_failure_s: float
) -> tuple[list[Unit], list[Unit]]:
    """The same units in the order in which they started, and in that in which they ended, `slots` at a time.

    Both arms succeed equally often; a failure of the new arm returns at once, one of the old arm after a long wait.
    """
    free_at = [(0.0, slot) for slot in range(slots)]  # a heap
    started: list[Unit] = []
    ended: list[tuple[float, int]] = []
    for number in range(units):
        at_s, slot = heapq.heappop(free_at)
        new_arm, ok = chance.random() < 0.5, chance.random() < success
        takes_s = chance.expovariate(1.0) if ok else fast_failure_s if new_arm else slow_failure_s
        heapq.heappush(free_at, (at_s + takes_s, slot))
        started.append(Unit(new_arm, ok, takes_s))
        ended.append((at_s + takes_s, number))
    return started, [started[number] for _, number in sorted(ended)]
