"""Bounds of what a server may cost: seconds and bytes of one question, and seconds of all questions of one operation.

A timeout of a socket bounds the wait for the next byte, so a server that sends one each second is waited for without
end. Here every read of a connection looks at one clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from socket import socket

    from redis.connection import AbstractConnection

ANSWER_BYTES = 1 << 26
"""Bytes of one question's answers at most: the ids of 1.4 million lessons."""


class Bounds(threading.local):
    """The rest that is left to each thread, of this question and of the operation that it is part of."""

    ends_at = inf
    bytes_left: float = inf
    operation_s = inf
    spent_s = 0.0
    """Seconds for which the server was waited for in this operation, or in this question outside of one."""

    @contextmanager
    def operation(self, seconds: float) -> Iterator[None]:
        """Let all questions herein take so many seconds together. The innermost counts."""
        before = self.operation_s, self.spent_s
        self.operation_s, self.spent_s = seconds, 0.0
        try:
            yield
        finally:
            self.operation_s, self.spent_s = before

    @contextmanager
    def question(self, seconds: float) -> Iterator[None]:
        """Let what is asked herein take so many seconds, and `ANSWER_BYTES`. Raises TimeoutError where the operation
        has none left."""
        if self.operation_s == inf:
            self.spent_s = 0.0
        left = min(seconds, self.operation_s - self.spent_s)
        if left <= 0:
            raise TimeoutError("its answers took too long together")
        began = time.monotonic()
        self.ends_at, self.bytes_left = began + left, ANSWER_BYTES
        try:
            yield
        finally:
            self.ends_at = self.bytes_left = inf
            self.spent_s += time.monotonic() - began

    def left_s(self) -> float:
        """Seconds until the question ends. Raises TimeoutError."""
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError("its answer took too long")
        return left

    def read(self, size: int) -> None:
        """Count bytes that came. Raises ConnectionAbortedError for too many."""
        self.bytes_left -= size
        if self.bytes_left < 0:
            raise ConnectionAbortedError(f"its answer is larger than {ANSWER_BYTES >> 20} MB")


class BoundedSocket:
    """A socket whose reads and writes end with the question; all else is the socket's."""

    def __init__(self, inner: socket, bounds: Bounds) -> None:
        self._inner = inner
        self._bounds = bounds

    def recv(self, size: int) -> bytes:
        with self._within():
            found = self._inner.recv(size)
        self._bounds.read(len(found))
        return found

    def sendall(self, data: bytes) -> None:
        with self._within():
            self._inner.sendall(data)

    @contextmanager
    def _within(self) -> Iterator[None]:
        left, own = self._bounds.left_s(), self._inner.gettimeout()
        if left == inf or (own is not None and own <= left):
            yield
            return
        self._inner.settimeout(left)
        try:
            yield
        finally:
            self._inner.settimeout(own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def bounded(kind: type[AbstractConnection], bounds: Bounds) -> type[AbstractConnection]:
    """This kind of connection, which ends with the question. (TLS greets within the timeout of the connection.)"""

    class Bounded(kind):  # type: ignore[misc]
        def _connect(self) -> BoundedSocket:
            bounds.left_s()
            return BoundedSocket(super()._connect(), bounds)

    return Bounded
