"""The measured effect of lessons and changes."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from ratchet.serving.api.access import Needs
from ratchet.serving.api.answers import tagged
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.trials import ReportShape

router = APIRouter(tags=["report"], dependencies=[Depends(Needs("read"))])


@router.get("/v1/report", response_model=ReportShape)
def report(request: Request, runtime: Operations) -> Response:
    """Tell whether lessons help, before the step and in the failing turn, and what became of changes."""
    return tagged(request, ReportShape.built(runtime.report()))
