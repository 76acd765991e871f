"""Does the report tell the truth? Simulated sessions with known effects, looked at after every unit.

The whole chain is simulated from the coin on: units fall to their arm by `ids.toss`, the share withheld falls from
20 % to 5 % once the pooled evidence passes 20, and an effect is called when the interval excludes zero at any look.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from figures import Figure, at_most, publish
from ratchet import ids
from ratchet.gate.effects import ALPHA, LessonCounts, e_value, interval, withheld_share

Rate = Callable[[int, bool], float]
"""(position of the unit, whether it is shown its lesson) -> its probability of success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One simulated report: when an effect was first called, and whether the interval ever missed the truth."""

    helps_at: int | None
    harms_at: int | None
    missed: bool


def simulated(seed: int, rate: Rate, truth: float, units: int) -> Run:
    chance, salt = random.Random(seed), f"salt-{seed}"
    tallies: dict[float, list[int]] = {}
    withheld, missed = 0.20, False
    helps_at = harms_at = None
    limit = 2 / ALPHA
    for unit in range(units):
        share = 1 - withheld
        shown = ids.toss(salt, f"session-{unit}", "pattern", share=share)
        succeeded = chance.random() < rate(unit, shown)
        tallies.setdefault(share, [0, 0, 0, 0])[(0 if shown else 2) + (0 if succeeded else 1)] += 1
        known = {each: LessonCounts(*counts) for each, counts in tallies.items()}
        if helps_at is None and e_value(known) >= limit:
            helps_at = unit + 1
        if harms_at is None and e_value(known, better=False) >= limit:
            harms_at = unit + 1
        if not truth:
            missed = bool(helps_at or harms_at)
        elif not missed:
            missed = max(e_value(known, effect=truth), e_value(known, effect=truth, better=False)) >= limit
        withheld = withheld_share(known, share=0.20, proven_share=0.05) if withheld == 0.20 else withheld
    return Run(helps_at=helps_at, harms_at=harms_at, missed=missed)


def drifting(unit: int, shown: bool) -> float:
    """No effect, while all rates swing between .27 and .87."""
    del shown
    return 0.57 + 0.3 * math.sin(unit / 60)


WORLDS: dict[str, tuple[Rate, float]] = {
    "no effect at .60": (lambda _unit, _shown: 0.6, 0.0),
    "no effect at .90": (lambda _unit, _shown: 0.9, 0.0),
    "no effect, rates drift": (drifting, 0.0),
    "+15 points (.60 to .75)": (lambda _unit, shown: 0.75 if shown else 0.6, 0.15),
    "+30 points (.50 to .80)": (lambda _unit, shown: 0.8 if shown else 0.5, 0.30),
    "-15 points (.60 to .45)": (lambda _unit, shown: 0.45 if shown else 0.6, -0.15),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--units", type=int, default=400)
    given = parser.parse_args()
    figures = []
    for name, (rate, truth) in WORLDS.items():
        runs = [simulated(seed, rate, truth, given.units) for seed in range(given.runs)]
        figures += figures_of(name, truth, runs, given.units)
    low, high = interval({0.8: LessonCounts(240, 80, 48, 32)})
    shown = f"[{low:+.2f}, {high:+.2f}]"
    figures.append(Figure(name="interval of .75 against .60 at 320 + 80 units", measured=shown))
    publish("report", figures)


def figures_of(name: str, truth: float, runs: list[Run], units: int) -> list[Figure]:
    called = [run for run in runs if run.helps_at or run.harms_at]
    missed = at_most(
        f"{name}: interval ever missed the truth", 100 * sum(r.missed for r in runs) / len(runs), 5, unit="%"
    )
    if not truth:
        share = 100 * len(called) / len(runs)
        plain = f"looking at a plain 95 % z-interval instead: {100 * peeked(units):.0f} %"
        return [at_most(f"{name}: called an effect", share, 5, unit="%", baseline=plain)]
    right = [run.helps_at if truth > 0 else run.harms_at for run in runs]
    found = sorted(at for at in right if at)
    median = f"median after {found[len(found) // 2]} units" if found else ""
    wrong = sum(bool(run.harms_at if truth > 0 else run.helps_at) for run in runs)
    return [
        Figure(
            name=f"{name}: found within {units} units",
            measured=f"{100 * len(found) / len(runs):.0f} %",
            baseline=median,
        ),
        at_most(f"{name}: called the opposite", 100 * wrong / len(runs), 5, unit="%"),
        missed,
    ]


def peeked(units: int, runs: int = 300) -> float:
    """The share of runs without an effect that a fixed-sample interval calls one, looked at after each unit."""
    called = 0
    for seed in range(runs):
        chance = random.Random(seed)
        known = [0, 0, 0, 0]
        for _ in range(units):
            shown = chance.random() < 0.8
            known[(0 if shown else 2) + (0 if chance.random() < 0.6 else 1)] += 1
            n1, n0 = known[0] + known[1], known[2] + known[3]
            if min(n1, n0) < 5:
                continue
            p1, p0 = known[0] / n1, known[2] / n0
            error = math.sqrt(p1 * (1 - p1) / n1 + p0 * (1 - p0) / n0)
            if error and abs(p1 - p0) > 1.96 * error:
                called += 1
                break
    return called / runs


if __name__ == "__main__":
    main()
