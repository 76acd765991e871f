"""A provider of models on loopback that says what a script tells it, and keeps every request: what a real client handed
to its model stands in there, and nowhere else.

It speaks Anthropic's messages, OpenAI's responses and chat completions, and Gemini's contents, whole or as a stream.
The step of a script is chosen by how many tool results the conversation holds, so retries and side requests of the
client do no harm.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls a tool: the first of the names (separated by blanks) that it was offered."""

    tool: str
    input: Any


@dataclass(frozen=True, slots=True)
class Fault:
    """The provider answers with an error."""

    status: int
    message: str


Step = str | Call | Fault | tuple[Call, ...]
"""A text, which ends the turn; one call; calls side by side; an error."""


@dataclass
class Provider:
    """A running provider. `scripts`: a word of a conversation's first message -> its steps; "" is any other's."""

    scripts: Mapping[str, Sequence[Step]]
    requests: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of what asked for a model's answer, in order."""
    url: str = ""
    toolless: bool = False
    """Whether the scripts answer a client that offers its model no tools, too; those of others are side requests."""

    def __enter__(self) -> Self:
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def texts(self) -> list[str]:
        """Each request of a conversation with tools, as one text."""
        return [json.dumps(body, ensure_ascii=False) for body in self.requests if body.get("tools")]

    def step(self, first: str, results: int, offered: Sequence[str]) -> Step:
        steps = next(
            (steps for word, steps in self.scripts.items() if word and word in first), self.scripts.get("", ())
        )
        step = steps[results] if results < len(steps) else "done"
        if not isinstance(step, Call | tuple):
            return step
        calls = [_offered(call, offered) for call in _calls(step)]
        return tuple(calls) if all(call.tool for call in calls) else f"NO SUCH TOOL: {step}; offered: {list(offered)}"


