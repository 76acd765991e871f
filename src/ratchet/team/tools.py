"""Calls tools side by side, under the rules of a team: bounded, timed, retried, recorded, paid from one budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ratchet.client import Ratchet
from ratchet.errors import UsageError
from ratchet.records import Json
from ratchet.team.orchestrator import Orchestrator
from ratchet.team.values import TeamBudget, TeamTask
from ratchet.team.worker import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A model's call of a tool. `id` is the model's own for it. `idempotent` says that it may be made again where
    nobody knows what the first one did."""

    id: str
    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    idempotent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Result of one call: `error` is "" where it ended well, else what the model should read."""

    id: str
    value: Json = None
    error: str = ""


async def call_tools(
    calls: Sequence[ToolRequest],
    tools: Mapping[str, Callable[..., object]],
    *,
    agent: str = "tools",
    parallel: int = 8,
    attempts: int = 2,
    timeout_s: float = 60.0,
    budget: TeamBudget | None = None,
    run: str = "",
    ratchet: Ratchet | None = None,
) -> list[ToolResult]:
    """Make a turn's calls side by side; their results in the order of the calls, whatever becomes of each.

    Tools are functions, async or not, called with the arguments by name. Raises UsageError for a tool that is not
    there, or two calls with one id.
    """
    missing = sorted({call.name for call in calls} - tools.keys())
    if missing:
        raise UsageError(f"no tool {missing[0]!r} here; there are: {', '.join(sorted(tools)) or 'none'}")
    if not calls:
        return []
    workers = [
        Worker(name, _by_name(tools[name]), skills=(name,), slots=parallel) for name in sorted({c.name for c in calls})
    ]
    team = Orchestrator(agent, workers, parallel=parallel, budget=budget, ratchet=ratchet)
    tasks = [
        TeamTask(
            id=call.id,
            work=dict(call.arguments),
            skill=call.name,
            attempts=attempts,
            timeout_s=timeout_s,
            repeat=call.idempotent,
        )
        for call in calls
    ]
    done = {each.id: each for each in (await team.run(tasks, run=run)).tasks}
    found = (done[call.id] for call in calls)
    return [
        ToolResult(id=each.id, value=each.result)
        if each.state == "done"
        else ToolResult(id=each.id, error=each.reason or each.state)
        for each in found
    ]


def _by_name(tool: Callable[..., object]) -> Callable[[Mapping[str, Json]], Awaitable[object] | object]:
    if asyncio.iscoroutinefunction(tool):

        async def call_async(given: Mapping[str, Json]) -> object:
            value: object = await tool(**given)
            return value

        return call_async
    return lambda given: tool(**given)
