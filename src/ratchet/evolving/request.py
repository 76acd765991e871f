"""An evolve run as it is asked for, and what it may use: values, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from ratchet.arguments import need_number
from ratchet.errors import UsageError
from ratchet.evolving.bench.benchmark import Agent, Benchmark
from ratchet.evolving.bench.figures import POWER, needed_pairs
from ratchet.evolving.job import AgentProposer, ExecutorName, Measure
from ratchet.evolving.loop.evolve import EvolveMoment


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolveAsked:
    """A run as it is asked for."""

    agent: Agent
    benchmark: Benchmark
    proposer: str = "settings"
    proposals: int = 20
    usd: float = 10.0
    seconds: float = 86_400.0
    parallel: int = 1
    batch: int = 12
    """Candidates that race at once on one stream of incumbent runs."""
    explore: bool = False
    fdr: float = 0.10
    mde: float = 0.05
    cap: int = 1_500
    repeats: int = 3
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolveMeans:
    """Means of a run, given anew by whoever runs or resumes it; none of it is written down.

    `net`, `environ` and `readable` are for proposers that run programs. `unsafe` runs everything as plain processes.
    `proposer`, `measure` and `executor` stand in for those by name.
    """

    unsafe: bool = False
    net: str = "none"
    environ: Mapping[str, str] | None = None
    readable: tuple[Path, ...] = ()
    allow_unknown_price: bool = False
    model: str = ""
    fast_model: str = ""
    beside: tuple[str, ...] = ()
    """Other projects, folders or addresses of repositories: what they offer and the agent does not is evidence for the
    proposer."""
    executor: ExecutorName | Executor = "threads"
    evaluation_s: float = 600.0
    """Longest evaluation; a task's own limit counts where it is less."""
    told: Callable[[EvolveMoment], None] = lambda _moment: None
    stopping: Callable[[], bool] = lambda: False
    """Whether to begin nothing new: what is under way is waited for, and the run can be resumed."""
    proposer: AgentProposer | None = None
    measure: Measure | None = None
    benchmark: Benchmark | None = None
    """The benchmark of a run that is resumed, where it is none that is known by name."""


def resolution(asked: EvolveAsked) -> str:
    """Say in one sentence which gains a run can see, and at what price."""
    level = asked.fdr / asked.proposals
    pairs, double = (needed_pairs(0.5, gain, level) for gain in (asked.mde, 2 * asked.mde))
    tasks = len(asked.benchmark.of("gate"))
    enough = "enough for both" if pairs <= asked.cap else "enough for the larger only" if double <= asked.cap else ""
    return (
        f"A gain of {100 * asked.mde:g} points takes about {pairs:,} pairs of runs to show on {tasks} gate tasks (in"
        f" {POWER:.0%} of cases, where half of the pairs differ), one of {200 * asked.mde:g} points {double:,}."
        f" Each candidate gets at most {asked.cap:,} pairs: {enough or 'only larger gains than these will show'}."
    )


def check(asked: EvolveAsked, means: EvolveMeans) -> None:
    """Raises UsageError for what cannot work."""
    if not asked.agent.changes and not asked.agent.knobs:
        raise UsageError(
            "nothing of the agent may change: declare files (`changes`) or knobs in its ratchet-agent.toml"
        )
    if means.proposer is None and asked.proposer == "settings" and not asked.agent.knobs:
        raise UsageError(
            "the agent has no settings to search: declare knobs in its ratchet-agent.toml, or say who else proposes "
            "(--proposer model, ...)"
        )
    if asked.agent.changes and not asked.agent.folder:
        raise UsageError("the agent has no folder whose files could change; name one with --agent DIR")
    if not asked.benchmark.of("gate"):
        raise UsageError(f"benchmark {asked.benchmark.name} has no gate tasks: nothing can be decided on it")
    for name in ("proposals", "parallel", "batch", "repeats", "cap"):
        need_number(name, getattr(asked, name), least=1, whole=True)
    for name in ("usd", "seconds"):
        need_number(name, getattr(asked, name), finite=True)
