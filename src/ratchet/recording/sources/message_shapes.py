"""The shapes in which agents write a conversation down, in one file since all are asked in turn, few lines each.

Each is turned into calls that open and results that close them.
OpenAI and Anthropic messages (also LangChain's and the AI SDK's), pi, Gemini CLI, Copilot CLI, opencode, OpenHands in
both history shapes, SWE-agent steps, tau-bench.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ratchet.failures.unwrapped import answers, unwrapped
from ratchet.recording.sources import calls, fields
from ratchet.records import Json, Row

_OPENING = frozenset(("tooluse", "toolcall", "functioncall"))
_CLOSING = frozenset(("toolresult", "toolresponse", "functionresponse", "functioncalloutput", "toolmessage"))
_RETURN_CODE = re.compile(r"<returncode>(-?\d{1,6})</returncode>")
# How a shell tool tells how a command ended where it has no field for it: behind the output, or in a report around it.
_ENDED = re.compile(
    r"\[?(?:[\w ]{0,40}\bexit(?:ed with)? (?:code|status)|return ?code)[:=]? {0,2}(-?\d{1,3})\.?[\])]?\s*\Z",
    re.IGNORECASE,
)
_WORDED = re.compile(r"\A\[(\w{1,60})(?: for '(.{0,4000}?)')?\] Result:", re.DOTALL)
_WORDED_ERROR = re.compile(r"The tool execution failed with|<error>|Error:")
_FENCE = re.compile(r"```[a-z-]{0,20}\n(.*?)\n?```", re.DOTALL)
_TOOL_ERROR = re.compile(
    r"\A\s*(?:Error|ERROR|Tool error|Error executing tool)\b ?[:(]|\A\s*\{\s*\"error\"\s*:\s*[\"{]"
)
# OpenHands actions that run nothing, and so are no step.
_SILENT_ACTIONS = frozenset(
    ("message", "system", "finish", "think", "recall", "change_agent_state", "null", "reject", "condensation")
)
_CURSOR_TOOLS = {"shellToolCall": "shell"}
_ACTION_TOOLS = {"run": "bash", "run_ipython": "ipython"}


@dataclass(frozen=True, slots=True)
class Opens:
    """A call. Its key is "" where the shape has none."""

    key: str
    tool: str
    input: Json
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Closes:
    """A result. With no key it answers the oldest call that is open. `call` is there when one record holds both."""

    key: str
    result: calls.Result
    call: Opens | None = None


Event = Opens | Closes


def events_of(record: Row, *, fenced: bool = False) -> list[Event] | None:
    """Read what one record of a conversation holds; None when it is no such record. `fenced` reads commands out of code
    fences, for conversations that have no other calls."""
    for shape in (
        _opencode,
        _copilot,
        _gemini,
        _gemini_stream,
        _cursor_stream,
        _openhands_v1,
        _openhands,
        _swe_agent_step,
    ):
        found = shape(record)
        if found is not None:
            return found
    message = record
    for wrapper in ("message", "data", "kwargs"):  # pi, LangChain's two ways to write a message down
        inner = record.get(wrapper)
        if isinstance(inner, dict) and ("role" in inner or "content" in inner):
            message = {**inner, "type": inner.get("type") or record.get("type")}
            message.setdefault("timestamp", record.get("timestamp"))
            message.setdefault("role", record.get("role"))  # Cursor's transcripts
            break
    role = _role(message)
    return list(_message(message, role, fenced=fenced)) if role else None


def _role(message: Row) -> str:
    role = fields.text(message.get("role"))
    kind = fields.text(message.get("type"))
    if not role and kind in ("ai", "human", "tool", "system") and "content" in message:
        role = {"ai": "assistant", "human": "user"}.get(kind, kind)
    return role


def _message(message: Row, role: str, *, fenced: bool) -> Iterator[Event]:
    at = fields.instant(fields.first(message, ("timestamp", "ts")))
    if role in ("tool", "function", "toolResult", "tool_result"):
        closing = [each for each in fields.rows(message.get("content")) if _kind_of(each) in _CLOSING]
        for each in closing or [message]:  # the AI SDK hands several results over in one message
            yield Closes(_key(each), _result(each, at))
        return
    yield from _called(message, at)
    content = fields.first(message, ("content", "parts"))
    blocks = fields.rows(content)
    for block in blocks:
        yield from _block(block, at)
    if role == "user":
        yield from _worded(blocks, at)
    if fenced and role == "assistant" and not message.get("tool_calls"):
        command = fields.text(message.get("action")) or _fenced(fields.blocks_text(content))
        if command:
            yield Opens("", "bash", {"command": command.strip()}, at)
    elif fenced and role == "user":
        yield Closes("", _result(message, at))


def _called(message: Row, at: float | None) -> Iterator[Event]:
    """The calls beside an assistant's content."""
    for call in fields.rows(fields.first(message, ("tool_calls", "toolCalls"))):
        function = fields.row(call.get("function")) or call
        name = fields.text(fields.first(function, ("name", "tool", "toolName")))
        given = fields.first(function, ("arguments", "args", "input"))
        yield Opens(_key(call), name, _decoded(given), at)
    single = message.get("function_call")
    if isinstance(single, dict):
        yield Opens("", fields.text(single.get("name")), _decoded(single.get("arguments")), at)


