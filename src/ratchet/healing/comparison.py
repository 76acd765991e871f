"""Does memory pay? The same tasks, in the same order, under the same limits, three times: without memory, with a
shuffled one (each success told of another failure), and with the real one. Paired by task and seed.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from math import comb, isfinite
from pathlib import Path
from typing import Literal, get_args

from ratchet import ids
from ratchet.errors import NotFound, UsageError
from ratchet.files import replace as write_file
from ratchet.gate.intervals import over_ratio
from ratchet.healing.book import EpisodeBook, HealMeans, HealRequest
from ratchet.healing.episode import Budget, Episode, Memo, Task
from ratchet.healing.experience import Experience, change_lines
from ratchet.healing.loop import Memory
from ratchet.healing.project_check import own_check
from ratchet.lessons import lessons as kept
from ratchet.ports import Progress, Store
from ratchet.records import Lesson

Arm = Literal["none", "shuffled", "memory"]
ARMS: tuple[Arm, ...] = get_args(Arm)
_CUT_SHORT = ("planned", "running", "cancelled")
_ASKED = "asked.json"
_PROJECT = "project"  # a folder of a task that holds the project beside what is held back


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRun:
    """One task in one arm. `effort` is the number of changes tried out (of attempts, for solvers that do not count)."""

    arm: Arm
    seed: int
    task: str
    status: str
    effort: int
    attempts: int
    same_mistakes: int
    """Attempts that failed with a change that had failed before in this arm, on the same failure."""
    cost_usd: float
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Total effort of one arm over another's, with its 95 % interval over tasks; no upper end where so few tasks bound
    nothing."""

    of: Arm
    over: Arm
    ratio: float
    low: float
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvedTasks:
    """Runs that two arms solved, of `runs` that both made. `better` and `worse` count tasks: their runs are alike."""

    first: int
    second: int
    runs: int
    better: int
    worse: int

    @property
    def chance(self) -> float:
        """Probability that as many tasks fall to one side where both arms are alike: the exact sign test, two-sided."""
        n, most = self.better + self.worse, max(self.better, self.worse)
        return min(1.0, 2 * sum(comb(n, k) for k in range(most, n + 1)) / float(2**n))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """All runs, and how the arms stand to each other."""

    tasks: int
    seeds: int
    runs: tuple[ArmRun, ...]
    ratios: tuple[Ratio, ...]

    @property
    def planned(self) -> int:
        """Number of runs in all; there are fewer where it was stopped."""
        return self.tasks * self.seeds * len(ARMS)

    def solved(self, one: Arm, other: Arm) -> SolvedTasks:
        """Count the runs that two arms solved, of those that both made, and the tasks that one solved more often."""
        passed = {(each.arm, each.seed, each.task): each.status == "passed" for each in self.runs}
        more: dict[str, int] = {}
        first = second = both = 0
        for arm, seed, task in passed:
            if arm == one and (other, seed, task) in passed:
                mine, his = passed[one, seed, task], passed[other, seed, task]
                first, second, both = first + mine, second + his, both + 1
                more[task] = more.get(task, 0) + mine - his
        return SolvedTasks(
            first=first,
            second=second,
            runs=both,
            better=sum(each > 0 for each in more.values()),
            worse=sum(each < 0 for each in more.values()),
        )

    def of(self, arm: Arm) -> list[ArmRun]:
        return [each for each in self.runs if each.arm == arm]


class NoMemory:
    """Port `Memory` that knows nothing and keeps nothing."""

    def lessons(self, texts: Sequence[str], task: Task) -> tuple[Lesson, ...]:
        del texts, task
        return ()

    def memos(self, solver: str, signature: str, task: Task, tests: Sequence[str] = ()) -> tuple[Memo, ...]:
        del solver, signature, task, tests
        return ()

    def distill(self, episode: Episode) -> tuple[str, ...]:
        del episode
        return ()


