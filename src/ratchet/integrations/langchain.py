"""Gives agents of LangChain and LangGraph what is known about a failing tool.

    from ratchet.integrations.langchain import RatchetMiddleware

    agent = create_agent(model, tools, middleware=[RatchetMiddleware("shop")])

For a graph of one's own: `ToolNode(tools, wrap_tool_call=middleware.wrap_tool_call)`, and `guarded("shop")` on a node.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar, cast

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from ratchet.client import Ratchet
from ratchet.integrations.frameworks import ToolReport, error_text, reporter_of

if TYPE_CHECKING:
    from langchain.agents.middleware.types import ToolCallRequest

Given = ParamSpec("Given")
Returned = TypeVar("Returned")
Answer: TypeAlias = "ToolMessage | Command[object]"


class RatchetMiddleware(AgentMiddleware):
    """Records every tool call. A tool that raises becomes an error message to the model, with the lesson behind it; an
    error that a tool returns gets the lesson, too."""

    def __init__(self, agent: str, *, ratchet: Ratchet | None = None) -> None:
        super().__init__()
        self._reporter = reporter_of(agent, ratchet)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        call = _report(request)
        try:
            answer = handler(request)
        except GraphBubbleUp:  # an interrupt is no failure
            raise
        except Exception as error:  # noqa: BLE001  (whatever a tool raises)
            return _message(request, self._reporter.failed(error, **call))
        return self._looked_at(answer, call)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        call = _report(request)
        try:
            answer = await handler(request)
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001
            return _message(request, await self._reporter.failed_async(error, **call))
        return self._looked_at(answer, call)

    def _looked_at(self, answer: Answer, call: ToolReport) -> Answer:
        if not isinstance(answer, ToolMessage):
            return answer
        said = str(answer.content)
        if answer.status == "error":
            return cast(Answer, answer.model_copy(update={"content": self._reporter.failed(said, **call)}))
        told = self._reporter.succeeded(said, **call)
        return cast(Answer, answer.model_copy(update={"content": f"{said}\n\n{told}"})) if told else answer


def guarded(
    agent: str, *, ratchet: Ratchet | None = None
) -> Callable[[Callable[Given, Returned]], Callable[Given, Returned]]:
    """Record how a node of a graph ends. What it raises is raised, with the lesson as a note on the exception."""
    reporter = reporter_of(agent, ratchet)

    def guard(node: Callable[Given, Returned]) -> Callable[Given, Returned]:
        def told(error: Exception) -> None:
            said = reporter.failed(error, tool=node.__name__, input="", session=_session())
            if said != error_text(error):
                error.add_note(said)

        if inspect.iscoroutinefunction(node):

            @functools.wraps(node)
            async def later(*args: Given.args, **kwargs: Given.kwargs) -> object:
                try:
                    value = await node(*args, **kwargs)
                except GraphBubbleUp:
                    raise
                except Exception as error:
                    told(error)
                    raise
                reporter.succeeded("", tool=node.__name__, input="", session=_session())
                return value

            return cast("Callable[Given, Returned]", later)

        @functools.wraps(node)
        def now(*args: Given.args, **kwargs: Given.kwargs) -> Returned:
            try:
                value = node(*args, **kwargs)
            except GraphBubbleUp:
                raise
            except Exception as error:
                told(error)
                raise
            reporter.succeeded("", tool=node.__name__, input="", session=_session())
            return value

        return now

    return guard


def _report(request: ToolCallRequest) -> ToolReport:
    call = request.tool_call
    return {
        "tool": call["name"],
        "input": call["args"],
        "call": str(call.get("id") or ""),
        "session": _session(),
    }


def _session() -> str:
    """The thread that LangGraph keeps the conversation under, else this run."""
    try:
        config = get_config()
    except RuntimeError:  # outside of a graph
        return ""
    known = {**config.get("metadata", {}), **config.get("configurable", {})}
    return str(known.get("thread_id") or known.get("run_id") or config.get("run_id") or "")


def _message(request: ToolCallRequest, text: str) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(content=text, name=call["name"], tool_call_id=str(call.get("id") or ""), status="error")
