"""Shapes of healing: commands in a sandbox, episodes, queued tasks, and what happened to them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, TypeVar, cast

from ratchet.failures.redaction.text import redact, redact_json
from ratchet.healing.episode import Budget, Episode, Task
from ratchet.healing.queue.rows import QueuedTask, Resumption, Work
from ratchet.serving.shapes.shape import Shape, said

if TYPE_CHECKING:
    from ratchet.healing.queue.book import TaskDetail
    from ratchet.records import Row

T = TypeVar("T")
_EVENT = ("id", "at", "noun", "record", "verb", "revision")
_COLOURS = {"passed": "green", "running": "blue", "cancelled": "grey", "dropped": "grey"}


class RanShape(Shape):
    """The end of a command that ran in a sandbox."""

    exit_code: int = said("Of the command; 124 to 137 may be the sandbox's, as `ratchet sandbox exec --help` has them.")
    signal: int | None = said("The signal that ended it; null for none.")
    killed: str = said("The limit that ended it; empty for none.")
    truncated: bool = said("Whether output beyond the cap was dropped.")
    stdout: str = said("Standard output.", foreign="output", of=lambda ran: ran.stdout.decode("utf-8", "replace"))
    stderr: str = said("Standard error.", foreign="output", of=lambda ran: ran.stderr.decode("utf-8", "replace"))
    wall_s: float = said("How long it took.", digits=3)
    cpu_s: float = said("Processor time that it took.", digits=3)
    max_mem_mb: float = said("The most memory that it had.", of="max_memory_mb", digits=1)
    isolation: str = said("The sandbox that it ran in.")
    refused: list[str] = said("Places that a network of named domains kept from it, with reasons.", foreign="output")


class AttemptShape(Shape):
    """One try at a task in one sandbox."""

    n: int = said("Counts from 1.")
    status: str = said("running, passed, failed, gave_up, refused, budget, cancelled or dropped.")
    signature: str = said("Names the failure after it; empty when it passed.")
    kind: str = said("The class of the failure after it.")
    cause: str = said("The cause of the failure that it was to mend.", foreign="words")
    fix: str = said("The change that it made, in words.", foreign="words")
    candidates: int = said("Changes tried out, up to the first that passes.")
    alternatives: int = said("Changes tried after it, to have a choice.")
    standing: str = said("sure, doubtful, or empty where nobody has weighed what speaks for it.")
    evidence: str = said("What speaks for it, and why it is doubtful, if it is.", foreign="words")
    cost_usd: float = said("The cost of it.", digits=6)
    duration_s: float = said("How long it took.", digits=3)
    reason: str = said("Why it ended so.", foreign="words")
    score: float = said("From 0 to 1; 1 is passed.", digits=4)
    isolation: str = said("The sandbox that it ran in.")


class AttemptDetailShape(AttemptShape):
    """An attempt with its files."""

    diff: str = said("Its changes, without secrets.", foreign="output", of="shown")
    note: str = said("Remarks of the solver.", foreign="words")


class FlakeShape(Shape):
    """A test that failed in some runs of the same files and passed in others."""

    test: str = said("The runner's own name of it.", foreign="name")
    failed: int = said("Runs in which it failed.")
    runs: int = said("Runs in all.")


class PlanStepShape(Shape):
    """One step of a task in words."""

    do: str = said("What it changes, without secrets.", of=lambda step: redact(step.do), foreign="words")
    check: list[str] = said(
        "The command that says that it is done, without secrets; empty for a step that a person takes.",
        of=lambda step: _without_secrets(step.check),
        foreign="words",
    )
    now: str = said("fails or passes: what its check did before anything was changed; empty where it has none.")
    said: str = said("What the check said then.", foreign="words")


class EpisodeShape(Shape):
    """All attempts at a task."""

    id: str = said("Names the episode.")
    status: str = said(
        "running, passed, failed, budget, breaker, no_progress, cancelled, refused, flaky, already_passing or planned."
    )
    reason: str = said("Why it ended so.", foreign="words")
    attempts: Sequence[AttemptShape] = said("In order.")
    candidates: int = said("Changes tried out in all attempts.")
    diff: str = said(
        "The changes that pass, without secrets (`ratchet episodes diff` has them whole); empty where nothing does.",
        foreign="output",
        of="shown",
    )
    cost_usd: float = said("The cost of all.", digits=6)
    duration_s: float = said("How long it took.", digits=3)
    lessons_used: list[str] = said(
        "Ids of the lessons that were recalled.", of=lambda held: [each.id for each in held.lessons]
    )
    lessons_learnt: list[str] = said("Ids of the lessons that it left behind.", of="learnt")
    task: str = said("The task that it is for.", of="task.id")
    folder: str = said("The folder of the project.", of="task.folder", foreign="name")
    check: list[str] = said(
        "The command that is to pass, without secrets.",
        of=lambda held: _without_secrets(held.task.check),
        foreign="words",
    )
    steps: Sequence[PlanStepShape] = said("Of a task in words: its plan.", of="task.steps")
    beyond: str = said("What of the words nobody looked at, and why.", of="task.beyond", foreign="words")
    solver: str = said("Who proposed the changes.")
    flakes: Sequence[FlakeShape] = said("Flaky tests, told before anything was edited; they count for nothing.")
    applied: str = said("Where its result went; empty for nowhere.", foreign="name")


class SiblingShape(Shape):
    """A place with the mistake that was healed elsewhere, as a proposal."""

    path: str = said("The file.", foreign="name")
    line: int = said("The line.")
    function: str = said("The function or class; empty at the top of the file.", foreign="name")
    diff: str = said("The remedy, without secrets.", foreign="output", of="shown")
    check: list[str] = said("The tests that were run with it.")
    kept: int = said("Tests that pass with it as they did.")
    broken: str = said("Tests that speak against it, or why none could be asked; empty for none.", foreign="words")


class RunShape(EpisodeShape):
    """The end of `ratchet run`."""

    siblings: Sequence[SiblingShape] = said("The same mistake elsewhere, where --siblings asks.", of=lambda _held: [])


class EpisodeDetailShape(EpisodeShape):
    """An episode whole."""

    attempts: Sequence[AttemptDetailShape] = said("In order.")
    started_at: float = said("When it began.")
    ended_at: float = said("When it ended; 0 before.")


class TaskShape(Shape):
    """A task that is queued, under way or done."""

    id: str = said("Names the task.")
    kind: str = said("heal or compare.", of="work.kind")
    status: str = said("queued, running, or how it ended.", of="state")
    reason: str = said("Why it ended so.", foreign="words")
    instruction: str = said("The wish, in words.", foreign="words", of=lambda task: redact(task.work.instruction))
    check: list[str] = said("The command that is to pass.", of=lambda task: _without_secrets(task.work.check))
    dir: str = said("The folder of the project.", of="work.folder", foreign="name")
    solver: str = said("Who proposes the changes.", of=lambda task: redact(task.work.solver))
    attempts: int = said("Attempts that it may take.", of="work.budget.attempts")
    budget_s: float = said("Seconds that it may take.", of="work.budget.seconds")
    budget_usd: float = said("Money that it may cost.", of="work.budget.usd")
    plan_only: bool = said("Of a task in words: whether it ends with its plan.", of=lambda task: _how(task).plan_only)
    words: str = said("What was still wrong, in words.", foreign="words", of=lambda task: redact(_how(task).words))
    episode: str = said("The episode of it.")
    by: str = said("Who asked for it.", foreign="name")
    created_at: float = said("When it was asked for.")
    started_at: float | None = said("When it began; null before.", of=lambda task: task.started_at or None)
    ended_at: float | None = said("When it ended; null before.", of=lambda task: task.ended_at or None)


class TaskDetailShape(TaskShape):
    """A task as far as it has come. Secrets of the project's files are taken out; a diff is cut nowhere."""

    result: EpisodeDetailShape | None = said("The episode of it; null before it begins.")
    comparison: dict[str, object] | None = said("The result of a comparison; null of other tasks.", foreign="words")

    @classmethod
    def shown(cls, found: TaskDetail) -> Self:
        """The shape of a task, or of an episode that was run without one."""
        result = None if found.episode is None else redacted(EpisodeDetailShape.built(found.episode))
        task = found.task
        if task is None:
            return cls.built(_queued(found.held), result=result, comparison=None)
        compared = redacted(dict(task.result)) if task.work.kind == "compare" and task.result else None
        return cls.built(task, result=result, comparison=compared)


