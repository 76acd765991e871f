"""The simple forms, as other systems' webhooks have them: POST /observe, GET /health, GET /patterns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from fastapi import APIRouter, Depends, Request
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ratchet.failures.classification import classify
from ratchet.recording.batch import rows_of
from ratchet.serving.api import inputs, looks
from ratchet.serving.api.access import Needs
from ratchet.serving.api.answers import answer
from ratchet.serving.api.problems import invalid_of
from ratchet.serving.api.routers.outcomes import keep
from ratchet.serving.api.serving import Operations, Served, Shared
from ratchet.serving.shapes.served import ObservationShape, SimpleHealthShape, SimplePatternsShape

router = APIRouter(tags=["webhook"])

SHOWN = 50
"""Patterns that the plain form tells; /v1/patterns has all of them, in pages."""
_observed = TypeAdapter(inputs.Observed)
_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Observed"}}},
    }
}


@router.post(
    "/observe",
    status_code=201,
    response_model=ObservationShape,
    openapi_extra=_BODY,
    dependencies=[Depends(Needs("write"))],
)
async def observe(request: Request, held: Shared) -> Response:
    """Record one outcome: `{"task": "code_gen", "success": true, "quality": 4}`."""
    body = await request.body()
    return answer(await run_in_threadpool(_kept, held, body), 201)


def _kept(held: Served, body: bytes) -> ObservationShape:
    try:
        said = cast("Mapping[str, object]", _observed.validate_json(body))
    except ValidationError as error:
        raise invalid_of(cast("list[dict[str, Any]]", error.errors(include_input=False, include_url=False))) from error
    item = outcome_of(said)
    outcome_id = keep(held, rows_of([item]))[0]
    error_text = item.get("error")
    issues = [classify(error_text).kind] if isinstance(error_text, str) else []
    return ObservationShape(id=outcome_id, issues=issues)


_CALLED = {
    "agent": ("agent", "source"),
    "task": ("task", "task_type"),
    "ok": ("ok", "success"),
    "error": ("error", "error_message", "error_msg"),
}
_SAME = ("id", "quality", "model", "session", "duration_s")
_BESIDES = ("notes", "issues", "tags", "metadata")


def outcome_of(said: Mapping[str, object]) -> dict[str, object]:
    """The outcome that a webhook's body tells of."""
    item: dict[str, object] = {}
    for name, spellings in _CALLED.items():
        item[name] = next((said[each] for each in spellings if said.get(each) not in (None, "")), None)
    item["agent"] = item["agent"] or "webhook"
    item |= {name: said[name] for name in _SAME if said.get(name) is not None}
    if said.get("duration_ms") is not None and "duration_s" not in item:
        item["duration_s"] = float(cast(float, said["duration_ms"])) / 1_000
    unknown = item["ok"] is None and ("ok" in said or "success" in said)  # null is no success
    besides = {name: said[name] for name in _BESIDES if said.get(name)}
    if besides:
        item["context"] = besides
    item["source"] = "webhook"
    return {name: value for name, value in item.items() if value is not None or (name == "ok" and unknown)}


@router.get("/health", response_model=SimpleHealthShape, dependencies=[Depends(Needs("read"))])
def health(runtime: Operations) -> Response:
    """`{"health_score": 0.93}`: all agents together, 1 while nothing has run."""
    found = runtime.health()
    score = 1.0 if found.score is None else found.score
    return answer(SimpleHealthShape.built(found, status="ok", health_score=score))


@router.get("/patterns", response_model=SimplePatternsShape, dependencies=[Depends(Needs("read"))])
def patterns(held: Shared) -> Response:
    """List what keeps failing most, with the health of all agents."""
    listed = looks.patterns(held)
    found = listed.built(listed.rows[:SHOWN])
    score = held.runtime.health(drained=False).score
    return answer(SimplePatternsShape.built(found, health_score=1.0 if score is None else score, patterns=found))
