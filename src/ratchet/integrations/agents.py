"""An agent measured, or bettered, in one call from Python: `ratchet.bench` and `ratchet.evolve`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from ratchet.errors import UsageError
from ratchet.evolving.bench.agents import agent_of
from ratchet.evolving.bench.benchmark import Agent, Benchmark, Split
from ratchet.evolving.bench.book import BenchAsked, BenchMeans
from ratchet.evolving.bench.figures import Figures
from ratchet.evolving.bench.metric import Metric, MetricMeasure, texts_benchmark
from ratchet.evolving.bench.rows import BenchRun
from ratchet.evolving.candidate import Candidate, Evolution
from ratchet.evolving.job import AgentProposer, ProposalJob, Proposed
from ratchet.evolving.loop.evolve import EvolveMoment
from ratchet.evolving.request import EvolveAsked, EvolveMeans
from ratchet.files import replace as write_file
from ratchet.improving.settings.knob import Knob
from ratchet.recording.journal import make_private
from ratchet.runtime import Runtime

Agentlike = str | PathLike[str] | Mapping[str, str]
"""A folder, a command, `module:function`, an address; or texts by the name of their file, which a metric runs."""
Asked = Callable[[ProposalJob], Mapping[str, str] | None]
"""Proposes other texts by the name of their file; None: no idea this time."""
_METRIC = "a metric"
_LONGEST_NAME = 255  # bytes of a file's name, on every file system in use


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """A run of a benchmark, with its scores and their intervals."""

    run: BenchRun
    figures: Figures

    @property
    def score(self) -> float:
        """The mean over tasks; `figures.score` has its 95 % interval."""
        return self.figures.score.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolveResult:
    """The end of a run: `texts` and `settings` are the agent that counts in the end, `candidates` what was tried."""

    run: Evolution
    candidates: tuple[Candidate, ...]
    texts: Mapping[str, str]
    settings: Mapping[str, object]

    @property
    def kept(self) -> tuple[Candidate, ...]:
        """The proposals that were proven better, in their order."""
        return tuple(each for each in self.candidates if each.state == "kept")


@dataclass(frozen=True, slots=True)
class _CallingProposer:
    """Port `AgentProposer` over a function of the caller's."""

    asked: Asked
    name: str = "function"

    def propose(self, job: ProposalJob) -> Proposed:
        texts = self.asked(job)
        if not texts:
            return Proposed(status="nothing", reason="the function had no idea")
        for path, text in texts.items():
            job.workspace.write(path, text.encode())
        return Proposed(status="proposed", hypothesis=f"other content of {', '.join(texts)}")


def bench(
    agent: Agentlike,
    bench: str | Mapping[str, str] = "core",
    *,
    metric: Metric | None = None,
    split: Split | None = None,
    tasks: Sequence[str] = (),
    repeats: int = 1,
    seed: int = 0,
    parallel: int = 1,
    budget_usd: float = 10.0,
    budget_s: float = 86_400.0,
    unsafe: bool = False,
    home: str | PathLike[str] | None = None,
) -> BenchResult:
    """Measure an agent on a benchmark, as `ratchet bench run` does, and return its scores with their intervals.

    `agent` is a folder that declares itself, a command, `module:function` or an address; `bench` the name of a
    benchmark. With a `metric`, `agent` may be texts by the name of their file, and `bench` instructions by the id of
    their task: the metric is called for each run and returns a score in [0, 1], or (score, feedback), or (score,
    feedback, USD). It runs in this process, without a sandbox; with `parallel`, from several threads.

    `split` and `tasks` (globs of ids) choose tasks. Raises UsageError, NotFound for what makes no sense, Refused where
    no sandbox holds.
    """
    with Runtime.open(home=home) as runtime:
        book, folder = runtime.benchmarks, runtime.home
        name = bench if isinstance(bench, str) else book.freeze(_texts_bench(bench, metric)).name
        asked = BenchAsked(
            agent=_agent(agent, folder, metric, {}),
            bench=name,
            split=split,
            tasks=tuple(tasks),
            repeats=repeats,
            seed=seed,
            parallel=parallel,
            usd=budget_usd,
            seconds=budget_s,
            unsafe=unsafe,
            cwd=Path.cwd(),
        )
        run = book.run(asked, BenchMeans(measure=MetricMeasure(metric) if metric else None))
        held, figures = book.figures(run.id)
        return BenchResult(run=held, figures=figures)


