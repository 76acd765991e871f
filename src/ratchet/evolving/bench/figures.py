"""Figures of evaluations: scores with intervals, two runs in pairs, and what so many runs cannot see. Pure.

All runs of a task count as one, since they are alike: an interval is about other tasks of the kind
(`ratchet.gate.intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.gate.intervals import over_means, over_runs

MDE = 0.05
"""The gain that is asked about: five points."""
ALPHA = 0.05
POWER = 0.8
"""Chance of seeing a gain that is there, which a number of pairs is named for."""
_Z80 = 0.8416212335729143
"""The normal distribution's 80 % point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean in points of score with its 95 % interval; `n` runs (or pairs) are in it."""

    mean: float = 0.0
    low: float = 0.0
    high: float = 1.0
    n: int = 0

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigures:
    """One task over all its runs. Only measured runs are in `score`."""

    task: str
    score: Interval
    unmeasured: int = 0
    wall_s: float = 0.0
    """Mean of a run."""
    cost_usd: float = 0.0
    """Of all runs."""
    tokens: int = 0
    reason: str = ""
    """Why the last run that was not right was not."""
    tampered: int = 0
    """Runs that tried what is none of an agent's business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A run whole. `score` is the mean over tasks of each task's mean."""

    score: Interval
    tasks: tuple[TaskFigures, ...] = ()
    runs: int = 0
    unmeasured: int = 0
    wall_s: float = 0.0
    """Of all runs, added up."""
    cost_usd: float = 0.0
    tokens: int = 0
    tampered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Difference of two versions, on pairs of runs of the same task and seed."""

    gain: Interval
    """In points of score; `n` is the number of pairs."""
    tasks: int
    better: int
    worse: int
    left_out: int
    """Pairs of which one side could not be measured."""
    unpaired: int
    """Runs that only one of the two has."""
    spread: float
    """Mean of the squared differences, one added on either side: for 0/1 scores, the share of pairs that differ."""
    left_out_first: int = 0
    left_out_second: int = 0
    worst: float = 0.0
    """The gain if every run of the second that could not be measured counted as 0, and the first's as measured."""

    def needed(self) -> int:
        """Count the pairs that would show a gain of `MDE` in `POWER` of cases."""
        return needed_pairs(self.spread)


def of_task(scores: Sequence[float]) -> Interval:
    """The mean of the runs of one task, which says nothing of others."""
    total, n = math.fsum(scores), len(scores)
    if not n:
        return Interval()
    low, high = over_runs(total, n)
    return Interval(mean=total / n, low=low, high=high, n=n)


def over_tasks(scores: Mapping[str, Sequence[float]]) -> Interval:
    """The mean over tasks of each task's mean. Of a single task, the interval is that of its runs."""
    held = {task: runs for task, runs in sorted(scores.items()) if runs}
    if len(held) < 2:
        return of_task(next(iter(held.values()), ()))
    means = _means(held)
    low, high = over_means(means)
    return Interval(mean=math.fsum(means) / len(means), low=low, high=high, n=sum(map(len, held.values())))


def figures(made: Iterable[Evaluation]) -> Figures:
    """The figures of a run, its tasks by id. The order of the evaluations plays no part."""
    by_task: dict[str, list[Evaluation]] = {}
    for each in made:
        by_task.setdefault(each.task, []).append(each)
    ordered = {task: sorted(by_task[task], key=lambda each: (each.candidate, each.seed)) for task in sorted(by_task)}
    every = [each for runs in ordered.values() for each in runs]
    scores = {task: [each.score for each in runs if each.measured] for task, runs in ordered.items()}
    return Figures(
        score=over_tasks({task: held for task, held in scores.items() if held}),
        tasks=tuple(_task(task, runs) for task, runs in ordered.items()),
        runs=len(every),
        unmeasured=sum(not each.measured for each in every),
        wall_s=math.fsum(each.wall_s for each in every),
        cost_usd=math.fsum(each.cost_usd for each in every),
        tokens=sum(each.tokens for each in every),
        tampered=sum(bool(each.tampered) for each in every),
    )


