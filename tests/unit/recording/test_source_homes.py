"""The homes of histories: which there are, what is in them, and what of that was read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ratchet.recording.sources.homes import HistoryHome
from ratchet.runtime import Runtime
from support.histories import claude

TALK = [
    claude(
        "assistant",
        1,
        message={"content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "x"}}]},
    ),
    claude("user", 2, message={"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}),
]


def test_a_home_is_listed_with_what_is_in_it_and_when_that_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".claude/projects/shop/s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in TALK))
    (path.parent / "settings.log").write_text("ERROR 2026-11-28 a log of the client's own\n" * 5)
    with Runtime.open(home=tmp_path / "home") as runtime:
        assert (before := only(runtime)).read_at is None
        assert (before.agent, before.files, before.unread, before.size_bytes) == (
            "Claude Code", 1, 1, path.stat().st_size,
        )  # fmt: skip
        assert runtime.learn().outcomes == 1
        assert ((after := only(runtime)).unread, after.read_at is None) == (0, False)
        path.write_text(path.read_text() * 2)
        assert only(runtime).unread == 1


def only(runtime: Runtime) -> HistoryHome:
    (home,) = runtime.histories()
    return home
