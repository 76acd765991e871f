"""Limit how much a caller may send: bytes of a body, and requests a second."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ratchet.serving.api.access import Caller
from ratchet.serving.api.problems import HttpProblem

_CLIENTS = 4_096  # callers whose pace is remembered; the one that was silent for longest is forgotten
_BURST_S = 2.0  # seconds' worth of requests that may come at once: a page loads its parts together


class Body:
    """ASGI middleware: a body of more than `most_bytes` is refused, whether or not its length was told."""

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        self._app = app
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        told = Headers(scope=scope).get("content-length", "")
        if told.isdecimal() and int(told) > self._most_bytes:
            await self._problem().response(str(scope["path"]))(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._most_bytes:
                raise self._problem()
            return message

        await self._app(scope, counted, send)

    def _problem(self) -> HttpProblem:
        return HttpProblem(
            413,
            "too-large",
            f"the body is larger than {self._most_bytes:,} bytes",
            "Send it in several smaller requests.",
            {"Connection": "close"},
        )


class Pace:
    """ASGI middleware: each caller (by its token, else by its address) has so many requests a second."""

    def __init__(self, app: ASGIApp, per_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._per_s = per_s
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wait_s = self._wait_s(_who(scope)) if scope["type"] == "http" and self._per_s > 0 else 0.0
        if wait_s > 0:
            problem = HttpProblem(
                429,
                "too-many",
                f"more than {self._per_s:g} requests a second",
                "Wait as long as Retry-After says; send outcomes in batches.",
                {"Retry-After": str(math.ceil(wait_s))},
            )
            await problem.response(str(scope["path"]))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _wait_s(self, who: str) -> float:
        """Token bucket: 0 when the request may pass, else how long until one may."""
        now, most = self._clock(), self._per_s * _BURST_S
        left, at = self._left.pop(who, (most, now))
        left = min(most, left + (now - at) * self._per_s)
        allowed = left >= 1.0
        self._left[who] = (left - 1.0 if allowed else left, now)
        if len(self._left) > _CLIENTS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1.0 - left) / self._per_s


def _who(scope: Scope) -> str:
    caller: Caller | None = scope.get("state", {}).get("caller")
    client = scope.get("client")
    address = str(client[0]) if client else ""
    return f"token {caller.name}" if caller is not None and caller != Caller() else f"address {address}"
