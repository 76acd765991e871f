"""Facts of projects."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from ratchet.serving.api.access import Needs
from ratchet.serving.api.answers import tagged
from ratchet.serving.api.problems import said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.lessons import ProjectsFactsShape

router = APIRouter(tags=["lessons"], dependencies=[Depends(Needs("read"))])


@router.get("/v1/facts", response_model=ProjectsFactsShape, responses=said(404))
def facts(request: Request, runtime: Operations, project: str | None = None) -> Response:
    """Count what happens in a project (its folder, its name or its end), or in all, the busiest first."""
    return tagged(request, ProjectsFactsShape.built(None, projects=runtime.lessons.facts(project=project)))
