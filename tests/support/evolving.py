"""Evolve runs over an agent of known truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from ratchet.evolving.bench.benchmark import Benchmark
from ratchet.evolving.book import EvolveBook
from ratchet.evolving.candidate import Candidate, Evolution
from ratchet.evolving.job import ExecutorName, Measure
from ratchet.evolving.loop.evolve import EvolveMoment
from ratchet.evolving.request import EvolveAsked, EvolveMeans
from ratchet.runtime import Runtime
from ratchet.testing.evolving import (
    SKILLS,
    Play,
    ScriptedProposer,
    SyntheticMeasure,
    skills_text,
    synthetic_agent,
    synthetic_benchmark,
)


def to(**skills: object) -> dict[str, str]:
    """A proposal that sets skills: `to(every=0.9)` for all tasks."""
    return {SKILLS: skills_text({"*" if name == "every" else name.replace("_", "-"): p for name, p in skills.items()})}


class Ring:
    """One home, one agent, and a proposer that plays a script."""

    def __init__(self, folder: Path, skills: Mapping[str, object] | None = None) -> None:
        self.folder = folder
        self.agent = synthetic_agent(folder / "agent", skills or {"*": 0.5})
        self.benchmark = synthetic_benchmark()
        self.runtime = Runtime.open(home=folder / "home")
        self.moments: list[EvolveMoment] = []
        self.proposer = ScriptedProposer([{}])

    @property
    def book(self) -> EvolveBook:
        return self.runtime.evolutions

    def evolve(
        self,
        *script: Mapping[str, str] | Play,
        proposals: int | None = None,
        benchmark: Benchmark | None = None,
        **asked: object,
    ) -> Evolution:
        self.proposer = ScriptedProposer(script)
        means = {name: asked.pop(name) for name in ("measure", "stopping", "executor") if name in asked}
        asked.setdefault("batch", 1)  # one after the other: each script builds on what was kept
        given = EvolveAsked(
            agent=self.agent,
            benchmark=benchmark or self.benchmark,
            proposer="scripted",
            proposals=proposals or len(script),
            **asked,  # type: ignore[arg-type]
        )
        return self.book.run(given, self.means(**means))  # type: ignore[arg-type]

    def resume(self, run: str, script: Sequence[Mapping[str, str] | Play], **limits: float) -> Evolution:
        self.proposer = ScriptedProposer(script)
        return self.book.resume(run, self.means(), **limits)

    def means(
        self,
        *,
        measure: Measure | None = None,
        stopping: Callable[[], bool] = lambda: False,
        executor: ExecutorName | Executor = "threads",
    ) -> EvolveMeans:
        return EvolveMeans(
            proposer=self.proposer,
            measure=measure or SyntheticMeasure(),
            stopping=stopping,
            executor=executor,
            told=self.moments.append,
            unsafe=True,
            benchmark=self.benchmark,
        )

    def candidates(self, run: Evolution) -> list[Candidate]:
        return [*self.book.candidates(run.id)]

    def states(self, run: Evolution) -> list[str]:
        return [each.state for each in self.candidates(run)]
