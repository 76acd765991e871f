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
