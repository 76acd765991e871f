"""Which evaluations a bench run is made of, and when going on with it is no use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from ratchet.errors import UsageError
from ratchet.evolving.bench import rows as benchruns
from ratchet.evolving.bench.benchmark import Benchmark, BenchTask, Evaluation, Split
from ratchet.evolving.bench.rows import FIRST, SECOND, BenchRun
from ratchet.evolving.candidate import Candidate
from ratchet.evolving.race.evaluator import WantedEvaluation

HOPELESS = 10
"""So many runs, none of which could be measured: the machine is at fault, and nothing more is begun."""


def chosen(benchmark: Benchmark, split: Split | None, globs: Sequence[str]) -> list[BenchTask]:
    """The tasks that are meant, by id. Raises UsageError where there are none."""
    found = [
        each
        for each in benchmark.tasks
        if split in (None, each.split) and (not globs or any(fnmatchcase(each.id, glob) for glob in globs))
    ]
    if not found:
        meant = " ".join(filter(None, (f"split {split}" if split else "", ", ".join(globs))))
        raise UsageError(f"no task of {benchmark.name} is meant by {meant}; `ratchet bench show {benchmark.name}`")
    return sorted(found, key=lambda each: each.id)


def wanted(held: BenchRun, tasks: Sequence[BenchTask]) -> Iterator[WantedEvaluation]:
    """Every task with every seed, task by task in each repeat, so that a run that is cut short saw them all. Two arms
    take turns: what changes over time meets both."""
    arms = (FIRST, SECOND) if held.aa else (held.version,)
    versions = [
        Candidate(id=arm, run=held.id, n=n, state="baseline", tree=held.tree, settings=held.agent.settings)
        for n, arm in enumerate(arms)
    ]
    for repeat in range(held.repeats):
        for task in tasks:
            for n, version in enumerate(versions):
                yield WantedEvaluation(version, task, held.seed + repeat + n * held.repeats)


def shows_noise(held: BenchRun) -> bool:
    return held.aa and held.state == "ended"


class ProgressWatch:
    """Counts what ends, and sees when going on is no use."""

    def __init__(
        self, planned: int, told: Callable[[Evaluation, int, int], None], stopping: Callable[[], bool]
    ) -> None:
        self._planned = planned
        self._told = told
        self._stopping = stopping
        self._measured = False
        self._last = ""
        self.done = 0
        self._fresh = 0

    def told(self, made: Evaluation) -> None:
        self.done += 1
        self._fresh += 1
        self._measured = self._measured or made.measured
        self._last = made.reason
        self._told(made, self.done, self._planned)

    def stopping(self) -> bool:
        return self._stopping() or self._is_hopeless

    @property
    def _is_hopeless(self) -> bool:
        return self._fresh >= HOPELESS and not self._measured

    def outcome(self, whole: bool, spent: str) -> tuple[benchruns.BenchRunState, str]:
        """Say how a run ended, and why."""
        if whole:
            return "ended", ""
        if self._is_hopeless:
            return "failed", f"none of {self._fresh} runs could be measured; the last: {self._last}"
        return ("budget", spent) if spent else ("cancelled", f"stopped after {self.done} of {self._planned} runs")
