"""Sources hear what a person said and what an agent said while a failure stood."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ratchet.recording.sources.claude_code import ClaudeCode
from ratchet.recording.sources.codex import Codex
from ratchet.recording.sources.messages import Messages
from ratchet.recording.sources.voices import WORD_CHARS, typed
from ratchet.records import Json
from support.histories import SESSION, lines, read


def _user(text: str, at: int, **more: Json) -> Json:
    return {
        "type": "user",
        "sessionId": SESSION,
        "uuid": f"u{at}",
        "timestamp": f"2026-01-05T10:00:{at:02}Z",
        "cwd": "/home/kim/shop",
        "message": {"role": "user", "content": text},
        **more,
    }


def _assistant(at: int, *blocks: Json) -> Json:
    return {
        "type": "assistant",
        "sessionId": SESSION,
        "uuid": f"a{at}",
        "timestamp": f"2026-01-05T10:00:{at:02}Z",
        "message": {"role": "assistant", "id": f"m{at}", "content": list(blocks)},
    }


def _call(name: str, command: str) -> Json:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}


def _result(name: str, text: str, at: int, *, failed: bool = False) -> Json:
    return _user("", at) | {  # type: ignore[operator]
        "message": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": name, "content": text, "is_error": failed}],
        }
    }


def test_a_persons_words_are_heard_with_the_step_before_them(tmp_path: Path) -> None:
    told = read(
        ClaudeCode(),
        lines(
            tmp_path / "s.jsonl",
            [
                _user("do it", 1),
                _assistant(2, _call("toolu_01AAAAAAAAAAAAAAAAAAAAAA", "git push")),
                _result("toolu_01AAAAAAAAAAAAAAAAAAAAAA", "ok", 3),
                _user("[Request interrupted by user]", 4),
                _user("<ide_opened_file>a.py</ide_opened_file>\nnot to main, my token is ghp_" + "a1B2" * 9, 5),
                _user("<command-name>/exit</command-name>", 6),
                _user("a long summary", 7, isCompactSummary=True),
                _user("told by the client", 8, isMeta=True),
            ],
        ),
    )
    first, second = told.said
    assert (first.text, first.after, first.way) == ("do it", "", "typed")
    assert (second.way, second.after) == ("interrupted", told.only.id)
    assert second.text.startswith("not to main")
    assert "ghp_" not in second.text


def test_an_agents_sentence_is_heard_only_while_a_failure_stands(tmp_path: Path) -> None:
    told = read(
        ClaudeCode(),
        lines(
            tmp_path / "s.jsonl",
            [
                _user("lint it", 1),
                _assistant(2, {"type": "text", "text": "I look."}, _call("t1", "make lint")),
                _result("t1", "Exit code 1\na.go:1:1: bad (ireturn)", 3, failed=True),
                _assistant(4, {"type": "text", "text": "Returning the interface is intentional."}),
                _user("fine", 5),
                _assistant(6, {"type": "text", "text": "Done."}),
            ],
        ),
    )
    assert [each.text for each in told.said if each.who == "agent"] == ["Returning the interface is intentional."]


def test_comments_of_a_review_are_heard_by_their_shape(tmp_path: Path) -> None:
    answer = [
        {"id": 1, "path": "a.go", "body": "use checkpointID, not cpID", "user": {"login": "kim"}},
        {"id": 2, "title": "a pull request", "body": "what it does"},
    ]
    told = read(
        ClaudeCode(),
        lines(
            tmp_path / "s.jsonl",
            [_assistant(2, _call("t1", "gh api repos/x/y/pulls/1/comments")), _result("t1", json.dumps(answer), 3)],
        ),
    )
    (said,) = told.said
    assert (said.text, said.way, said.after) == ("use checkpointID, not cpID", "review", told.only.id)


def test_codex_and_plain_conversations_are_heard_too(tmp_path: Path) -> None:
    codex = lines(
        tmp_path / "rollout-1.jsonl",
        [
            {"type": "session_meta", "timestamp": "2026-01-05T10:00:00Z", "payload": {"id": SESSION, "cwd": "/w"}},
            {
                "type": "response_item",
                "timestamp": "2026-01-05T10:00:01Z",
                "payload": {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "<environment_context>x</environment_context>"}],
                },
            },
            {
                "type": "response_item",
                "timestamp": "2026-01-05T10:00:02Z",
                "payload": {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "use pnpm"}],
                },
            },
        ],
    )
    assert [each.text for each in read(Codex(), codex).said] == ["use pnpm"]
    heard = []
    for name in ("one", "two"):  # both count their messages from 1
        plain = lines(tmp_path / f"{name}.jsonl", [{"role": "user", "content": "use pnpm", "id": "1"}])
        heard += read(Messages(), plain).said
    assert [each.text for each in heard] == ["use pnpm", "use pnpm"]
    assert heard[0].id != heard[1].id


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<system-reminder>x</system-reminder> go on", "go on"),
        ("This session is being continued from a previous one", ""),
        ("a <b> c", "a <b> c"),
        ("<task-notification>x</task-notification>\nRead the output file", ""),
        ("[Request interrupted by user for tool use]", ""),
    ],
)
def test_only_what_a_person_typed_counts(text: str, words: str) -> None:
    assert typed(text) == words


def test_words_are_capped(tmp_path: Path) -> None:
    (said,) = read(ClaudeCode(), lines(tmp_path / "s.jsonl", [_user("x" * 5_000, 1)])).said
    assert len(said.text) <= WORD_CHARS
    assert said.chars == 5_000