def paired(first: Iterable[Evaluation], second: Iterable[Evaluation]) -> Paired:
    """The second against the first. Runs are paired by task and seed; where no seed is in both, by their order."""
    left, right = _by_task(first), _by_task(second)
    by_seed = any(left[task].keys() & right[task].keys() for task in left.keys() & right.keys())
    differences: dict[str, list[float]] = {}
    worst: list[float] = []
    gone = [0, 0, 0]
    unpaired = 0
    for task in sorted(left.keys() | right.keys()):
        one, other = left.get(task, {}), right.get(task, {})
        pairs = _pairs(one, other, by_seed)
        unpaired += len(one) + len(other) - 2 * len(pairs)
        for old, new in pairs:
            if old.measured:
                worst.append((new.score if new.measured else 0.0) - old.score)
            if old.measured and new.measured:
                differences.setdefault(task, []).append(new.score - old.score)
            gone[0] += not (old.measured and new.measured)
            gone[1] += not old.measured
            gone[2] += not new.measured
    every = [d for held in differences.values() for d in held]
    return Paired(
        gain=_gain(differences),
        tasks=len(differences),
        better=sum(d > 0 for d in every),
        worse=sum(d < 0 for d in every),
        left_out=gone[0],
        left_out_first=gone[1],
        left_out_second=gone[2],
        unpaired=unpaired,
        spread=(math.fsum(d * d for d in every) + 1) / (len(every) + 2),
        worst=math.fsum(worst) / len(worst) if worst else 0.0,
    )


def needed_pairs(spread: float, effect: float = MDE, alpha: float = ALPHA) -> int:
    """Pairs after which a gate at `alpha` has seen a gain of `effect` in `POWER` of cases, when the share `spread` of
    pairs differs.

    The logarithm of the best bet grows by D^2 / 2c a pair, with a variance of D^2 / c, up to log(1/a); it has half of
    the wealth (our measurement: `benchmarks/statements.py`).
    """
    known = max(spread, effect)  # a gain takes as many that differ
    return math.ceil(known / effect**2 * (_Z80 + math.sqrt(_Z80**2 + 2 * math.log(2 / alpha))) ** 2)


def _pairs(
    one: Mapping[int, Evaluation], other: Mapping[int, Evaluation], by_seed: bool
) -> list[tuple[Evaluation, Evaluation]]:
    if by_seed:
        return [(one[seed], other[seed]) for seed in sorted(one.keys() & other.keys())]
    return list(zip((one[seed] for seed in sorted(one)), (other[seed] for seed in sorted(other)), strict=False))


def _gain(differences: Mapping[str, Sequence[float]]) -> Interval:
    """Mean difference over tasks. One task bounds nothing of others."""
    means = _means(differences)
    if not means:
        return Interval(low=-1.0, high=1.0)
    low, high = over_means(means, -1.0, 1.0) if len(means) > 1 else (-1.0, 1.0)
    n = sum(map(len, differences.values()))
    return Interval(mean=math.fsum(means) / len(means), low=low, high=high, n=n)


def _means(scores: Mapping[str, Sequence[float]]) -> list[float]:
    return [math.fsum(held) / len(held) for _, held in sorted(scores.items()) if held]


def _by_task(made: Iterable[Evaluation]) -> dict[str, dict[int, Evaluation]]:
    found: dict[str, dict[int, Evaluation]] = {}
    for each in made:
        found.setdefault(each.task, {})[each.seed] = each
    return found


def _task(task: str, runs: Sequence[Evaluation]) -> TaskFigures:
    scores = [each.score for each in runs if each.measured]
    wrong = [each for each in runs if each.result != "passed"]
    return TaskFigures(
        task=task,
        score=of_task(scores),
        unmeasured=len(runs) - len(scores),
        wall_s=math.fsum(each.wall_s for each in runs) / len(runs),
        cost_usd=math.fsum(each.cost_usd for each in runs),
        tokens=sum(each.tokens for each in runs),
        reason=wrong[-1].reason if wrong else "",
        tampered=sum(bool(each.tampered) for each in runs),
    )
