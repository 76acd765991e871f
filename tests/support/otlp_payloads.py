"""What agents and libraries send over OTLP, one recorded shape of each dialect, and the table of what becomes of it.

usage: PYTHONPATH=tests python -m surfaces.otlp_payloads    writes the table into docs/reference/otlp.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ratchet.recording.sources.otlp_wire import Signal
from ratchet.records import Json, Outcome, Row
from ratchet.runtime import Runtime

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "otlp.md"
BEGIN, END = "<!-- The table begins: written by tests/surfaces/otlp_payloads.py -->", "<!-- The table ends. -->"
AT = 1_760_000_000 * 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that is sent, and what must be known of it afterwards."""

    dialect: str
    what: str
    signal: Signal
    request: Row
    agent: str = ""
    task: str = ""
    kind: str = ""
    """Of its failure; "" for a success."""
    event: str = ""
    """The event that it is kept as, where it is no finished run."""
    tokens: int | None = None
    cost_usd: float | None = None


def attributes(given: dict[str, Json]) -> list[Json]:
    """A mapping as OTLP/JSON writes it."""
    return [{"key": name, "value": _any(value)} for name, value in given.items()]


def _any(value: Json) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_any(each) for each in value]}}
    return {"stringValue": str(value)}


def span(
    name: str,
    given: dict[str, Json],
    *,
    service: str = "shop",
    error: str | None = None,
    exception: dict[str, Json] | None = None,
    number: int = 1,
) -> Row:
    """A trace export request that holds one span."""
    record: Row = {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(AT),
        "endTimeUnixNano": str(AT + 250_000_000),
        "attributes": attributes(given),
        "status": {} if error is None else {"code": 2, "message": error},
    }
    if exception:
        record["events"] = [{"name": "exception", "timeUnixNano": str(AT), "attributes": attributes(exception)}]
    resource: Row = {"attributes": attributes({"service.name": service})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "t"}, "spans": [record]}]}]}


def log(body: str, given: dict[str, Json], *, service: str = "claude-code", severity: int = 9) -> Row:
    """A log export request that holds one record."""
    record: Row = {
        "timeUnixNano": str(AT),
        "severityNumber": severity,
        "body": {"stringValue": body},
        "attributes": attributes(given),
    }
    resource: Row = {"attributes": attributes({"service.name": service})}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [record]}]}]}


def metric(name: str, value: float, given: dict[str, Json]) -> Row:
    """A metric export request that holds one data point."""
    point: Row = {"timeUnixNano": str(AT), "asDouble": value, "attributes": attributes(given)}
    held: Row = {"name": name, "unit": "tokens", "sum": {"dataPoints": [point], "isMonotonic": True}}
    resource: Row = {"attributes": attributes({"service.name": "claude-code"})}
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"metrics": [held]}]}]}


_RATE = "Error code: 429 - Rate limit reached for gpt-5. Please try again in 2s."
_PUSH = "fatal: The current branch topic has no upstream branch."

