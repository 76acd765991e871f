"""`curl -d '{...}'` means JSON, though curl calls it a form when nobody says otherwise."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ratchet.serving.api.problems import HttpProblem

_FORM = "application/x-www-form-urlencoded"
_WITH_BODY = ("POST", "PUT")
_OF_BROWSERS = ("origin", "sec-fetch-site", "cookie", "referer")
"""What a browser sends along: from there a form is a form, and no page may pass one off as JSON."""


_LINES = ("/v1/memories/import",)
"""What takes lines, unless it is said to be JSON."""


_PACKED = ("/v1/traces", "/v1/logs", "/v1/metrics")
"""What unpacks its body. Elsewhere a packed one would be told to be no JSON, or an import of one bad line."""


class Habits:
    """ASGI middleware: a body for the API that is called a form, or nothing, by what is no browser, is JSON; a packed
    one is refused where nobody unpacks it."""

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
        if scope["type"] == "http" and scope["method"] in _WITH_BODY and path not in _PACKED:
            packed = Headers(scope=scope).get("content-encoding", "identity").strip().lower()
            if packed not in ("identity", ""):
                await _plain(packed).response(path)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _plain(packed: str) -> HttpProblem:
    return HttpProblem(
        415,
        "media-type",
        f"a body packed with {packed[:40]} is not read here",
        f"Send it without Content-Encoding; {', '.join(_PACKED)} take gzip.",
        {"Accept-Encoding": "identity"},
    )
