"""A race as a plan of evaluations: which version runs which task with which seed, pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from ratchet.evolving.bench.benchmark import BenchTask, Evaluation
from ratchet.evolving.candidate import Candidate
from ratchet.evolving.race.evaluator import Key, WantedEvaluation, key_of
from ratchet.evolving.race.race import INCUMBENT, Draw, Race, RacedRun, draw


class RacePlan:
    """Port `Plan` of one race. `meddling` says with what an evaluation's agent meddled, "" for nothing."""

    def __init__(
        self,
        race: Race,
        incumbent: Candidate,
        racers: Sequence[Candidate],
        tasks: Sequence[BenchTask],
        *,
        seed: int,
        batch: int,
        meddling: Callable[[Evaluation], str],
    ) -> None:
        self.race = race
        self._versions = {INCUMBENT: incumbent, **dict(enumerate(racers))}
        self._tasks = tasks
        self._seed = seed
        self._batch = batch
        self._meddling = meddling
        self._draws: list[Draw] = []
        self._asked: dict[Key, list[RacedRun]] = {}

    def wanted(self, most: int, under_way: Container[Key]) -> Sequence[WantedEvaluation]:
        flying = {run for key, runs in self._asked.items() if key in under_way for run in runs}
        found = []
        for run in self.race.wanted(most, flying):
            drawn = self._draw(run.pair)
            each = WantedEvaluation(self._versions[run.racer], self._tasks[drawn.task], drawn.seed)
            runs = self._asked.setdefault(each.key, [])
            if run not in runs:
                runs.append(run)
            found.append(each)
        return found

    def took(self, made: Evaluation) -> None:
        for run in self._asked.pop(key_of(made), ()):
            self.race.record(run, made.score if made.measured else None, refusal=self._meddling(made))

    def needs(self, key: Key) -> bool:
        return any(map(self.race.needs, self._asked.get(key, ())))

    def _draw(self, pair: int) -> Draw:
        while len(self._draws) <= pair:
            self._draws.append(draw(self._seed, self._batch, len(self._draws), len(self._tasks)))
        return self._draws[pair]
