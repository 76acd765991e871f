"""`curl -d '{...}'` means JSON, though curl calls it a form when nobody says otherwise."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

_FORM = "application/x-www-form-urlencoded"
_WITH_BODY = ("POST", "PUT")
_OF_BROWSERS = ("origin", "sec-fetch-site", "cookie", "referer")
"""What a browser sends along: from there a form is a form, and no page may pass one off as JSON."""


_LINES = ("/v1/memories/import",)
"""What takes lines, unless it is said to be JSON."""


class Habits:
    """ASGI middleware: a body for the API that is called a form, or nothing, by what is no browser, is JSON."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        if scope["type"] == "http" and path.startswith("/v1/") and path not in _LINES and scope["method"] in _WITH_BODY:
            headers = Headers(scope=scope)
            plain = headers.get("content-type", _FORM).partition(";")[0].strip().lower() == _FORM
            if plain and not any(name in headers for name in _OF_BROWSERS):
                others = [pair for pair in scope["headers"] if pair[0].lower() != b"content-type"]
                # In place: who counts requests looks for the route in this very scope.
                scope["headers"] = [*others, (b"content-type", b"application/json")]
        await self._app(scope, receive, send)
