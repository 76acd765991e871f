"""A count of tokens that no agent reaches is none, in every format: sums of such would overflow the store for good."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from ratchet.cli.app import cli

AT = "2026-02-01T10:00:"


def _claude(n: int, tokens: int) -> object:
    said = [{"type": "tool_use", "id": f"toolu_01AbCdEfGhIjKlMnOp{n:02}", "name": "Bash", "input": {"command": "ls"}}]
    message = {
        "id": f"m{n}",
        "role": "assistant",
        "model": "x",
        "content": said,
        "usage": {"input_tokens": tokens},
    }
    return {"type": "assistant", "sessionId": "s", "uuid": f"u{n}", "timestamp": f"{AT}{n:02}Z", "message": message}


def _codex(n: int, tokens: int) -> object:
    info = {"total_token_usage": {"total_tokens": tokens + n}, "last_token_usage": {"total_tokens": tokens}}
    return {"type": "event_msg", "timestamp": f"{AT}{n:02}Z", "payload": {"type": "token_count", "info": info}}


def _otlp(n: int, tokens: int) -> object:
    named = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]
    counted = [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": str(tokens)}}]
    span = {"spanId": f"{n:016x}", "traceId": "a" * 32, "name": "chat", "attributes": named + counted}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


FORMATS: dict[str, Callable[[int, int], object]] = {
    "jsonl": lambda n, tokens: {"agent": "a", "session": "s", "task": f"t{n}", "ok": True, "tokens": tokens},
    "usage": lambda n, tokens: {"agent": "a", "session": "s", "task": f"{n}", "ok": True, "usage": {"in": tokens}},
    "messages": lambda n, tokens: {
        "role": "assistant",
        "id": f"m{n}",
        "content": "x",
        "usage": {"total_tokens": tokens},
    },
    "claude-code": _claude,
    "codex": _codex,
    "otlp": _otlp,
}


@pytest.mark.parametrize("tokens", [2**62, -(2**62), 10**30])
@pytest.mark.parametrize("name", FORMATS)
def test_sums_hold(tmp_path: Path, name: str, tokens: int) -> None:
    file, home = tmp_path / "history.jsonl", str(tmp_path / "home")
    records = [FORMATS[name](n, tokens) for n in range(5)]
    if name == "codex":
        records.insert(0, {"type": "session_meta", "timestamp": f"{AT}00Z", "payload": {"id": "s", "cwd": "/p"}})
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    file.with_name("good.jsonl").write_text('{"agent": "b", "session": "t", "ok": true, "tokens": 7}\n')
    learnt = CliRunner().invoke(cli, ["--home", home, "learn", str(tmp_path)])
    assert learnt.exit_code == 0, learnt.output
    cost = CliRunner().invoke(cli, ["--home", home, "sessions", "cost", "--json"])
    assert cost.exit_code == 0, cost.output
    assert json.loads(cost.output)["total"]["tokens"]["total"] == 7
