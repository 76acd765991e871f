"""Outcomes, taken in batches, into the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fastapi import APIRouter, Depends, Request
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ratchet.recording.batch import rows_of, usual_rows
from ratchet.records import Row
from ratchet.serving.api import inputs
from ratchet.serving.api.access import Needs
from ratchet.serving.api.answers import answer
from ratchet.serving.api.problems import RETRY_S, HttpProblem, invalid_of, unreadable
from ratchet.serving.api.serving import Served, Shared
from ratchet.serving.shapes.served import AcceptedShape

router = APIRouter(tags=["outcomes"], dependencies=[Depends(Needs("write"))])

MOST = 10_000
"""Outcomes of one request; a batch of 500 is as quick for each."""
_one = TypeAdapter(inputs.SentOutcome)
_many = TypeAdapter(list[inputs.SentOutcome])
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "oneOf": [
                        {"$ref": "#/components/schemas/SentOutcome"},
                        {
                            "type": "array",
                            "maxItems": MOST,
                            "items": {"$ref": "#/components/schemas/SentOutcome"},
                        },
                    ]
                }
            }
        },
    }
}


@router.post("/v1/outcomes", status_code=202, response_model=AcceptedShape, openapi_extra=_BODY)
async def outcomes(request: Request, held: Shared) -> Response:
    """Record finished runs: one object, or an array of them. Answered once they are in the journal, which survives the
    server; the same again adds nothing. Secrets are taken out before anything is written."""
    body = await request.body()
    return answer(await run_in_threadpool(_taken, held, body), 202)


def _taken(held: Served, body: bytes) -> AcceptedShape:
    ids = keep(held, rows(body))
    return AcceptedShape(accepted=len(ids), ids=ids)


def rows(body: bytes) -> list[Row]:
    """The rows of a body's outcomes. Raises Problem.

    Usual outcomes are recognised as they are, which costs half of what a look by the schema does; the schema decides
    about all others, and says what is wrong."""
    try:
        said = from_json(body, cache_strings="keys")
    except ValueError as error:
        raise unreadable(error) from error
    items = said if isinstance(said, list) else [said]
    if len(items) > MOST:
        raise HttpProblem(
            422, "invalid", f"body: {len(items):,} outcomes in one request", f"Send at most {MOST:,} at once."
        )
    usual = usual_rows(items)
    return rows_of(_checked(said)) if usual is None else usual


def _checked(said: object) -> Sequence[Mapping[str, object]]:
    try:
        found = _many.validate_python(said) if isinstance(said, list) else [_one.validate_python(said)]
    except ValidationError as error:
        raise invalid_of(cast("list[dict[str, Any]]", error.errors(include_input=False, include_url=False))) from error
    return cast("list[Mapping[str, object]]", found)


def keep(held: Served, made: Sequence[Row]) -> list[str]:
    """Journal outcomes; return their ids. Raises Problem where they cannot be written down."""
    ids = held.runtime.record_rows(made)
    if ids is None:
        held.meter.took(0, len(made))
        raise HttpProblem(
            503,
            "journal",
            "the journal cannot be written: its disk is full, or the home is not writable",
            "Free some space on the server, then send the same request again: what was kept is not counted twice.",
            {"Retry-After": str(RETRY_S)},
        )
    held.meter.took(len(ids))
    return ids
