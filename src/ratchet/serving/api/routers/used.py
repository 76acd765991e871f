"""Search and cost over everything that agents did."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from ratchet.serving.api.access import Needs
from ratchet.serving.api.answers import tagged
from ratchet.serving.api.pages import Limit
from ratchet.serving.api.problems import said
from ratchet.serving.api.routers.sessions import Moment
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.used import (
    CostsShape,
    DigestShape,
    HandoffShape,
    SearchFoundShape,
    ToolWaysShape,
)

router = APIRouter(tags=["sessions"], dependencies=[Depends(Needs("read"))])
Folder = Annotated[str | None, Query(max_length=1_000, description="A folder; its repository counts.")]
MOST_TEXT = 100_000


@router.get("/v1/search", response_model=SearchFoundShape, responses=said(404))
def search(
    request: Request,
    runtime: Operations,
    q: Annotated[
        str, Query(max_length=MOST_TEXT, description="Words; or a whole output, pasted; or none, but a filter.")
    ] = "",
    project: Folder = None,
    agent: str = "",
    tool: str = "",
    kind: str = "",
    model: str = "",
    command: Annotated[str, Query(description="Only failed runs of it, as /v1/patterns/by/command names it.")] = "",
    file: Annotated[str, Query(description="Only edits of this file, and failed commands that named it.")] = "",
    failed: Annotated[bool, Query(description="Only steps that failed.")] = False,
    since: Moment = None,
    until: Moment = None,
    limit: Annotated[int, Query(ge=1, le=200, description="How many of each noun at most.")] = 20,
) -> Response:
    """Find everything that has all of some words: steps, edits, what people said, patterns, lessons."""
    found = runtime.sessions.search(
        q,
        project=project,
        agent=agent,
        tool=tool,
        kind=kind,
        model=model,
        command=command,
        file=file,
        failed=failed,
        since=since,
        until=until,
        limit=limit,
    )
    return tagged(request, SearchFoundShape.built(found))


@router.get("/v1/costs", response_model=CostsShape, responses=said(404))
def costs(
    request: Request,
    runtime: Operations,
    by: Literal["model", "project", "agent", "tool", "pattern", "session", "day"] = "model",
    project: Folder = None,
    since: Moment = None,
    until: Moment = None,
) -> Response:
    """Sum up tokens and money, and how much of both was waste."""
    return tagged(request, CostsShape.built(runtime.sessions.costs(by=by, project=project, since=since, until=until)))


@router.get("/v1/ways", response_model=ToolWaysShape, responses=said(404))
def ways(
    request: Request,
    runtime: Operations,
    tool: Annotated[str, Query(min_length=1, max_length=200, description="A tool, or a command of a shell.")],
    project: Folder = None,
    limit: Limit = 20,
) -> Response:
    """List how a tool or a command was called here, those ways first that worked."""
    found = runtime.sessions.ways(tool, project=project, limit=limit)
    return tagged(request, ToolWaysShape.built(None, ways=found))


@router.get("/v1/handoff", response_model=HandoffShape, responses=said(404))
def handoff(
    request: Request,
    runtime: Operations,
    session: Annotated[str, Query(min_length=1, max_length=1_000)],
    to: Literal["any", "codex", "claude-code"] = "any",
) -> Response:
    """Digest a session, for another agent to go on with."""
    return tagged(request, HandoffShape.built(runtime.sessions.handoff(session, to=to)))


@router.get("/v1/digest", response_model=DigestShape)
def digest(
    request: Request,
    runtime: Operations,
    since: Annotated[float, Query(ge=0, lt=2**53, allow_inf_nan=False, description="Unix seconds.")],
    until: Moment = None,
    often: Annotated[int | None, Query(ge=1, description="Failures of one pattern that are worth an alert.")] = None,
) -> Response:
    """Digest a stretch of time: what ran, what it cost, what is new or rising, learnt, decided."""
    return tagged(request, DigestShape.shown_as(runtime.digest(since=since, until=until, often=often)))
