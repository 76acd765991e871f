"""Knows which coding agent asks, by the name that it gives itself, and says a lesson in that one's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ratchet import registry
from ratchet.lessons.tool_names import worded
from ratchet.records import Lesson

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

_asking: ContextVar[str] = ContextVar("ratchet_asking", default="")


async def heard(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Server middleware: the client that a request comes from is known while it is answered."""
    told = ctx.session.client_params
    token = _asking.set(told.client_info.name if told else "")
    try:
        return await call_next(ctx)
    finally:
        _asking.reset(token)


def in_its_words(lesson: Lesson) -> Lesson:
    """A lesson with the names that tools have in the client that asks; as it is where that is not known."""
    tools = tools_of(_asking.get())
    if not tools:
        return lesson
    steps = tuple(worded(tools, each, lesson.tool) for each in lesson.steps)
    return replace(lesson, text=worded(tools, lesson.text, lesson.tool), steps=steps)


@cache
def tools_of(name: str) -> Mapping[str, str]:
    """The tools of the coding agent whose name stands in the one that a client of MCP gives itself
    ("gemini-cli-mcp-client"), word by word; none where no known one does."""
    words = _words(name)
    for known in registry.names(registry.CLIENTS):
        looked = _words(known)
        if any(words[at : at + len(looked)] == looked for at in range(len(words))):
            return registry.client(known).tools
    return {}


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())