def _block(block: Row, at: float | None) -> Iterator[Event]:
    """A call or a result among the blocks of a content."""
    for name in ("functionCall", "functionResponse"):  # Gemini's API writes the kind as a key
        inner = block.get(name)
        if isinstance(inner, dict):
            block = {**inner, "type": name}
    kind = _kind_of(block)
    if kind in _OPENING:
        name = fields.text(fields.first(block, ("name", "toolName", "tool_name")))
        yield Opens(_key(block), name, _decoded(fields.first(block, ("input", "arguments", "args"))), at)
    elif kind == "toolrequest":  # goose
        asked = fields.row(fields.row(block.get("toolCall")).get("value"))
        yield Opens(_key(block), fields.text(asked.get("name")), asked.get("arguments"), at)
    elif kind in _CLOSING:
        yield Closes(_key(block), _result(block, at))


def _kind_of(block: Row) -> str:
    return fields.text(block.get("type")).replace("-", "").replace("_", "").lower()


def _worded(blocks: list[Row], at: float | None) -> Iterator[Event]:
    """The results that Cline hands back in words, below a line that names the call: `[read_file for 'x'] Result:`."""
    call: Opens | None = None
    for block in blocks:
        said = fields.text(block.get("text"))
        head = _WORDED.match(said)
        if head:
            name, about = head[1], head[2] or ""
            call = Opens("", name, {"command" if name == "execute_command" else "path": about} if about else None, at)
            said = said[head.end() :].strip()
        if call is None or not said:
            continue
        code = _ENDED.search(said[-120:].rpartition("\n")[2])
        failed = True if _WORDED_ERROR.match(said) else None
        result = calls.Result(text=said, failed=failed, at=at, exit_code=int(code[1]) if code else None)
        yield Closes("", result, call)
        call = None


def _key(record: Row) -> str:
    names = ("tool_call_id", "toolCallId", "tool_use_id", "toolUseID", "tool_id", "call_id", "callID", "id")
    key = fields.first(record, names)
    if key is None:
        listed = record.get("tool_call_ids")
        key = listed[0] if isinstance(listed, list) and listed else None
    return str(key) if isinstance(key, str | int) else ""


def _result(record: Row, at: float | None) -> calls.Result:
    for name in ("run", "toolResult"):  # Amp and goose wrap what came back together with its status
        record = {**record, **fields.row(record.get(name))}
    failed = next((record[name] for name in ("is_error", "isError", "error") if record.get(name) is True), None)
    response = fields.row(record.get("response"))
    error = fields.first(response, ("error",)) or (None if record.get("error") is True else record.get("error"))
    brought = fields.first(record, ("content", "output", "result", "value"))
    typed = ""
    if isinstance(brought, dict) and brought.keys() >= {"type", "value"}:  # of the AI SDK, which tells a failure so
        typed, brought = fields.text(brought["type"]), brought["value"]
        brought = json.dumps(brought) if isinstance(brought, dict) else brought
    said = fields.blocks_text(brought) or fields.blocks_text(response)
    answered = answers(brought)
    if answered is not None:
        said, failed = answered[0], answered[1] or failed
    if error:
        said = fields.blocks_text(error) or fields.text(fields.row(error).get("message")) or said
    if error or record.get("status") in ("error", "failed") or typed in ("error-text", "error-json"):
        failed = True
    said, told = unwrapped(said)
    code = _RETURN_CODE.search(said[:200]) or _ENDED.search(said[-120:].rpartition("\n")[2])
    details = fields.row(record.get("details")) or fields.row(record.get("result"))
    exit_code = int(code[1]) if code else fields.whole(fields.first(details, ("exitCode", "exit_code")))
    exit_code = told if told is not None else exit_code
    return calls.Result(
        text=said,
        failed=True if failed else None,
        at=at,
        exit_code=exit_code,
        says_failed=_TOOL_ERROR.match(said) is not None,
    )


def _fenced(said: str) -> str:
    """The command in the last code fence: how agents without tool calls act."""
    fences = _FENCE.findall(said[-20_000:])
    return fences[-1] if fences else ""