CASES = (
    Case(
        dialect="gen_ai (since 1.37)",
        what="a model call",
        signal="traces",
        request=span(
            "chat gpt-5",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "gpt-5",
                "gen_ai.usage.input_tokens": 120,
                "gen_ai.usage.output_tokens": 30,
                "gen_ai.conversation.id": "c1",
            },
        ),
        agent="shop",
        task="chat gpt-5",
        tokens=150,
    ),
    Case(
        dialect="gen_ai (since 1.37)",
        what="a tool that raises",
        signal="traces",
        request=span(
            "execute_tool search",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "search",
                "gen_ai.tool.call.arguments": '{"query": "rain"}',
                "gen_ai.agent.name": "weather",
                "error.type": "TimeoutError",
            },
            error="timed out",
            number=2,
        ),
        agent="weather",
        task="search",
        kind="timeout",
    ),
    Case(
        dialect="gen_ai (before 1.27)",
        what="a model call that is turned away",
        signal="traces",
        request=span(
            "openai.chat",
            {
                "gen_ai.system": "openai",
                "gen_ai.request.model": "gpt-5",
                "gen_ai.usage.prompt_tokens": 10,
                "gen_ai.usage.completion_tokens": 0,
            },
            error=_RATE,
            exception={"exception.type": "openai.RateLimitError", "exception.message": _RATE},
            number=3,
        ),
        agent="shop",
        task="openai.chat",
        kind="rate_limit",
        tokens=10,
    ),
    Case(
        dialect="OpenInference",
        what="a model call",
        signal="traces",
        request=span(
            "ChatCompletion",
            {
                "openinference.span.kind": "LLM",
                "llm.model_name": "claude-sonnet",
                "llm.token_count.prompt": 40,
                "llm.token_count.completion": 2,
                "session.id": "s9",
            },
            number=4,
        ),
        agent="shop",
        task="ChatCompletion",
        tokens=42,
    ),
    Case(
        dialect="OpenInference",
        what="a tool that says in its output that it failed",
        signal="traces",
        request=span(
            "shell",
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "Bash",
                "input.value": '{"command": "git push"}',
                "output.value": _PUSH,
            },
            number=5,
        ),
        agent="shop",
        task="Bash",
        kind="command_failed",
    ),
    Case(
        dialect="OpenLLMetry",
        what="a tool of a workflow",
        signal="traces",
        request=span(
            "lookup.tool",
            {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "lookup",
                "traceloop.workflow.name": "billing",
                "traceloop.association.properties.session_id": "s7",
            },
            error="FileNotFoundError: [Errno 2] No such file or directory: 'rates.csv'",
            number=6,
        ),
        agent="billing",
        task="lookup.tool",
        kind="resource_missing",
    ),
    Case(
        dialect="MCP",
        what="a tool call of a server",
        signal="traces",
        request=span(
            "tools/call read", {"mcp.method.name": "tools/call", "mcp.tool.name": "read"}, error=None, number=7
        ),
        agent="shop",
        task="read",
    ),
    Case(
        dialect="none of these",
        what="a span that nobody here understands",
        signal="traces",
        request=span("GET /cart", {"http.request.method": "GET", "http.response.status_code": 200}, number=8),
        agent="shop",
        task="GET /cart",
    ),
    Case(
        dialect="Claude Code",
        what="a tool's result",
        signal="logs",
        request=log(
            "claude_code.tool_result",
            {
                "event.name": "tool_result",
                "event.sequence": 7,
                "session.id": "5f1",
                "tool_name": "Bash",
                "success": "false",
                "duration_ms": "1200",
                "error": f"Exit code 128\n{_PUSH}",
                "tool_parameters": '{"bash_command": "git", "full_command": "git push"}',
            },
        ),
        agent="claude-code",
        task="Bash",
        kind="command_failed",
    ),
    Case(
        dialect="Claude Code",
        what="a model call",
        signal="logs",
        request=log(
            "claude_code.api_request",
            {
                "event.name": "api_request",
                "event.sequence": 8,
                "session.id": "5f1",
                "model": "claude-sonnet-4-5",
                "cost_usd": 0.0125,
                "duration_ms": 900,
                "input_tokens": 10,
                "output_tokens": 20,
                "cache_read_tokens": 300,
            },
        ),
        agent="claude-code",
        task="model",
        tokens=330,
        cost_usd=0.0125,
    ),
    Case(
        dialect="Claude Code",
        what="a model call that fails",
        signal="logs",
        request=log(
            "claude_code.api_error",
            {
                "event.name": "api_error",
                "event.sequence": 9,
                "session.id": "5f1",
                "model": "claude-sonnet-4-5",
                "error": '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
                "status_code": "529",
                "attempt": 2,
            },
        ),
        agent="claude-code",
        task="model",
        kind="overloaded",
    ),
    Case(
        dialect="Claude Code",
        what="a step that the person refused",
        signal="logs",
        request=log(
            "claude_code.tool_decision",
            {
                "event.name": "tool_decision",
                "session.id": "5f1",
                "tool_name": "Write",
                "tool_use_id": "toolu_01AbCdEfGhIjKlMnOpQr",
                "decision": "reject",
                "source": "user_reject",
            },
        ),
        agent="claude-code",
        task="Write",
        kind="user_denied",
    ),
    Case(
        dialect="Claude Code",
        what="a prompt",
        signal="logs",
        request=log(
            "claude_code.user_prompt", {"event.name": "user_prompt", "session.id": "5f1", "prompt_length": "42"}
        ),
        event="claude_code.user_prompt",
    ),
    Case(
        dialect="Claude Code",
        what="a metric",
        signal="metrics",
        request=metric("claude_code.token.usage", 1290.0, {"session.id": "5f1", "type": "input"}),
        event="claude_code.token.usage",
    ),
    Case(
        dialect="Codex",
        what="a tool's result",
        signal="logs",
        request=log(
            "",
            {
                "event.name": "codex.tool_result",
                "conversation.id": "0199",
                "tool_name": "shell",
                "call_id": "call_0123456789abcdefghij",
                "arguments": '{"command": ["pytest", "-q"]}',
                "success": "false",
                "output": "E   assert 1 == 2\n1 failed in 0.02s",
            },
            service="codex",
        ),
        agent="codex",
        task="shell",
        kind="test_failure",
    ),
    Case(
        dialect="any log",
        what="a record of severity ERROR",
        signal="logs",
        request=log(
            "Connection refused",
            {"exception.type": "ConnectionRefusedError", "exception.message": "[Errno 111] Connection refused"},
            service="api",
            severity=17,
        ),
        agent="api",
        task="log",
        kind="network",
    ),
    Case(
        dialect="any log",
        what="a record of another severity",
        signal="logs",
        request=log("listening on 8080", {}, service="api"),
        event="record",
    ),
    Case(
        dialect="gen_ai (since 1.37)",
        what="a model call that a filter ended",
        signal="traces",
        request=span(
            "chat gpt-5",
            {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["content_filter"]},
            number=41,
        ),
        agent="shop",
        task="chat gpt-5",
        kind="content_filter",
    ),
    Case(
        dialect="gen_ai (since 1.37)",
        what="an evaluator's result that is no pass",
        signal="logs",
        request=log(
            "",
            {
                "event.name": "gen_ai.evaluation.result",
                "gen_ai.evaluation.name": "Relevance",
                "gen_ai.evaluation.score.value": 0.1,
                "gen_ai.evaluation.score.label": "fail",
                "gen_ai.evaluation.explanation": "it answers another question",
            },
            service="shop",
        ),
        agent="shop",
        task="Relevance",
        kind="wrong_output",
    ),
)


