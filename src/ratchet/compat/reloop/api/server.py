"""Serves reloop's routes over what a program puts into `app.state`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, FastAPI, HTTPException, Request
from sse_starlette.sse import EventSourceResponse

from ratchet import __version__
from ratchet.client import Ratchet
from ratchet.compat.reloop.api.sse import create_event_stream
from ratchet.compat.reloop.core.agent import ReLoopAgent
from ratchet.compat.reloop.core.timeline import TimelineManager
from ratchet.compat.reloop.models import CircuitBreakerState, CreateTaskRequest, Task, TaskResponse, TimelineEvent
from ratchet.compat.reloop.providers.memory import RatchetMemory
from ratchet.config import home_of
from ratchet.serving.api.origins import Gate

tasks = APIRouter(prefix="/v1/tasks")


PROGRAMS_OWN = ("check", "folder")
"""What a task's metadata names for the agent: a command that is run, and where."""


def create_app(*, hosts: Collection[str] = (), origins: Collection[str] = (), commands: bool = False) -> FastAPI:
    """Make the application. Whoever serves it to others sets up who may call it: `ratchet serve` has tokens.

    Like `ratchet serve` it answers on this machine's own names, on `hosts` and API_HOST, to no page of another site
    but `origins`. With `commands` a request may name the check that is run, and the folder; else the program does.
    """
    app = FastAPI(title="ReLoop API", version=__version__, lifespan=_lifespan)
    app.state.commands = commands
    hosts = {*hosts, *filter(None, [os.environ.get("API_HOST")])}
    app.add_middleware(Gate, hosts=hosts, addresses=False, origins=origins)
    app.include_router(tasks)

    @app.get("/v1/health")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @app.get("/v1/providers")
    async def providers(request: Request) -> dict[str, str | None]:
        state = request.app.state
        held = {name: getattr(state, name, None) for name in ("memory", "sandbox", "llm")}
        return {name: None if each is None else type(each).__name__ for name, each in held.items()}

    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    home = Path(home_of(None))
    app.state.memory = RatchetMemory(Ratchet(home), home)
    app.state.timeline = TimelineManager()
    app.state.agent = ReLoopAgent(app.state.memory, timeline=app.state.timeline)
    app.state.retry_engine = app.state.agent._retry_engine
    app.state.tasks = {}
    yield


@tasks.post("", status_code=201)
async def create_task(asked: CreateTaskRequest, request: Request) -> TaskResponse:
    """Take a task and begin with it."""
    state = request.app.state
    named = [name for name in PROGRAMS_OWN if name in asked.metadata]
    if named and not state.commands:
        raise HTTPException(403, f"metadata names {' and '.join(named)}, which create_app(commands=True) would allow")
    task = Task(**asked.model_dump())
    state.tasks[task.id] = task
    work = asyncio.create_task(state.agent.run(task))
    state.running = {work, *(each for each in getattr(state, "running", ()) if not each.done())}
    return TaskResponse.from_task(task)


@tasks.get("")
async def list_tasks(request: Request) -> list[TaskResponse]:
    """All tasks of this process."""
    return [TaskResponse.from_task(each) for each in request.app.state.tasks.values()]


@tasks.get("/{task_id}")
async def get_task(task_id: str, request: Request) -> Task:
    """One task whole."""
    return _found(task_id, request)


@tasks.get("/{task_id}/timeline")
async def get_timeline(task_id: str, request: Request) -> list[TimelineEvent]:
    """List the events of a task."""
    timeline: TimelineManager = request.app.state.timeline
    return timeline.get_timeline(_found(task_id, request).id)


@tasks.get("/{task_id}/sse")
async def stream(task_id: str, request: Request) -> EventSourceResponse:
    """Stream the events of a task."""
    return EventSourceResponse(create_event_stream(request.app.state.timeline, _found(task_id, request).id))


@tasks.get("/{task_id}/circuit-breaker")
async def get_circuit_breaker(task_id: str, request: Request) -> CircuitBreakerState:
    """A task's breaker."""
    state: CircuitBreakerState = request.app.state.retry_engine.get_circuit_breaker_state(_found(task_id, request))
    return state


def _found(task_id: str, request: Request) -> Task:
    task: Task | None = request.app.state.tasks.get(task_id)
    if task is None:
        raise HTTPException(404, f"no task {task_id}")
    return task
