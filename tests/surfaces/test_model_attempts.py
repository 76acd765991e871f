"""Attempts inside an SDK's own retries are outcomes: the real clients of OpenAI and Anthropic on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import anthropic
import openai
import pytest

import ratchet
from ratchet.integrations.model_attempts import recorded

KEY = "sk-ant-api03-" + "Ab3dEf6hIj" * 9
CHAT = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
}  # fmt: skip
MESSAGE = {
    "id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "hi"}], "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip


class _Busy(BaseHTTPRequestHandler):
    """Answers each path with 429 once, then well; `broken` closes the connection instead."""

    seen: ClassVar[set[str]] = set()
    broken: ClassVar[bool] = False

    def log_message(self, *_: object) -> None:
        return

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        first = self.path not in self.seen
        self.seen.add(self.path)
        if first and self.broken:
            self.close_connection = True
            return
        body: object = CHAT if "chat" in self.path else MESSAGE
        if first:
            body = {"error": {"type": "rate_limit_error", "message": f"Rate limit reached for {KEY}"}}
        data = json.dumps(body).encode()
        self.send_response(429 if first else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if first:
            self.send_header("retry-after", "0.01")
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(_Busy, "seen", set())
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Busy)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def kept(home: Path) -> list[tuple[bool, str, object, object]]:
    """(ok, kind, which retry, the wait that was asked for) of each attempt, oldest first."""
    with ratchet.Ratchet(home) as r:
        return [
            (each.ok, each.failure.kind if each.failure else "", each.context["retry"], each.context.get("retry_after"))
            for each in [*r.outcomes()][::-1]
        ]


BOTH = [(False, "rate_limit", "0", "0.01"), (True, "", "1", None)]


def test_a_retry_inside_openai_is_two_outcomes(home: Path, url: str) -> None:
    with recorded(openai.OpenAI(base_url=f"{url}/v1", api_key=KEY), "shop", ratchet=ratchet.Ratchet(home)) as client:
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hi"}])
    assert kept(home) == BOTH


def test_a_retry_inside_anthropic_is_two_outcomes(home: Path, url: str) -> None:
    with recorded(anthropic.Anthropic(base_url=url, api_key=KEY), "shop", ratchet=ratchet.Ratchet(home)) as client:
        client.messages.create(model="scripted", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
    assert kept(home) == BOTH


def test_the_asynchronous_clients_are_recorded_alike(home: Path, url: str) -> None:
    async def ask() -> None:
        async with recorded(
            openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY), "shop", ratchet=ratchet.Ratchet(home)
        ) as client:
            await client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hi"}])

    asyncio.run(ask())
    assert kept(home) == BOTH


def test_a_connection_that_breaks_is_an_outcome(home: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Busy, "broken", True)
    with recorded(openai.OpenAI(base_url=f"{url}/v1", api_key=KEY), "shop", ratchet=ratchet.Ratchet(home)) as client:
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hi"}])
    assert [(ok, kind) for ok, kind, _, _ in kept(home)] == [(False, "network"), (True, "")]


def test_neither_a_key_nor_a_prompt_reaches_the_disk(home: Path, url: str) -> None:
    with recorded(openai.OpenAI(base_url=f"{url}/v1", api_key=KEY), "shop", ratchet=ratchet.Ratchet(home)) as client:
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "my own words"}])
    kept(home)
    for path in home.rglob("*"):
        held = b"" if path.is_dir() else path.read_bytes()
        assert KEY.encode() not in held, path
        assert b"my own words" not in held, path


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(ratchet.UsageError, match="str is no client"):
        recorded("openai", "shop")
