"""Calls one tool of an MCP server: work is its arguments, what it says the result."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ratchet.errors import Refused
from ratchet.registry import adding
from ratchet.team.hands.inline import failure_reply
from ratchet.team.hands.reply import WorkerReply, WorkRequest, reply_of

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp.types import CallToolResult


class McpHands:
    """One connection, kept open by a task of its own: a client is entered and left by the same task. After an error of
    the connection the next call opens another."""

    def __init__(self, server: str | Sequence[str], tool: str) -> None:
        if find_spec("mcp") is None:
            raise Refused(f"a worker over MCP needs the extra `mcp`, which is not installed: {adding('mcp')}")
        self._server, self._tool = server, tool
        self._keeping: asyncio.Task[None] | None = None
        self._client: asyncio.Future[Client] | None = None
        self._over = asyncio.Event()

    async def do(self, request: WorkRequest) -> WorkerReply:
        given = request.task.work
        arguments = given if isinstance(given, dict) else {} if given is None else {"task": given}
        try:
            client = await self._connected()
            request.begun()
            said = await client.call_tool(self._tool, arguments, read_timeout_seconds=request.task.timeout_s)
        except Exception as error:  # noqa: BLE001  (the edge to another program)
            await self.close()
            reply = failure_reply(error)
            return replace(reply, sick=True, reported=False)
        text = _said(said)
        if said.is_error:
            return WorkerReply(error=text or "the tool said that it failed")
        if said.structured_content is not None:
            return reply_of(said.structured_content)
        try:
            return reply_of(json.loads(text))
        except (ValueError, RecursionError):
            return reply_of(text)

    async def close(self) -> None:
        keeping, self._keeping, self._client = self._keeping, None, None
        self._over.set()
        if keeping is not None:
            with contextlib.suppress(Exception):  # its fault was told by the call that met it
                await keeping

    async def _connected(self) -> Client:
        if self._client is None or self._keeping is None or self._keeping.done():
            self._client = asyncio.get_running_loop().create_future()
            self._over = asyncio.Event()
            self._keeping = asyncio.create_task(self._keep(self._client, self._over))
        return await asyncio.shield(self._client)

    async def _keep(self, found: asyncio.Future[Client], over: asyncio.Event) -> None:
        from mcp.client.client import Client
        from mcp.client.stdio import StdioServerParameters

        server = self._server
        named = server if isinstance(server, str) else StdioServerParameters(command=server[0], args=[*server[1:]])
        try:
            async with Client(named) as client:
                found.set_result(client)
                await over.wait()
        except Exception as error:
            if not found.done():
                found.set_exception(error)
                return
            raise


def _said(result: CallToolResult) -> str:
    return "\n".join(text for each in result.content if (text := getattr(each, "text", "")))
