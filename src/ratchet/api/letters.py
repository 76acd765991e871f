"""Half a letter in a body of JSON costs that letter, not the body.

Whoever cuts a text in JavaScript may cut a letter in two, and `JSON.stringify` writes the half as `\\ud83d` (ECMA-262,
25.5.2.3). No UTF-8 holds it, so a strict reader refuses all that stands around it: a batch of 500 outcomes.
"""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALVES = re.compile(  # an even number of backslashes before it: else its own one is a letter
    rb"(?<!\\)((?:\\\\)*)" + _HIGH + rb"(?!" + _LOW + rb")|(?<!\\)(?<!" + _HIGH + rb")((?:\\\\)*)" + _LOW
)
_UNKNOWN = rb"\1\2\\ufffd"


def mended(body: bytes) -> bytes:
    """JSON with U+FFFD in the place of each half letter; anything else as it is."""
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return _HALVES.sub(_UNKNOWN, body)


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