def _decoded(given: Json) -> Json:
    """Arguments, which many write as JSON inside a string."""
    if isinstance(given, str) and given.lstrip()[:1] == "{":
        try:
            decoded: Json = json.loads(given)
        except (ValueError, RecursionError):
            return given
        return decoded
    return given


def _gemini(record: Row) -> list[Event] | None:
    """Gemini CLI: calls and their results stand in one message."""
    if record.get("type") != "gemini" and not ("toolCalls" in record and "role" not in record):
        return [] if record.get("type") == "error" and isinstance(record.get("content"), str) else None
    found: list[Event] = []
    for call in fields.rows(record.get("toolCalls")):
        at = fields.instant(call.get("timestamp")) or fields.instant(record.get("timestamp"))
        status = fields.text(call.get("status"))
        if status and status not in ("success", "error", "cancelled"):
            continue  # still waits for approval or runs
        said, failed = _gemini_answer(call)
        said, exit_code = unwrapped(said)
        result = calls.Result(
            text=said,
            failed=True if status == "error" or failed else None,
            at=at,
            exit_code=exit_code,
            kind="cancelled" if status == "cancelled" else "",
        )
        opens = Opens(_key(call), fields.text(call.get("name")), call.get("args"), at)
        found.append(Closes(_key(call), result, opens))
    return found


def _gemini_stream(record: Row) -> list[Event] | None:
    """`gemini --output-format stream-json`: a line for a call, a line for its result."""
    kind = record.get("type")
    if "tool_id" not in record or kind not in ("tool_use", "tool_result"):
        return [] if kind in ("init", "result") and ("session_id" in record or "stats" in record) else None
    at = fields.instant(record.get("timestamp"))
    if kind == "tool_use":
        return [Opens(_key(record), fields.text(record.get("tool_name")), record.get("parameters"), at)]
    return [Closes(_key(record), _result(record, at))]


def _cursor_stream(record: Row) -> list[Event] | None:
    """`cursor-agent --output-format stream-json`: a call when it started, and again with its result."""
    held = record.get("tool_call")
    if record.get("type") != "tool_call" or not isinstance(held, dict):
        return None
    name = next((name for name in held if name.endswith("ToolCall")), next(iter(held), ""))
    inner = fields.row(held.get(name))
    at = fields.instant(fields.first(record, ("timestamp", "timestamp_ms")))
    opens = Opens(_key(record), _CURSOR_TOOLS.get(name, name.removesuffix("ToolCall")), inner.get("args"), at)
    if record.get("subtype") != "completed":
        return [opens]
    ((how, brought), *_) = fields.row(inner.get("result")).items() or (("", None),)
    back = fields.row(brought)
    said = "\n".join(
        filter(None, (fields.text(back.get(of)) for of in ("stdout", "stderr", "content", "error", "message")))
    )
    result = calls.Result(
        text=said or fields.blocks_text(brought),
        failed=True if how in ("failure", "error") else None,
        at=at,
        exit_code=fields.whole(back.get("exitCode")),
        kind="user_denied" if how == "rejected" else "timeout" if how == "timeout" else "",
    )
    return [Closes(_key(record), result)]


def _gemini_answer(call: Row) -> tuple[str, bool]:
    """(what came back, whether it came back as an error)."""
    answers = call.get("result")
    for part in fields.rows(answers):
        response = fields.row(fields.row(part.get("functionResponse")).get("response"))
        if response.get("error"):
            return fields.blocks_text(response["error"]), True
        if response:
            return fields.blocks_text(response), False
    return fields.blocks_text(answers) or fields.text(call.get("resultDisplay")), False


def _opencode(record: Row) -> list[Event] | None:
    """opencode: a part of type `tool` whose state holds input and output; alone, or in a message's parts."""
    parts = fields.rows(record.get("parts")) if isinstance(record.get("info"), dict) else [record]
    tools = [part for part in parts if part.get("type") == "tool" and isinstance(part.get("state"), dict)]
    if not tools:
        return [] if parts and parts[0] is not record else None
    found: list[Event] = []
    for part in tools:
        state = fields.row(part["state"])
        if state.get("status") not in ("completed", "error"):
            continue
        time = fields.row(state.get("time"))
        began, ended = fields.instant(time.get("start")), fields.instant(time.get("end"))
        exit_code = fields.whole(fields.first(fields.row(state.get("metadata")), ("exit", "exitCode", "exit_code")))
        failed = True if state.get("status") == "error" else None
        said = fields.blocks_text(fields.first(state, ("error", "output") if failed else ("output",)))
        opens = Opens(_key(part), fields.text(part.get("tool")), state.get("input"), began)
        found.append(Closes(opens.key, calls.Result(text=said, failed=failed, at=ended, exit_code=exit_code), opens))
    return found


