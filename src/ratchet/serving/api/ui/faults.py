"""Problems as pages, for whoever looks with a browser: the same status in words, or the login where that is missing."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ratchet.serving.api.problems import MEDIA_TYPE
from ratchet.serving.api.ui.asking import here
from ratchet.serving.api.ui.rendering import drawn


class ProblemPages:
    """ASGI middleware: turns the problem of a page into a page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_page(scope):
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = b""

        async def sent(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _is_problem(message):
                start = message
            elif start is None:
                await send(message)
            elif message["type"] == "http.response.body":
                body += message.get("body", b"")
                if not message.get("more_body"):
                    await _page(Request(scope), start, json.loads(body))(scope, receive, send)

        await self._app(scope, receive, sent)


def _is_page(scope: Scope) -> bool:
    path = str(scope["path"])
    return (path in ("/", "/ui") or path.startswith("/ui/")) and "text/html" in Headers(scope=scope).get("accept", "")


def _is_problem(message: Message) -> bool:
    return Headers(raw=message["headers"]).get("content-type", "").startswith(MEDIA_TYPE)


def _page(request: Request, start: Message, problem: dict[str, Any]) -> ASGIApp:
    status = int(start["status"])
    if status == 401:
        page = drawn(request, "login.html", status, wrong="", to=here(request) if request.method == "GET" else "/")
    else:
        said = {name: str(problem.get(name, "")) for name in ("title", "detail", "remedy")}
        page = drawn(request, "problem.html", status, **said)
    wait = Headers(raw=start["headers"]).get("retry-after")
    if wait is not None:
        page.headers["Retry-After"] = wait
    return page
