"""Shapes of what was found, used and forgotten: search, cost, failures rolled up, ways, digests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ratchet.serving.shapes.failures import FailsByShape, PatternShape
from ratchet.serving.shapes.lessons import RecalledShape
from ratchet.serving.shapes.sessions import TokensShape
from ratchet.serving.shapes.shape import Shape, said

if TYPE_CHECKING:
    from ratchet.sessions.digest import Digest


class SearchHitShape(Shape):
    """Something that was found."""

    noun: str = said("step, diff (an edit), words (that somebody said), pattern or lesson.")
    id: str = said("Names it.")
    title: str = said("What it is.", foreign="words")
    text: str = said("The stretch of it in which a word stands.", foreign="words")
    at: float = said("When it happened, or was made.")
    session: str = said("The session that it is in.", foreign="name")
    outcome: str = said("The step that it is, or that it followed.")
    agent: str = said("Whose it is.", foreign="name")
    kind: str = said("The class of a failure.")
    ok: bool = said("Whether the step worked.")
    alike: int = said("Others that say the same and are left out.")
    fixed_by: str = said("The step that fixed it, where one did soon.")
    fix: str = said("What that step did.", foreign="words")


class SessionHitShape(Shape):
    """A session in which something was found."""

    id: str = said("Names the session.", foreign="name")
    title: str = said("The first thing that a person said in it.", foreign="words")
    hits: int = said("How much of what is listed is in it.")
    at: float = said("When the newest of that happened.")


class SearchFoundShape(Shape):
    """Everything that has all words of a search."""

    words: list[str] = said("The words that were looked for.", foreign="words")
    hits: list[SearchHitShape] = said(
        "Steps and edits first, then words, patterns and lessons; the words beside each other come first."
    )
    sessions: list[SessionHitShape] = said("The sessions that they are in.")
    recalled: RecalledShape | None = said("What is known to fix a text that was pasted whole.")


class CostShape(Shape):
    """Use under one name."""

    name: str = said("The name that it is summed up by.", foreign="name")
    calls: int = said("Steps that ended.")
    tokens: TokensShape = said("Tokens of all answers, each once, also of those that no call follows.")
    cost_usd: float | None = said("What they cost; null where no price is known.", digits=6)
    unpriced: int = said("Tokens of models whose price nobody knows: the cost leaves them out.")
    duration_s: float = said("Seconds of the tools: no person's time, of what ran at once each second once.", digits=3)
    wasted_calls: int = said("Steps that were waste: they failed by the agent's own fault, or went round in a loop.")
    wasted_tokens: int = said("Tokens of the answers that made those.")
    wasted_usd: float | None = said("What those cost.", digits=6)
    wasted_s: float = said("Seconds of those.", digits=3)


class CostsShape(Shape):
    """Use by agents, and how much of it was waste."""

    by: str = said("What the rows are summed up by.")
    total: CostShape = said("All of it.")
    rows: list[CostShape] = said("What costs most first; days in their order.")
    waste: list[CostShape] = said("Waste by its cause: failure, retry (the same call failing again) and loop.")


class ToolWayShape(Shape):
    """A way in which a tool was called."""

    tool: str = said("The tool.", foreign="name")
    input: str = said("What it was given, on one line; secrets taken out.", foreign="output")
    worked: int = said("How often that worked.")
    failed: int = said("How often it did not.")
    exit_codes: list[int] = said("Exit codes of its failures, the newest first.")
    last_at: float = said("When it was called last.")
    last: str = said("The step that did.")


class ToolWaysShape(Shape):
    """Ways in which a tool was called here."""

    ways: list[ToolWayShape] = said("Those that worked first, newest first.")


class ReplacedShape(Shape):
    """Content of a file before an agent's edits."""

    path: str = said("The file.")
    text: str = said("What it held.", foreign="output")
    whole: bool = said("Whether that is all of it; else only the lines that were replaced are known.")
    session: str = said("The session that edited it.", foreign="name")
    step: str = said("The first of its edits.")
    at: float = said("When that was.")
    edits: int = said("How many edits the session made.")
    written: bool = said("Whether it was put into the file just now; false where the file holds it already.")


class HandoffShape(Shape):
    """A digest of a session for another agent."""

    session: str = said("The session.", foreign="name")
    to: str = said("The client that goes on.")
    text: str = said("The digest, as Markdown.", foreign="output")


class ForgottenShape(Shape):
    """Report of forgetting, and what is left."""

    sessions: list[str] = said("The sessions.")
    removed: dict[str, int] = said("Rows that went, by table.")
    patterns: int = said("Patterns that went, since nobody else met them.")
    lessons: list[str] = said("Lessons that went, since they rested on nothing else.")
    kept_lessons: list[str] = said("Lessons that stay without that evidence.")
    left: dict[str, int] = said("Rows that still name one of the sessions, by table; empty: none.")
    quoting: list[str] = said("Other sessions whose rows those are; empty: none.", foreign="name")
    traces: list[str] = said("Files of the home in which one of the ids still stands; empty: none.")
    folders: list[str] = said("Folders of skills made of them that a person changed; empty: none.", foreign="name")
    done: bool = said("False: it was only counted.")
    beside: str = said("Why it may still stand in the Redis beside the store; empty: it does not.", foreign="output")


class CheckedShape(Shape):
    """The store beside its histories."""

    sound: bool = said("Whether the store has all that the histories say.")
    files: int = said("Histories that were read again.")
    gone: list[str] = said("Histories that are not there any more.")
    grown: list[str] = said("Histories with lines that are not read yet.")
    steps: int = said("Steps that were compared.")
    answers: int = said("Answers whose tokens were compared.")
    missing: list[str] = said("Steps that the store lacks; the first 20.")
    fewer: list[str] = said("Answers of which the store has fewer tokens; the first 20.")
    strange: list[str] = said("Sessions whose tokens are not the sum of their answers'.")


class DigestLessonShape(Shape):
    """A lesson that was learnt."""

    id: str = said("Names the lesson.")
    text: str = said("The advice, on one line.", foreign="words")
    state: str = said("candidate, active or quarantined.")


class DigestShape(Shape):
    """Digest of a stretch of time."""

    since: float = said("Where it begins.")
    until: float = said("Where it ends.")
    sessions: int = said("Sessions that ran in it.")
    calls: int = said("Steps that ended.")
    failures: int = said("Those that failed by the agent's own fault.")
    before: float | None = said("The share of failures in the time before, as long; null where nothing ran.", digits=4)
    cost: CostShape = said("What was used.")
    fails: list[FailsByShape] = said("Commands that failed most.")
    new: list[PatternShape] = said("Patterns that began in it.")
    regressed: list[PatternShape] = said("Patterns that came back after they were resolved.")
    rising: list[PatternShape] = said("Patterns that come more often than before.")
    frequent: list[PatternShape] = said("Patterns that came as often as an alert asks.")
    learnt: list[DigestLessonShape] = said("Lessons made in it.")
    waiting: int = said("Lessons that wait for a person.")
    decided: list[str] = said("Trials that ended in it.")
    shown: int = said("How often a lesson was handed over.")
    alerts: list[str] = said("What somebody should hear of.", foreign="words")

    @classmethod
    def shown_as(cls, found: Digest) -> Self:
        """The shape of a digest."""
        return cls.built(found, decided=[each.id for each in found.decided])
