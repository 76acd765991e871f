"""HEAD wherever there is GET: a link checker, a probe of a load balancer and `curl -I` ask so (RFC 9110, 9.3.2)."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ENDLESS = "/sse"
_FOREIGN = "/mcp"  # describes itself, and answers HEAD by itself


def has_end(path: str) -> bool:
    """Tell whether what stands at a path is an answer with an end: an endless stream has no HEAD."""
    return not path.endswith(_ENDLESS)


class Heads:
    """ASGI middleware: HEAD is answered as GET is. The server leaves the body out, whoever asked that way."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        if scope["type"] != "http" or scope["method"] != "HEAD" or not has_end(path) or path == _FOREIGN:
            await self._app(scope, receive, send)
            return
        asked = {**scope, "method": "GET"}

        async def sent(message: Message) -> None:
            if "route" in asked:  # for who counts requests by their route
                scope["route"] = asked["route"]
            await send(message)

        await self._app(asked, receive, sent)
