"""Benchmarks as people ask for them, in one file since runs, imports and checks share one home: the operations behind
`ratchet bench`."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Literal, TypedDict

from ratchet.errors import Conflict, NotFound, Refused, UsageError
from ratchet.evolving import rows as evolutions
from ratchet.evolving.archive import Archive
from ratchet.evolving.bench import importing, inspectlog, promptfoo
from ratchet.evolving.bench import rows as benchruns
from ratchet.evolving.bench.agents import agent_of, shown
from ratchet.evolving.bench.benchmark import Agent, Benchmark, BenchTask, Evaluation, Split
from ratchet.evolving.bench.checking import BenchCheck, check_tasks
from ratchet.evolving.bench.evidence import differing, fingerprints
from ratchet.evolving.bench.figures import Figures, Interval, Paired, figures, paired
from ratchet.evolving.bench.granting import need_granted
from ratchet.evolving.bench.ground import check_shown, executing, files_of, measuring
from ratchet.evolving.bench.plan import ProgressWatch, chosen, shows_noise, wanted
from ratchet.evolving.bench.rows import FIRST, SECOND, BenchRun
from ratchet.evolving.bench.shelf import BenchShelf
from ratchet.evolving.bench.unlike import before, unlike
from ratchet.evolving.candidate import KILLED
from ratchet.evolving.job import ExecutorName, Measure
from ratchet.evolving.race.evaluator import Each, Evaluator
from ratchet.evolving.race.evaluator import EvaluatorMeans as Making
from ratchet.evolving.race.seals import memory, rewritten
from ratchet.files import Locked, claimed, is_free
from ratchet.healing.episode import Budget
from ratchet.healing.purse import EpisodePurse
from ratchet.ports import Store
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.choice import Sandboxes

ImportFormat = Literal["auto", "pytest", "humaneval", "promptfoo", "command", "inspect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchAsked:
    """A run as it is asked for. `agent` is a folder, a command, `module:function` or an address, seen from `cwd`; or an
    agent that was read already."""

    agent: str | Agent
    bench: str = "core"
    split: Split | None = None
    tasks: tuple[str, ...] = ()
    """Globs of task ids."""
    repeats: int = 1
    seed: int = 0
    parallel: int = 1
    executor: ExecutorName = "threads"
    usd: float = 10.0
    seconds: float = 86_400.0
    aa: bool = False
    net: str | None = None
    pass_env: tuple[str, ...] = ()
    readable: tuple[Path, ...] = ()
    unsafe: bool = False
    watch: str = ""
    """The baseline that it is a check of (`BenchRun.watch`)."""
    cwd: Path = Path()

    def read_agent(self) -> Agent:
        """The agent that is meant. Raises UsageError, NotFound."""
        if isinstance(self.agent, Agent):
            return self.agent
        return agent_of(self.agent, cwd=self.cwd, net=self.net, pass_env=self.pass_env, readable=self.readable)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchMeans:
    """Means of a run, given anew by whoever runs or resumes it. `measure` and `executor` stand in for the built-in
    ones."""

    told: Callable[[Evaluation, int, int], None] = lambda _made, _done, _planned: None
    """An evaluation, how many there are by now, and how many there are to be."""
    stopping: Callable[[], bool] = lambda: False
    """Whether to begin nothing new; what is under way is waited for."""
    measure: Measure | None = None
    executor: Executor | None = None
    usd: float | None = None
    """Of a run that is resumed: its new budget, and `seconds`."""
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRuns:
    """Two runs on the same tasks, and what runs of an agent against itself showed (None: nobody measured it)."""

    first: BenchRun
    second: BenchRun
    paired: Paired
    unlike: tuple[str, ...] = ()
    """What differs between the two, each in a few words."""
    scores: tuple[Interval, Interval]
    """Of all that each of them measured."""
    noise: Paired | None = None
    noise_run: str = ""

    @property
    def noise_floor(self) -> float | None:
        """Compute what chance alone shows on so many pairs, in points: half the 95 % interval of the agent against
        itself, which shrinks with the root of the number of pairs."""
        if self.noise is None or not self.noise.gain.n or not self.paired.gain.n:
            return None
        return self.noise.gain.half_width * sqrt(self.noise.gain.n / self.paired.gain.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchChecking:
    """Means of a check of tasks. `told` hears how many are done, and of how many."""

    unsafe: bool = False
    parallel: int = 2
    told: Callable[[int, int], None] = lambda _done, _planned: None


_FAULTS_TOLD = 5


class BenchBook:
    """Benchmarks and runs of one home. `reading` gives the store after what was recorded is in it."""

    def __init__(self, home: Path, *, reading: Callable[[], Store], sandboxes: Sandboxes, cluster: str = "") -> None:
        self._home = home
        self._reading = reading
        self._sandboxes = sandboxes
        self._cluster = cluster
        self._shelf = BenchShelf(home)

    # -- benchmarks ----------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The names of all benchmarks, the shipped ones first."""
        return self._shelf.names()

    def benchmark(self, name: str) -> Benchmark:
        """One benchmark with its tasks. Raises NotFound, Conflict for one that was changed since it was frozen."""
        return self._shelf.get(name)

    def freeze(self, made: Benchmark) -> Benchmark:
        """Keep a benchmark under its name, and return it. Raises Conflict where another one has the name."""
        self._shelf.keep(made)
        return made

    def import_tasks(
        self,
        source: str,
        *,
        kind: ImportFormat = "auto",
        name: str = "",
        folder: Path | None = None,
        instruction: str = "",
        checking: BenchChecking | None = None,
    ) -> tuple[Benchmark, bool]:
        """Freeze what others measure with as a benchmark; False: it is here already. All of it or nothing.

        With `checking`, each task must tell a right answer from none (`check`). Raises NotFound, UsageError naming file
        and line or tasks that cannot measure, Conflict where another benchmark has the name, Refused where no sandbox
        holds.
        """
        path = Path(source)
        if kind == "command":
            made = importing.read_command(source, folder, name or "score", instruction=instruction)
        elif kind == "humaneval" or (kind == "auto" and path.name.endswith((".jsonl", ".jsonl.gz"))):
            made = importing.read_lines(path, name or importing.name_from(path))
        elif kind == "promptfoo" or (kind == "auto" and promptfoo.looks_like_promptfoo(path)):
            made = importing.read_promptfoo(path, name or importing.name_from(path))
        elif kind in ("pytest", "auto") and path.is_dir():
            made = importing.read_folder(path, name or importing.name_from(path))
        elif not path.exists():
            raise NotFound(f"there is no file or folder {source}; a command needs --format command")
        else:
            raise UsageError(f"{source} is neither a folder of tests nor JSON lines; name its --format")
        if checking is not None and not self._shelf.holds(made):
            found = self._checked(made, checking)
            if found.faults:
                told = "; ".join(f"{each.task}: {each.reason}" for each in found.faults[:_FAULTS_TOLD])
                more = f"; and {len(found.faults) - _FAULTS_TOLD} more" if len(found.faults) > _FAULTS_TOLD else ""
                raise UsageError(
                    f"{len(found.faults)} of {found.tasks} tasks of {source} cannot measure. {told}{more}. Mend them, "
                    "or take them as they are with --no-check"
                )
        return made, self._shelf.keep(made)

    def check(self, name: str, checking: BenchChecking | None = None) -> BenchCheck:
        """Try whether each task tells a right answer from none: its reference must pass, and doing nothing must not,
        each twice. Raises NotFound, Refused where no sandbox holds."""
        return self._checked(self.benchmark(name), checking or BenchChecking())

    def _checked(self, benchmark: Benchmark, checking: BenchChecking) -> BenchCheck:
        self._sandboxes.chosen(unsafe=checking.unsafe)
        return check_tasks(
            benchmark.tasks,
            measuring(self._home),
            unsafe=checking.unsafe,
            parallel=checking.parallel,
            told=checking.told,
        )

    def import_run(self, path: Path, *, name: str = "", scorer: str = "") -> BenchRun:
        """Take a log of Inspect as a run that has ended; the same file again is the same run.

        Raises NotFound, UsageError naming file and sample.
        """
        log = inspectlog.read_log(path, scorer=scorer)
        identity = hashlib.sha256(path.read_bytes() + b"\0" + scorer.encode()).hexdigest()[:16]
        run, store = f"bn{identity}", self._reading()
        if store.get("benchruns", run) is not None:
            return benchruns.benchrun(store, run)
        made = [replace(each, run=run, candidate=log.model) for each in log.evaluations]
        held = BenchRun(
            id=run,
            name=importing.checked_name(name or importing.name_from(Path(log.task))),
            benchmark=log.hash,
            agent=Agent(how="command"),
            agent_name=log.model,
            state="ended" if log.status == "success" else "cancelled" if log.status == "cancelled" else "failed",
            reason="" if log.status == "success" else f"the log says: {log.status}",
            planned=len(made),
            repeats=len({each.seed for each in made}),
            seed=min(each.seed for each in made),
            source=str(path.resolve()),
            started_at=log.started_at or time.time(),
            ended_at=max((each.at for each in made), default=0.0),
            cost_usd=sum(each.cost_usd for each in made),
            duration_s=sum(each.wall_s for each in made),
            **_summary(made),
        )
        with store.transaction():
            store.insert_new("evaluations", [evolutions.evaluation_row(each) for each in made])
            return benchruns.begin(store, held)

    # -- run -----------------------------------------------------------------------------------------------------------

    def run(self, asked: BenchAsked, means: BenchMeans | None = None) -> BenchRun:
        """Measure an agent. What an agent does wrong is a score; what the machine does wrong is `unmeasured`.

        Raises UsageError, NotFound for what makes no sense, Refused where no sandbox holds, BackendError where the
        machine fails it: `resume` goes on then.
        """
        means = means or BenchMeans()
        self._sandboxes.chosen(unsafe=asked.unsafe)
        benchmark = self.benchmark(asked.bench)
        tasks = chosen(benchmark, asked.split, asked.tasks)
        agent = asked.read_agent()
        check_shown(self._home, agent.readable)
        need_granted(self._home, agent, net=asked.net, pass_env=asked.pass_env, readable=asked.readable)
        missing = next((each for each in agent.pass_env if each not in os.environ), None)
        if missing is not None:
            raise UsageError(f"the agent is to get the variable {missing}, which is not set here")
        tree = self._archive.add(files_of(Path(agent.folder))) if agent.folder else ""
        identity = json.dumps([agent.how, agent.argv, agent.target], sort_keys=True)
        held = benchruns.begin(
            self._reading(),
            BenchRun(
                id=benchruns.new_id(),
                name=benchmark.name,
                benchmark=benchmark.hash,
                agent=agent,
                agent_name=shown(agent),
                state="running",
                version=evolutions.version_id(f"{tree}{identity}", agent.settings),
                tree=tree,
                split=asked.split,
                tasks=asked.tasks,
                planned=len(tasks) * asked.repeats * (2 if asked.aa else 1),
                repeats=asked.repeats,
                seed=asked.seed,
                parallel=asked.parallel,
                executor=asked.executor,
                usd=asked.usd,
                seconds=asked.seconds,
                aa=asked.aa,
                unsafe=asked.unsafe,
                watch=asked.watch,
            ),
        )
        return self._go_on(held, tasks, means)

    def resume(self, run: str, means: BenchMeans | None = None) -> BenchRun:
        """Go on with a run that was killed, stopped, or out of budget: nothing that ended is paid twice.

        Raises NotFound, Refused for one that has ended, Conflict while another process runs it or where the benchmark
        is no longer the same.
        """
        means = means or BenchMeans()
        store = self._reading()
        held = benchruns.benchrun(store, run)
        if held.state == "ended" or held.source:
            raise Refused(f"bench run {run} has ended; start another with `ratchet bench run`")
        self._sandboxes.chosen(unsafe=held.unsafe)
        benchmark = self.benchmark(held.name)
        if benchmark.hash != held.benchmark:
            raise Conflict(f"benchmark {held.name} is no longer what run {run} began with; run it anew")
        return self._go_on(held, chosen(benchmark, held.split, held.tasks), means)

    def _go_on(self, held: BenchRun, tasks: Sequence[BenchTask], means: BenchMeans) -> BenchRun:
        workers = self._home / "bench" / "places" / held.id / "workers"
        with (
            self._claimed(held.id),
            executing(held.executor, held.parallel, cluster=self._cluster, place=workers) as own,
        ):
            store = self._reading()
            held = benchruns.benchrun(store, held.id)  # another process may have ended it before the claim
            usd = held.usd if means.usd is None else means.usd
            seconds = held.seconds if means.seconds is None else means.seconds
            held = benchruns.write(store, held, state="running", reason="", usd=usd, seconds=seconds)
            budget = Budget(usd=usd, seconds=seconds)
            purse = EpisodePurse(store, held.id, budget, used_s=held.duration_s if means.seconds is None else 0.0)
            guarded = [self._shelf.place(held.name), self._home / "salt"]
            before, learnt = fingerprints([*map(str, guarded)]), memory(store)
            watch = ProgressWatch(held.planned, means.told, means.stopping)
            place = self._emptied(held.id)
            try:
                making = Making(
                    measure=means.measure or measuring(self._home, guarded=guarded),
                    executor=means.executor or own,
                    parallel=held.parallel,
                    versions=self._archive.folder,
                    scratch=place / "scratch",
                    cancel=place / "cancel",
                    unsafe=held.unsafe,
                    stopping=watch.stopping,
                    told=watch.told,
                )
                evaluator = Evaluator(store, held.id, held.agent, purse, usd, making)
                watch.done = len(evaluator.known)
                whole = evaluator.work(Each(wanted(held, tasks)))
            except BaseException:
                self._end(store, held, purse, "cancelled", "it was cut short", ())
                raise
            finally:
                remove_tree(place)
            changed = differing(before, fingerprints([*map(str, guarded)]))
            if rewritten(learnt, memory(store)):
                changed = (*changed, "what was learnt changed while the agent ran")
            return self._end(store, held, purse, *watch.outcome(whole, purse.spent()), changed)

    def _end(
        self,
        store: Store,
        held: BenchRun,
        purse: EpisodePurse,
        state: benchruns.BenchRunState,
        reason: str,
        changed: tuple[str, ...],
    ) -> BenchRun:
        return benchruns.write(
            store,
            held,
            "ended",
            state=state,
            reason=reason,
            tampered=tuple(dict.fromkeys((*held.tampered, *changed))),
            ended_at=time.time(),
            duration_s=purse.seconds_used(),
            cost_usd=purse.usd_spent(),
            **_summary(evolutions.evaluations(store, held.id)),
        )

    def _emptied(self, run: str) -> Path:
        """The run's folder for working copies, new; those of runs that were killed are cleared away."""
        places = self._home / "bench" / "places"
        for each in places.iterdir() if places.is_dir() else ():
            if each.name == run:
                remove_tree(each)
            else:
                with suppress(Conflict), self._claimed(each.name):
                    remove_tree(each)
        place = places / run
        (place / "cancel").mkdir(parents=True, mode=0o711)
        return place

    @property
    def _archive(self) -> Archive:
        return Archive(self._home / "bench")

    def _claimed(self, run: str) -> Locked:
        """Only one process works on a run; the claim ends with the process, however it ends. Raises Conflict."""
        return claimed(self._lock(run), f"bench run {run}")

    def _lock(self, run: str) -> Path:
        return self._home / "bench" / f"{run}.lock"

    def _seen(self, held: BenchRun) -> BenchRun:
        """The run, as killed where it was running and nobody holds it any more."""
        gone = held.state == "running" and is_free(self._lock(held.id))
        return replace(held, state="killed", reason=KILLED) if gone else held

    # -- see it --------------------------------------------------------------------------------------------------------

    def history(self, *, name: str | None = None, limit: int | None = None) -> list[BenchRun]:
        """Runs, newest first; of one benchmark."""
        return [self._seen(each) for each in benchruns.listed(self._reading(), name=name, limit=limit)]

    def unlike_before(self, runs: Sequence[BenchRun]) -> dict[str, tuple[str, tuple[str, ...]]]:
        """By run, of runs newest first: the one before it of the same agent's line, and what differs from that."""
        pairs = [(each, before(each, runs[number:])) for number, each in enumerate(runs, 1)]
        found = {each.id: (old.id, unlike(old, each, self._archive)) for each, old in pairs if old is not None}
        return {run: (old, said) for run, (old, said) in found.items() if said}

    def evaluations(self, run: str) -> list[Evaluation]:
        """All evaluations of a run, in the order in which they ended. Raises NotFound."""
        store = self._reading()
        benchruns.benchrun(store, run)
        return list(evolutions.evaluations(store, run))

    def figures(self, run: str) -> tuple[BenchRun, Figures]:
        """One run with its scores and intervals. Raises NotFound."""
        held = self._seen(benchruns.benchrun(self._reading(), run))
        return held, figures(self.evaluations(run))

    def noise(self, run: str) -> Paired:
        """Report an A/A run: the difference of an agent to itself. Raises NotFound, UsageError."""
        held = benchruns.benchrun(self._reading(), run)
        if not held.aa:
            raise UsageError(f"bench run {run} is no A/A run; make one with `ratchet bench run --aa`")
        made = self.evaluations(run)
        arms = ([each for each in made if each.candidate == arm] for arm in (FIRST, SECOND))
        return paired(*arms)

    def compare(self, first: str, second: str) -> ComparedRuns:
        """The second run against the first, in pairs. Raises NotFound, Refused where they asked different things."""
        store = self._reading()
        held, other = benchruns.benchrun(store, first), benchruns.benchrun(store, second)
        if held.benchmark != other.benchmark:
            raise Refused(
                f"run {first} asked {held.name} ({held.benchmark}), run {second} asked {other.name} "
                f"({other.benchmark}): only runs of the same benchmark can be compared"
            )
        one, two = self._first_arm(held), self._first_arm(other)
        found = paired(one, two)
        if not found.gain.n and not found.left_out:
            raise Refused(f"runs {first} and {second} have no task in common")
        noise = next((each for each in benchruns.listed(store, benchmark=held.benchmark) if shows_noise(each)), None)
        return ComparedRuns(
            first=held,
            second=other,
            paired=found,
            unlike=unlike(held, other, self._archive),
            scores=(figures(one).score, figures(two).score),
            noise=self.noise(noise.id) if noise else None,
            noise_run=noise.id if noise else "",
        )

    def _first_arm(self, held: BenchRun) -> list[Evaluation]:
        made = self.evaluations(held.id)
        return [each for each in made if each.candidate == FIRST] if held.aa else made


class _Summary(TypedDict):
    runs: int
    unmeasured: int
    mean: float
    low: float
    high: float


def _summary(made: Iterable[Evaluation]) -> _Summary:
    """Summarise a run's score for its row, so that a history is listed without reading every evaluation."""
    found = figures(made)
    score = found.score
    return {
        "runs": found.runs,
        "unmeasured": found.unmeasured,
        "mean": score.mean,
        "low": score.low,
        "high": score.high,
    }
