"""Health of agents."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from ratchet.serving.api.access import Needs
from ratchet.serving.api.answers import tagged
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.failures import HealthShape

router = APIRouter(tags=["health"], dependencies=[Depends(Needs("read"))])


@router.get("/v1/health", response_model=HealthShape)
def health(request: Request, runtime: Operations) -> Response:
    """Rate each agent's recent runs, from 0 (all fails) to 1."""
    return tagged(request, HealthShape.built(runtime.health()))
