"""Gives crews of CrewAI what is known about a failing tool.

from ratchet.integrations.crewai import RatchetListener

listener = RatchetListener("shop")
"""

from __future__ import annotations

import json
import threading

from crewai.events import BaseEventListener, ToolUsageErrorEvent, ToolUsageFinishedEvent
from crewai.events.event_bus import CrewAIEventsBus, crewai_event_bus
from crewai.hooks import ToolCallHookContext, register_after_tool_call_hook

from ratchet.client import Ratchet
from ratchet.integrations.frameworks import ToolReport, reporter_of

_REMEMBERED = 200
_EVENTS_S = 5.0


class RatchetListener(BaseEventListener):
    """Records every tool call of this process's crews, once however often CrewAI tries it, and puts the lesson behind
    the error that the model reads. Keep a reference to it."""

    def __init__(self, agent: str, *, ratchet: Ratchet | None = None) -> None:
        self._reporter = reporter_of(agent, ratchet)
        self._told: dict[str, str] = {}
        self._lock = threading.Lock()
        super().__init__()
        register_after_tool_call_hook(self._after)

    def setup_listeners(self, bus: CrewAIEventsBus) -> None:
        @bus.on(ToolUsageErrorEvent)
        def failed(_source: object, event: ToolUsageErrorEvent) -> None:
            self._failed(event.tool_name, event.tool_args, event.error, str(event.task_id or ""))

        @bus.on(ToolUsageFinishedEvent)
        def ended(_source: object, event: ToolUsageFinishedEvent) -> None:
            if getattr(event, "failure", None) is None and not self._is_told(event.tool_name, event.tool_args):
                self._reporter.succeeded(str(event.output), **_report(event.tool_name, event.tool_args, event.task_id))

    def _failed(self, tool: str, args: object, error: object, task: str) -> str:
        """The lesson for a call that failed; it is asked for once, however often the call is tried."""
        named = _key(tool, args)
        with self._lock:
            if named not in self._told:
                said = error if isinstance(error, BaseException) else str(error)
                text = self._reporter.failed(said, **_report(tool, args, task))
                self._told[named] = text.partition("\n\n")[2]
                for old in [*self._told][:-_REMEMBERED]:
                    del self._told[old]
            return self._told[named]

    def _after(self, context: ToolCallHookContext) -> str | None:
        """Put the lesson behind what the model reads, then forget the call: the next one like it is another."""
        crewai_event_bus.flush(timeout=_EVENTS_S)  # the events of this call are told in other threads
        with self._lock:
            told = self._told.pop(_key(context.tool_name, context.tool_input), "")
        return f"{context.tool_result}\n\n{told}" if told else None

    def _is_told(self, tool: str, args: object) -> bool:
        with self._lock:
            return _key(tool, args) in self._told


def _key(tool: str, args: object) -> str:
    if isinstance(args, str):
        try:
            args = json.loads(args)
        except ValueError:
            return f"{tool} {args}"
    return f"{tool} {json.dumps(args, sort_keys=True, default=str)}"


def _report(tool: str, args: object, task: object) -> ToolReport:
    return {"tool": tool, "input": args, "session": str(task or "")}