def _offered(call: Call, offered: Sequence[str]) -> Call:
    """The call by the first of its names that is offered; "" where none is."""
    return Call(next((name for name in call.tool.split() if name in offered), ""), call.input)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, owner: Provider) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def owner(self) -> Provider:
        assert isinstance(self.server, _Server)
        return self.server.owner

    def log_message(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        self._json({"data": [], "models": []})

    def do_HEAD(self) -> None:
        self._json({})

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            self._json({"input_tokens": 10})
        elif path.endswith("/messages"):
            self.owner.requests.append(body)
            self._messages(body)
        elif path.endswith("/responses"):
            self.owner.requests.append(body)
            self._responses(body)
        elif path.endswith("/chat/completions"):
            self.owner.requests.append(body)
            self._chat(body)
        elif path.endswith(("enerateContent", "GenerateContent")):
            self.owner.requests.append(body)
            self._contents(body, streamed="stream" in path)
        else:
            self._json({})

    def _body(self) -> bytes:
        if (self.headers.get("transfer-encoding") or "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        pieces = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _json(self, answer: object, status: int = 200) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, events: Iterable[dict[str, Any]], *, end: str = "") -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            named = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{named}data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(end.encode())
        self.close_connection = True

    # --- Anthropic's messages

    def _messages(self, body: dict[str, Any]) -> None:
        messages = body.get("messages", [])
        blocks = [block for each in messages for block in _blocks(each.get("content"))]
        results = len({block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"})
        first = " ".join(str(block.get("text", "")) for each in messages[:1] for block in _blocks(each.get("content")))
        offered = [str(tool.get("name")) for tool in body.get("tools") or ()]
        step = self.owner.step(first, results, offered) if offered else "ok"
        if isinstance(step, Fault):
            kind = "invalid_request_error" if step.status < 500 else "api_error"
            self._json({"type": "error", "error": {"type": kind, "message": step.message}}, step.status)
            return
        content = _said(step)
        message = {
            "id": f"msg_{uuid.uuid4().hex[:12]}", "type": "message", "role": "assistant", "model": body.get("model"),
            "content": content, "stop_reason": "end_turn" if isinstance(step, str) else "tool_use",
            "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5},
        }  # fmt: skip
        self._stream(_message_events(message)) if body.get("stream") else self._json(message)

    # --- OpenAI's responses

    def _responses(self, body: dict[str, Any]) -> None:
        asked = body["input"] if isinstance(body.get("input"), list) else []
        results = sum(str(item.get("type", "")).endswith("_call_output") for item in asked)
        spaces = {}
        for tool in body.get("tools") or ():
            for inner in tool.get("tools") or () if tool.get("type") == "namespace" else (tool,):
                space = tool["name"] if tool.get("type") == "namespace" else ""
                name = inner.get("name") or inner.get("type")
                spaces[f"{space.removesuffix('__')}__{name}" if space else name] = (space, name, inner.get("type"))
        step = self.owner.step("", results, list(spaces)) if spaces else "ok"
        if isinstance(step, Fault):
            self._json({"error": {"message": step.message, "type": "invalid_request_error"}}, step.status)
            return
        items = (
            [_message_item(step)]
            if isinstance(step, str)
            else [_call_item(each, spaces[each.tool]) for each in _calls(step)]
        )
        response = {
            "id": f"resp_{uuid.uuid4().hex[:12]}", "object": "response", "created_at": 1, "model": body.get("model"),
            "output": items, "status": "completed", "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
            "usage": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12,
                      "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
        }  # fmt: skip
        self._stream(_response_events(response)) if body.get("stream") else self._json(response)

    # --- OpenAI's chat completions

    def _chat(self, body: dict[str, Any]) -> None:
        messages = body.get("messages", [])
        results = sum(each.get("role") == "tool" for each in messages)
        offered = [tool["function"]["name"] for tool in body.get("tools") or () if "function" in tool]
        step = self.owner.step(_asked(messages), results, offered) if offered or self.owner.toolless else "ok"
        if isinstance(step, Fault):
            self._json({"error": {"message": step.message, "type": "invalid_request_error"}}, step.status)
            return
        called = [
            {"index": at, "id": f"call_{uuid.uuid4().hex[:24]}", "type": "function",
             "function": {"name": call.tool, "arguments": json.dumps(call.input)}}
            for at, call in enumerate(_calls(step))
        ]  # fmt: skip
        said = {"role": "assistant", "content": step if isinstance(step, str) else None}
        ends = "tool_calls" if called else "stop"
        about = {"id": f"c_{uuid.uuid4().hex[:12]}", "created": 1, "model": body.get("model")}
        usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        message = {**said, "tool_calls": called} if called else said
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": ends}
            self._json({**about, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        chunk = {**about, "object": "chat.completion.chunk"}
        choices = (
            [{"index": 0, "delta": message, "finish_reason": None}],
            [{"index": 0, "delta": {}, "finish_reason": ends}],
        )
        events = [*({**chunk, "choices": choice} for choice in choices), {**chunk, "choices": [], "usage": usage}]
        self._stream(events, end="data: [DONE]\n\n")

    # --- Gemini's contents

    def _contents(self, body: dict[str, Any], *, streamed: bool) -> None:
        contents = body.get("contents") or []
        results = sum("functionResponse" in part for each in contents for part in each.get("parts") or ())
        offered = [one["name"] for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
        first = " ".join(str(part.get("text", "")) for each in contents[:1] for part in each.get("parts") or ())
        step = self.owner.step(first, results, offered) if offered else "ok"
        if isinstance(step, Fault):
            self._json({"error": {"code": step.status, "message": step.message, "status": "INVALID"}}, step.status)
            return
        parts: list[dict[str, Any]] = [
            {
                "functionCall": {"name": call.tool, "args": call.input, "id": uuid.uuid4().hex[:8]},
                "thoughtSignature": "c2c=",
            }
            for call in _calls(step)
        ] or [{"text": step}]
        if "responseMimeType" in (body.get("generationConfig") or {}):  # its router asks which model is to answer
            parts = [{"text": json.dumps({"model_choice": "flash", "reasoning": "", "next_speaker": "user"})}]
        answer = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12},
        }  # fmt: skip
        self._stream([answer]) if streamed else self._json(answer)


def _asked(messages: list[dict[str, Any]]) -> str:
    """What a person said first."""
    said = next((each.get("content") for each in messages if each.get("role") == "user"), "")
    return " ".join(str(block.get("text", "")) for block in _blocks(said))


def _calls(step: Step) -> tuple[Call, ...]:
    return step if isinstance(step, tuple) else (step,) if isinstance(step, Call) else ()


def _blocks(content: object) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _said(step: Step) -> list[dict[str, Any]]:
    if isinstance(step, str):
        return [{"type": "text", "text": step}]
    return [
        {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": call.tool, "input": call.input}
        for call in _calls(step)
    ]


def _message_events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for at, block in enumerate(message["content"]):
        is_call = block["type"] == "tool_use"
        empty = {**block, "input": {}} if is_call else {"type": "text", "text": ""}
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            if is_call
            else {"type": "text_delta", "text": block["text"]}
        )
        yield {"type": "content_block_start", "index": at, "content_block": empty}
        yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    yield {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"]}, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def _message_item(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {**_item("msg", "message"), "role": "assistant", "content": content}


def _call_item(call: Call, named: tuple[str, str, str]) -> dict[str, Any]:
    space, name, kind = named
    about = {"call_id": f"call_{uuid.uuid4().hex[:24]}", "name": name}
    if kind == "custom":
        return {**_item("ctc", "custom_tool_call"), **about, "input": call.input}
    item = {**_item("fc", "function_call"), **about, "arguments": json.dumps(call.input)}
    return {**item, "namespace": space} if space else item


def _item(prefix: str, kind: str) -> dict[str, Any]:
    return {"type": kind, "id": f"{prefix}_{uuid.uuid4().hex[:12]}", "status": "completed"}


def _response_events(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": {**response, "output": [], "status": "in_progress"}}
    for at, item in enumerate(response["output"]):
        yield {"type": "response.output_item.added", "output_index": at, "item": item}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": "response.completed", "response": response}
