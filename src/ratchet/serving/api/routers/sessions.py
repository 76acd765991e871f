"""Sessions and outcomes, for whoever reads what agents did."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from ratchet.serving.api.access import Needs
from ratchet.serving.api.answers import tagged
from ratchet.serving.api.pages import Cursor, Limit
from ratchet.serving.api.problems import said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.sessions import (
    OutcomeDetailShape,
    OutcomesShape,
    SessionDetailShape,
    SessionsShape,
)

router = APIRouter(tags=["sessions"], dependencies=[Depends(Needs("read"))])
Moment = Annotated[float | None, Query(ge=0, lt=2**53, allow_inf_nan=False, description="Unix seconds.")]


@router.get("/v1/sessions", response_model=SessionsShape, responses=said(404))
def sessions(
    request: Request,
    runtime: Operations,
    project: Annotated[str | None, Query(max_length=1_000, description="A folder; its repository counts.")] = None,
    agent: str | None = None,
    since: Moment = None,
    until: Moment = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """List sessions, the one that did something last first: what each took, failed at, and cost."""
    found = runtime.sessions.list(project=project, agent=agent, since=since, until=until, limit=limit, cursor=cursor)
    return tagged(request, SessionsShape.built(found))


@router.get("/v1/sessions/{session_id:path}", response_model=SessionDetailShape, responses=said(404))
def session(
    session_id: str,
    request: Request,
    runtime: Operations,
    thread: Annotated[str | None, Query(description="Only this subagent's steps; empty: only the agent's own.")] = None,
    at: Annotated[str, Query(description="An outcome's id: the steps from there on.")] = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """One session step by step: input, result, tokens, cost, failure, lessons, and the step that fixed it. The
    beginning of an id is enough where it fits one."""
    found = runtime.sessions.show(session_id, thread=thread, at=at, limit=limit, cursor=cursor)
    return tagged(request, SessionDetailShape.shown(found))


@router.get("/v1/outcomes", response_model=OutcomesShape)
def outcomes(
    request: Request,
    runtime: Operations,
    agent: str | None = None,
    ok: bool | None = None,
    session: str | None = None,
    kind: str | None = None,
    signature: str | None = None,
    since: Moment = None,
    until: Moment = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """List outcomes, newest first."""
    found = runtime.sessions.outcomes(
        agent=agent,
        ok=ok,
        session=session,
        kind=kind,
        signature=signature,
        since=since,
        until=until,
        limit=limit,
        cursor=cursor,
    )
    return tagged(request, OutcomesShape.built(found))


@router.get("/v1/outcomes/{outcome_id}", response_model=OutcomeDetailShape, responses=said(404))
def outcome(outcome_id: str, request: Request, runtime: Operations) -> Response:
    """One outcome whole, its result read from its history."""
    return tagged(request, OutcomeDetailShape.built(runtime.sessions.step(outcome_id)))
