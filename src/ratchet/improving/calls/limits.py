"""Limit how many calls run at once and start a minute in this process: shared by threads and event loops."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable

from ratchet.improving.calls.breaker import Breakers

BURST_S = 1.0
"""How much unused rate may be caught up at once."""


class Slots:
    """Calls in flight. The limit comes with each request, since it is a live setting and may differ between arms.

    First come, first served among those that wait; a limit of None lets everyone in and is counted all the same.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._waiting: deque[tuple[int, Callable[[], bool]]] = deque()
        self.in_flight = 0

    def enter(self, limit: int | None) -> None:
        """Wait for a slot and take it. Leave it with `leave`."""
        turn = threading.Event()

        def wake() -> bool:
            turn.set()
            return True

        if not self._entered(limit, wake):
            try:
                turn.wait()
            except BaseException:  # interrupted (Ctrl-C) while waiting
                self._give_up(wake, taken=turn.is_set)
                raise

    async def enter_async(self, limit: int | None) -> None:
        """The same for asyncio; a cancelled wait takes no slot."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        granted = threading.Event()

        def wake() -> bool:
            granted.set()
            try:
                loop.call_soon_threadsafe(_done, turn)
            except RuntimeError:  # that loop is closed: nobody waits there any more
                granted.clear()
                return False
            return True

        if not self._entered(limit, wake):
            try:
                await turn
            except BaseException:
                self._give_up(wake, taken=granted.is_set)
                raise

    def leave(self) -> None:
        """Give the slot back."""
        with self._lock:
            self.in_flight = max(0, self.in_flight - 1)  # a call that forked leaves twice
            while self._waiting and self.in_flight < self._waiting[0][0]:
                _, wake = self._waiting.popleft()
                self.in_flight += wake()

    def _entered(self, limit: int | None, wake: Callable[[], bool]) -> bool:
        if self._pid != os.getpid():  # a forked child has none of its parent's threads, which would never leave
            self._begin()
        with self._lock:
            if limit is None or (self.in_flight < limit and not self._waiting):
                self.in_flight += 1
                return True
            self._waiting.append((limit, wake))
            return False

    def _give_up(self, wake: Callable[[], bool], *, taken: Callable[[], bool]) -> None:
        with self._lock:
            self._waiting = deque(each for each in self._waiting if each[1] is not wake)
            gone = taken()
        if gone:  # the slot came in the very moment
            self.leave()


def _done(turn: asyncio.Future[None]) -> None:
    if not turn.done():  # cancelled meanwhile
        turn.set_result(None)


class CallPace:
    """Starts per minute, as a token bucket that holds one second's worth and at least one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._next_at = 0.0

    def reserve(self, calls_per_minute: float | None, now: float) -> float:
        """Take the next place and return the seconds to wait for it. `now` is monotonic seconds.

        As "virtual scheduling" of the generic cell rate algorithm (ITU-T I.371, annex A): one number of state.
        """
        if calls_per_minute is None:
            return 0.0
        if self._pid != os.getpid():  # forked while another thread held it
            self._lock, self._pid = threading.Lock(), os.getpid()
        spacing_s = 60.0 / calls_per_minute
        slack_s = max(0.0, BURST_S - spacing_s)
        with self._lock:
            due = max(self._next_at, now)
            self._next_at = due + spacing_s
        return max(0.0, due - slack_s - now)


class CallLimits:
    """Limits shared by all calls of one agent in this process, through whichever handle they are made."""

    def __init__(self) -> None:
        self.slots = Slots()
        self.pace = CallPace()
        self.breakers = Breakers()
        self.told: set[str] = set()
        """Reasons for not repeating a call that have been logged: each once."""
