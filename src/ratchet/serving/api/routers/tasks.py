"""Tasks that are healed in a sandbox, by this server or another one of the same store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ratchet.healing.episode import Budget, PlanStep
from ratchet.healing.project_check import argv_of
from ratchet.healing.queue.rows import Work
from ratchet.records import Row
from ratchet.serving.api import inputs
from ratchet.serving.api.access import Caller, Needs
from ratchet.serving.api.answers import answer, tagged
from ratchet.serving.api.pages import Cursor, Limit
from ratchet.serving.api.problems import HttpProblem, said
from ratchet.serving.api.roots import allowed
from ratchet.serving.api.serving import Operations, Served, Shared
from ratchet.serving.api.streams import STREAM, LastEventId, stream
from ratchet.serving.shapes.served import TaskPageShape
from ratchet.serving.shapes.tasks import BreakerShape, CheckpointShape, TaskDetailShape, TaskShape, TimelineShape

router = APIRouter(prefix="/v1/tasks", tags=["tasks"])
SEES = Depends(Needs("read", "run"))
Runs = Annotated[Caller, Depends(Needs("run"))]
MOST_CHECKPOINT = 1_000_000


@router.post("", status_code=202, response_model=TaskShape, responses=said(404, 409))
def create(asked: inputs.NewTask, held: Shared, caller: Runs) -> Response:
    """Queue a task. A copy of its folder is worked on in a sandbox; the folder itself is only read. Words without a
    check are planned first: the task ends as `planned`, unless `plan_only` is false."""
    words = bool(asked.instruction) and asked.check is None
    work = Work(
        folder=allowed(asked.dir, held),
        instruction=asked.instruction,
        check=_argv(asked.check),
        plan=_steps(asked.plan),
        plan_only=asked.plan_only and words,
        solver=asked.solver,
        budget=_budget(asked),
        protected=tuple(asked.protected),
        seed=asked.seed,
    )
    return _queued(held, work, caller)


@router.post("/ab-comparison", status_code=202, response_model=TaskShape, responses=said(404, 409))
def compare(asked: inputs.NewComparison, held: Shared, caller: Runs) -> Response:
    """Queue a comparison: does memory pay, on these tasks? Its task's `comparison` tells, once it is done."""
    work = Work(
        kind="compare",
        folder=allowed(asked.dir, held),
        check=_argv(asked.check),
        solver=asked.solver,
        budget=_budget(asked),
        seeds=asked.seeds,
    )
    return _queued(held, work, caller)


def _queued(held: Served, work: Work, caller: Caller) -> Response:
    task = held.runtime.tasks.add(work, by=caller.name)
    held.wake_workers()
    return answer(TaskShape.built(task), 202, {"Location": f"/v1/tasks/{task.id}"})


def _steps(plan: Sequence[inputs.NewStep]) -> tuple[PlanStep, ...]:
    return tuple(PlanStep(do=each.do, check=argv_of(each.check) if each.check.strip() else ()) for each in plan)


def _argv(check: str | Sequence[str] | None) -> tuple[str, ...]:
    if check is None:
        return ()
    return argv_of(check) if isinstance(check, str) else tuple(check)


def _budget(asked: inputs.NewTask | inputs.ResumedTask | inputs.NewComparison) -> Budget:
    return Budget(attempts=asked.attempts, usd=asked.budget_usd, seconds=asked.budget_s, candidates=asked.candidates)


