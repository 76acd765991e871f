"""The MCP server of this app, at /mcp (streamable HTTP): the same tokens, without sessions, so that any server of a
store answers any request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ratchet.registry import adding
from ratchet.serving.api.problems import HttpProblem
from ratchet.serving.api.roots import allowed
from ratchet.serving.api.serving import Served

PATH = "/mcp"


class Agents:
    """Answers agents while it is `open`; without the extra `mcp` it says how to get it."""

    def __init__(self, held: Served) -> None:
        self._held = held
        self._handle: ASGIApp | None = None

    @property
    def route(self) -> Route:
        """Return the route. Not in the OpenAPI document: MCP describes itself."""
        return Route(PATH, endpoint=self, methods=["GET", "POST", "DELETE"], include_in_schema=False)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Serve as long as this is entered. Once."""
        if find_spec("mcp") is None:
            yield
            return
        from mcp.server.transport_security import TransportSecuritySettings

        from ratchet.serving.mcp.server import create
        from ratchet.serving.mcp.tasktools import Place

        held = self._held
        place = Place(allowed=lambda folder: allowed(folder, held), wake=held.wake_workers)
        server = create(held.runtime, lambda: place)
        server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            max_request_body_size=held.serving.body_bytes,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # `Gate` sees to it
        )
        async with server.session_manager.run():
            self._handle = server.session_manager.handle_request
            yield
            self._handle = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._handle is None:
            raise HttpProblem(503, "backend", "there is no MCP server here", f"On the server: {adding('mcp')}.")
        await self._handle(scope, receive, send)
