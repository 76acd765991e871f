"""The timeline as it grows: one reader of the store, any number of listeners."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from ratchet.errors import RatchetError
from ratchet.ports import Changes
from ratchet.records import Row
from ratchet.serving.api.hearing import hearing

log = logging.getLogger(__name__)

POLL_S = 2.0
"""How often the store is asked while somebody listens and nothing was heard: only what was lost waits so long."""
GATHER_S = 0.05
"""How long what is heard is gathered before the store is asked: a burst of writes costs some looks, not one each."""
OVERLAP_S = 30.0
"""How far back each look goes: an event is dated when it is written, and seen when its transaction ends."""
_KEPT = 2_000  # events that a returning listener is given from memory
_BEHIND = 1_000  # events that a listener may be behind, before it is cut off and has to come back
Reader = Callable[[float], Sequence[Row]]
"""Events from a moment (Unix seconds) on, in order."""


@dataclass(eq=False)
class Listener:
    """One stream's share of the feed. `None` ends it."""

    wants: Callable[[Row], bool]
    queue: asyncio.Queue[Row | None] = field(default_factory=lambda: asyncio.Queue(_BEHIND))

    def give(self, event: Row | None) -> bool:
        """Hand it over; False when the listener is too far behind."""
        try:
            self.queue.put_nowait(event)
        except asyncio.QueueFull:
            return False
        return True


class Feed:
    """Fans the store's events out. Lives in one event loop."""

    def __init__(self, read: Reader, *, changes: Callable[[], Changes] | None = None, poll_s: float = POLL_S) -> None:
        self._read = read
        self._changes = changes
        self._poll_s = poll_s
        self._listeners: list[Listener] = []
        self._recent: deque[Row] = deque(maxlen=_KEPT)
        self._known: OrderedDict[str, float] = OrderedDict()
        self._since = 0.0
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._beginning = asyncio.Lock()  # who comes while the first look is under way must not look again
        self.closed = False
        self.down = ""
        """Why the store cannot be read now; "" while it can."""

    @property
    def listening(self) -> int:
        """Count of open streams."""
        return len(self._listeners)

    @asynccontextmanager
    async def listen(self, wants: Callable[[Row], bool] = lambda _event: True) -> AsyncIterator[Listener]:
        """A listener to all that is wanted from now on."""
        listener = Listener(wants)
        if self.closed:
            listener.give(None)
        self._listeners.append(listener)
        try:
            async with self._beginning:
                await self._begin()
            yield listener
        finally:
            self._listeners.remove(listener)

    async def _begin(self) -> None:
        """Start to read, unless that is done already."""
        if self._task is not None or self.closed:
            return
        self._since = time.time()
        self._known.clear()
        self._recent.clear()  # what happened while nobody listened is missing in it
        await self._look(first=True)
        if not self.closed:
            self._task = asyncio.create_task(self._run(), name="ratchet-feed")

    def recent_after(self, event_id: str) -> list[Row] | None:
        """Return what was handed out after an event, in that order; None when it is not remembered."""
        held = list(self._recent)
        for index, event in enumerate(held):
            if event["id"] == event_id:
                return held[index + 1 :]
        return None

    def tell(self, event: Row) -> None:
        """Hand out something that no record keeps (without an id). Call it in the loop's thread."""
        self._hand_out(event)

    def wake(self) -> None:
        """Look at once. Call it in the loop's thread."""
        self._wake.set()

    def close(self) -> None:
        """End all streams."""
        self.closed = True
        for listener in list(self._listeners):
            while not listener.give(None):
                listener.queue.get_nowait()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        async with nullcontext() if self._changes is None else hearing(self._changes, self.wake):
            while self._listeners and not self.closed:
                with suppress(TimeoutError):  # nobody woke it: look anyway
                    await asyncio.wait_for(self._wake.wait(), self._poll_s)
                    await asyncio.sleep(GATHER_S)
                self._wake.clear()
                await self._look(first=False)
        self._task = None

    async def _look(self, *, first: bool) -> None:
        """Read what is new. The first look only learns what there is already."""
        try:
            events = await run_in_threadpool(self._read, self._since - OVERLAP_S)
        except RatchetError as error:
            if not self.down:
                log.warning("feed.down", extra={"why": str(error)})
                self._hand_out({"noun": "store", "verb": "down"})
            self.down = str(error)
            return
        if self.down:
            self.down = ""
            self._hand_out({"noun": "store", "verb": "up"})
        for event in events:
            name, at = str(event["id"]), float(str(event["at"]))
            if name in self._known:
                continue
            self._known[name] = at
            self._since = max(self._since, min(at, time.time()))
            if not first:
                self._recent.append(event)
                self._hand_out(event)
        self._forget()

    def _forget(self) -> None:
        """Events that no look will see again need not be known any more."""
        before = self._since - 2 * OVERLAP_S
        for name in [name for name, at in self._known.items() if at < before]:
            del self._known[name]

    def _hand_out(self, event: Row) -> None:
        for listener in list(self._listeners):
            if listener.wants(event) and not listener.give(event):
                log.warning("listener.behind")
                while not listener.give(None):
                    listener.queue.get_nowait()
