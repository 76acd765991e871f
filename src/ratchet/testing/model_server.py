"""A server of language models for tests: it speaks what OpenAI and Anthropic speak, and fails in all their ways.

with ModelServer(Reply(status=429, retry_after_s=1), Reply(text='{"ok": true}')) as server:
    environ["RATCHET_MODEL"] = "any-name"
    environ["RATCHET_MODEL_BASE_URL"] = server.openai_url
    ...
    assert server.asked[0].temperature == 0.2
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self, cast

from ratchet.records import Json
from ratchet.testing.wire import Reply, anthropic_body, anthropic_events, openai_body, openai_events

_MOST_BYTES = 16_777_216
_LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came."""

    path: str
    body: dict[str, Json]
    headers: dict[str, str] = field(default_factory=dict)
    """Names in lower case."""

    @property
    def temperature(self) -> Json:
        return self.body.get("temperature")

    @property
    def streamed(self) -> bool:
        return self.body.get("stream") is True

    @property
    def text(self) -> str:
        """Everything that was sent, as one text to look into."""
        return json.dumps(self.body, ensure_ascii=False)


Answering = Reply | Callable[[Asked], Reply]


class _Listener(ThreadingHTTPServer):
    """The socket of a server, which its handlers know the server by."""

    daemon_threads = True

    def __init__(self, model_server: ModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model_server = model_server


class ModelServer:
    """Answers on 127.0.0.1, one reply a request in the order given, the last one for ever after."""

    def __init__(self, *replies: Answering, models: tuple[str, ...] = ("fake",)) -> None:
        self._replies = list(replies)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.models = models
        self.asked: list[Asked] = []
        self._server = _Listener(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": _LOOK_S}, name="model-server", daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """For Anthropic's client, which adds `/v1` itself."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply_to(self, asked: Asked) -> Reply:
        """The next reply in turn."""
        with self._lock:
            self.asked.append(asked)
            found = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return found if isinstance(found, Reply) else found(asked)

    def rest(self, seconds: float) -> None:
        """Silence, which ends with the server."""
        self._closing.wait(seconds)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    @property
    def _of(self) -> ModelServer:
        return cast("_Listener", self.server).model_server

    def do_GET(self) -> None:
        listed: Json = {"object": "list", "data": [{"id": name, "object": "model"} for name in self._of.models]}
        self._whole(200, json.dumps(listed).encode() if self.path == "/v1/models" else b"{}")

    def do_POST(self) -> None:
        length = min(int(self.headers.get("Content-Length", "0")), _MOST_BYTES)
        body = json.loads(self.rfile.read(length) or b"{}")
        asked = Asked(self.path, body, {name.lower(): value for name, value in self.headers.items()})
        reply = self._of.reply_to(asked)
        self._of.rest(reply.wait_s)
        model = str(body.get("model", ""))
        anthropic = self.path.startswith("/v1/messages")
        if reply.raw is not None or reply.status >= 400 or not asked.streamed:
            whole = anthropic_body(reply, model) if anthropic else openai_body(reply, model)
            self._whole(reply.status, json.dumps(whole).encode() if reply.raw is None else reply.raw, reply)
        else:
            self._stream(anthropic_events(reply, model) if anthropic else openai_events(reply, model), reply)

    def _whole(self, status: int, body: bytes, reply: Reply | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if reply is not None and reply.retry_after_s is not None:
            self.send_header("Retry-After", f"{reply.retry_after_s:g}")
        self.end_headers()
        if reply is not None and reply.cut_after is not None:
            self._cut(body[: reply.cut_after])
            return
        self.wfile.write(body)

    def _stream(self, events: Iterator[bytes], reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for number, event in enumerate(events):
                if reply.cut_after is not None and number >= reply.cut_after:
                    self._cut(b"")
                    return
                self.wfile.write(event)
                self.wfile.flush()
                self._of.rest(reply.piece_wait_s)
        except OSError:
            return  # the other side has had enough

    def _cut(self, last: bytes) -> None:
        """Send this much and break the connection, so that the other side sees no proper end."""
        self.wfile.write(last)
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.close_connection = True
        time.sleep(_LOOK_S)  # else the reset may overtake what was sent
        self.connection.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the standard library's name)
        """Nothing: tests say what they want to see."""
