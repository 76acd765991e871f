"""The shapes of answers, for the OpenAPI document. What is sent comes from `shapes`; a test holds the two together."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Health(BaseModel):
    """`score` over all agents and by agent, from 0 (all fails) to 1; null without outcomes."""

    score: float | None
    agents: dict[str, float]
    half_life_calls: float


class LessonBrief(BaseModel):
    id: str
    text: str
    state: str
    tried: int
    worked: int


class Pattern(BaseModel):
    """Failures with one cause. Times are Unix seconds."""

    id: str
    signature: str
    kind: str
    template: str
    count: int
    sessions: int
    agents: list[str]
    first_seen: float
    last_seen: float
    trend: str
    recurring: bool
    wasted_s: float
    wasted_tokens: int
    impact: float
    lessons: list[LessonBrief]


class PatternDetail(Pattern):
    signatures: list[str]
    examples: list[str]
    correlated: list[dict[str, Any]]


class Page(BaseModel):
    next: str | None = Field(description="The cursor of the page that follows; null on the last one.")
    total: int


class PatternPage(Page):
    items: list[Pattern]


class Moved(BaseModel):
    pattern: str = Field(description="The id of the pattern that the signature has now.")


class Accepted(BaseModel):
    accepted: int
    ids: list[str] = Field(description="One for each outcome, in their order; the same outcome has the same id.")


class Observation(BaseModel):
    id: str
    issues: list[str] = Field(description="The kind of failure; empty for a success.")


class SimpleHealth(Health):
    status: str
    health_score: float


class SimplePatterns(BaseModel):
    health_score: float
    patterns: list[Pattern]


class Lesson(BaseModel):
    """Advice for an error. `text` is the advice, word for word; agents are handed active ones."""

    id: str
    text: str
    state: str
    scope: str
    signature: str
    kind: str
    tried: int
    worked: int
    reason: str
    when: str
    example: str
    projects: list[str]
    provenance: str
    evidence: list[str]


class LessonPage(Page):
    items: list[Lesson]


class FoundLesson(BaseModel):
    id: str
    text: str
    state: str
    match: str
    score: float
    tried: int
    worked: int
    evidence: list[str]


class Recalled(BaseModel):
    lessons: list[FoundLesson]
    abstained: bool
    searched: int
    elapsed_ms: float


class MemoryStats(BaseModel):
    lessons: int
    by_state: dict[str, int]
    by_kind: dict[str, int]
    by_scope: dict[str, int]
    resolutions: int
    tried: int
    worked: int
    uses: int
    wins: int


class Quarantined(BaseModel):
    path: str
    line: int
    reason: str


class Imported(BaseModel):
    imported: int
    known: int
    rejected: list[Quarantined]


class Trial(BaseModel):
    """A change that is tested beside what it would replace."""

    id: str
    target: str
    agent: str
    state: str
    mode: str
    unit: str
    new: dict[str, Any]
    old: dict[str, Any]
    metric: str
    fix: str
    reason: str
    why: str
    share: float
    alpha: float
    deadline_s: float
    attempt: int
    created_at: float
    opened_at: float
    closed_at: float | None


class TrialDetail(Trial):
    arms: dict[str, dict[str, Any]]
    exposures: int
    waiting: int
    evidence: dict[str, Any]
    counts: list[dict[str, Any]]
    effect: dict[str, Any]
    events: list[dict[str, Any]]


class TrialPage(Page):
    items: list[Trial]


class Proposal(BaseModel):
    id: str
    agent: str
    pattern: str
    kind: str
    title: str
    fix: str
    state: str
    target: str
    new: dict[str, Any]
    trial: str
    reason: str
    evidence: dict[str, Any]
    created_at: float
    updated_at: float


class ProposalPage(Page):
    items: list[Proposal]


class KnobValue(BaseModel):
    name: str
    value: Any
    set: bool
    bounds: dict[str, Any]


class Settings(BaseModel):
    agent: str
    version: int
    knobs: list[KnobValue]


class Version(BaseModel):
    target: str
    number: int
    values: dict[str, Any]
    parent: int
    who: str
    why: str
    at: float
    applied_at: float | None


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
