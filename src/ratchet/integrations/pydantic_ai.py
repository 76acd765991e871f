"""Gives agents of Pydantic AI what is known about a failing tool.

from ratchet.integrations.pydantic_ai import lessons

agent = Agent(model, tools=[search], capabilities=[lessons("shop")])
"""

from __future__ import annotations

from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.capabilities import Hooks
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from ratchet.client import Ratchet
from ratchet.integrations.frameworks import ToolReport, reporter_of


def lessons(agent: str, *, ratchet: Ratchet | None = None) -> Hooks[object]:
    """A capability that records every tool call. What a tool raises becomes its result, with the lesson behind it; a
    `ModelRetry` stays one, and gets the lesson."""
    reporter = reporter_of(agent, ratchet)
    hooks: Hooks[object] = Hooks()

    async def failed(
        ctx: RunContext[object],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, object],
        error: Exception,
    ) -> object:
        del tool_def
        said = await reporter.failed_async(error, **_report(ctx, call, args))
        if isinstance(error, ModelRetry):
            raise ModelRetry(said.removeprefix("ModelRetry: ")) from error
        return said

    async def ended(
        ctx: RunContext[object],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, object],
        result: object,
    ) -> object:
        del tool_def
        told = await reporter.succeeded_async(result, **_report(ctx, call, args))
        return f"{result}\n\n{told}" if told else result

    hooks.on.tool_execute_error(failed)
    hooks.on.after_tool_execute(ended)
    return hooks


def _report(ctx: RunContext[object], call: ToolCallPart, args: dict[str, object]) -> ToolReport:
    return {
        "tool": call.tool_name,
        "input": args,
        "call": call.tool_call_id,
        "session": ctx.conversation_id or ctx.run_id or "",
    }
