"""The HTTP application: every operation of a `Runtime`, behind one door."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio.to_thread
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware

from ratchet import __version__
from ratchet.failures.classification import classify
from ratchet.lessons import meaning
from ratchet.records import Row
from ratchet.runtime import Runtime
from ratchet.serving.api import description, limits, problems
from ratchet.serving.api.access import Access, Doorkeeper
from ratchet.serving.api.agents import Agents
from ratchet.serving.api.drainer import beside
from ratchet.serving.api.feed import Feed
from ratchet.serving.api.habits import Habits
from ratchet.serving.api.heads import Heads
from ratchet.serving.api.letters import Letters
from ratchet.serving.api.meter import Meter
from ratchet.serving.api.origins import Gate, is_loopback
from ratchet.serving.api.routers import ROUTERS
from ratchet.serving.api.serving import Served, Serving
from ratchet.serving.api.ui import ROUTERS as PAGES
from ratchet.serving.api.ui.faults import ProblemPages
from ratchet.serving.api.watching import Watching
from ratchet.serving.workers import TaskWorkers

log = logging.getLogger(__name__)

THREADS = 8
"""Operations at once: each thread has a connection of its own to the store, with its own cache."""
PATIENCE_S = 1.0
"""How long a read moves what was recorded before it answers with what is there."""
_ABOUT = "What keeps failing, what fixed it, what is on trial: the operations of the command line, over HTTP."


def create(runtime: Runtime, serving: Serving | None = None) -> FastAPI:
    """The app over a runtime, which the caller closes after it. Nothing is opened or started before its lifespan."""
    serving = serving or Serving()
    held = Served(
        runtime=runtime,
        serving=serving,
        access=Access(runtime.tokens, serving.token, guarded=not is_loopback(serving.host)),
        feed=Feed(runtime.timeline.since, changes=lambda: runtime.store.changes()),
        meter=Meter(),
    )
    app = FastAPI(
        title="Ratchet",
        version=__version__,
        summary=_ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # `description` gives it out, encoded once: no token is asked for it
        responses=problems.EVERYWHERE,
        lifespan=_lifespan,
        middleware=[  # the first is the outermost
            Middleware(Watching, meter=held.meter),
            Middleware(ProblemPages),
            Middleware(Gate, **_names(serving)),
            Middleware(Doorkeeper, access=held.access, paced=partial(limits.Pace, per_s=serving.requests_per_s)),
            Middleware(limits.Pace, per_s=serving.requests_per_s),
            Middleware(limits.Body, most_bytes=serving.body_bytes),
            Middleware(Habits),
            Middleware(Heads),
            Middleware(Letters),
        ],
        separate_input_output_schemas=False,
    )
    app.state.served = held
    problems.add_handlers(app)
    for router in (*ROUTERS, *PAGES):
        app.include_router(router)
    app.state.agents = Agents(held)
    app.router.routes.append(app.state.agents.route)
    app.state.described = {}
    app.include_router(description.router)
    described = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = description.complete(app, described())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it
    return app


def _names(serving: Serving) -> dict[str, Any]:
    local = is_loopback(serving.host)
    hosts = {each.lower() for each in (serving.host, *serving.hosts)}
    return {"hosts": hosts, "addresses": not local, "origins": serving.origins}


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    held: Served = app.state.served
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    held.runtime.patience_s = PATIENCE_S
    classify("TimeoutError: the words that tell kinds apart are indexed before threads ask for them at once")
    meaning.allow()
    if held.serving.workers:
        held.workers = TaskWorkers(lambda: held.runtime.store, lambda: held.runtime.episodes, held.serving.workers)
    loop = asyncio.get_running_loop()
    news: Row = {"noun": "outcome", "verb": "counted"}
    held.glance.renewed = lambda: loop.call_soon_threadsafe(held.feed.tell, news)
    async with beside(held), app.state.agents.open():
        yield
    held.glance.renewed = lambda: None
    held.ending()
    if held.workers is not None:
        await run_in_threadpool(held.workers.stop)
