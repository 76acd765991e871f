"""Reports a framework's tool calls, and puts what is known about a failure behind the error that its model reads."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict, Unpack

from ratchet.client import Ratchet, default
from ratchet.ids import uuid7


class ToolReport(TypedDict):
    """A tool call as a framework tells of it. `session` is one run of its agent, `call` the call's id there."""

    tool: str
    input: object
    session: NotRequired[str]
    call: NotRequired[str]
    duration_s: NotRequired[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReporter:
    """Reports the tool calls of one agent. `session` stands in where a framework names no run of its own."""

    agent: str
    ratchet: Ratchet = field(default_factory=default)
    session: str = field(default_factory=uuid7)

    def failed(self, error: BaseException | str, **call: Unpack[ToolReport]) -> str:
        """Record a failure; return the error for the model, with the lesson behind it where one is known and the coin
        of the session shows it."""
        said = error if isinstance(error, str) else error_text(error)
        told = self.ratchet.failed(self.agent, error=error, **self._known(call))
        return f"{said}\n\n{told}" if told else said

    def succeeded(self, output: object, **call: Unpack[ToolReport]) -> str:
        """Record a call that ended; return the lesson where its output says that it failed all the same, else ""."""
        return self.ratchet.succeeded(self.agent, output=output, **self._known(call))

    async def failed_async(self, error: BaseException | str, **call: Unpack[ToolReport]) -> str:
        """`failed`, for a loop that must not wait."""
        return await asyncio.to_thread(self.failed, error, **call)

    async def succeeded_async(self, output: object, **call: Unpack[ToolReport]) -> str:
        """`succeeded`, for a loop that must not wait."""
        return await asyncio.to_thread(self.succeeded, output, **call)

    def _known(self, call: ToolReport) -> ToolReport:
        return {**call, "session": call.get("session") or self.session}


def reporter_of(agent: str, ratchet: Ratchet | None) -> ToolReporter:
    """The reporter of an agent, over the default home unless another is given."""
    return ToolReporter(agent=agent) if ratchet is None else ToolReporter(agent=agent, ratchet=ratchet)


def error_text(error: BaseException) -> str:
    """An exception as a model is told of it: its class and what it says."""
    return f"{type(error).__name__}: {error}"
