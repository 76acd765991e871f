"""Every request is counted and leaves one structured line, without secrets."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ratchet.failures.redaction.text import clean
from ratchet.serving.api.meter import Meter

log = logging.getLogger(__name__)


class Watching:
    """ASGI middleware around all others."""

    def __init__(self, app: ASGIApp, meter: Meter) -> None:
        self._app = app
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", []).extend(_HEADERS)
                self._note(scope, int(message["status"]), time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, noted)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("route")
        pattern = str(getattr(route, "path", "")) or "other"
        method = str(scope["method"]) if scope["method"] in _METHODS else "other"  # anybody may make up one
        self._meter.served(method, pattern, status, seconds)
        caller = scope.get("state", {}).get("caller")
        log.info(
            "request.served",
            extra={
                "method": method,
                "path": clean(str(scope["path"]), 300),
                "status": status,
                "ms": round(seconds * 1e3, 2),
                "caller": getattr(caller, "name", ""),
            },
        )


_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"))
# What a browser must not do with our answers, whatever it takes them for.
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # without one a form of our own pages would come from "null"
    (b"x-frame-options", b"DENY"),
]