@router.get("", response_model=TaskPageShape, dependencies=[SEES])
def tasks(
    request: Request,
    runtime: Operations,
    status: Annotated[str | None, Query(max_length=40)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Tasks, newest first."""
    found, after = runtime.tasks.page(state=status, limit=limit, cursor=cursor)
    return tagged(request, TaskPageShape(items=[TaskShape.built(each) for each in found], next=after))


@router.get("/{task_id}", response_model=TaskDetailShape, dependencies=[SEES], responses=said(404))
def task(task_id: str, request: Request, runtime: Operations) -> Response:
    """One task with its episode as far as it has come."""
    return tagged(request, TaskDetailShape.shown(runtime.tasks.show(task_id)))


@router.get("/{task_id}/timeline", response_model=TimelineShape, dependencies=[SEES], responses=said(404))
def timeline(task_id: str, request: Request, runtime: Operations) -> Response:
    """A node for each attempt, with its cause, fix, cost and diff, and every event."""
    found = runtime.tasks.show(task_id)
    return tagged(request, TimelineShape.shown(found, runtime.tasks.events(found)))


@router.get(
    "/{task_id}/sse",
    response_class=EventSourceResponse,
    dependencies=[SEES],
    responses={**STREAM, **said(404)},
)
async def follow(task_id: str, held: Shared, last_event_id: LastEventId = None) -> EventSourceResponse:
    """Follow what happens to a task, from its beginning on; ends when the task does."""
    queue = held.runtime.tasks
    detail = await run_in_threadpool(queue.show, task_id)
    own = {detail.id}
    if detail.task is not None:
        own |= {detail.task.episode, *detail.task.earlier} - {""}

    def wants(row: Row) -> bool:
        record = str(row.get("record") or "")
        if record == task_id and row.get("episode"):  # one that began since the task was looked at
            own.add(str(row["episode"]))
        return record.partition("/")[0] in own

    def ended() -> bool:
        return not queue.under_way(task_id)

    def before() -> list[Row]:
        return [row for row in queue.events(queue.show(task_id)) if wants(row)]

    return stream(held, last_event_id, wants=wants, before=before, ended=ended)


@router.get("/{task_id}/checkpoints", response_model=list[CheckpointShape], dependencies=[SEES], responses=said(404))
def checkpoints(task_id: str, request: Request, runtime: Operations) -> Response:
    """The ways back: 0 are the files as they were copied, then those after each attempt."""
    return tagged(request, [CheckpointShape.built(each) for each in runtime.tasks.checkpoints(task_id)])


@router.post("/{task_id}/checkpoints/{checkpoint_id}/restore", response_model=TaskDetailShape, responses=said(404, 409))
def restore(task_id: str, checkpoint_id: str, runtime: Operations, caller: Runs) -> Response:
    """Take a task back to a checkpoint, also one that has ended; `retry` goes on from there."""
    if not (checkpoint_id.isascii() and checkpoint_id.isdigit() and int(checkpoint_id) <= MOST_CHECKPOINT):
        raise HttpProblem(
            404,
            "not-found",
            f"task {task_id} has no checkpoint {checkpoint_id}",
            f"GET /v1/tasks/{task_id}/checkpoints lists them.",
        )
    del caller
    return answer(TaskDetailShape.shown(runtime.tasks.restore(task_id, to=int(checkpoint_id))))


@router.get("/{task_id}/circuit-breaker", response_model=BreakerShape, dependencies=[SEES], responses=said(404))
def breaker(task_id: str, request: Request, runtime: Operations) -> Response:
    """Tell whether the task was stopped since it led nowhere new."""
    return tagged(request, BreakerShape.built(runtime.tasks.breaker(task_id)))


@router.post("/{task_id}/cancel", status_code=202, response_model=TaskShape, responses=said(404, 409))
def cancel(task_id: str, held: Shared, caller: Runs) -> Response:
    """Ask for its end: at once where it waits, within seconds where it runs."""
    del caller
    found = held.runtime.tasks.cancel(task_id)
    held.cancel_here(found.id)
    return answer(TaskShape.built(found), 202)


@router.post("/{task_id}/retry", status_code=202, response_model=TaskShape, responses=said(404, 409))
def retry(task_id: str, held: Shared, caller: Runs) -> Response:
    """Run it again; one that was cancelled or taken back goes on where it stands."""
    del caller
    found = held.runtime.tasks.retry(task_id)
    held.wake_workers()
    return answer(TaskShape.built(found), 202)


@router.post("/{task_id}/resume", status_code=202, response_model=TaskShape, responses=said(404, 409))
def resume(task_id: str, asked: inputs.ResumedTask, held: Shared, caller: Runs) -> Response:
    """Go on with a task where it ended, or with an episode of the command line: carry out its plan, or mend what is
    still wrong in words. As `ratchet run --resume ID`."""
    found = held.runtime.tasks.resume(
        task_id,
        asked.words,
        check=() if asked.check is None else _argv(asked.check),
        plan=_steps(asked.plan),
        solver=asked.solver,
        plan_only=asked.plan_only,
        budget=_budget(asked),
        allowed=lambda folder: allowed(folder, held),
        by=caller.name,
    )
    held.wake_workers()
    return answer(TaskShape.built(found), 202)
