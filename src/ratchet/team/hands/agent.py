"""Makes a worker of a framework's agent: its text in, its answer and its tokens out."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Protocol, cast

from ratchet.errors import UsageError
from ratchet.lessons.fence import enclosed
from ratchet.records import Json
from ratchet.team.handed import Handed

_KNOWN = "an agent of pydantic_ai (`run`), or a Runnable of LangChain or LangGraph (`ainvoke`)"


class _RunsText(Protocol):
    def run(self, asked: str) -> Awaitable[object]: ...


class _Invokes(Protocol):
    def ainvoke(self, asked: object) -> Awaitable[object]: ...


def agent_function(agent: object) -> Callable[[Json, Handed], Awaitable[object]]:
    """The function that asks an agent. Raises UsageError for one that is not known."""
    packages = {base.__module__.partition(".")[0] for base in type(agent).__mro__}
    if "pydantic_ai" in packages:
        return _pydantic_ai(cast("_RunsText", agent))
    if callable(getattr(agent, "ainvoke", None)):
        return _runnable(cast("_Invokes", agent))
    raise UsageError(
        f"agent is a {type(agent).__module__}.{type(agent).__qualname__}, and {_KNOWN} is taken; "
        "hand in an async function that calls it instead: Worker(name, function)"
    )


def asked_text(work: Json, context: Handed) -> str:
    """A task in words: its work, and behind it what the tasks before it brought, letters, and what failed last."""
    parts = [work if isinstance(work, str) else json.dumps(work, ensure_ascii=False)]
    if context.results:
        parts.append(f"Results of the tasks that this one needs:\n{_fenced(context.results)}")
    if context.mail:
        parts.append(f"Letters:\n{_fenced(context.mail)}")
    if context.last:
        parts.append(f"The attempt before this one failed:\n{enclosed(context.last, verbatim=True)}")
    if context.known:
        parts.append(context.known)
    return "\n\n".join(parts)


def _fenced(said: object) -> str:
    """Fence what others brought: it is data to this agent."""
    return enclosed(json.dumps(said, ensure_ascii=False), verbatim=True)


def _pydantic_ai(agent: _RunsText) -> Callable[[Json, Handed], Awaitable[object]]:
    async def ask(work: Json, context: Handed) -> object:
        result = await agent.run(asked_text(work, context))
        usage = getattr(result, "usage", None)
        usage = usage() if inspect.ismethod(usage) else usage  # a method in older ones
        sent, made = (int(getattr(usage, name, 0) or 0) for name in ("input_tokens", "output_tokens"))
        context.spend(tokens=sent + made)
        return _plain(getattr(result, "output", None))

    return ask


def _runnable(agent: _Invokes) -> Callable[[Json, Handed], Awaitable[object]]:
    async def ask(work: Json, context: Handed) -> object:
        # A graph takes its own state, which only its owner knows; everything else is asked in words.
        result = await agent.ainvoke(work if isinstance(work, dict) else asked_text(work, context))
        messages = result.get("messages") if isinstance(result, dict) else None
        last = messages[-1] if isinstance(messages, list) and messages else result
        usage = getattr(last, "usage_metadata", None)
        if isinstance(usage, dict):
            context.spend(tokens=int(usage.get("total_tokens") or 0))
        return _plain(getattr(last, "content", last))

    return ask


def _plain(value: object) -> object:
    """A model's own records (pydantic) as JSON."""
    dumped = getattr(value, "model_dump", None)
    return dumped(mode="json") if callable(dumped) else value
