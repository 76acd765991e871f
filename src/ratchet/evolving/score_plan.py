"""Tells how many runs a decision will take, before they are paid: the gate itself on simulated runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from statistics import mean

from ratchet.errors import UsageError
from ratchet.evolving.score_table import ScoreTable
from ratchet.gate.scores import MOST_SCORE, ScoreGate

_WORLDS, _FEWEST = 200, 20
"""Simulated proposals of each kind: the share that is found is known to 3 points, and to 10 where they are dear."""
_ENOUGH = 60_000  # scores of one kind after which no further proposal is simulated: some seconds
_LONGEST, _DEAREST, _SHORTEST = 1_000, 5_000, 20
"""A proposal is given up after so many rounds, or so many scores, but not before so few rounds."""

GateMaker = Callable[[], ScoreGate]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePlan:
    """Runs of a proposal, its own and the incumbent's together.

    `found` is the share of proposals with this gain that are kept; `median` and `most` (nine in ten stay below) are the
    runs until then. `idle` are the mean runs of one that gains nothing, `first` the runs that the incumbent has had.
    A simulation ends after `bound` runs: `cut` is the share of proposals with this gain that were not decided by then.
    """

    gain: float
    noise: float
    found: float
    median: int
    most: int
    idle: float
    first: int
    bound: int = 0
    cut: float = 0.0


def score_plan(
    made: GateMaker,
    *,
    gain: float,
    noise: float,
    tasks: int = 0,
    first: int = 2,
    told: Callable[[int, int, str], None] = lambda _done, _total, _what: None,
) -> ScorePlan:
    """Simulate proposals that gain as much, and such as gain nothing, beside an incumbent that has run `first` times.

    `tasks`: the score is 0 or 1 on each of so many tasks, and `noise` the share of tasks on which two runs of the same
    version differ. Seeded: the same every time. `told` hears how many of all proposals are done, and of which kind.
    """
    bound = max(_SHORTEST, min(_LONGEST, _DEAREST // max(tasks, 1)))

    def simulated(kind: str, gained: float, done: int, what: str) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        scores = 0
        while len(found) < _WORLDS and (scores < _ENOUGH or len(found) < _FEWEST):
            told(done + len(found), 2 * _WORLDS, what)
            found.append(_runs(made(), f"{kind}{len(found)}", gained, noise, tasks, first, bound))
            scores += found[-1][1] * max(tasks, 1)
        return found

    good = simulated("good", gain, 0, f"proposals that gain {gain:g}")
    idle = simulated("idle", 0.0, _WORLDS, "proposals without gain")
    runs = sorted(spent for decision, spent in good if decision == "keep")
    return ScorePlan(
        gain=gain,
        noise=noise,
        found=len(runs) / len(good),
        median=runs[len(runs) // 2] if runs else 0,
        most=runs[len(runs) * 9 // 10] if runs else 0,
        idle=mean(spent for _, spent in idle),
        first=first,
        bound=bound,
        cut=sum(decision == "again" for decision, _ in good) / len(good),
    )


def _runs(gate: ScoreGate, seed: str, gain: float, noise: float, tasks: int, first: int, bound: int) -> tuple[str, int]:
    """Tell what became of the proposal within so many runs, and what it cost."""
    chance = Random(seed)  # noqa: S311  (a simulation)
    for _ in range(first):
        _run(gate, chance, "old", 0.0, noise, tasks)
    wanted, spent = "new", 0
    while wanted and spent < bound:
        _run(gate, chance, wanted, gain if wanted == "new" else 0.0, noise, tasks)
        spent += 1
        wanted = gate.following("new")
    return gate.answer("new").decision, spent


def _run(gate: ScoreGate, chance: Random, version: str, gain: float, noise: float, tasks: int) -> None:
    if not tasks:
        gate.add(version, chance.gauss(gain, noise))
    for task in range(tasks):
        # A pair differs on `noise` of the tasks where each passes with p and 2 p (1 - p) = noise.
        passes = (1 - (1 - min(2 * noise, 1.0)) ** 0.5) / 2 + gain
        gate.add(version, float(chance.random() < passes), task=str(task))


def noise_of(table: ScoreTable) -> tuple[float | None, int]:
    """The noise of one run as repeats of the same version on the same task show it (None without repeats), and the
    number of tasks where scores are bounded, else 0."""
    repeats: dict[tuple[str, str], list[float]] = {}
    for run in table.runs:
        if run.score is None:
            continue
        if abs(run.score) > MOST_SCORE:
            raise UsageError(f"line {run.line}: score is {run.score!r}: beyond {MOST_SCORE:g} no spread can be told")
        repeats.setdefault((run.version, run.task), []).append(run.score)
    pairs = [(a, b) for each in repeats.values() for a, b in pairwise(each)]
    if table.are_bounded:
        tasks = len({run.task for run in table.runs})
        return (mean(abs(a - b) for a, b in pairs) if pairs else None), tasks
    groups = [each for each in repeats.values() if len(each) > 1]
    freedom = sum(len(each) - 1 for each in groups)
    squares = sum((value - mean(each)) ** 2 for each in groups for value in each)
    noise = (squares / freedom) ** 0.5 if freedom else 0.0
    return (noise or None), 0
