"""How a tool answers: prose for a model beside the same as data, and what was wrong with a call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent

from ratchet.errors import RatchetError
from ratchet.records import Json

P = ParamSpec("P")
R = TypeVar("R")


def told(function: Callable[P, R]) -> Callable[P, R]:
    """Tell the agent what was wrong with a call; anything else is hidden from it, and logged."""

    @functools.wraps(function)
    def telling(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except RatchetError as error:
            raise ToolError(str(error)) from error

    return telling


def answer(prose: str, fields: Mapping[str, Json]) -> CallToolResult:
    """Prose for a model, and the same as data."""
    return CallToolResult(content=[TextContent(type="text", text=prose)], structured_content=dict(fields))
