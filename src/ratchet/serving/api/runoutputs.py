"""The shapes of answers about tasks, benchmarks and evolving, for the OpenAPI document (see `outputs`)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ratchet.serving.api.outputs import Page


class Attempt(BaseModel):
    n: int
    status: str
    signature: str
    kind: str
    cause: str
    fix: str
    candidates: int
    cost_usd: float
    duration_s: float
    reason: str
    score: float
    isolation: str


class AttemptDetail(Attempt):
    diff: str
    note: str


class Episode(BaseModel):
    id: str
    status: str
    reason: str
    attempts: list[AttemptDetail]
    candidates: int
    diff: str
    cost_usd: float
    duration_s: float
    lessons_used: list[str]
    lessons_learnt: list[str]
    task: str
    folder: str
    check: list[str]
    solver: str
    applied: str
    started_at: float
    ended_at: float


class Task(BaseModel):
    """`status` is queued, running, or how it ended."""

    id: str
    kind: str
    status: str
    reason: str
    instruction: str
    check: list[str]
    dir: str
    solver: str
    attempts: int
    budget_s: float
    budget_usd: float
    episode: str
    by: str
    created_at: float
    started_at: float | None
    ended_at: float | None


class TaskDetail(Task):
    result: Episode | None
    comparison: dict[str, Any] | None


class TaskPage(BaseModel):
    items: list[Task]
    next: str | None


class Event(BaseModel):
    id: str
    at: float
    noun: str
    record: str
    verb: str
    details: dict[str, Any]


class Node(AttemptDetail):
    """One attempt: red, green where the check passed, blue while it runs, grey where a person ended it."""

    colour: str
    confidence: float
    started_at: float
    base: int
    lessons: list[str]


class Timeline(BaseModel):
    id: str
    status: str
    nodes: list[Node]
    events: list[Event]


class Checkpoint(BaseModel):
    id: str
    attempt: int = Field(description="0: the files as they were copied.")
    at: float
    state: str
    paths: list[str]


class Breaker(BaseModel):
    state: str
    count: int = Field(description="Attempts in a row that led nowhere new.")
    limit: int
    signature: str
    reason: str


class Benchmark(BaseModel):
    name: str
    title: str
    hash: str
    tasks: int
    kinds: dict[str, int]
    splits: dict[str, int]
    smoke: int


class BenchTask(BaseModel):
    id: str
    title: str
    kind: str
    split: str
    scorer: str
    instruction: str


class BenchmarkDetail(Benchmark):
    task_list: list[BenchTask]


class Interval(BaseModel):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int


class BenchRun(BaseModel):
    """One run of an agent on a benchmark."""

    id: str
    benchmark: str
    agent: str
    state: str
    score: Interval | None
    runs: int
    unmeasured: int
    cost_usd: float
    started_at: float


class BenchRunPage(Page):
    items: list[BenchRun]


class BenchComparison(BaseModel):
    first: dict[str, Any]
    second: dict[str, Any]


class Evaluation(BaseModel):
    """One run of one task by one version of an agent."""

    task: str
    seed: int
    candidate: str


class EvaluationPage(Page):
    items: list[Evaluation]


class Evolution(BaseModel):
    """One search for a better version of an agent. `report` is what came of it on sealed tasks."""

    id: str
    state: str
    reason: str
    benchmark: str
    proposer: str
    incumbent: str
    runs: int
    cost_usd: float
    report: dict[str, Any] | None


class EvolutionPage(Page):
    items: list[Evolution]


class Candidate(BaseModel):
    """One version of an agent's archive."""

    n: int
    id: str
    state: str
    parent: str
    hypothesis: str
    e_value: float | None
    pairs: int


class EvolutionDetail(Evolution):
    candidates: list[Candidate]


class EvolutionTree(BaseModel):
    id: str
    incumbent: str
    root: dict[str, Any]
