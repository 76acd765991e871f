"""Evidence that a model puts into words: what it would be sent, and the run, which takes consent in the request."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from ratchet.healing.distilling.items import Place
from ratchet.serving.api import inputs
from ratchet.serving.api.access import READS, Needs
from ratchet.serving.api.answers import answer, tagged
from ratchet.serving.api.problems import said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.lessons import DistilledShape, DistillPlanShape

router = APIRouter(prefix="/v1/lessons/distill", tags=["lessons"])


@router.get("", response_model=DistillPlanShape, dependencies=[READS], responses=said(404, 409))
def plan(
    request: Request,
    runtime: Operations,
    model: Annotated[inputs.ModelName, Query()] = "",
    place: Annotated[tuple[Place, ...], Query(description="Only these kinds of evidence.")] = (),
    project: str | None = None,
    allow_unknown_price: bool = False,
) -> Response:
    """Say what would be sent to which model, and what it may cost. Sends nothing."""
    found = runtime.distillery.plan(model, places=place, project=project, unpriced=allow_unknown_price)
    return tagged(request, DistillPlanShape.built(found))


@router.post("", response_model=DistilledShape, dependencies=[Depends(Needs("run"))], responses=said(404, 409))
def run(asked: inputs.Distilling, runtime: Operations) -> Response:
    """Send the evidence, and keep what replay bears out as candidates. Answers when it has ended, minutes for a slow
    model; `GET /v1/events/sse?noun=distill` tells of each answer as it comes."""
    distillery, unpriced = runtime.distillery, asked.allow_unknown_price
    planned = distillery.plan(asked.model, places=asked.places, project=asked.project, unpriced=unpriced)
    found = distillery.run(
        planned,
        asked.model,
        places=asked.places,
        project=asked.project,
        budget_usd=asked.budget_usd,
        unpriced=unpriced,
        agreed=asked.agreed,
    )
    return answer(DistilledShape.built(found))
