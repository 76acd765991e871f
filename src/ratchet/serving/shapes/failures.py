"""Shapes of failures: their kind, the patterns they form, and how well agents do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ratchet.serving.shapes.shape import Shape, said

if TYPE_CHECKING:
    from ratchet.failures.patterns.detail import PatternDetail


class ClassificationShape(Shape):
    """The class of a failure, and its cause."""

    kind: str = said("The class of the failure; docs/reference/kinds.md has them all.")
    transient: bool = said("Whether it may pass by itself.")
    retry_safe: bool = said("Whether the same call may be made again as it stands.")
    signature: str = said("Names the cause: the same on every machine.")
    template: str = said("The masked message behind the signature.")
    rule: str = said("The rule that decided the kind, in words.")


class HealthShape(Shape):
    """Health of agents, from 0 (all fails) to 1 (all succeeds)."""

    score: float | None = said("Over all agents; null without outcomes.")
    agents: dict[str, float] = said("The score of each agent, by name.", foreign="words")
    half_life_calls: float = said("So many calls later, a call counts half.")


class LessonBriefShape(Shape):
    """A lesson, as it stands beside a pattern."""

    id: str = said("Names the lesson.")
    text: str = said("The advice, word for word.", foreign="words")
    state: str = said("candidate, active, quarantined or retired.")
    tried: int = said("How often it was seen to be tried.")
    worked: int = said("How often it worked.")


class TriageShape(Shape):
    """A person's decision about a pattern."""

    state: str = said("open, regressed (resolved, and it failed since), resolved, ignored or muted.")
    at: float = said("When it was decided; 0 for never.")
    until: float = said("When a mute ends; 0 for none.")
    assigned: str = said("Who looks after it.", foreign="words")
    note: str = said("A person's note.", foreign="words")


class PatternShape(Shape):
    """Failures with one cause."""

    id: str = said("Names the pattern.")
    signature: str = said("Names the cause: the same on every machine.")
    kind: str = said("The class of the failures.")
    template: str = said("Their message, with what differs masked.", foreign="words")
    count: int = said("Failures so far.")
    sessions: int = said("Sessions in which they happened.")
    agents: list[str] = said("Agents to which they happened.", foreign="words")
    first_seen: float = said("When the first one happened.")
    last_seen: float = said("When the last one happened.")
    trend: str = said(
        "new, rising, steady, falling or quiet (not met for two weeks, or not of late, as it would at its old rate)."
    )
    recurring: bool = said("Whether it comes back: in two sessions, or three times within the window.")
    wasted_s: float = said(
        "Seconds lost: from each failure to the step that fixed it, or those of the failed step. Patterns "
        "overlap: these do not add up, and are not what `sessions cost` calls waste."
    )
    wasted_tokens: int = said("Tokens used meanwhile.")
    impact: float = said("Orders patterns: what costs most has most.")
    lessons: list[LessonBriefShape] = said("Known to fix it.")
    triage: TriageShape = said("What people decided about it.")


class CorrelationShape(Shape):
    """Two patterns of two agents that come together more often than by chance."""

    patterns: list[str] = said("The ids of both.")
    agents: list[str] = said("The agent of each.", foreign="words")
    unit: str = said("Within which they come together: hour or session.")
    together: int = said("Units that have both.")
    expected: float = said("Units that would have both by chance.")
    units: int = said("Units compared.")
    p: float = said("The chance of as many coincidences between unrelated patterns.")
    q: float = said("The false discovery rate at which the pair is still reported.")
    statistic: str = said("The test that `p` comes from.")


class PatternDetailShape(PatternShape):
    """A pattern whole."""

    signatures: list[str] = said("All signatures that were merged into it.")
    examples: list[str] = said("Some of its messages, secrets taken out.", foreign="words")
    correlated: list[CorrelationShape] = said("Patterns of other agents that come together with it.")

    @classmethod
    def shown(cls, found: PatternDetail) -> Self:
        """The shape of a pattern whole."""
        return cls.built(
            found.pattern, signatures=found.signatures, examples=found.examples, correlated=found.correlated
        )


class SplitShape(Shape):
    """The result of a split."""

    pattern: str = said("The id of the pattern that the signature has now.")


class FailsByShape(Shape):
    """Steps of one tool, project, model or hour, runs of one command, findings in one file; how many failed."""

    name: str = said("The command, tool, file, project, model, or hour of the day (UTC).", foreign="name")
    calls: int = said(
        "Steps (a chain of commands is one, of its main command); of a file the findings in it, each kind once a run."
    )
    runs: int = said("Of these, what was let happen: what share is counted of.")
    failures: int = said("Those that failed by the agent's own fault.")
    excused: int = said("Those that failed by no fault of theirs: refused, cancelled, after another failure.")
    share: float | None = said(
        "The part of the runs that failed; null of a file, whose runs nobody counts.",
        digits=4,
    )
    sessions: int = said("Sessions with one.")
    tokens: int = said("Tokens that they took.")
    duration_s: float = said("Seconds of the tools: no person's time, of what ran at once each second once.", digits=3)
    last_at: float = said("When the last one was.")


class FailsShape(Shape):
    """Failures, by one aspect of the steps."""

    by: str = said("command, tool, file, project, model or hour.")
    rows: list[FailsByShape] = said("What fails most first; hours in their order.")


class OutcomeIdShape(Shape):
    """A receipt for one outcome, as the command line gives it."""

    id: str = said("Names the outcome.")