class ShuffledMemory:
    """Port `Memory` that remembers as much as the real one, and tells each success of another failure: the placebo."""

    def __init__(self, store: Store, seed: int) -> None:
        self._store = store
        self._real = Experience(store)
        self._seed = seed

    def lessons(self, texts: Sequence[str], task: Task) -> tuple[Lesson, ...]:
        """As many as the real memory has for this, about other failures."""
        real = self._real.lessons(texts, task)
        ids = {each.id for each in real}
        others = [each for each in kept.listed(self._store, states=("active", "candidate")) if each.id not in ids]
        dice = random.Random(f"{self._seed} {task.id}")  # noqa: S311  (a placebo, no secret)
        return tuple(dice.sample(others, min(len(real), len(others))))

    def memos(self, solver: str, signature: str, task: Task, tests: Sequence[str] = ()) -> tuple[Memo, ...]:
        from ratchet.healing.solvers.faults import misled  # with its templates, which few commands need

        real = self._real.memos(solver, signature, task, tests)
        notes = sorted({json.dumps(dict(each.note), sort_keys=True) for each in real})
        if len(notes) < 2:
            return ()
        following = {
            note: notes[(at + 1 + self._seed % (len(notes) - 1)) % len(notes)] for at, note in enumerate(notes)
        }
        told = (json.loads(following[json.dumps(dict(each.note), sort_keys=True)]) for each in real)
        return tuple(replace(each, note=misled(note)) for each, note in zip(real, told, strict=True))

    def distill(self, episode: Episode) -> tuple[str, ...]:
        return self._real.distill(episode)


