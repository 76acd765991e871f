"""Healing as tools: a task is queued, and asked about until it has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field, RootModel

from ratchet.failures.redaction.text import redact
from ratchet.healing.episode import Budget
from ratchet.healing.project_check import argv_of
from ratchet.healing.queue.book import TaskDetail
from ratchet.healing.queue.rows import Work
from ratchet.lessons.fence import enclosed
from ratchet.runtime import Runtime
from ratchet.serving.mcp.answers import answer, fenced, told
from ratchet.serving.shapes.served import CheckpointsShape
from ratchet.serving.shapes.tasks import CheckpointShape, TaskDetailShape, TaskShape

TaskId = Annotated[str, Field(description="As run_task gives it.", min_length=1, max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Place in which tasks may be started, who starts them, and who is told that there is one."""

    allowed: Callable[[str], str] = lambda folder: folder
    """The folder, or a RatchetError that says why not."""
    by: str = "mcp"
    with_evidence: bool = False
    """Whether a person's words may leave this home."""
    wake: Callable[[], None] = lambda: None


class TaskTools:
    """The tools over the task queue of one runtime."""

    def __init__(self, runtime: Runtime, place: Place) -> None:
        self._runtime = runtime
        self._place = place

    @told
    def run_task(
        self,
        dir: Annotated[str, Field(description="The project, absolute. It is copied, never changed.", min_length=1)],
        instruction: Annotated[str, Field(description="What is wanted, in words.", max_length=20_000)] = "",
        check: Annotated[
            str,
            Field(
                description="The command that fails now and shall pass. Empty: a plan is made of the instruction;"
                " without one, it is the project's own check."
            ),
        ] = "",
        plan_only: Annotated[
            bool, Field(description="An instruction without a check: end with the plan; resume_task carries it out.")
        ] = True,
        solver: str = "auto",
        attempts: Annotated[int, Field(ge=1, le=100)] = 5,
        budget_s: Annotated[float, Field(gt=0, le=86_400)] = 1_800.0,
        budget_usd: Annotated[float, Field(ge=0, le=1_000)] = 1.0,
    ) -> Annotated[CallToolResult, RootModel[TaskShape]]:
        """Heal a project in a sandbox until its check passes, or do what the instruction says. Call it when a check
        keeps failing. Returns at once: ask task_status for what becomes of it. The result is a diff; nothing in the
        folder changes."""
        argv = argv_of(check) if check.strip() else ()
        work = Work(
            folder=self._place.allowed(dir),
            instruction=instruction,
            check=argv,
            plan_only=plan_only and bool(instruction) and not argv,
            solver=solver,
            budget=Budget(attempts=attempts, seconds=budget_s, usd=budget_usd),
        )
        task = self._runtime.tasks.add(work, by=self._place.by)
        self._place.wake()
        return answer(f"Queued as {task.id}; ask task_status for it.", TaskShape.built(task))

    @told
    def resume_task(
        self,
        id: TaskId,
        words: Annotated[
            str, Field(description="What is still wrong; empty: carry out its plan.", max_length=20_000)
        ] = "",
        check: Annotated[str, Field(description="A command that shows it and fails now; empty: one is made.")] = "",
        plan_only: bool = False,
        solver: Annotated[str, Field(description="With words: another one than before.")] = "",
    ) -> Annotated[CallToolResult, RootModel[TaskShape]]:
        """Go on with a task that has ended: carry out its plan, or mend what is still wrong with its result, in words.
        Returns at once, as run_task does."""
        task = self._runtime.tasks.resume(
            id,
            words,
            check=argv_of(check) if check.strip() else (),
            solver=solver,
            plan_only=plan_only,
            allowed=self._place.allowed,
            by=self._place.by,
        )
        self._place.wake()
        return answer(f"Queued as {task.id}; ask task_status for it.", TaskShape.built(task))

    @told
    def task_status(self, id: TaskId) -> Annotated[CallToolResult, RootModel[TaskDetailShape]]:
        """Show where a task stands: its attempts with cause, fix and cost, and the diff once its check passes."""
        return _told(self._runtime.tasks.show(id))

    @told
    def checkpoints(self, id: TaskId) -> Annotated[CallToolResult, RootModel[CheckpointsShape]]:
        """The ways back of a task: 0 are the files as they were copied, then those after each attempt."""
        found = [CheckpointShape.built(each) for each in self._runtime.tasks.checkpoints(id)]
        lines = [f"{each.id}: {each.state}" for each in found]
        return answer("\n".join(lines) or "It has not begun.", CheckpointsShape(checkpoints=found))

    @told
    def restore(
        self, id: TaskId, checkpoint: Annotated[int, Field(ge=0, le=1_000_000)]
    ) -> Annotated[CallToolResult, RootModel[TaskDetailShape]]:
        """Take a task back to the files after an attempt, also one that has ended."""
        return _told(self._runtime.tasks.restore(id, to=checkpoint))


def _told(found: TaskDetail) -> CallToolResult:
    shape = TaskDetailShape.shown(found)
    return answer(_status(found, shape), shape)


def _status(found: TaskDetail, shape: TaskDetailShape) -> str:
    lines = [(f"{shape.status} ", redact(shape.reason))]
    if found.episode is not None:
        lines += [
            (f"attempt {each.n}: {each.status}" + ("; fix: " if each.fix else ""), redact(each.fix))
            for each in found.episode.attempts
        ]
    diff = shape.result.diff if shape.result else ""
    return f"{fenced(lines)}\n{enclosed(diff, verbatim=True)}" if diff else fenced(lines)
