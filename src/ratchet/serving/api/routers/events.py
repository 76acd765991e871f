"""The timeline of everything, as it grows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sse_starlette import EventSourceResponse

from ratchet.serving.api.access import Needs
from ratchet.serving.api.serving import Shared
from ratchet.serving.api.streams import STREAM, LastEventId, stream

router = APIRouter(prefix="/v1/events", tags=["events"], dependencies=[Depends(Needs("read"))])


@router.get("/sse", response_class=EventSourceResponse, responses=STREAM)
async def events(
    held: Shared,
    last_event_id: LastEventId = None,
    noun: Annotated[list[str] | None, Query(description="Only of these: lesson, trial, episode, ...")] = None,
) -> EventSourceResponse:
    """Every record that changes state, as it does; and `outcome` with a count, as outcomes arrive in the store."""
    wanted = frozenset(noun or ())
    return stream(held, last_event_id, wants=lambda row: not wanted or row.get("noun") in wanted)
