"""The wire formats of OpenAI's chat completions and of Anthropic's messages, as servers speak them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ratchet.records import Json

Ended = Literal["stop", "length", "refusal", "content_filter"]
_PIECE = 12  # characters of one event of a stream: enough of them to be cut between


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Reply of a server to one request. As it stands: a whole answer, at once."""

    text: str = ""
    ended: Ended = "stop"
    sent: int | None = 100
    """Tokens that it says it was sent; None: it does not count."""
    received: int = 50
    status: int = 200
    code: str = ""
    """The provider's own name of an error."""
    retry_after_s: float | None = None
    wait_s: float = 0.0
    """Silence before the answer."""
    piece_wait_s: float = 0.0
    """Silence between the events of a stream."""
    cut_after: int | None = None
    """The connection is cut after so many events (or bytes, without a stream)."""
    raw: bytes | None = None
    """Sent instead of an answer, as it is."""


def openai_body(reply: Reply, model: str) -> Json:
    """A whole answer, or an error."""
    if reply.status >= 400:
        return {"error": {"message": reply.text, "type": reply.code, "param": None, "code": reply.code}}
    refused = reply.ended == "refusal"
    message: dict[str, Json] = {
        "role": "assistant",
        "content": None if refused else reply.text,
        "refusal": reply.text if refused else None,
    }
    choice: dict[str, Json] = {"index": 0, "message": message, "finish_reason": _openai_end(reply), "logprobs": None}
    usage = {} if reply.sent is None else {"usage": _openai_usage(reply)}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], **usage}


def openai_events(reply: Reply, model: str) -> Iterator[bytes]:
    """The same as server-sent events."""
    head: dict[str, Json] = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}

    def event(delta: Json, finish: str | None = None) -> bytes:
        return _data({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield event({"role": "assistant", "content": ""})
    field = "refusal" if reply.ended == "refusal" else "content"
    for piece in _pieces(reply.text):
        yield event({field: piece})
    yield event({}, _openai_end(reply))
    if reply.sent is not None:
        yield _data({**head, "choices": [], "usage": _openai_usage(reply)})
    yield b"data: [DONE]\n\n"


def anthropic_body(reply: Reply, model: str) -> Json:
    """A whole answer, or an error."""
    if reply.status >= 400:
        return {"type": "error", "error": {"type": reply.code, "message": reply.text}}
    content: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
    return {**_anthropic_head(model), "content": content, **_anthropic_end(reply), "usage": _anthropic_usage(reply)}


def anthropic_events(reply: Reply, model: str) -> Iterator[bytes]:
    """The same as server-sent events."""
    begun: Json = {
        **_anthropic_head(model),
        "content": [],
        "stop_reason": None,
        "usage": {**_anthropic_usage(reply), "output_tokens": 1},
    }
    yield _event("message_start", {"message": begun})
    yield _event("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}})
    for piece in _pieces(reply.text):
        yield _event("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": piece}})
    yield _event("content_block_stop", {"index": 0})
    usage: Json = {"output_tokens": reply.received}
    yield _event("message_delta", {"delta": _anthropic_end(reply), "usage": usage})
    yield _event("message_stop", {})


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))


def _data(value: Json) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _event(name: str, value: Mapping[str, Json]) -> bytes:
    return f"event: {name}\n".encode() + _data({"type": name, **value})


def _openai_end(reply: Reply) -> str:
    return "stop" if reply.ended == "refusal" else reply.ended


def _openai_usage(reply: Reply) -> Json:
    sent = reply.sent or 0
    return {"prompt_tokens": sent, "completion_tokens": reply.received, "total_tokens": sent + reply.received}


def _anthropic_head(model: str) -> dict[str, Json]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": model}


def _anthropic_end(reply: Reply) -> dict[str, Json]:
    reasons = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal", "content_filter": "refusal"}
    return {"stop_reason": reasons[reply.ended], "stop_sequence": None}


def _anthropic_usage(reply: Reply) -> dict[str, Json]:
    return {"input_tokens": reply.sent or 0, "output_tokens": reply.received}