def _copilot(record: Row) -> list[Event] | None:
    """Copilot CLI: events whose `data` holds the calls a message asks for, and the end of each."""
    kind, data = fields.text(record.get("type")), record.get("data")
    if "." not in kind or not isinstance(data, dict):
        return None
    at = fields.instant(record.get("timestamp"))
    if kind == "tool.execution_complete":
        error = fields.row(data.get("error"))
        said = fields.blocks_text(fields.first(fields.row(data.get("result")), ("content", "detailedContent")))
        said, exit_code = unwrapped(fields.text(error.get("message")) or said or fields.text(data.get("error")))
        ran = fields.row(data.get("shellExecution"))
        exit_code = fields.whole(ran.get("exitCode")) if exit_code is None else exit_code
        failed = True if data.get("success") is False or data.get("error") else None
        return [Closes(_key(data), calls.Result(text=said, failed=failed, at=at, exit_code=exit_code))]
    asked = fields.rows(data.get("toolRequests")) if kind == "assistant.message" else []
    return [Opens(_key(call), fields.text(call.get("name")), _decoded(call.get("arguments")), at) for call in asked]


def _openhands(record: Row) -> list[Event] | None:
    """OpenHands' first history shape: actions, and observations that name the action as their cause."""
    at = fields.instant(record.get("timestamp"))
    action, observation = record.get("action"), record.get("observation")
    if (
        isinstance(action, str)
        and ("args" in record or record.get("source") == "agent")
        and "observation" not in record
    ):
        if action in _SILENT_ACTIONS:
            return []
        made = fields.row(record.get("tool_call_metadata"))
        name = fields.text(made.get("function_name")) or _ACTION_TOOLS.get(action, action)
        given = dict(fields.row(record.get("args"))) or {"command": record.get("command")}
        for said in ("thought", "security_risk", "confirmation_state", "hidden", "blocking", "is_static", "cwd"):
            given.pop(said, None)
        return [Opens(str(record.get("id", "")), name, given, at)]
    if isinstance(observation, str) and "action" not in record:
        extras = fields.row(record.get("extras"))
        metadata = fields.row(extras.get("metadata"))
        exit_code = fields.whole(fields.first(extras, ("exit_code",)))
        exit_code = fields.whole(metadata.get("exit_code")) if exit_code is None else exit_code
        if observation in ("agent_state_changed", "null", "system", "recall", "think", "message"):
            return []
        said = fields.blocks_text(fields.first(record, ("content", "message")))
        failed = True if observation == "error" or (exit_code is None and record.get("success") is False) else None
        cause = record.get("cause")
        exit_code = None if exit_code is not None and exit_code < 0 else exit_code  # -1: still runs
        result = calls.Result(
            text=said, failed=failed, at=at, exit_code=exit_code, says_failed=bool(_TOOL_ERROR.match(said))
        )
        return [Closes("" if cause is None else str(cause), result)]
    return None


def _openhands_v1(record: Row) -> list[Event] | None:
    """OpenHands' second history shape: events of a `kind`."""
    kind = fields.text(record.get("kind"))
    if not kind.endswith(("Event", "Observation")) or ("source" not in record and "tool_name" not in record):
        return None
    at = fields.instant(record.get("timestamp"))
    tool = fields.text(record.get("tool_name"))
    if kind == "ActionEvent" and tool not in ("think", "finish"):
        given = record.get("action")
        if not isinstance(given, dict):
            given = _decoded(fields.row(record.get("tool_call")).get("arguments"))
        if isinstance(given, dict):
            given = {name: value for name, value in given.items() if name != "kind"}
        return [Opens(_key(record), tool, given, at)]
    if kind in ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent") and tool not in ("think", "finish"):
        held = fields.row(record.get("observation"))
        said = fields.blocks_text(fields.first(held, ("content", "output", "error")))
        said = said or fields.text(fields.first(record, ("error", "rejection_reason")))
        code = fields.whole(fields.first(held, ("exit_code",)))
        code = fields.whole(fields.row(held.get("metadata")).get("exit_code")) if code is None else code
        failed = (
            True if kind == "AgentErrorEvent" or held.get("is_error") is True or held.get("error") is True else None
        )
        refused = "user_denied" if kind == "UserRejectObservation" else ""
        code = None if code is not None and code < 0 else code
        return [Closes(_key(record), calls.Result(text=said, failed=failed, at=at, exit_code=code, kind=refused))]
    return []


def _swe_agent_step(record: Row) -> list[Event] | None:
    """A step of SWE-agent's trajectory: the action with its observation."""
    action, observation = record.get("action"), record.get("observation")
    if not isinstance(action, str) or not isinstance(observation, str) or "args" in record:
        return None
    if not action.strip():
        return []
    result = calls.Result(text=observation, duration_s=fields.number(record.get("execution_time")))
    return [Closes("", result, Opens("", "bash", {"command": action.strip()}))]
