"""The intervals and numbers of runs that commands print, in worlds whose truth is known.

    python benchmarks/statements.py [--worlds 1000]

Scores: 4 to 60 tasks of a kind, each run 1, 5 or 20 times. The kinds: right or wrong every time, by odds of .5 to .97;
easy or hard ones; tasks of all difficulties; tasks all alike; tasks that give nearly all points, but now and then none.
The truth is the mean over all tasks of the kind. Beside it: the bootstrap over tasks.

Gains: a change that does nothing, helps or harms all tasks a little or few a lot. `ab`: efforts of two arms, in which
nothing helps, of tasks that take 1 to 80 tries. Beside it: the bootstrap over runs, as if those of a task were not
alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum
from random import Random
from statistics import mean

from figures import Figure, at_least, at_most, publish
from ratchet.evolving.bench.figures import needed_pairs
from ratchet.gate import PairedGate
from ratchet.gate.intervals import over_means, over_ratio, over_runs

TASKS = (4, 6, 10, 20, 60)
REPEATS = (1, 5, 20)
Kind = Callable[[Random], float]
"""Draws a task: how likely it is solved."""
Interval = tuple[float, float]


def _either(rate: float, low: float, high: float) -> Kind:
    return lambda chance: high if chance.random() < rate else low


def _mostly_all(chance: Random) -> float:
    return 0.0 if chance.random() < 0.1 else chance.uniform(0.9, 1.0)


KINDS: dict[str, tuple[Kind, float]] = {
    **{f"right or wrong, {rate:g}": (_either(rate, 0, 1), rate) for rate in (0.5, 0.8, 0.9, 0.95, 0.97)},
    **{f"easy or hard, {rate:g}": (_either(rate, 0.05, 0.95), 0.05 + 0.9 * rate) for rate in (0.5, 0.7, 0.9)},
    "mostly hard": (lambda chance: chance.betavariate(1, 3), 0.25),
    "all difficulties": (lambda chance: chance.betavariate(0.3, 0.3), 0.5),
    **{f"all alike, {rate:g}": (_either(1, rate, rate), rate) for rate in (0.5, 0.9, 0.97)},
    "nearly all points, or none": (_mostly_all, 0.9 * 0.95),
}
BASES = ((0.0, 0.0, 0.0, 1.0), (0.05, 0.95), (0.5,), (0.1, 0.3, 0.9))
CHANGES = ((0.0, 1.0), (0.1, 1.0), (0.3, 0.3), (-0.5, 0.1), (1.0, 0.1))
"""By how much a change shifts a task's odds, and which share of tasks it does so."""


def bootstrap(means: Sequence[float], chance: Random) -> tuple[float, float]:
    drawn = sorted(fsum(chance.choices(means, k=len(means))) / len(means) for _ in range(200))
    return drawn[5], drawn[194]


def solved(chance: Random, rate: float, repeats: int) -> float:
    return sum(chance.random() < rate for _ in range(repeats)) / repeats


@dataclass(frozen=True, slots=True)
class Cell:
    """A world: so many tasks of a kind, run so often. `held` tells of an experiment if the truth is in its interval."""

    name: str
    held: Callable[[Random], bool]

    def coverage(self, worlds: int, seed: str) -> float:
        chance = Random(f"{seed} {self.name}")
        return 100 * sum(self.held(chance) for _ in range(worlds)) / worlds


def covered(name: str, cells: Sequence[Cell], worlds: int, baseline: str = "") -> Figure:
    """The worst cell, measured anew: the least of many measurements is low by chance."""
    first = {cell.name: cell.coverage(worlds, "first") for cell in cells}
    worst = min(cells, key=lambda cell: first[cell.name])
    return at_least(
        f"{name}: truth in the interval, worst of {len(cells)} worlds ({worst.name}), measured anew",
        worst.coverage(10 * worlds, "anew"),
        93,
        unit="%",
        baseline="; ".join(filter(None, (f"mean {mean(first.values()):.1f} %", baseline))),
    )


def is_in(truth: float, interval: tuple[float, float]) -> bool:
    return interval[0] - 1e-9 <= truth <= interval[1] + 1e-9


def of_scores(tasks: int, repeats: int, kind: str, interval: Callable[[list[float], Random], Interval]) -> Cell:
    draw, truth = KINDS[kind]

    def held(chance: Random) -> bool:
        return is_in(truth, interval([solved(chance, draw(chance), repeats) for _ in range(tasks)], chance))

    return Cell(f"{tasks} x {repeats}, {kind}", held)


def scores(worlds: int) -> Figure:
    cells = [of_scores(*each, lambda means, _: over_means(means)) for each in product(TASKS, REPEATS, KINDS)]
    beside = [of_scores(4, *each, bootstrap).coverage(200, "beside") for each in product(REPEATS, KINDS)]
    return covered(
        "score over tasks", cells, worlds, f"bootstrap at 4 tasks: {mean(beside):.0f} %, worst {min(beside):.0f}"
    )


