"""Shapes of sessions: what agents did step by step, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ratchet.serving.shapes.shape import Shape, said

if TYPE_CHECKING:
    from ratchet.sessions.session import SessionDetail


class TokensShape(Shape):
    """Tokens, by what they cost."""

    given: int = said("Read anew by the model.")
    stored: int = said("Written to a cache.")
    stored_hour: int = said("Of those, for an hour.")
    cached: int = said("Read from a cache.")
    made: int = said("Written by the model.")
    unsplit: int = said("Of runs whose source does not say which they are.")
    begun: int = said("Answers whose output the history counts only as it began: tokens and cost are at least so many.")
    total: int = said("All of them.")


class ModelCostShape(Shape):
    """Use of one model."""

    model: str = said("Its name, as the history has it.", foreign="name")
    messages: int = said("Answers that it gave.")
    tokens: TokensShape = said("What they took.")
    cost_usd: float | None = said(
        "What that costs by the list, or by your own prices; null where nobody knows.", digits=6
    )


class SessionShape(Shape):
    """A session at one look."""

    id: str = said("Names the session.", foreign="name")
    title: str = said("The first thing that a person said in it; empty where nobody did.", foreign="words")
    agent: str = said("Who ran.", foreign="name")
    project: str = said("The folder in which it ran.", foreign="name")
    started_at: float = said("When its first step began.")
    ended_at: float = said("When its last step began.")
    live: bool = said("Whether it did something within the last five minutes.")
    calls: int = said("Steps that ended.")
    failures: int = said("Those that failed.")
    excused: int = said("Those that were refused, cancelled, or failed only because another one did.")
    tokens: TokensShape = said("What all answers of its models took, each answer once.")
    cost_usd: float | None = said("What that costs; null where no price is known.", digits=6)
    unpriced: int = said("Tokens of models whose price nobody knows: the cost leaves them out.")
    models: list[ModelCostShape] = said("By model, the one with most tokens first.")


class SessionsShape(Shape):
    """A part of the list of sessions."""

    items: list[SessionShape] = said("The one that did something last first.")
    next: str | None = said("The cursor of the page that follows; null on the last one.")


class LessonMetShape(Shape):
    """A lesson that a session met."""

    lesson: str = said("Names the lesson.")
    text: str = said("The advice.", foreign="words")
    shown: bool = said("Whether it was shown; else it was withheld, as a control.")
    at: float = said("When.")
    channel: str = said("How it was handed over.")


class FailedShape(Shape):
    """A failure."""

    kind: str = said("The class of the failure.")
    message: str = said("What it said, secrets taken out.", foreign="words")
    signature: str = said("Names the cause.")
    exit_code: int | None = said("The exit code, where there was one.")
    status: int | None = said("The HTTP status, where there was one.")


class StepCallShape(Shape):
    """A call of a tool."""

    tool: str = said("The tool.", foreign="name")
    head: str = said("What it tries: a shell's program and subcommand, else the kind of call.", foreign="words")
    target: str = said("What it works on.", foreign="words")
    input: str = said("What the tool was given, secrets taken out; long ones are cut.", foreign="output")
    change: str = said("What an edit did.", foreign="output")


class OutcomeShape(Shape):
    """One finished run."""

    id: str = said("Names the outcome.")
    agent: str = said("Who ran it.", foreign="name")
    session: str = said("The session that it is a step of.", foreign="name")
    thread: str = said("The subagent that took it; empty for the agent itself.", foreign="name")
    project: str = said("The folder in which it ran.", foreign="name")
    task: str = said("What was run.", foreign="words")
    model: str = said("The model behind it.", foreign="name")
    source: str = said("Where it is known from.", foreign="name")
    ok: bool = said("Whether it succeeded.")
    started_at: float = said("When it began.")
    duration_s: float | None = said("How long it took.")
    score: float | None = said("How good it was, from 0 to 1.")
    tokens: int | None = said("Tokens that it took, where its source says so.")
    cost_usd: float | None = said("What it cost, where its source says so.")
    step: StepCallShape | None = said("The call, where it is one of a tool.")
    failure: FailedShape | None = said("What went wrong; null where nothing did.")


class SessionStepShape(Shape):
    """A step of a session, with what belongs to it."""

    number: int = said("Its place among the steps, from 1.")
    outcome: OutcomeShape = said("The step itself.")
    pattern: str = said("The pattern of its failure.")
    result: str = said("The beginning of what it answered, as its history has it.", foreign="output")
    place: str = said("read; kept (by the store); none, gone or changed where its history does not have it any more.")
    tokens: TokensShape = said("Those of the answer that called it.")
    cost_usd: float | None = said("What those cost; null where nobody knows.", digits=6)
    fixed_by: str = said("The step that achieved what this one failed at.")
    fixes: list[str] = said("Failed steps that this one mended.")
    lessons: list[LessonMetShape] = said("Lessons that its failure brought up.")
    taught: list[str] = said("Lessons that were learnt from it.")
    began: str = said("The thread of the subagent that it started.", foreign="name")
    depth: int = said("How many steps are around it, as a trace nests them.")


class SessionThreadShape(Shape):
    """A thread of a session."""

    name: str = said("Empty for the agent itself, else the subagent's.", foreign="name")
    calls: int = said("Steps that ended.")
    failures: int = said("Those that failed by its own fault.")
    started_at: float = said("When its first step began.")
    started_by: str = said("The step that started it.")


class SayingShape(Shape):
    """Something that was said in a session."""

    who: str = said("person or agent.")
    way: str = said("typed, interrupted (it stopped the agent) or review.")
    at: float = said("When.")
    text: str = said("The words, secrets taken out; long ones are cut.", foreign="words")
    after: str = said("The step that had ended last.")
    thread: str = said("The subagent that it was said in.", foreign="name")


class SessionDetailShape(SessionShape):
    """A session with a part of its steps."""

    threads: list[SessionThreadShape] = said("The agent's own first, then its subagents'.")
    lessons: list[LessonMetShape] = said("Lessons that it was shown, or that were withheld from it.")
    steps: list[SessionStepShape] = said("In the order in which they began.")
    next: str | None = said("The cursor of the steps that follow; null where there are none.")
    words: list[SayingShape] = said("What was said in the time of these steps.", of="said")
    unfixed: list[OutcomeShape] = said("Failed steps that no later one achieved: of its last thousand steps.")

    @classmethod
    def shown(cls, found: SessionDetail) -> Self:
        """The shape of an opened session."""
        return cls.built(
            found.summary,
            threads=found.threads,
            lessons=found.lessons,
            steps=found.steps,
            words=found.said,
            next=found.next,
            unfixed=found.unfixed,
        )


class OutcomesShape(Shape):
    """A part of the list of outcomes."""

    items: list[OutcomeShape] = said("Newest first.")
    next: str | None = said("The cursor of the page that follows; null on the last one.")


class OutcomeDetailShape(Shape):
    """An outcome whole."""

    step: SessionStepShape = said("The outcome, with what belongs to it; its result whole.")
    path: str = said("The history file that it stands in.", foreign="name")
    before: list[OutcomeShape] = said("Steps of its thread just before it.")
    after: list[OutcomeShape] = said("Steps of its thread just after it.")
