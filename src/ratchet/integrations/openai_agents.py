"""Gives agents of the OpenAI Agents SDK what is known about a failing tool.

from ratchet.integrations.openai_agents import RatchetProcessor, with_lessons

add_trace_processor(RatchetProcessor("shop"))
agent = Agent(name="shop", tools=with_lessons("shop", [search, order]))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from agents import RunContextWrapper, Tool
from agents.tool import FunctionTool
from agents.tool_context import ToolContext
from agents.tracing import FunctionSpanData, Span, SpanData, Trace, TracingProcessor, get_current_trace

from ratchet.client import Ratchet
from ratchet.integrations.frameworks import error_text, reporter_of

Wrapper: TypeAlias = "RunContextWrapper[object]"
AnyTool = TypeVar("AnyTool", bound=Tool)


def failure_function(agent: str, *, ratchet: Ratchet | None = None) -> Callable[[Wrapper, Exception], Awaitable[str]]:
    """A `failure_error_function`: records the failure, and tells the model the error with the lesson behind it."""
    reporter = reporter_of(agent, ratchet)

    async def told(context: Wrapper, error: Exception) -> str:
        if not isinstance(context, ToolContext):
            return error_text(error)
        return await reporter.failed_async(
            error,
            tool=context.tool_name,
            input=context.tool_arguments,
            call=context.tool_call_id,
            session=_session(),
        )

    return told


def with_lessons(agent: str, tools: Sequence[AnyTool], *, ratchet: Ratchet | None = None) -> list[AnyTool]:
    """The same tools, with a `failure_function` for each that is a function."""
    told = failure_function(agent, ratchet=ratchet)
    return [
        replace(each, _failure_error_function=told, _use_default_failure_error_function=False)
        if isinstance(each, FunctionTool)
        else each
        for each in tools
    ]


class RatchetProcessor(TracingProcessor):
    """Records the tool calls that ended well: lessons are learnt from what worked after a failure. Add it with
    `add_trace_processor`."""

    def __init__(self, agent: str, *, ratchet: Ratchet | None = None) -> None:
        self._reporter = reporter_of(agent, ratchet)

    def on_span_end(self, span: Span[SpanData]) -> None:
        data = span.span_data
        if isinstance(data, FunctionSpanData) and span.error is None:
            self._reporter.succeeded(data.output, tool=data.name, input=data.input, session=span.trace_id)

    def on_trace_start(self, trace: Trace) -> None: ...

    def on_trace_end(self, trace: Trace) -> None: ...

    def on_span_start(self, span: Span[SpanData]) -> None: ...

    def shutdown(self) -> None: ...

    def force_flush(self) -> None: ...


def _session() -> str:
    trace = get_current_trace()
    return "" if trace is None or trace.trace_id == "no-op" else trace.trace_id
