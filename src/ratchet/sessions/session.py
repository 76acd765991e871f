"""Values of sessions: one in a list, one whole, and a step of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ratchet.records import Outcome, Saying
from ratchet.sessions.prices import Tokens

LIVE_S = 300.0
"""A session that did something within so many seconds may go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCost:
    """Tokens of one model. `cost_usd` is None where nobody knows its price."""

    model: str
    messages: int
    tokens: Tokens
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session at one look. `title` is the first thing that a person said in it, `failures` are the agent's own;
    `cost_usd` is None where the price of none of its models is known, `unpriced` counts tokens that it leaves out."""

    id: str
    title: str
    agent: str
    project: str
    models: tuple[ModelCost, ...]
    started_at: float
    ended_at: float
    calls: int
    failures: int
    excused: int
    tokens: Tokens
    cost_usd: float | None
    unpriced: int
    live: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """Sessions in order, and the cursor that continues after them."""

    items: tuple[SessionSummary, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonMet:
    """A lesson that a session was shown, or that the control withheld from it."""

    lesson: str
    text: str
    shown: bool
    at: float
    channel: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStep:
    """One outcome of a session, with what belongs to it.

    `number` counts the session's steps from 1. `result` is the beginning of what it answered, read from its history
    ("" where that is gone: `place` says why). `tokens` are those of the answer that called it. `fixed_by` is the step
    that achieved what this one failed at, `fixes` the ones that this one mended, `taught` the lessons that were learnt
    from it; `began` names the subagent's thread that it started. `depth` counts the steps around it, as a trace nests
    them.
    """

    number: int
    outcome: Outcome
    tokens: Tokens
    pattern: str = ""
    result: str = ""
    place: Literal["read", "kept", "none", "gone", "changed"] = "none"
    cost_usd: float | None = None
    fixed_by: str = ""
    fixes: tuple[str, ...] = ()
    lessons: tuple[LessonMet, ...] = ()
    taught: tuple[str, ...] = ()
    began: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionThread:
    """A thread of a session: "" the agent's own, else a subagent's. `failures` are its own fault, `started_by` is the
    step that began it."""

    name: str
    calls: int
    failures: int
    started_at: float
    started_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDetail:
    """A session with a part of its steps, oldest first, and what was said in the time of those. `unfixed` are its
    failed steps, oldest first, that no later one achieved: of the last thousand steps."""

    summary: SessionSummary
    threads: tuple[SessionThread, ...]
    lessons: tuple[LessonMet, ...]
    steps: tuple[SessionStep, ...]
    said: tuple[Saying, ...]
    next: str | None
    unfixed: tuple[Outcome, ...] = ()

    @property
    def heard_from(self) -> str:
        """Say where its steps come from, if from no history: hooks told of them, `record` did, or a person who fed an
        event by hand."""
        told_live = self.steps and all(each.place == "none" for each in self.steps)
        return "recorded as it ran; no history of it was read" if told_live else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomePage:
    """Outcomes, newest first, and the cursor that continues after them."""

    items: tuple[Outcome, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeDetail:
    """An outcome whole: with its result's text, and the steps beside it in its session."""

    step: SessionStep
    path: str
    before: tuple[Outcome, ...]
    after: tuple[Outcome, ...]
