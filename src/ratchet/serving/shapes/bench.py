"""Shapes of benchmarks and their runs. Gains are in points of score: 0.05 is five points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from ratchet.evolving.bench.figures import MDE, Figures, Paired
from ratchet.serving.shapes.shape import Shape, said

if TYPE_CHECKING:
    from ratchet.evolving.bench.book import ComparedRuns
    from ratchet.evolving.bench.rows import BenchRun


class BenchmarkShape(Shape):
    """A frozen set of tasks."""

    name: str = said("Names the benchmark.")
    title: str = said("The benchmark, in one line.")
    hash: str = said("The same for the same tasks.")
    tasks: int = said("Tasks in all.", of=lambda found: len(found.tasks))
    kinds: dict[str, int] = said(
        "Tasks of each kind.", of=lambda found: dict(sorted(Counter(each.kind for each in found.tasks).items()))
    )
    splits: dict[str, int] = said(
        "Tasks of each split.", of=lambda found: dict(sorted(Counter(each.split for each in found.tasks).items()))
    )
    smoke: int = said("Tasks that are cheap and easy.", of=lambda found: sum(each.smoke for each in found.tasks))


class ImportedBenchmarkShape(BenchmarkShape):
    """A benchmark that was imported."""

    fresh: bool = said("Whether it was not here before.")


class GrantedShape(Shape):
    """Wishes of an agent's declaration beyond its sandbox."""

    folder: str = said("The agent's folder.")
    asks: Sequence[str] = said("What it asks for, in words.")
    granted: bool = said("Whether it gets that.")


class TaskFaultShape(Shape):
    """A task that cannot measure."""

    task: str = said("Names the task.")
    reason: str = said("Why, in words.")


class BenchCheckShape(Shape):
    """A check of a benchmark's tasks: right answers pass, doing nothing does not."""

    tasks: int = said("Tasks that were tried.")
    unproven: int = said("Those without a right answer: there only doing nothing was tried.")
    faults: Sequence[TaskFaultShape] = said("Those that cannot measure.")


class BenchTaskShape(Shape):
    """A task of a benchmark: never its graders, its right answer, or what its scorer knows."""

    id: str = said("Names the task.")
    title: str = said("The task, in one line.")
    kind: str = said("The class of the task.")
    split: str = said("dev, gate or sealed.")
    scorer: str = said("pytest, command, plan or calls.")
    smoke: bool = said("Whether it is cheap and easy.")
    wall_s: float = said("The time that an agent has.")
    files: list[str] = said("Paths of the files that the agent gets.", of=lambda task: sorted(task.files))
    instruction: str = said("The text that the agent gets.")


class BenchmarkDetailShape(BenchmarkShape):
    """A benchmark with its tasks."""

    task_list: list[BenchTaskShape] = said("All of its tasks.", of="tasks")


class IntervalShape(Shape):
    """A mean with its 95 % interval."""

    mean: float = said("The mean.", digits=6)
    low: float = said("Lower end of the interval.", digits=6)
    high: float = said("Upper end of the interval.", digits=6)
    n: int = said("Runs, or pairs of runs, in it.")


class BenchRunShape(Shape):
    """One run of an agent on a benchmark."""

    id: str = said("Names the run.")
    benchmark: str = said("Names the benchmark.", of="name")
    hash: str = said("The hash of its tasks.", of="benchmark")
    agent: str = said("Names the agent.", of="agent_name")
    folder: str = said("The folder of the agent; empty where it has none.", of="agent.folder")
    version: str = said("A hash of the agent's files and settings.")
    settings: dict[str, object] = said("Settings that the agent ran with, by name.", of="agent.settings")
    state: str = said("running, killed (its process is gone), or how it ended.")
    reason: str = said("Why it ended so.")
    split: str = said("The split that it ran; empty for all.", of=lambda run: run.split or "")
    tasks: list[str] = said("Globs of the tasks that it ran; empty for all.")
    planned: int = said("Evaluations planned.")
    repeats: int = said("Runs of each task.")
    seed: int = said("The first seed.")
    parallel: int = said("Evaluations at once.")
    executor: str = said("threads, processes, dask or ray.")
    aa: bool = said("Whether the agent ran against itself.")
    unsafe: bool = said("Whether any of it ran without a sandbox.")
    source: str = said("The file that it was imported from.")
    tampered: list[str] = said("Changes of benchmark, agent or memory while it ran.")
    started_at: float = said("When it began.")
    ended_at: float = said("When it ended; 0 before.")
    duration_s: float = said("How long it took.", digits=3)
    cost_usd: float = said("The cost of it.", digits=6)
    runs: int = said("Evaluations done.")
    unmeasured: int = said("Of these, evaluations that could not be measured.")


class PastBenchRunShape(BenchRunShape):
    """A run with its score as it was written when the run ended."""

    score: IntervalShape | None = said("Null where nothing was measured.")

    @classmethod
    def past(cls, held: BenchRun) -> Self:
        """The shape of a run of the history."""
        measured = held.runs - held.unmeasured
        score = IntervalShape.built(held, n=measured) if measured else None
        return cls.built(held, score=score)


