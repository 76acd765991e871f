"""Makes evaluations: many at once, each paid for before it starts and a row as it ends, none of them twice.

What is to be run comes from an `EvaluationPlan`, which is asked again whenever something ended. Only the thread that
calls `Evaluator.work` writes; executors are given jobs, which are values, and return values.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

from ratchet import ids
from ratchet.errors import BackendError, Refused
from ratchet.evolving import rows as evolutions
from ratchet.evolving.bench.benchmark import Agent, BenchTask, Evaluation
from ratchet.evolving.candidate import Candidate
from ratchet.evolving.job import Job, Measure
from ratchet.failures.redaction.text import clean
from ratchet.healing.purse import EpisodePurse
from ratchet.ports import Store

log = logging.getLogger(__name__)

FIRST_SHARE = 0.05
"""Of the budget, set aside for an evaluation while nobody knows what one costs."""
MARGIN = 1.5
"""Times the dearest evaluation so far is set aside for the next one."""
_ENDING_S = 10.0  # for evaluations that were told to stop; a sandbox looks ten times a second


class Key(NamedTuple):
    """Key of an evaluation within a run."""

    candidate: str
    task: str
    seed: int


@dataclass(frozen=True, slots=True)
class WantedEvaluation:
    """An evaluation to be made: a version, on a task, with a seed."""

    version: Candidate
    task: BenchTask
    seed: int

    @property
    def key(self) -> Key:
        return Key(self.version.id, self.task.id, self.seed)


class EvaluationPlan(Protocol):
    """Says what is to be measured next, and learns what came of it."""

    def wanted(self, most: int, under_way: Container[Key]) -> Sequence[WantedEvaluation]:
        """At most so many, in the order in which they matter; none that was told of already, none under way."""

    def took(self, made: Evaluation) -> None: ...

    def needs(self, key: Key) -> bool:
        """Tell whether an evaluation under way can still change anything; it is cancelled otherwise."""


class Each:
    """The plan of a list: each of these evaluations once."""

    def __init__(self, wanted: Iterable[WantedEvaluation]) -> None:
        self._left = {each.key: each for each in wanted}
        self.made: dict[Key, Evaluation] = {}

    def wanted(self, most: int, under_way: Container[Key]) -> Sequence[WantedEvaluation]:
        return [*islice((each for key, each in self._left.items() if key not in under_way), most)]

    def took(self, made: Evaluation) -> None:
        key = key_of(made)
        if self._left.pop(key, None) is not None:
            self.made[key] = made

    def needs(self, key: Key) -> bool:
        return key in self._left


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorMeans:
    """Means by which evaluations are made. `cancel` and `scratch` are folders; `versions` gives the folder of a
    tree."""

    measure: Measure
    executor: Executor
    parallel: int
    versions: Callable[[str], Path]
    scratch: Path
    cancel: Path
    unsafe: bool = False
    seconds: float = 600.0
    """Longest evaluation."""
    stopping: Callable[[], bool] = lambda: False
    """Whether to begin nothing new; what is under way is waited for."""
    told: Callable[[Evaluation], None] = lambda _made: None


@dataclass(slots=True)
class _Flight:
    wanted: WantedEvaluation
    job: Job
    reservation: str
    cancelled: bool = field(default=False)


class Evaluator:
    """The evaluations of one run. `known` holds those that were ever made."""

    def __init__(
        self, store: Store, run: str, agent: Agent, purse: EpisodePurse, usd: float, means: EvaluatorMeans
    ) -> None:
        self._store = store
        self._run = run
        self._agent = agent
        self._purse = purse
        self._usd = usd
        self._means = means
        self.known: dict[Key, Evaluation] = {}
        self.written: dict[str, tuple[int, float]] = {}
        """Version -> how many evaluations of it are written, and the sum of their scores."""
        self.usd: dict[str, float] = {}
        """Version -> what its evaluations cost."""
        self._dearest: float | None = None
        self._flights: dict[Future[Evaluation], _Flight] = {}
        for each in evolutions.evaluations(store, run):
            self._know(each)

    def _know(self, made: Evaluation) -> None:
        self.known[key_of(made)] = made
        count, total = self.written.get(made.candidate, (0, 0.0))
        self.written[made.candidate] = (count + 1, total + made.score)
        self.usd[made.candidate] = self.usd.get(made.candidate, 0.0) + made.cost_usd
        self._dearest = max(self._dearest or 0.0, made.cost_usd)

    def work(self, plan: EvaluationPlan) -> bool:
        """Make what a plan wants until it wants nothing more; False where the budget or a person ended it before.

        Raises BackendError where the executor broke; what had ended is kept.
        """
        try:
            while True:
                stopped = self._begin(plan)
                if not self._flights:
                    return not stopped
                done, _ = wait(self._flights, return_when=FIRST_COMPLETED)
                for future in done:
                    self._end(plan, future)
                self._drop_unneeded(plan)
        finally:
            self._end_all()

    # -- begin ---------------------------------------------------------------------------------------------------------

    def _begin(self, plan: EvaluationPlan) -> bool:
        """Start what there is room for; whether that had to be left undone."""
        while True:
            room = self._room() - len(self._flights)
            under_way = {each.wanted.key for each in self._flights.values()}
            asked = plan.wanted(max(room, 1), under_way)
            news = [each for each in asked if each.key in self.known]
            for each in news:
                plan.took(self.known[each.key])
            if news:
                continue  # what is known may change what is wanted
            for each in asked[:room]:
                if self._means.stopping() or self._purse.cancelled() or not self._start(each):
                    return True
            return False

    def _start(self, wanted: WantedEvaluation) -> bool:
        try:
            reservation = self._purse.reserve(self._expected_usd())
        except Refused:
            return False  # the purse knows why
        version, agent = wanted.version, self._agent
        job = Job(
            id=ids.uuid7(),
            run=self._run,
            candidate=version.id,
            agent=agent,
            version=str(self._means.versions(version.tree)) if agent.folder else "",
            settings=dict(version.settings),
            task=wanted.task,
            seed=wanted.seed,
            scratch=str(self._means.scratch),
            cancel=str(self._means.cancel),
            unsafe=self._means.unsafe,
            seconds=max(1.0, min(self._means.seconds, self._purse.seconds_left())),
        )
        future = self._means.executor.submit(self._means.measure, job)
        self._flights[future] = _Flight(wanted, job, reservation)
        return True

    def _room(self) -> int:
        """Count the evaluations that may be under way: one, as long as nobody knows what one costs; many at once might
        cost more than all there is."""
        return self._means.parallel if self._dearest is not None else 1

    def _expected_usd(self) -> float:
        """The most that the next evaluation is thought to cost."""
        if self._dearest is not None:
            return min(MARGIN * self._dearest, self._usd)
        return self._usd * FIRST_SHARE

    # -- end -----------------------------------------------------------------------------------------------------------

    def _end(self, plan: EvaluationPlan, future: Future[Evaluation]) -> None:
        """Write what came of an evaluation, and its price, at once."""
        flight = self._flights.pop(future)
        made = self._result(flight, future)
        counts = made.killed != "cancel" and not (made.killed and self._purse.seconds_left() <= 0)
        with self._store.transaction():
            if counts:
                evolutions.measured(self._store, made)
            self._purse.settle(flight.reservation, made.cost_usd, tokens=made.tokens)
        (self._means.cancel / flight.job.id).unlink(missing_ok=True)
        if counts:
            self._know(made)
            plan.took(made)
            self._means.told(made)

    def _result(self, flight: _Flight, future: Future[Evaluation]) -> Evaluation:
        wanted = flight.wanted
        known = {"run": self._run, "candidate": wanted.version.id, "task": wanted.task.id, "seed": wanted.seed}
        try:
            made = future.result()
        except BrokenExecutor as error:
            raise BackendError(f"the executor broke ({error}); resume {self._run}: nothing is paid twice") from error
        except Exception as error:
            # A measure may be anybody's: its fault costs the evaluation, not the run.
            log.exception("evaluation.failed", extra={"run": self._run, "task": wanted.task.id})
            told = clean(f"{type(error).__name__}: {error}", 500)
            return Evaluation(**known, result="unmeasured", reason=told)  # type: ignore[arg-type]
        if any(getattr(made, name) != value for name, value in known.items()):
            return Evaluation(**known, result="unmeasured", reason="the answer is of another evaluation")  # type: ignore[arg-type]
        return made

    def _drop_unneeded(self, plan: EvaluationPlan) -> None:
        for flight in self._flights.values():
            if not flight.cancelled and not plan.needs(flight.wanted.key):
                self._cancel(flight)

    def _cancel(self, flight: _Flight) -> None:
        flight.cancelled = True
        self._means.cancel.mkdir(parents=True, exist_ok=True, mode=0o711)
        (self._means.cancel / flight.job.id).touch()

    def _end_all(self) -> None:
        """Leave nothing running, whatever ended the work."""
        for future, flight in self._flights.items():
            if not future.cancel():
                self._cancel(flight)
        wait(self._flights, timeout=_ENDING_S)
        self._flights.clear()


def key_of(made: Evaluation) -> Key:
    return Key(made.candidate, made.task, made.seed)
