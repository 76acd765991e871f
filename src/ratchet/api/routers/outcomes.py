"""What ran: taken in batches, into the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fastapi import APIRouter, Depends, Request
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ratchet.api import inputs, outputs
from ratchet.api.access import Needs
from ratchet.api.answers import answer
from ratchet.api.problems import RETRY_S, Problem, invalid_of
from ratchet.api.serving import Served, Shared
from ratchet.shapes import Shape

router = APIRouter(tags=["outcomes"], dependencies=[Depends(Needs("write"))])

MOST = 10_000
"""Outcomes of one request; a batch of 500 is as quick for each."""
_one = TypeAdapter(inputs.Outcome)
_many = TypeAdapter(list[inputs.Outcome])
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "oneOf": [
                        {"$ref": "#/components/schemas/Outcome"},
                        {
                            "type": "array",
                            "maxItems": MOST,
                            "items": {"$ref": "#/components/schemas/Outcome"},
                        },
                    ]
                }
            }
        },
    }
}


@router.post("/v1/outcomes", status_code=202, response_model=outputs.Accepted, openapi_extra=_BODY)
async def outcomes(request: Request, held: Shared) -> Response:
    """Record finished runs: one object, or an array of them. Answered once they are in the journal, which survives the
    server; the same again adds nothing. Secrets are taken out before anything is written."""
    body = await request.body()
    return answer(await run_in_threadpool(_taken, held, body), 202)


def _taken(held: Served, body: bytes) -> Shape:
    items = read(body)
    ids = keep(held, items)
    return {"accepted": len(ids), "ids": [*ids]}


def read(body: bytes) -> Sequence[Mapping[str, object]]:
    """The outcomes of a body. Raises Problem."""
    many = body.lstrip()[:1] == b"["
    try:
        found = _many.validate_json(body) if many else [_one.validate_json(body)]
    except ValidationError as error:
        raise invalid_of(cast("list[dict[str, Any]]", error.errors(include_input=False, include_url=False))) from error
    if len(found) > MOST:
        raise Problem(
            413, "too-many-outcomes", f"{len(found):,} outcomes in one request", f"Send at most {MOST:,} at once."
        )
    return cast("list[Mapping[str, object]]", found)


def keep(held: Served, items: Sequence[Mapping[str, object]]) -> list[str]:
    """Journal outcomes; return their ids. Raises Problem where they cannot be written down."""
    ids = held.runtime.record_all(items)
    if ids is None:
        held.meter.took(0, len(items))
        raise Problem(
            503,
            "journal",
            "the journal cannot be written: its disk is full, or the home is not writable",
            "Free some space on the server, then send the same request again: what was kept is not counted twice.",
            {"Retry-After": str(RETRY_S)},
        )
    held.meter.took(len(ids))
    return ids
