"""Server-sent events: ids, resumption by Last-Event-ID, heartbeats, and streams that end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated

from fastapi import Header
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool

from ratchet.errors import NotFound
from ratchet.recording import wire
from ratchet.records import Row
from ratchet.serving.api.serving import Served
from ratchet.serving.shapes.shape import json_of
from ratchet.serving.shapes.tasks import EventShape

LastEventId = Annotated[
    str | None,
    Header(max_length=200, description="The id of the last event that was seen: the stream goes on after it."),
]
RETRY_MS = 2_000
"""How long a browser waits before it comes back."""
_REMEMBERED = 10_000  # ids: more than happens while the store is read, and a stream may be open for weeks
_FIRST = "0"  # the id before all events: no event has it, so a stream that names it begins as a new one
_FAREWELL_S = 2.0  # for a stream to end by itself, which the feed makes it do at once

_EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string"},
        "data": {"type": "string"},
        "retry": {"type": "integer"},
    },
}
STREAM: dict[int | str, dict[str, object]] = {
    200: {
        "description": "Events as they happen: `id`, `event` (its noun) and `data` (JSON) each",
        "content": {"text/event-stream": {"schema": _EVENT}},
    }
}


class _Sent:
    """The ids that a stream has sent lately: what happens while it reads the store comes from the feed once more."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def __contains__(self, event_id: object) -> bool:
        return event_id in self._ids

    def add(self, event_id: str) -> None:
        self._ids[event_id] = None
        if len(self._ids) > _REMEMBERED:
            del self._ids[next(iter(self._ids))]


def stream(
    held: Served,
    last_id: str | None,
    *,
    wants: Callable[[Row], bool] = lambda _event: True,
    before: Callable[[], list[Row]] = list,
    ended: Callable[[], bool] = lambda: False,
) -> EventSourceResponse:
    """A stream of events. It begins with what came after `last_id`, else with `before`, and ends with what it is about
    (`ended` is asked after each event), or with the server."""

    async def events() -> AsyncIterator[ServerSentEvent]:
        async with held.feed.listen(wants) as listener:
            sent = _Sent()
            last = last_id
            missed = await run_in_threadpool(_missed, held, last, wants, before)
            async for row in iterate_in_threadpool(missed):
                last = str(row["id"])
                sent.add(last)
                yield _sse(row)
            while not await run_in_threadpool(ended):
                row_or_end = await listener.queue.get()
                if row_or_end is None:
                    return
                if row_or_end.get("id") not in sent:
                    yield _sse(row_or_end, last)
                if row_or_end.get("id") is not None:
                    last = str(row_or_end["id"])
                    sent.add(last)
            # Its end may be seen before the feed has handed out what led to it.
            rest = await run_in_threadpool(_stored, held, last, wants, before)
            async for row in iterate_in_threadpool(rest):
                if str(row["id"]) not in sent:
                    yield _sse(row)
                last = str(row["id"])
            yield ServerSentEvent(id=last or _FIRST, event="end", data="{}")

    return EventSourceResponse(
        events(),
        ping=held.serving.heartbeat_s,
        shutdown_grace_period=_FAREWELL_S,
        ping_message_factory=lambda: ServerSentEvent(comment="alive"),
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _missed(
    held: Served, last_id: str | None, wants: Callable[[Row], bool], before: Callable[[], list[Row]]
) -> Iterator[Row]:
    """Return what a stream begins with. Where the last event is not known any more it begins as if it were new."""
    remembered = held.feed.recent_after(last_id) if last_id else None
    if remembered is None:
        return _stored(held, last_id, wants, before)
    return filter(wants, remembered)


def _stored(
    held: Served, last_id: str | None, wants: Callable[[Row], bool], before: Callable[[], list[Row]]
) -> Iterator[Row]:
    """Return what the store has after an event; `before` where there is none, or it is not known."""
    if not last_id:
        return iter(before())
    try:
        return filter(wants, held.runtime.timeline.after(last_id))
    except NotFound:
        return iter(before())


def _sse(row: Row, last: str | None = None) -> ServerSentEvent:
    """Spell an event. One that is not stored (the store is down) has the id of the `last` before it, after
    which a client that comes back goes on."""
    has_id = row.get("id") is not None
    return ServerSentEvent(
        id=str(row["id"]) if has_id else last or _FIRST,
        event=str(row.get("noun") or "event"),
        data=wire.written(json_of(EventShape.built(row)) if has_id else row),
        retry=RETRY_MS,
    )
