"""Host and Origin: a page of another site can neither read this server nor make it do anything.

DNS rebinding points a stranger's name at this machine; then the Host header tells (421). A page of another site that
sends requests here says so in Origin, or in Sec-Fetch-Site (403).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ratchet.serving.api.problems import HttpProblem

LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


_AUTHORITY = re.compile(r"(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9_.-]{1,253}))(?::[0-9]{0,5})?")
"""`host[:port]` (RFC 9110, 7.2): neither a person's name before it nor a path, a query or a fragment behind."""


def name_of(netloc: str) -> str:
    """The host of `host:port`, in lower case and without brackets; "" for what is none."""
    found = _AUTHORITY.fullmatch(netloc)
    return (found[1] or found[2]).lower().rstrip(".") if found else ""


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches a server on this host."""
    if host == "localhost":
        return True
    return is_address(host) and ipaddress.ip_address(host).is_loopback


class Gate:
    """ASGI middleware: only requests to one of our names, and from our own pages.

    `hosts` are names under which this server is reached. On a loopback address those are the machine's own; elsewhere
    any IP address counts besides, since an address cannot be rebound. `origins` are other sites that may ask.
    """

    def __init__(self, app: ASGIApp, *, hosts: Collection[str], addresses: bool, origins: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts) | LOOPBACK
        self._addresses = addresses
        self._origins = frozenset(each.rstrip("/").lower() for each in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = self._host(headers) or self._origin(headers, str(scope.get("method", "GET")))
        if problem is not None:
            await problem.response(str(scope["path"]))(scope, receive, send)
            return
        origin = headers.get("origin", "")
        if origin.lower() not in self._origins:
            await self._app(scope, receive, send)
        elif scope.get("method") == "OPTIONS" and "access-control-request-method" in headers:
            await Response(status_code=204, headers={**_READABLE, **_ALLOWED, _ALLOW: origin})(scope, receive, send)
        else:
            await self._app(scope, receive, _readable_by(origin, send))

    def _host(self, headers: Headers) -> HttpProblem | None:
        given = headers.getlist("host")
        name = name_of(given[0]) if len(given) == 1 else ""
        if name in self._hosts or (self._addresses and is_address(name)):
            return None
        return HttpProblem(
            421,
            "host",
            f"this server is not {name or 'that'}",
            "Use the address that `ratchet serve` printed, or start it with --allow-host NAME.",
        )

    def _origin(self, headers: Headers, method: str) -> HttpProblem | None:
        """A browser sends Origin with whatever another site can ask for, but for plain GETs, where it sends
        Sec-Fetch-Site; a link that a person follows is a navigation and does nothing."""
        given = headers.getlist("origin")
        if given:
            same = len(given) == 1 and self._is_ours(given[0].lower(), headers.get("host", "").lower())
        else:
            foreign = headers.get("sec-fetch-site", "none") in ("cross-site", "same-site")
            followed = headers.get("sec-fetch-mode") == "navigate" and method in ("GET", "HEAD")
            same = not foreign or followed
        if same:
            return None
        return HttpProblem(
            403,
            "origin",
            "this request comes from a page of another site",
            "Open Ratchet's own page, or start the server with --allow-origin URL.",
        )

    def _is_ours(self, origin: str, host: str) -> bool:
        if origin in self._origins:
            return True
        scheme, _, netloc = origin.partition("://")
        return scheme in ("http", "https") and bool(host) and netloc == host


# What the browser of a page of a site that may ask has to be told (CORS), or it asks nothing but plain forms, and
# hands over no answer. Cookies are not among it: such a page sends a token of its own.
_ALLOW = "Access-Control-Allow-Origin"
_READABLE = {"Vary": "Origin", "Access-Control-Expose-Headers": "ETag, Location, Retry-After"}
_ALLOWED = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, DELETE",
    "Access-Control-Allow-Headers": (
        "Authorization, Content-Type, Content-Encoding, If-Match, If-None-Match, Last-Event-ID, "
        "Mcp-Protocol-Version, Mcp-Session-Id"
    ),
    "Access-Control-Max-Age": "600",
}


def _readable_by(origin: str, send: Send) -> Send:
    """`send` for an answer that a page of this origin may read."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers[_ALLOW] = origin
            headers.add_vary_header("Origin")
            headers["Access-Control-Expose-Headers"] = _READABLE["Access-Control-Expose-Headers"]
        await send(message)

    return sent
