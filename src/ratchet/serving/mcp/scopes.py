"""Scopes: what a caller may do: over HTTP its token says, over standard input and output it may do what the person
may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, CallToolResult, TextContent

if TYPE_CHECKING:
    from ratchet.store.tokens import Scope

_OF_TOOLS: dict[str, Scope] = {
    "record_outcome": "write",
    "triage_pattern": "write",
    "run_task": "run",
    "resume_task": "run",
    "restore": "run",
    "run_sandboxed": "run",
    "distill": "run",
}
"""Tool -> scope; all others read."""
_READING = frozenset(("resources/read", "resources/subscribe", "prompts/get"))


async def check(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Server middleware: let a request pass whose caller has the scope for it; tell the others which one it takes."""
    scope = _scope_of(ctx)
    if scope is None or ctx.request is None or scope in _scopes(ctx.request):
        return await call_next(ctx)
    why = f"this token lacks the scope {scope}: use one that has it (ratchet token add NAME --scope {scope})"
    if ctx.method == "tools/call":
        return CallToolResult(content=[TextContent(type="text", text=why)], is_error=True)
    raise MCPError(INVALID_REQUEST, why)


def _scope_of(ctx: ServerRequestContext[Any, Any]) -> Scope | None:
    if ctx.method == "tools/call":
        name = (ctx.params or {}).get("name")
        return _OF_TOOLS.get(name, "read") if isinstance(name, str) else "read"
    return "read" if ctx.method in _READING else None


def _scopes(request: Any) -> frozenset[str]:
    """Those of the caller whom the app's door let in; none where there was no door."""
    caller = getattr(request.state, "caller", None)
    return frozenset(getattr(caller, "scopes", ()))
