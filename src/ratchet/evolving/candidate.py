"""The facts of evolving an agent: a run, its candidates, and what is decided about them. Values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ratchet.evolving.bench.benchmark import Agent
from ratchet.records import Json

CandidateState = Literal[
    "baseline", "proposed", "screened_out", "racing", "waiting", "kept", "reverted", "undecided", "cancelled"
]
"""`screened_out`: a cheap screen refused it, nothing was measured. `waiting`: it beat an incumbent that was replaced
meanwhile, and is to race again, as a candidate of its own. `undecided`: the run ended first, or it could not be
measured."""

EvolutionState = Literal["running", "ended", "budget", "cancelled", "failed", "killed"]
"""`killed`: it is running in the store, and no process holds its lock. Told when it is read, never stored."""
KILLED = "the process that ran it is gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One version of an agent in the archive, with how it came about and what is known of it.

    `tree` is the git object of its files in the run's own object folder, `id` is made from it and the settings: the
    same version has the same id. `diff` is against its parent, without secrets.
    """

    id: str
    run: str
    n: int
    """Number in the run; 0 is the agent as it was."""
    state: CandidateState
    parent: str = ""
    proposer: str = ""
    hypothesis: str = ""
    expected: float = 0.0
    """The gain that the proposer promised, in points of score (0.05 is five points)."""
    diff: str = ""
    tree: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict)
    reason: str = ""
    """Of its state, in one line."""
    batch: int = 0
    """The race that it took part in; 0: none so far."""
    retry_of: int = 0
    """The candidate that this one carries over to a new incumbent, by its number; 0: it is nobody's."""
    merges: tuple[int, ...] = ()
    """The candidates whose changes it holds together: several were proven better in one race."""
    alone: bool = False
    """Whether it was merged with others in vain: it waits for a race of its own."""
    incumbent: str = ""
    """Which version it was measured against."""
    level: float = 0.0
    """It is kept when its e-value reaches 1/level."""
    e_value: float = 1.0
    peak: float = 1.0
    """The most that its e-value ever was."""
    pairs: int = 0
    mean: float = 0.0
    """Mean difference to the incumbent, in points of score."""
    differed: float = 0.0
    """Share of its pairs in which the two scores differ."""
    unmeasured: int = 0
    cost_usd: float = 0.0
    created_at: float = 0.0
    decided_at: float = 0.0
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveTally:
    """Counts of a run's archive: `tried` are its proposals (one that is carried over to a new incumbent once), `kept`
    those that were kept; `last` is the one kept last."""

    tried: int = 0
    kept: int = 0
    last: Candidate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolutionReport:
    """Worth of a run, measured on tasks that nobody had seen: the winner, the agent as it was, and best-of-N."""

    baseline: float
    winner: float
    gain: float
    low: float
    high: float
    """95 % interval of the gain."""
    noise: float | None = None
    """What the same agent against itself shows on so many runs: half the width of its 95 % interval. None: each task
    was run once, so nobody knows."""
    claimed: float = 0.0
    """The gain on the tasks that decided."""
    best_of_n: float | None = None
    """Score of the agent as it was when it may try again until the same budget is used, the best kept."""
    n: int = 0
    runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolution:
    """One run of the evolve loop."""

    id: str
    state: EvolutionState
    agent: Agent
    benchmark: str
    """Its name, and `benchmark_hash` what it held."""
    benchmark_hash: str
    proposer: str
    proposals: int
    usd: float
    seconds: float
    parallel: int = 1
    batch: int = 1
    """Candidates that race at once on one stream of incumbent runs."""
    explore: bool = False
    fdr: float = 0.10
    mde: float = 0.05
    cap: int = 1_500
    repeats: int = 3
    """Runs of each sealed task, for the final report."""
    seed: int = 0
    incumbent: str = ""
    """The version that counts now."""
    report: EvolutionReport | None = None
    reason: str = ""
    runs: int = 0
    """Evaluations paid for."""
    cost_usd: float = 0.0
    duration_s: float = 0.0
    applied: str = ""
    unsafe: bool = False
    """Whether any of it ran as plain processes, without a sandbox."""
    started_at: float = 0.0
    ended_at: float = 0.0
    revision: int = 0
