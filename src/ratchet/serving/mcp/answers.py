"""Answers of a tool: prose for a model beside the same as data, and what was wrong with a call."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import fields
from typing import Any, ParamSpec, TypeVar, cast

from anyio import from_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from ratchet.errors import RatchetError
from ratchet.failures.redaction.text import clean
from ratchet.lessons.fence import NAME_CHARS, REMOVED, enclosed, harmless, is_plain_name
from ratchet.serving.shapes.shape import Foreign, Shape, json_of

_WRONG = re.compile(r"^([^\s:]+)\n  (.+?) \[type=", re.MULTILINE)
"""How pydantic says what is wrong with an argument; behind it stands what was sent, and an address."""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
_LINE_CHARS = 400


def told(function: Callable[P, R]) -> Callable[P, R]:
    """Tell the agent what was wrong with a call; anything else is hidden from it, and logged."""

    @functools.wraps(function)
    def telling(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except RatchetError as error:
            raise ToolError(clean(str(error))) from error

    return telling


def is_cancelled() -> bool:
    """Tell, within a tool, whether its caller took the call back or is gone."""
    try:
        from_thread.check_cancelled()
    except asyncio.CancelledError:
        return True
    except RuntimeError:  # no client called it
        return False
    return False


async def unrepeated(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext, taken: Callable[[str], Awaitable[list[str]]]
) -> HandlerResult:
    """Server middleware: what is wrong with a call is told without what was sent, which may hold a secret. `taken`
    gives the names of the arguments of a tool."""
    result = await call_next(ctx)
    held = result.model_dump(by_alias=True, mode="json", exclude_none=True) if isinstance(result, BaseModel) else result
    if ctx.method != "tools/call" or not held or not held.get("isError"):
        return result
    asked = ctx.params or {}
    known, sent = await taken(str(asked.get("name"))), asked.get("arguments")
    unknown = [name for name in sent if name not in known] if isinstance(sent, dict) else []
    texts = [
        {**each, "text": clean(_plainly(str(each["text"]), unknown, known))} if "text" in each else each
        for each in held.get("content", ())
    ]
    return {**held, "content": texts}


def _plainly(said: str, unknown: list[str], known: list[str]) -> str:
    """Say in one line what is wrong with the arguments of a call, those that the tool does not know among it; any other
    text stays as it is."""
    if " validation error" not in said.partition("\n")[0]:
        return said
    found = _WRONG.findall(said)
    wrong = [f"{name} is missing" if what == "Field required" else f"{name}: {what}" for name, what in found]
    wrong += [f"{name[:NAME_CHARS]} is unknown" for name in unknown]
    if unknown:
        wrong.append(f"it takes {', '.join(known)}")
    return f"Wrong arguments: {'; '.join(wrong)}."


def answer(prose: str, shape: Shape) -> CallToolResult:
    """Prose for a model, and the same as data. Clients pass on one of them, mostly the data: both are guarded."""
    data = json_of(guarded(shape))
    return CallToolResult(content=[TextContent(type="text", text=prose)], structured_content=data)


def fenced(lines: Iterable[tuple[str, str]]) -> str:
    """Prose of a list: each line what is ours of it and what is of earlier runs, all in one fence that none can close.
    Of a line that reads as an instruction only ours is left."""
    told = (f"{ours}{harmless(foreign, _LINE_CHARS) or REMOVED if foreign else ''}" for ours, foreign in lines)
    return enclosed("\n".join(told), verbatim=True)


def guarded(value: T, foreign: Foreign = "") -> T:
    """Shapes with each text of earlier runs in a fence of its own, as their fields declare it. Names (of agents) that
    read as an instruction are withheld."""
    if isinstance(value, Shape):
        kinds = {each.name: each.metadata["foreign"] for each in fields(cast("Any", value))}
        return cast("T", type(value)(**{name: guarded(getattr(value, name), kinds[name]) for name in kinds}))
    if isinstance(value, list):
        return cast("T", [guarded(each, foreign) for each in value])
    if isinstance(value, dict):
        named = {(harmless(name, NAME_CHARS) or REMOVED) if foreign else name: held for name, held in value.items()}
        return cast("T", {name: guarded(held, foreign) for name, held in named.items()})
    if isinstance(value, str) and foreign == "name" and (not value or is_plain_name(value)):
        return value
    if isinstance(value, str) and value and foreign:
        return cast("T", enclosed(value, verbatim=foreign == "output"))
    return value