def projects(folder: Path) -> list[Path]:
    """The projects of a folder of tasks: each of its folders, or the `project` in it. Raises UsageError for none."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: name one that holds a folder for each task")
    below = sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith((".", "_")))
    found = [each / _PROJECT if (each / _PROJECT).is_dir() else each for each in below]
    if not found:
        raise UsageError(f"{folder} holds no tasks: each is a folder with a project whose check fails")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """Subject of a comparison. `check` is that of every task (empty: each one's own)."""

    folder: Path
    seeds: int = 1
    check: tuple[str, ...] = ()
    solver: str = "repair"
    budget: Budget = field(default_factory=Budget)


def begin(root: Path, asked: Compare) -> tuple[str, Path]:
    """The name and the place of a new comparison, with what was asked written down: `again` reads it."""
    name = f"ab{ids.uuid7().replace('-', '')[:16]}"
    place = root / name
    place.mkdir(parents=True, mode=0o700)
    row = {**asdict(asked), "folder": str(asked.folder.resolve())}
    write_file(place / _ASKED, json.dumps(row).encode())
    return name, place


def again(root: Path, name: str) -> tuple[Compare, Path]:
    """The request of a comparison that was cut short, and its place. Raises NotFound, UsageError."""
    place = root / name
    try:
        row = json.loads((place / _ASKED).read_text(encoding="utf-8"))
        budget = Budget(**row.pop("budget"))
        return Compare(**{**row, "folder": Path(row["folder"]), "check": tuple(row["check"]), "budget": budget}), place
    except FileNotFoundError:
        left = ", ".join(sorted(each.name for each in root.glob("ab*"))) or "none"
        raise NotFound(f"no comparison {name} was cut short (there is: {left}); begin one with --tasks DIR") from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{place / _ASKED} is damaged ({error}); begin anew with --tasks DIR") from error


def compare(
    asked: Compare,
    book: EpisodeBook,
    means: HealMeans,
    progress: Progress,
    *,
    place: Path | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Compared:
    """Run every task `seeds` times in each arm, each arm with a memory that begins empty, in an order that the seed
    decides and the arms share; a task in all arms before the next one, so that what is there at any time can be
    compared. Raises UsageError where a task has no check, and what `EpisodeBook.run` raises.

    With a `place`, what was done is kept there until all is done: asked the same again with the same place, a run that
    was killed goes on, and nothing that ended is run twice. `stopping` is asked before each run.
    """
    tasks = projects(asked.folder)
    checks = {each: asked.check or _own(each) for each in tasks}
    runs: list[ArmRun] = []
    total = len(tasks) * asked.seeds * len(ARMS)
    for seed in range(asked.seeds):
        order = list(tasks)
        random.Random(seed).shuffle(order)  # noqa: S311  (an order, no secret)
        with ExitStack() as opened:
            homes = {
                arm: opened.enter_context(book.beside(place / f"{seed}-{arm}" if place is not None else None))
                for arm in ARMS
            }
            failed: dict[Arm, set[tuple[str, str]]] = {arm: set() for arm in ARMS}
            for project, arm in product(order, ARMS):
                if stopping():
                    return _compared(len(tasks), asked.seeds, runs)
                fresh, store = homes[arm]
                progress(len(runs), total, _live(runs))
                request = HealRequest(
                    check=checks[project],
                    folder=project,
                    solver=asked.solver,
                    budget=asked.budget,
                    seed=seed * 1_000,
                )
                ended = _ended(fresh, request, replace(means, memory=_memory(arm, store, seed)))
                runs.append(_run(arm, seed, project.relative_to(asked.folder).parts[0], ended, failed[arm]))
    progress(total, total, "")
    return _compared(len(tasks), asked.seeds, runs)


def _ended(book: EpisodeBook, request: HealRequest, means: HealMeans) -> Episode:
    """The episode of a task, from where it stands: ended already, cut short, or not begun."""
    for held in book.list(folder=request.folder, limit=1):
        return book.resume(held.id, means) if held.status in _CUT_SHORT else held
    return book.run(request, means)


def _live(runs: Sequence[ArmRun]) -> str:
    """Tell the state so far in the few letters of a live line."""
    memory, none = (sum(each.status == "passed" for each in runs if each.arm == arm) for arm in ("memory", "none"))
    return f"{memory} with, {none} without memory"


def _compared(tasks: int, seeds: int, runs: Sequence[ArmRun]) -> Compared:
    pairs: list[tuple[Arm, Arm]] = [("memory", "none"), ("shuffled", "none"), ("memory", "shuffled")]
    ratios = tuple(ratio_of(runs, of, over) for of, over in pairs)
    return Compared(tasks=tasks, seeds=seeds, runs=tuple(runs), ratios=ratios)


def ratio_of(runs: Sequence[ArmRun], of: Arm, over: Arm) -> Ratio:
    """The ratio of two arms' total efforts, with the runs of a task, which are alike, taken together."""
    one = {(each.seed, each.task): each.effort for each in runs if each.arm == of}
    two = {(each.seed, each.task): each.effort for each in runs if each.arm == over}
    efforts: dict[str, tuple[float, float]] = {}
    for seed, task in sorted(one.keys() & two.keys()):
        first, second = efforts.get(task, (0.0, 0.0))
        efforts[task] = (first + one[seed, task], second + two[seed, task])
    low, high = over_ratio(list(efforts.values()))
    below = sum(second for _, second in efforts.values())
    return Ratio(
        of=of,
        over=over,
        ratio=sum(first for first, _ in efforts.values()) / below if below else 1.0,
        low=low,
        high=high if isfinite(high) else None,
    )


def median_effort(runs: Sequence[ArmRun]) -> float:
    return float(statistics.median(each.effort for each in runs)) if runs else 0.0


def _memory(arm: Arm, store: Store, seed: int) -> Memory:
    if arm == "none":
        return NoMemory()
    return Experience(store) if arm == "memory" else ShuffledMemory(store, seed)


def _own(project: Path) -> tuple[str, ...]:
    found = own_check(project)
    if found is None:
        raise UsageError(f"{project} has no check of its own: give one for all tasks with --check CMD")
    return found.argv


def _run(arm: Arm, seed: int, name: str, ended: Episode, failed: set[tuple[str, str]]) -> ArmRun:
    mistakes = 0
    for faced, change in _failures(ended):
        mistakes += (faced, change) in failed
        failed.add((faced, change))
    return ArmRun(
        arm=arm,
        seed=seed,
        task=name,
        status=ended.status,
        effort=ended.candidates or len(ended.attempts),
        attempts=len(ended.attempts),
        same_mistakes=mistakes,
        cost_usd=ended.cost_usd,
        duration_s=ended.duration_s,
    )


def _failures(ended: Episode) -> Iterator[tuple[str, str]]:
    """The failure that each failed attempt faced, and what it changed."""
    for each in ended.attempts:
        if each.status in ("failed", "refused") and each.diff:
            yield each.faced, change_lines(each.shown)
