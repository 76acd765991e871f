"""How a tool answers: prose for a model beside the same as data, and what was wrong with a call."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from ratchet.errors import RatchetError
from ratchet.failures.redaction.text import clean
from ratchet.serving.shapes.shape import Shape, json_of

_SENT = re.compile(r", input_value=.*?, input_type=\w+(?=\]$)", re.MULTILINE)
"""How pydantic repeats what it was given, at the end of a line."""

P = ParamSpec("P")
R = TypeVar("R")


def told(function: Callable[P, R]) -> Callable[P, R]:
    """Tell the agent what was wrong with a call; anything else is hidden from it, and logged."""

    @functools.wraps(function)
    def telling(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except RatchetError as error:
            raise ToolError(clean(str(error))) from error

    return telling


async def unrepeated(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Server middleware: what is wrong with a call is told without what was sent, which may hold a secret."""
    result = await call_next(ctx)
    held = result.model_dump(by_alias=True, mode="json", exclude_none=True) if isinstance(result, BaseModel) else result
    if ctx.method != "tools/call" or not held or not held.get("isError"):
        return result
    texts = [
        {**each, "text": clean(_SENT.sub("", str(each["text"])))} if "text" in each else each
        for each in held.get("content", ())
    ]
    return {**held, "content": texts}


def answer(prose: str, shape: Shape) -> CallToolResult:
    """Prose for a model, and the same as data."""
    return CallToolResult(content=[TextContent(type="text", text=prose)], structured_content=json_of(shape))
