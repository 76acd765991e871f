"""Gives agents of Google's ADK what is known about a failing tool.

from ratchet.integrations.google_adk import RatchetPlugin

runner = InMemoryRunner(agent, plugins=[RatchetPlugin("shop")])
"""

from __future__ import annotations

import asyncio

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from ratchet.client import Ratchet
from ratchet.integrations.frameworks import ToolReport, reporter_of


class RatchetPlugin(BasePlugin):
    """Records every tool call. What a tool raises becomes its result, with the lesson behind it; so does an error that
    it returns as such."""

    def __init__(self, agent: str, *, ratchet: Ratchet | None = None) -> None:
        super().__init__(name="ratchet")
        self._reporter = reporter_of(agent, ratchet)
        self._raised: set[str] = set()  # calls whose end is told of already

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, object], tool_context: ToolContext, error: BaseException
    ) -> dict[str, object] | None:
        if isinstance(error, asyncio.CancelledError):
            return None
        call = _report(tool, tool_args, tool_context)
        self._raised.add(call["call"])
        return {"error": await self._reporter.failed_async(error, **call)}

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, object], tool_context: ToolContext, result: object
    ) -> dict[str, object] | None:
        call = _report(tool, tool_args, tool_context)
        if call["call"] in self._raised:
            self._raised.remove(call["call"])
            return None
        if isinstance(result, dict) and isinstance(said := result.get("error"), str):
            return {**result, "error": await self._reporter.failed_async(said, **call)}
        told = await self._reporter.succeeded_async(str(result), **call)
        return {"result": result, "note": told} if told else None


def _report(tool: BaseTool, args: dict[str, object], context: ToolContext) -> ToolReport:
    session = getattr(context, "session", None)  # older versions know the invocation only
    return {
        "tool": tool.name,
        "input": args,
        "call": context.function_call_id or "",
        "session": context.invocation_id if session is None else session.id,
    }
