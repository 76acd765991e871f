"""Runs of an agent over a benchmark, as rows of the store."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal

from ratchet import ids
from ratchet.arguments import named_row
from ratchet.errors import Conflict
from ratchet.evolving.bench.benchmark import Agent, Split
from ratchet.evolving.job import ExecutorName
from ratchet.ports import Store
from ratchet.records import Json, Row, as_row, record_of
from ratchet.store.timeline import note

BenchRunState = Literal["running", "ended", "budget", "cancelled", "failed", "killed"]
"""`killed`: as of an evolve run (`candidate.EvolutionState`)."""

FIRST, SECOND = "a", "b"
"""How the two arms of an A/A run call the one version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRun:
    """One agent over the tasks of one benchmark. Its evaluations stand by themselves, under its id."""

    id: str
    name: str
    """Of the benchmark; `benchmark` is its hash."""
    benchmark: str
    agent: Agent
    agent_name: str
    state: BenchRunState
    version: str = ""
    """What the agent's files and settings were, as a hash."""
    tree: str = ""
    split: Split | None = None
    tasks: tuple[str, ...] = ()
    """Globs of ids; all tasks of the split without any."""
    planned: int = 0
    repeats: int = 1
    seed: int = 0
    parallel: int = 1
    executor: ExecutorName = "threads"
    usd: float = 10.0
    seconds: float = 86_400.0
    aa: bool = False
    """Whether the agent runs against itself, with other seeds."""
    unsafe: bool = False
    source: str = ""
    """The file that it was imported from."""
    watch: str = ""
    """Of a watch: the id of the baseline that it is a check of, or "baseline"."""
    reason: str = ""
    tampered: tuple[str, ...] = ()
    """What changed of the benchmark, the agent or the memory while it ran."""
    runs: int = 0
    """Evaluations when it ended; `mean`, `low` and `high` are their score with its 95 % interval, where any of them was
    measured."""
    unmeasured: int = 0
    mean: float = 0.0
    low: float = 0.0
    high: float = 1.0
    started_at: float = 0.0
    ended_at: float = 0.0
    duration_s: float = 0.0
    cost_usd: float = 0.0
    revision: int = 0


def new_id() -> str:
    return f"bn{ids.uuid7().replace('-', '')[:16]}"


def begin(store: Store, made: BenchRun) -> BenchRun:
    """Write a new run."""
    held = replace(made, started_at=made.started_at or time.time(), revision=1)
    with store.transaction():
        store.insert_new("benchruns", [_row(held)])
        note(store, "benchrun", held.id, "started", time.time(), benchmark=held.name, agent=held.agent_name)
    return held


def write(store: Store, held: BenchRun, verb: str = "", **changes: object) -> BenchRun:
    """Store a run with these changes, and `verb` as an event of it. Raises Conflict."""
    moved = replace(held, **changes)  # type: ignore[arg-type]
    with store.transaction():
        if not store.swap("benchruns", held.id, held.revision, _row(moved)):
            raise Conflict(f"bench run {held.id} is moved by another process; wait for it to end")
        if verb:
            note(store, "benchrun", held.id, verb, time.time(), state=moved.state, reason=moved.reason)
    return replace(moved, revision=held.revision + 1)


def benchrun(store: Store, run: str) -> BenchRun:
    """One run. Raises NotFound."""
    return _of(named_row(store, "benchruns", run, "bench run", "bench history"))


def listed(
    store: Store, *, name: str | None = None, benchmark: str | None = None, limit: int | None = None
) -> list[BenchRun]:
    """Runs, newest first; of one benchmark by its name, or by its hash."""
    wanted = {"name": name, "benchmark": benchmark}
    where: dict[str, Json | tuple[str, Json]] = {key: value for key, value in wanted.items() if value is not None}
    return [_of(row) for row in store.find("benchruns", where, order=("-started_at",), limit=limit).rows]


def _row(held: BenchRun) -> Row:
    plain = as_row(held)
    return {**plain, "agent": held.agent_name, "under_test": plain["agent"]}


def _of(row: Row) -> BenchRun:
    return record_of(BenchRun, row, agent=record_of(Agent, row["under_test"]), agent_name=str(row["agent"]))
