"""Measure what a run is worth: the winner and the agent as it was, measured on tasks that nobody has seen, once. And
what the same budget buys without any change: the best of several tries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from math import sqrt
from statistics import fmean, variance

from ratchet.evolving.bench.benchmark import BenchTask, Evaluation
from ratchet.evolving.bench.figures import paired
from ratchet.evolving.candidate import Candidate, EvolutionReport
from ratchet.evolving.race.evaluator import Each, EvaluationPlan, Key, WantedEvaluation
from ratchet.gate.intervals import t_point

MOST_TRIES = 16
"""Tries of best-of-N that are measured at most; a budget that pays for more is told by `Report.n` to have paid for so
many."""
_MOST_VARIANCE = 0.25


class BestOfN:
    """The plan of best-of-N: each task again, with the next seed, until it is solved or was tried N times."""

    def __init__(self, version: Candidate, tasks: Sequence[BenchTask], seeds: Sequence[int]) -> None:
        self._version = version
        self._tasks = {each.id: each for each in tasks}
        self._seeds = seeds
        self._tried = dict.fromkeys(self._tasks, 0)
        self.best = dict.fromkeys(self._tasks, 0.0)

    def wanted(self, most: int, under_way: Container[Key]) -> Sequence[WantedEvaluation]:
        found = []
        for name, task in self._tasks.items():
            if self.best[name] < 1.0 and self._tried[name] < len(self._seeds):
                each = WantedEvaluation(self._version, task, self._seeds[self._tried[name]])
                if each.key not in under_way:
                    found.append(each)
        return found[:most]

    def took(self, made: Evaluation) -> None:
        self._tried[made.task] += 1
        if made.measured:
            self.best[made.task] = max(self.best[made.task], made.score)

    def needs(self, key: Key) -> bool:
        return self.best[key.task] < 1.0


def report(
    baseline: Candidate,
    winner: Candidate,
    tasks: Sequence[BenchTask],
    *,
    seeds: Sequence[int],
    repeats: int,
    runs: int,
    claimed: float,
    work: Callable[[EvaluationPlan], object],
    spare: Callable[[EvaluationPlan], bool],
) -> EvolutionReport | None:
    """Measure both on the sealed tasks, `repeats` times each, on the same seeds; None where nothing could be measured.

    `runs` evaluations were spent to find the winner: best-of-N gets as many, N tries a task. `seeds` holds at least
    MOST_TRIES; `work` carries out a plan, `spare` one that the report can do without, and tells whether it was whole.
    """
    plan = Each(
        WantedEvaluation(v, task, seed) for seed in seeds[:repeats] for task in tasks for v in (baseline, winner)
    )
    work(plan)
    old, new = _by_task(plan.made, baseline.id), _by_task(plan.made, winner.id)
    shared = [task.id for task in tasks if old[task.id] and new[task.id]]
    if not shared:
        return None
    n = min(MOST_TRIES, max(repeats, round(runs / len(tasks))))
    tries = BestOfN(baseline, [task for task in tasks if task.id in shared], seeds[:n])
    were_tried = spare(tries)
    gain = paired(_of(plan.made, baseline.id), _of(plan.made, winner.id)).gain
    return EvolutionReport(
        baseline=fmean(fmean(old[task]) for task in shared),
        winner=fmean(fmean(new[task]) for task in shared),
        gain=gain.mean,
        low=gain.low,
        high=gain.high,
        noise=noise([old[task] for task in shared]),
        claimed=claimed,
        best_of_n=fmean(tries.best.values()) if were_tried else None,
        n=n,
        runs=len(plan.made),
    )


def _of(made: Mapping[Key, Evaluation], version: str) -> list[Evaluation]:
    return [each for each in made.values() if each.candidate == version]


def _by_task(made: Mapping[Key, Evaluation], version: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for each in _of(made, version):
        if each.measured:
            found[each.task].append(each.score)
    return found


def noise(runs: Sequence[Sequence[float]]) -> float | None:
    """Half the width of the 95 % interval of the difference that an agent shows to itself, when each task is run as
    often as here, twice over: from how much its own runs of one task differ. None where no task was run twice.

    A task that varies as much as scores in [0, 1] can is added: runs that agree by chance are no proof that all do.
    """
    spread = [variance(scores) / len(scores) for scores in runs if len(scores) > 1]
    if not spread:
        return None
    times = fmean(len(scores) for scores in runs if len(scores) > 1)
    return t_point(len(spread)) * sqrt(2 * fmean([*spread, _MOST_VARIANCE / times]) / len(runs))