class NodeShape(AttemptDetailShape):
    """One attempt: red, green where the check passed, blue while it runs, grey where a person ended it."""

    colour: str = said("red, green, blue or grey.", of=lambda each: _COLOURS.get(each.status, "red"))
    confidence: float = said("The score of it.", of="score", digits=4)
    started_at: float = said("When it began.")
    base: int = said("The attempt from whose files it started; 0: the project's own.")
    lessons: list[str] = said("Ids of the lessons that it was given.")


class EventShape(Shape):
    """One line of the timeline: a record changed state."""

    id: str = said("Names the event; later ones sort after it.")
    at: float = said("When it happened.")
    noun: str = said("The class of the record.")
    record: str = said("The id of the record.")
    verb: str = said("The change.")
    details: dict[str, object] = said(
        "Anything else.", of=lambda row: redact_json({name: row[name] for name in row if name not in _EVENT})
    )


class TimelineShape(Shape):
    """The course of a task."""

    id: str = said("Names the task.")
    status: str = said("queued, running, or how it ended.")
    nodes: list[NodeShape] = said("One for each attempt, in order.")
    events: list[EventShape] = said("In order.")

    @classmethod
    def shown(cls, found: TaskDetail, events: Sequence[Row]) -> Self:
        """The shape of a task's attempts and events."""
        attempts = () if found.episode is None else found.episode.attempts
        return cls.built(
            found,
            status=found.held.status if found.task is None else found.task.state,
            nodes=[redacted(NodeShape.built(each)) for each in attempts],
            events=events,
        )


