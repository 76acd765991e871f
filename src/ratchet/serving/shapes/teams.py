"""Shapes of teams: their runs, tasks, workers and letters."""

from __future__ import annotations

from ratchet.serving.shapes.shape import Shape, said
from ratchet.sessions import teams


class TeamRunShape(Shape):
    """A run of a team at one look."""

    id: str = said("Names the run; its attempts are the outcomes of the session of that name.", foreign="name")
    team: str = said("The team's name.", foreign="name")
    state: str = said("running, done, failed, over_budget, stopped or cancelled.")
    reason: str = said("Why it ended so; empty where all went well.", foreign="words")
    asked: str = said("What somebody wants of it: pause, cancel, or nothing.")
    started_at: float = said("When it began (Unix seconds).")
    ended_at: float = said("When it ended; 0 while it runs.")
    budget: dict[str, float] = said("What it may take of seconds, usd and tokens; without those that have no limit.")
    tasks: int = said("Its tasks.")
    states: dict[str, int] = said("Its tasks by state.")
    cost_usd: float = said("What its attempts cost.", digits=6)
    tokens: int = said("The tokens that they took.")


class TeamAttemptShape(Shape):
    """One attempt at a task."""

    n: int = said("Counts from 1.")
    worker: str = said("Who made it.", foreign="name")
    began_at: float = said("When it began.")
    ended_at: float = said("When it ended; 0 while it runs.")
    ok: bool | None = said("Whether it went well; null while it runs, or where nobody saw its end.")
    kind: str = said("The class of its failure.")
    reason: str = said("Why it failed.", foreign="words")
    cost_usd: float = said("What it cost.", digits=6)
    tokens: int = said("The tokens that it took.")


class TeamTaskShape(Shape):
    """A task of a run."""

    id: str = said("Names the task.", foreign="name")
    state: str = said("waiting, running, done, failed, skipped, over_budget, cancelled or unknown.")
    worker: str = said("Who did it last.", foreign="name")
    skill: str = said("The skill that its worker must declare; empty for any worker.", foreign="name")
    needs: list[str] = said("Tasks whose results it is handed.", foreign="name")
    reason: str = said("Why it did not end well.", foreign="words")
    attempts: list[TeamAttemptShape] = said("In their order.")
    result: str = said(
        "What it brought, as text, cut where it is long.", of=lambda task: teams.said(task.result), foreign="output"
    )
    masked: bool = said("Whether a secret was taken out of what is kept.")
    clipped: bool = said("Whether what is kept is not all of it, since that was too long.")
    started_at: float = said("When it began; 0 before.")
    ended_at: float = said("When it ended; 0 before.")


class TeamWorkerShape(Shape):
    """A worker as a run met it."""

    name: str = said("Its name.", foreign="name")
    attempts: int = said("Attempts that it made.")
    failed: int = said("Those that failed.")
    seconds: float = said("What they took.", digits=3)
    cost_usd: float = said("What they cost.", digits=6)
    tokens: int = said("The tokens that they took.")


class TeamLetterShape(Shape):
    """A letter between workers and tasks."""

    sender: str = said("Who wrote it.", foreign="name")
    to: str = said("The worker or the task that it is for.", foreign="name")
    body: str = said(
        "What it says, as text, cut where it is long.", of=lambda each: teams.said(each.body), foreign="output"
    )
    at: float = said("When it was written.")
    read_at: float = said("When it arrived; 0 before.")


class TeamRunDetailShape(Shape):
    """A run of a team, whole."""

    run: TeamRunShape = said("The run.")
    tasks: list[TeamTaskShape] = said("Its tasks, in the order in which they began.")
    workers: list[TeamWorkerShape] = said("Who made its attempts.")
    letters: list[TeamLetterShape] = said("What was written to whom, oldest first.")
    left_out: int = said("Further letters.")


class TeamRunsShape(Shape):
    """A part of the list of runs."""

    items: list[TeamRunShape] = said("Newest first.")
    next: str | None = said("The cursor of the page that follows; null on the last one.")
