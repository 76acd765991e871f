"""Half a letter in a body of JSON costs that letter, not the body (see `halfletters`)."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ratchet.recording.surrogates import mended


class Letters:
    """ASGI middleware: bodies are read whole, as every route reads them, and mended."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("POST", "PUT") or _is_binary(scope):
            await self._app(scope, receive, send)
            return
        read = False

        async def whole() -> Message:
            nonlocal read
            if read:
                return await receive()
            read = True
            parts: list[bytes] = []
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return message
                parts.append(message.get("body", b""))
                if not message.get("more_body"):
                    return {"type": "http.request", "body": mended(b"".join(parts)), "more_body": False}

        await self._app(scope, whole, send)


def _is_binary(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    packed = headers.get("content-encoding", "identity").strip().lower() not in ("identity", "")
    return packed or "protobuf" in headers.get("content-type", "")