def seen(case: Case, home: Path) -> tuple[list[Outcome], list[Row]]:
    """What Ratchet knows after it was sent once: its outcomes and events."""
    with Runtime.open(home=home) as runtime:
        runtime.intake.otlp(case.signal, json.dumps(case.request).encode())
        outcomes = list(runtime.outcomes())
        return outcomes, runtime.store.find("events", {"noun": ("in", ["log", "metric"])}).rows


def row(case: Case, outcomes: list[Outcome], events: list[Row]) -> str:
    """The case's row of the table, from what was seen."""
    if events:
        told = f"event `{events[0]['verb']}`"
    else:
        held = outcomes[0]
        numbers = [f"{held.tokens} tokens" if held.tokens else "", f"{held.cost_usd} USD" if held.cost_usd else ""]
        told = f"outcome of `{held.agent}`, task `{held.task}`" + "".join(f", {each}" for each in numbers if each)
        if held.failure is not None:
            told += f": failed, `{held.failure.kind}`"
    return f"| {case.dialect} | {case.what} | {told} |"


def rows(folder: Path) -> Iterator[str]:
    for number, case in enumerate(CASES):
        yield row(case, *seen(case, folder / str(number)))


def main() -> None:
    """Write the table anew."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        table = ["| dialect | what is sent | what it becomes |", "|---|---|---|", *rows(Path(folder))]
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    lines[lines.index(BEGIN) + 1 : lines.index(END)] = table
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