class CheckpointShape(Shape):
    """A way back: the files of a task at one moment."""

    id: str = said("Names the checkpoint of its task.", of=lambda row: str(row["n"]))
    attempt: int = said("The attempt after which they are so; 0: as they were copied.", of="n")
    at: float = said("When it was made.")
    state: str = said("Names the content of all files.")
    paths: list[str] = said("Files that are changed.", foreign="output")


class BreakerShape(Shape):
    """True if a task was stopped since it led nowhere new."""

    state: str = said("open: it was stopped; closed: it was not.")
    count: int = said("Attempts in a row that led nowhere new.")
    limit: int = said("So many stop it.")
    signature: str = said("The failure that comes back.")
    reason: str = said("Why it was stopped.", of=lambda found: redact(found.reason))


def _without_secrets(command: Sequence[str]) -> list[str]:
    """The words of a command, redacted as one line, since an option tells what the word behind it is."""
    line = redact(shlex.join(command))
    try:
        return shlex.split(line)
    except ValueError:  # a quote went with what it held
        return [line]


def redacted(value: T) -> T:
    """The same with secrets out of all its texts, whole otherwise: a diff is cut nowhere."""
    if isinstance(value, str):
        return cast("T", redact(value))
    if isinstance(value, list):
        return cast("T", [redacted(each) for each in value])
    if isinstance(value, dict):
        return cast("T", {name: redacted(held) for name, held in value.items()})
    return value.mapped(redacted) if isinstance(value, Shape) else value


def _how(task: QueuedTask) -> Resumption:
    """The way in which a task goes on, or began."""
    return task.resumed or Resumption(plan_only=task.work.plan_only)


def _queued(held: Episode) -> QueuedTask:
    """The task that an episode of the command line would have been."""
    work = Work(
        folder=held.task.folder,
        instruction=held.task.instruction,
        check=held.task.check,
        solver=held.solver,
        budget=held.budget,
    )
    return QueuedTask(
        id=held.id,
        work=work,
        state=held.status,
        reason=redact(held.reason),
        episode=held.id,
        by="the command line",
        created_at=held.started_at,
        started_at=held.started_at,
        ended_at=held.ended_at,
    )


def refused(reason: str, held: Episode | None) -> RunShape:
    """The shape of a task that could not be carried out: the episode as far as it came, if there is one. One that
    passed did pass, even where its result could not be taken to where it was wanted."""
    if held is None:
        held = Episode(id="", task=Task(id="", check=()), number=0, status="refused", budget=Budget())
    return RunShape.built(held, status="passed" if held.status == "passed" else "refused", reason=reason)
