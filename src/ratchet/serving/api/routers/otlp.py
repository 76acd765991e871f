"""OTLP/HTTP: what agents and libraries export by themselves."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ratchet.errors import UsageError
from ratchet.recording.intake import JSON, PROTOBUF
from ratchet.serving.api.access import Needs
from ratchet.serving.api.problems import HttpProblem, said
from ratchet.serving.api.serving import Operations

router = APIRouter(prefix="/v1", tags=["otlp"], dependencies=[Depends(Needs("write"))])

_REQUEST: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "An OTLP export request; `Content-Encoding: gzip` is read, `zstd` with the extra so named.",
        "content": {JSON: {"schema": {"type": "object"}}, PROTOBUF: {"schema": {"type": "string", "format": "binary"}}},
    }
}
_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Taken. `partialSuccess` names what was rejected; all else is kept.",
        "content": {JSON: {"schema": {"type": "object"}}, PROTOBUF: {"schema": {"type": "string", "format": "binary"}}},
    },
    **said(400, 409),
}


async def _taken(signal: Literal["traces", "logs", "metrics"], request: Request, runtime: Operations) -> Response:
    body = await request.body()
    try:
        received = await run_in_threadpool(
            runtime.intake.otlp,
            signal,
            body,
            content_type=request.headers.get("content-type", JSON),
            encoding=request.headers.get("content-encoding", ""),
        )
    except UsageError as error:  # what cannot be decoded is 400 to every exporter (OTLP/HTTP, "Bad Data"): no retry
        raise HttpProblem(
            400, "malformed", str(error), "Mend the exporter as the detail says; do not repeat it."
        ) from error
    return Response(received.answer, media_type=received.content_type)


@router.post("/traces", responses=_ANSWER, openapi_extra=_REQUEST, response_class=Response)
async def traces(request: Request, runtime: Operations) -> Response:
    """Spans of models, tools, agents and chains, and every other: each is an outcome."""
    return await _taken("traces", request, runtime)


@router.post("/logs", responses=_ANSWER, openapi_extra=_REQUEST, response_class=Response)
async def logs(request: Request, runtime: Operations) -> Response:
    """Log records: events of coding agents and errors become outcomes, all else is kept as events."""
    return await _taken("logs", request, runtime)


@router.post("/metrics", responses=_ANSWER, openapi_extra=_REQUEST, response_class=Response)
async def metrics(request: Request, runtime: Operations) -> Response:
    """Data points: each is kept as an event."""
    return await _taken("metrics", request, runtime)