def of_gains(tasks: int, repeats: int, bases: Sequence[float], change: tuple[float, float]) -> Cell:
    shift, share = change
    truth = share * mean(shifted(base, shift) - base for base in bases)

    def held(chance: Random) -> bool:
        gained = []
        for _ in range(tasks):
            base = chance.choice(bases)
            now = shifted(base, shift) if chance.random() < share else base
            gained.append(solved(chance, now, repeats) - solved(chance, base, repeats))
        return is_in(truth, over_means(gained, -1.0, 1.0))

    return Cell(f"{tasks} x {repeats}, {shift:+g} on {share:.0%} of odds {bases}", held)


def shifted(base: float, shift: float) -> float:
    return min(1.0, max(0.0, base + shift))


def gains(worlds: int) -> Figure:
    return covered("gain over tasks", [of_gains(*each) for each in product(TASKS, REPEATS, BASES, CHANGES)], worlds)


def of_runs(repeats: int, rate: float) -> Cell:
    def held(chance: Random) -> bool:
        return is_in(rate, over_runs(sum(chance.random() < rate for _ in range(repeats)), repeats))

    return Cell(f"{repeats} runs, odds {rate:g}", held)


def single_tasks(worlds: int) -> Figure:
    cells = [of_runs(*each) for each in product((1, 3, 10, 60), (0.5, 0.8, 0.9, 0.97))]
    return covered("score of one task", cells, worlds, "Wilson's at one run: 80 %")


def effort(chance: Random, middle: int) -> tuple[float, float]:
    """Of the two arms, on one task."""
    one, two = (min(1.0 + int(chance.expovariate(1 / middle)), 200.0) for _ in range(2))
    return one, two


def experiment(chance: Random, tasks: int, seeds: int) -> list[list[tuple[float, float]]]:
    """The efforts of each task: half of them do the same with every seed."""
    found = []
    for _ in range(tasks):
        middle = chance.choice((1, 3, 10, 80))
        first = effort(chance, middle)
        same = chance.random() < 0.5
        found.append([first if same else effort(chance, middle) for _ in range(seeds)])
    return found


def excludes_by_runs(runs: list[list[tuple[float, float]]], chance: Random) -> bool:
    pairs = [pair for each in runs for pair in each]
    drawn = sorted(ratio(chance.choices(pairs, k=len(pairs))) for _ in range(200))
    return not drawn[5] <= 1 <= drawn[194]


def excludes(tasks: int, seeds: int, worlds: int, seed: str) -> float:
    """The share of experiments, in per cent, whose interval excludes that nothing helps."""
    chance, missed = Random(f"{seed} {tasks} {seeds}"), 0
    for _ in range(worlds):
        runs = experiment(chance, tasks, seeds)
        low, high = over_ratio([(sum(a for a, _ in each), sum(b for _, b in each)) for each in runs])
        missed += not low <= 1 <= high
    return 100 * missed / worlds


def efforts(worlds: int, seeds: int) -> Figure:
    first = {tasks: excludes(tasks, seeds, worlds, "first") for tasks in TASKS}
    worst = max(first, key=lambda tasks: first[tasks])
    chance, few = Random("beside"), min(worlds, 200)
    beside = sum(excludes_by_runs(experiment(chance, 20, seeds), chance) for _ in range(few))
    return at_most(
        f"ab: nothing helps, 1.00 excluded, K = {seeds}, worst number of tasks ({worst}), measured anew",
        excludes(worst, seeds, 5 * worlds, "anew"),
        6,
        unit="%",
        baseline=f"bootstrap over runs at 20 tasks {100 * beside / few:.0f} %",
    )


def ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return sum(a for a, _ in pairs) / sum(b for _, b in pairs)


def sees(spread: float, gain: float, level: float, worlds: int, seed: str) -> float:
    """The share of gates that `needed_pairs` suffice for."""
    chance, found = Random(f"{seed} {spread} {gain} {level}"), 0
    pairs = needed_pairs(spread, gain, level)
    for _ in range(worlds):
        gate = PairedGate(level, 1e-9, cap=pairs, doubt=99)  # nothing is given up: the question is what pairs show
        while gate.decision == "wait":
            drawn = chance.random()
            gate.update(1.0 if drawn < (spread + gain) / 2 else -1.0 if drawn < spread else 0.0)
        found += gate.decision == "keep"
    return found / worlds


def power(worlds: int) -> Figure:
    cells = [each for each in product((0.1, 0.3, 0.5), (0.05, 0.1, 0.2), (0.05, 0.005)) if each[0] >= each[1]]
    first = {cell: sees(*cell, worlds, "first") for cell in cells}
    worst = min(first, key=lambda cell: first[cell])
    return at_least(
        f"'shown in 80 % of cases' by so many pairs, worst of {len(cells)} ({worst[0]:g} differ, gain {worst[1]:g}), "
        "measured anew",
        sees(*worst, 5 * worlds, "anew"),
        0.8,
        baseline=f"mean {mean(first.values()):.2f}, most {max(first.values()):.2f}",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1000)
    worlds = parser.parse_args().worlds
    return publish(
        "statements",
        [
            scores(worlds),
            gains(worlds),
            single_tasks(worlds),
            *(efforts(worlds, seeds) for seeds in REPEATS),
            power(max(100, worlds // 5)),
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
