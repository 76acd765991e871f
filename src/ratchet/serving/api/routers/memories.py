"""The memory as a whole: search it, count it, take it elsewhere."""

from __future__ import annotations

from typing import Any, cast

from fastapi import APIRouter, Request
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ratchet.serving.api import inputs
from ratchet.serving.api.access import READS, WRITES
from ratchet.serving.api.answers import MEDIA_TYPE, answer, tagged
from ratchet.serving.api.problems import invalid_of, said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.lessons import ImportedShape, MemoryStatsShape, RecalledShape
from ratchet.serving.shapes.prediction import PredictionShape

router = APIRouter(prefix="/v1/memories", tags=["memories"])

LINES = "application/x-ndjson"
_TAKEN = {
    "requestBody": {
        "required": False,  # the export of an empty memory is empty
        "content": {
            LINES: {"schema": {"type": "string", "description": "What /v1/memories/export gave."}},
            MEDIA_TYPE: {
                "schema": {
                    "type": "array",
                    "maxItems": 10_000,
                    "items": {"$ref": "#/components/schemas/ExportedLesson"},
                }
            },
        },
    }
}
_exported = TypeAdapter(list[inputs.ExportedLesson])


@router.post("/search", response_model=RecalledShape, dependencies=[READS])
def search(asked: inputs.Search, runtime: Operations) -> Response:
    """Look up what is known to fix this error; `abstained` where nothing fits well enough."""
    if not runtime.exists:
        runtime.init()
    found = runtime.recall(asked.query, limit=asked.limit, project=asked.project, session=asked.session)
    return answer(RecalledShape.built(found))


@router.post("/predict", response_model=PredictionShape, dependencies=[READS], responses=said(404))
def predict(asked: inputs.Predicting, runtime: Operations) -> Response:
    """Tell how likely a step fails in a project, why, and what to do; no probability where there is no basis. The
    project's folder is not looked at: it may be on another machine."""
    if not runtime.exists:
        runtime.init()
    return answer(PredictionShape.built(runtime.lessons.predict(**asked.model_dump(), here=False)))


@router.get("/stats", response_model=MemoryStatsShape, dependencies=[READS])
def stats(request: Request, runtime: Operations) -> Response:
    """Count what is remembered: lessons by state, kind and scope, how often they were tried and worked."""
    return tagged(request, MemoryStatsShape.built(runtime.lessons.stats()))


@router.get(
    "/export",
    dependencies=[READS],
    response_class=Response,
    responses={200: {"content": {LINES: {"schema": {"type": "string"}}}, "description": "One lesson a line"}},
)
def export(runtime: Operations) -> Response:
    """Active and candidate lessons as JSON lines, with where they come from."""
    headers = {"Content-Disposition": 'attachment; filename="lessons.jsonl"'}
    return Response(runtime.lessons.export().encode("utf-8", "backslashreplace"), media_type=LINES, headers=headers)


@router.post("/import", response_model=ImportedShape, openapi_extra=_TAKEN, dependencies=[WRITES])
async def take(request: Request, runtime: Operations) -> Response:
    """Take lessons of an export, as candidates whatever they claim to be: somebody else's evidence is not ours.

    The lines of an export, or the same as a JSON array. A lesson that cannot be taken is told of, and costs itself.
    """
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    lines = _lines(body) if kind == MEDIA_TYPE else body
    return answer(ImportedShape.built(await run_in_threadpool(runtime.lessons.take, lines, name="an upload")))


def _lines(body: bytes) -> bytes:
    """The lines of a JSON array of lessons."""
    try:
        lessons = _exported.validate_json(body)
    except ValidationError as error:
        raise invalid_of(cast("list[dict[str, Any]]", error.errors(include_input=False, include_url=False))) from error
    return b"\n".join(map(to_json, lessons))
