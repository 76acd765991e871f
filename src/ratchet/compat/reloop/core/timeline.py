"""Keeps what happened to tasks, and tells it to those who listen."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator

from ratchet.compat.reloop.models import Object, TimelineEvent, TimelineEventType

_MOST_EVENTS = 10_000  # of one task


class TimelineManager:
    """The events of this process's tasks, for one asyncio loop. Ratchet's own timeline outlives it."""

    def __init__(self) -> None:
        self._events: dict[str, list[TimelineEvent]] = defaultdict(list)
        self._listening: dict[str, list[asyncio.Queue[TimelineEvent | None]]] = defaultdict(list)

    def emit(
        self,
        task_id: str,
        event_type: TimelineEventType,
        attempt_number: int = 0,
        step_number: int = 0,
        data: Object | None = None,
        message: str = "",
    ) -> TimelineEvent:
        """Tell of something that happened."""
        event = TimelineEvent(
            task_id=task_id,
            event_type=event_type,
            attempt_number=attempt_number,
            step_number=step_number,
            data=data or {},
            message=message,
        )
        kept = self._events[task_id]
        kept.append(event)
        del kept[:-_MOST_EVENTS]
        for queue in self._listening[task_id]:
            queue.put_nowait(event)
        return event

    def get_timeline(self, task_id: str) -> list[TimelineEvent]:
        """A task's events in order."""
        return [*self._events.get(task_id, ())]

    async def subscribe(self, task_id: str) -> AsyncIterator[TimelineEvent]:
        """A task's events, those that were and those to come, until its listeners are closed."""
        queue: asyncio.Queue[TimelineEvent | None] = asyncio.Queue()
        self._listening[task_id].append(queue)
        try:
            for event in self.get_timeline(task_id):
                yield event
            while (told := await queue.get()) is not None:
                yield told
        finally:
            self._listening[task_id].remove(queue)

    def close_subscribers(self, task_id: str) -> None:
        """End the streams of a task."""
        for queue in self._listening[task_id]:
            queue.put_nowait(None)
