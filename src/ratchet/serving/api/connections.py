"""Connections of the server: how many may be open, and how long a request may take to arrive.

A socket costs its sender nothing and the server a descriptor: so each has a deadline until its request is whole, and
where there are too many the one that has been idle for longest makes room, and else the oldest of those that only
listen or do not read their answer: a listener comes back and goes on after the event that it saw last.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_S = 10.0
"""From the first byte (of a new connection: from its beginning) to the end of a request's headers."""
BODY_S = 30.0
"""Spans in which a body has to make progress."""
BODY_BYTES = 30_000
"""What must arrive in each: 1 kB a second, less than any network that is of use."""
MOST = 512
"""Connections open at once, event streams and pages among them; fewer where the process may open fewer files."""
_SHARE = 0.5  # of the open files that the process may have, and of the connections that one address may have
_SILENCE_S = 60.0
_KEPT = 256  # kinds of log lines that are remembered


class Room:
    """All open connections of one server."""

    def __init__(self, most: int = MOST, *, head_s: float = HEAD_S, body_s: float = BODY_S) -> None:
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.most = most if soft < 0 else max(8, min(most, int(soft * _SHARE)))
        self.each = max(4, int(self.most * _SHARE))
        """One address may have half: a reverse proxy, or all agents of this machine, are one address."""
        self.head_s = head_s
        self.body_s = body_s
        self._open: dict[Connection, str] = {}
        """Each connection's address, the oldest first."""
        self._counts: Counter[str] = Counter()

    def enter(self, connection: Connection, address: str) -> bool:
        """Take a place; where none is free an idle connection, of the same address if that has its share, gives way,
        else one that is half answered."""
        full = self._counts[address] >= self.each
        if full or len(self._open) >= self.most:
            crowded = address if full else max(self._counts, key=lambda each: self._counts[each])
            theirs = [each for each, its in self._open.items() if its == crowded]
            idle, half = filter(Connection.is_idle, theirs), filter(Connection.is_half_answered, theirs)
            oldest = next(idle, None) or next(half, None)
            if oldest is None:
                return False
            oldest.drop()
            self.leave(oldest)
        self._open[connection] = address
        self._counts[address] += 1
        return True

    def leave(self, connection: Connection) -> None:
        address = self._open.pop(connection, None)
        if address is not None:
            self._counts[address] -= 1
            self._counts += Counter()  # drops what is at zero

    def protocol(self) -> type[Connection]:
        """The protocol class that uvicorn makes a connection's with."""
        return cast("type[Connection]", type("RoomedConnection", (Connection,), {"room": self}))


class Connection(H11Protocol):
    """One connection, which is closed when its request does not arrive in time."""

    room: Room
    _phase = ""
    _due: asyncio.TimerHandle | None = None
    _received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self.room.enter(self, self.client[0] if self.client else ""):
            transport.write(_said(503, "Service Unavailable", "Retry-After: 5"))
            transport.close()
            return
        self._arm("head", self.room.head_s)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._received += len(data)
        super().data_received(data)
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arm("", 0)
        self.room.leave(self)
        super().connection_lost(exc)

    def is_idle(self) -> bool:
        """Tell whether no whole request is being answered."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        return self._phase != "" or cycle is None or cycle.response_complete

    def is_half_answered(self) -> bool:
        """Tell whether an answer has begun and not ended: a stream of events, or one whose reader does not read."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and cycle.response_started and not cycle.response_complete

    def drop(self) -> None:
        """Close at once, without waiting for what the other side has not read."""
        self.transport.abort()

    def _follow(self) -> None:
        phase = {h11.IDLE: "head", h11.SEND_BODY: "body"}.get(self.conn.their_state, "")
        if phase != self._phase:
            self._arm(phase, self.room.head_s if phase == "head" else self.room.body_s)

    def _arm(self, phase: str, after_s: float) -> None:
        if self._due is not None:
            self._due.cancel()
        self._phase, self._received = phase, 0
        self._due = self.loop.call_later(after_s, self._late) if phase else None

    def _late(self) -> None:
        if self._phase == "body" and (self._received >= BODY_BYTES or self.flow.read_paused):
            self._arm("body", self.room.body_s)  # it comes, or it is we who do not read
        elif self._phase == "head" and self.conn.trailing_data[0]:
            self.transport.write(_said(408, "Request Timeout"))
            self.transport.close()
        else:
            self.drop()


def _said(status: int, reason: str, *headers: str) -> bytes:
    lines = (f"HTTP/1.1 {status} {reason}", "Connection: close", "Content-Length: 0", *headers, "", "")
    return "\r\n".join(lines).encode("ascii")


class Seldom(logging.Filter):
    """Let a log line through once a minute, since what is refused a thousand times a second would fill a disk."""

    def __init__(self, silence_s: float = _SILENCE_S, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._silence_s = silence_s
        self._clock = clock
        self._last: dict[tuple[str, str], float] = {}
        self._withheld: Counter[tuple[str, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        raised = record.exc_info[1] if record.exc_info else None
        key = (record.getMessage().partition("\n")[0][:200], f"{type(raised).__name__} {raised}"[:200])
        now = self._clock()
        if now - self._last.get(key, -self._silence_s) < self._silence_s:
            self._withheld[key] += 1
            return False
        if len(self._last) >= _KEPT:
            self._last.clear()
            self._withheld.clear()
        self._last[key] = now
        withheld = self._withheld.pop(key, 0)
        if withheld:
            record.msg, record.args = f"{record.getMessage()} ({withheld:,} more were not logged)", ()
        return True


@contextmanager
def quiet() -> Iterator[None]:
    """Put `Seldom` on the loggers that speak of connections, within the block."""
    seldom = Seldom()
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
    for each in loggers:
        each.addFilter(seldom)
    try:
        yield
    finally:
        for each in loggers:
            each.removeFilter(seldom)