class TaskFiguresShape(Shape):
    """One task over all its evaluations of a run."""

    task: str = said("Names the task.")
    score: IntervalShape = said("Over the evaluations that could be measured.")
    unmeasured: int = said("Evaluations that could not be measured.")
    wall_s: float = said("Mean time of an evaluation.", digits=3)
    cost_usd: float = said("The cost of all.", digits=6)
    tokens: int = said("Tokens of all.")
    tampered: int = said("Evaluations that tried to change what is none of an agent's business.")
    reason: str = said("Why the last one that was not right was not.")


class PairsShape(Shape):
    """Difference of two runs, on pairs of evaluations of the same task and seed."""

    gain: IntervalShape = said("In points of score.")
    pairs: int = said("Pairs that could be measured.", of="gain.n")
    paired_tasks: int = said("Tasks of these pairs.", of="tasks")
    better: int = said("Pairs in which the second is better.")
    worse: int = said("Pairs in which it is worse.")
    left_out: int = said("Pairs of which one side could not be measured.")
    left_out_first: int = said("Pairs of which the first could not be.")
    left_out_second: int = said("Pairs of which the second could not be.")
    unpaired: int = said("Evaluations that only one of the two has.")
    worst_gain: float = said("The gain if all that could not be measured of the second were 0.", of="worst", digits=6)
    spread: float = said("Mean of the squared differences.", digits=6)
    effect: float = said("The gain that `needed_pairs` is about.", of=lambda _found: MDE)
    needed_pairs: int = said("Pairs that would show such a gain in 80 % of cases.", of=lambda found: found.needed())
    resolves: bool = said("Whether there are as many.", of=lambda found: found.gain.n >= found.needed())


class MeasuredBenchRunShape(PastBenchRunShape):
    """A run with all its figures."""

    agents_s: float = said("Time of all evaluations, added up.", digits=3)
    tokens: int = said("Tokens of all evaluations.")
    runs_tampered: int = said("Evaluations that tried to change what is none of an agent's business.")
    by_task: list[TaskFiguresShape] = said("The figures of each task.")
    noise: PairsShape | None = said("The agent against itself; null where that was not measured.")

    @classmethod
    def measured(cls, held: BenchRun, found: Figures, noise: Paired | None = None, **more: object) -> Self:
        """The shape of a run with its figures, as they are now."""
        return cls.built(
            held,
            score=found.score,
            runs=found.runs,
            unmeasured=found.unmeasured,
            agents_s=found.wall_s,
            cost_usd=found.cost_usd,
            tokens=found.tokens,
            runs_tampered=found.tampered,
            by_task=found.tasks,
            noise=noise,
            **more,
        )


class EvaluationShape(Shape):
    """One run of one task by one version of an agent."""

    task: str = said("Names the task.")
    seed: int = said("The seed that it ran with.")
    candidate: str = said("The version of the agent.")
    result: str = said("passed, partly, failed or unmeasured.")
    score: float = said("From 0 to 1; means nothing where it could not be measured.", digits=6)
    reason: str = said("Why the score is not 1, or why it could not be measured.")
    kind: str = said("The class of the failure; empty for none.")
    signature: str = said("Names the cause of the failure.")
    wall_s: float = said("How long it took.", digits=3)
    cost_usd: float = said("The cost of it.", digits=6)
    tokens: int = said("Tokens that it took.")
    killed: str = said("The limit that ended it; empty for none.")
    isolation: str = said("The sandbox that it ran in.")
    tampered: list[str] = said("Things that it tried to change and that are none of its business.")
    at: float = said("When it ended.")
    output: str = said("Printed by agent and scorer, its middle left out when long.")


class EvaluatedBenchRunShape(MeasuredBenchRunShape):
    """A run with all its figures and every single evaluation."""

    evaluations: list[EvaluationShape] = said("In the order in which they ended.")


class BenchComparisonShape(PairsShape):
    """Two runs on the same tasks."""

    first: BenchRunShape = said("The run that is compared with.")
    second: BenchRunShape = said("The run that is compared.")
    differences: list[str] = said("What differs between the two, as `effort 1 -> 5`; empty where they ran alike.")
    scores: list[IntervalShape] = said("The score of each, over all that it measured.")
    noise_floor: float | None = said("Half the interval that chance alone shows on so many pairs.", digits=6)
    noise_run: str = said("The run of an agent against itself that shows it; empty for none.")

    @classmethod
    def compared(cls, found: ComparedRuns) -> Self:
        """The shape of a comparison."""
        return cls.built(
            found.paired,
            first=found.first,
            second=found.second,
            differences=found.unlike,
            scores=found.scores,
            noise_floor=found.noise_floor,
            noise_run=found.noise_run,
        )


class FeatureCellShape(Shape):
    """The line that shows a feature."""

    file: str = said("The file.", foreign="name")
    line: int = said("The line, from 1.")
    shown: str = said("The line itself, cut.", foreign="words")


class ComparedFeatureShape(Shape):
    """One feature, and which projects show it."""

    kind: str = said("command, option, tool, endpoint, format or topic.")
    name: str = said("The feature.", foreign="name")
    cells: dict[str, FeatureCellShape] = said(
        "Project -> the line that shows it; absent where nothing does.",
        of=lambda row: {name: FeatureCellShape.built(each) for name, each in row.cells.items()},
    )
    said: list[str] = said("Sentences of a model that name this feature; none without a model.", foreign="words")
