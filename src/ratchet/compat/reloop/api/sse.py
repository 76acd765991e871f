"""Puts events on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ratchet.compat.reloop.core.timeline import TimelineManager
from ratchet.compat.reloop.models import TimelineEvent


def format_sse_event(event: TimelineEvent) -> dict[str, str]:
    """An event as sse-starlette takes it. It bears no name: `EventSource.onmessage` hears only such."""
    return {"data": event.model_dump_json(), "id": event.id}


async def create_event_stream(timeline: TimelineManager, task_id: str) -> AsyncIterator[dict[str, str]]:
    """A task's events, until it has ended."""
    async for event in timeline.subscribe(task_id):
        yield format_sse_event(event)
