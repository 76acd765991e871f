"""Gives agents of the Claude Agent SDK what is known about a failing tool.

from ratchet.integrations.claude_agent_sdk import hooks

options = ClaudeAgentOptions(hooks=hooks("shop"))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from claude_agent_sdk import HookContext, HookInput, HookMatcher
from claude_agent_sdk.types import HookEvent, SyncHookJSONOutput

from ratchet.client import Ratchet
from ratchet.integrations.frameworks import ToolReport, reporter_of


def hooks(agent: str, *, ratchet: Ratchet | None = None) -> dict[HookEvent, list[HookMatcher]]:
    """Hooks for `ClaudeAgentOptions`: they record every tool call, and hand over the lesson in the failing turn. With
    hooks of your own, add these to the lists of their events."""
    reporter = reporter_of(agent, ratchet)

    async def failed(event: HookInput, _id: str | None, _context: HookContext) -> SyncHookJSONOutput:
        said = cast("Mapping[str, object]", event)
        error = str(said.get("error") or "")
        told = await reporter.failed_async(error, **_report(said))
        return _context_of("PostToolUseFailure", told.removeprefix(error).lstrip())

    async def ended(event: HookInput, _id: str | None, _context: HookContext) -> SyncHookJSONOutput:
        said = cast("Mapping[str, object]", event)
        told = await reporter.succeeded_async(_text(said.get("tool_response")), **_report(said))
        return _context_of("PostToolUse", told)

    return {
        "PostToolUseFailure": [HookMatcher(hooks=[failed])],
        "PostToolUse": [HookMatcher(hooks=[ended])],
    }


def _report(event: Mapping[str, object]) -> ToolReport:
    return {
        "tool": str(event.get("tool_name") or ""),
        "input": event.get("tool_input"),
        "call": str(event.get("tool_use_id") or ""),
        "session": str(event.get("session_id") or ""),
    }


def _text(response: object) -> object:
    """A tool's output as text: of a shell what it wrote."""
    if isinstance(response, dict):
        return "\n".join(str(response[name]) for name in ("stdout", "stderr") if response.get(name))
    return response


def _context_of(event: str, told: str) -> SyncHookJSONOutput:
    if not told:
        return {}
    said = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": told}}
    return cast("SyncHookJSONOutput", said)
