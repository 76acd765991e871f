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