def evolve(
    agent: Agentlike,
    bench: str | Mapping[str, str] = "core",
    *,
    proposer: str | AgentProposer | Asked = "settings",
    metric: Metric | None = None,
    knobs: Mapping[str, Knob] | None = None,
    proposals: int = 20,
    batch: int = 1,
    parallel: int = 1,
    repeats: int = 3,
    fdr: float = 0.10,
    seed: int = 0,
    budget_usd: float = 10.0,
    budget_s: float = 86_400.0,
    told: Callable[[EvolveMoment], None] | None = None,
    unsafe: bool = False,
    home: str | PathLike[str] | None = None,
) -> EvolveResult:
    """Better an agent on a benchmark, as `ratchet evolve` does, and keep only what is proven.

    `agent`, `bench` and `metric` are as in `ratchet.bench`; `knobs` are the settings of an agent given as texts.
    `proposer` is a name (`settings`, `model:NAME`, `command:WORDS`, `script:FILE`), an object of the port, or a
    function of a `ProposalJob` that returns other texts, or None for no idea. What the metric said of the parent's
    runs is in `job.weakest`.

    Of `proposals`, what is kept is expected to hold at most the share `fdr` of versions that are no better; the winner
    is measured `repeats` times on sealed tasks. Nothing of the agent's own folder changes: the result has the texts.
    The run is one of the home's, so `ratchet evolve show` and `apply` know it. What ends a run is its state, never an
    exception. Raises UsageError, NotFound for what makes no sense, Refused where no sandbox holds.
    """
    with Runtime.open(home=home) as runtime:
        book, folder = runtime.evolutions, runtime.home
        made = runtime.benchmarks.freeze(_texts_bench(bench, metric)) if not isinstance(bench, str) else None
        acting = _acting(proposer)
        asked = EvolveAsked(
            agent=_agent(agent, folder, metric, knobs or {}),
            benchmark=made or runtime.benchmarks.benchmark(str(bench)),
            proposer=acting.name if acting else str(proposer),
            proposals=proposals,
            usd=budget_usd,
            seconds=budget_s,
            parallel=parallel,
            batch=batch,
            fdr=fdr,
            repeats=repeats,
            seed=seed,
        )
        means = EvolveMeans(
            unsafe=unsafe,
            told=told or _unheard,
            proposer=acting,
            measure=MetricMeasure(metric) if metric else None,
        )
        run = book.run(asked, means)
        candidates = tuple(book.candidates(run.id))
        winner = max((each for each in candidates if each.state in ("kept", "baseline")), key=lambda each: each.batch)
        return EvolveResult(
            run=run, candidates=candidates, texts=book.texts(run.id, winner.n), settings=dict(winner.settings)
        )


def _unheard(_moment: EvolveMoment) -> None:
    """Nobody watches."""


def _acting(proposer: str | AgentProposer | Asked) -> AgentProposer | None:
    """The proposer itself; None for one that is known by its name."""
    if isinstance(proposer, str):
        return None
    return _CallingProposer(proposer) if callable(proposer) else proposer


def _texts_bench(tasks: Mapping[str, str], metric: Metric | None) -> Benchmark:
    if metric is None:
        raise UsageError("tasks that are texts are scored by a metric: give one, or the name of a benchmark")
    return texts_benchmark(tasks)


def _agent(agent: Agentlike, home: Path, metric: Metric | None, knobs: Mapping[str, Knob]) -> Agent:
    """The agent that is meant; texts are laid into a folder of the home, by their hash."""
    if not isinstance(agent, Mapping):
        if knobs:
            raise UsageError("knobs are for an agent that is texts; a folder declares its own in ratchet-agent.toml")
        named = fspath(agent)
        if not _is_unicode(named) or "\0" in named:
            raise UsageError(f"{named!r:.80} names no agent: give a folder, a command, module:function or an address")
        return agent_of(named, cwd=Path.cwd())
    if metric is None:
        raise UsageError("an agent that is texts is run by a metric: give one, or a folder that says how it runs")
    _need_files(agent)
    identity = hashlib.sha256(json.dumps(dict(agent), sort_keys=True).encode()).hexdigest()[:16]
    make_private(str(home))
    folder = home / "texts" / identity
    for name, text in agent.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_file(path, text.encode())
    return Agent(
        how="callable",
        target=_METRIC,
        folder=str(folder),
        changes=tuple(agent),
        settings={name: knob.described()["default"] for name, knob in knobs.items()},
        knobs={name: knob.described() for name, knob in knobs.items()},
    )


def _need_files(texts: Mapping[str, str]) -> None:
    """Raise UsageError where these are not texts by names that files below one folder can have."""
    for name, text in texts.items():
        if not _is_unicode(name) or "\0" in name:
            raise UsageError(f"{name!r:.80} is no name of a file: name each text as its file, such as 'prompt.md'")
        path = Path(name)
        if not path.parts or path.is_absolute() or ".." in path.parts:
            raise UsageError(f"{name!r:.80} is no name of a file below the agent's folder")
        if any(len(part.encode()) > _LONGEST_NAME for part in path.parts):
            raise UsageError(f"{name!r:.80} has a part of more than {_LONGEST_NAME} bytes: give a shorter name")
        if above := next((each for each in map(str, path.parents) if each in texts), ""):
            raise UsageError(f"{above!r:.80} is a text, and the folder of {name!r:.80}: rename one of them")
        if not _is_unicode(text):
            raise UsageError(f"the text of {name!r:.80} is no text in UTF-8 but {text!r:.40}")


def _is_unicode(text: object) -> bool:
    """Tell whether this is a text that can be written: half of a surrogate pair cannot."""
    if not isinstance(text, str):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
