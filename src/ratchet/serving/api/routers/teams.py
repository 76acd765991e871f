"""Runs of teams, for whoever reads what many agents did together."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from ratchet.serving.api.access import Needs
from ratchet.serving.api.answers import tagged
from ratchet.serving.api.pages import Cursor, Limit
from ratchet.serving.api.problems import said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.teams import TeamRunDetailShape, TeamRunsShape

router = APIRouter(prefix="/v1/teams", tags=["teams"], dependencies=[Depends(Needs("read"))])


@router.get("/runs", response_model=TeamRunsShape)
def runs(
    request: Request,
    runtime: Operations,
    team: Annotated[str | None, Query(max_length=200, description="Only those of this team.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """List runs of teams, newest first: how far their tasks are, what they cost."""
    return tagged(request, TeamRunsShape.built(runtime.sessions.team_runs(team=team, limit=limit, cursor=cursor)))


@router.get("/runs/{run_id:path}", response_model=TeamRunDetailShape, responses=said(404))
def run(run_id: str, request: Request, runtime: Operations) -> Response:
    """One run: its tasks with every attempt, its workers, its letters, how it ended."""
    return tagged(request, TeamRunDetailShape.built(runtime.sessions.team_run(run_id)))
