"""Codex's histories of every generation: one outcome per call, whichever of its records came."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from ratchet.errors import BackendError
from ratchet.recording.sources.codex import Codex
from ratchet.recording.sources.lines import peek
from ratchet.records import Json, Row
from support.histories import codex, lines, read, stamp

THREAD = "019f0000-1111-7222-8333-444455556666"
KEY = "call_AbCdEfGhIjKlMnOpQrStUvWx"
SOURCE = Codex()


def meta(**more: Json) -> Row:
    return codex(
        "session_meta", {"id": THREAD, "timestamp": stamp(0), "cwd": "/home/dev/shop", "source": "cli", **more}, 0
    )


def call(given: Json, second: float, *, key: str = KEY, name: str = "shell") -> Row:
    arguments = json.dumps(given)
    return codex(
        "response_item", {"type": "function_call", "name": name, "arguments": arguments, "call_id": key}, second
    )


def output(said: Json, second: float, *, key: str = KEY) -> Row:
    return codex("response_item", {"type": "function_call_output", "call_id": key, "output": said}, second)


SHELL: Json = {"command": ["bash", "-lc", "npm test"], "workdir": "/home/dev/shop"}


def test_the_new_generation_gives_one_outcome_per_call(tmp_path: Path) -> None:
    said = (
        "Chunk ID: a1\nWall time: 2.5 seconds\nProcess exited with code 1\nOriginal token count: 9\nOutput:\n2 failed"
    )
    path = lines(
        tmp_path / "rollout.jsonl",
        [
            meta(),
            codex("turn_context", {"cwd": "/home/dev/shop/web", "model": "gpt-5-codex"}, 1),
            call({"cmd": "npm test"}, 2, name="exec_command"),
            codex("event_msg", {"type": "token_count", "info": {"total_token_usage": {"total_tokens": 500}}}, 2.1),
            codex("event_msg", {"type": "token_count", "info": {"total_token_usage": {"total_tokens": 500}}}, 2.2),
            output(said, 5),
        ],
    )
    found = read(SOURCE, path).only
    assert (found.agent, found.task, found.session, found.thread) == ("codex", "exec_command", THREAD, "")
    assert (found.project, found.model, found.tokens) == ("/home/dev/shop/web", "gpt-5-codex", 500)
    assert found.duration_s == 2.5
    assert found.failure is not None
    assert (found.failure.exit_code, found.failure.message) == (1, "2 failed")
    assert found.step is not None
    assert found.step.input == "npm test"


@pytest.mark.parametrize(
    ("said", "ok", "message"),
    [
        ('{"output":"boom\\n","metadata":{"exit_code":2,"duration_seconds":0.3}}', False, "boom"),
        ('{"output":"fine","metadata":{"exit_code":0,"duration_seconds":0.3}}', True, ""),
        ("Exit code: 3\nWall time: 0 seconds\nOutput:\nboom", False, "boom"),
        ("Exit code: 0\nWall time: 0 seconds\nTotal output lines: 3\nOutput:\nfine", True, ""),
        ("Wall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\n", True, ""),
        ({"content": "boom", "success": False}, False, "boom"),
        ({"content": [{"type": "input_text", "text": "fine"}], "success": True}, True, ""),
        ([{"type": "input_text", "text": "Script failed\nWall time 0.1 seconds\nOutput:\nboom"}], False, "boom"),
        ("failed to parse function arguments: missing field `command`", False, "missing field"),
        ("apply_patch verification failed: Failed to find expected lines", False, "expected lines"),
        ("unsupported call: mystery", False, "unsupported call"),
        ("exec command rejected by user", False, "rejected by user"),
        ("aborted by user after 4.2s", False, "aborted"),
        ('{"metadata": 5}', True, ""),
        (None, True, ""),
        (7, True, ""),
    ],
)
def test_each_way_to_answer_is_understood(tmp_path: Path, said: Json, ok: bool, message: str) -> None:
    found = read(SOURCE, lines(tmp_path / "r.jsonl", [meta(), call(SHELL, 1), output(said, 2)])).only
    assert found.ok is ok
    if found.failure:
        assert message in found.failure.message


def test_a_refused_or_interrupted_call_says_so(tmp_path: Path) -> None:
    kinds = []
    for said in ("exec command rejected by user", "aborted by user after 4.2s"):
        failure = read(SOURCE, lines(tmp_path / "r.jsonl", [meta(), call(SHELL, 1), output(said, 2)])).only.failure
        assert failure is not None
        kinds.append(failure.kind)
    assert kinds == ["user_denied", "cancelled"]


def test_a_search_that_found_nothing_has_not_failed(tmp_path: Path) -> None:
    said = '{"output":"","metadata":{"exit_code":1}}'
    path = lines(tmp_path / "r.jsonl", [call({"command": ["bash", "-lc", "rg TODO src"]}, 1), output(said, 2)])
    assert read(SOURCE, path).only.ok


def test_the_old_generation_of_bare_items_is_read(tmp_path: Path) -> None:
    context = "<environment_context>\n<cwd>/home/dev/old</cwd>\n</environment_context>"
    path = lines(
        tmp_path / "rollout.jsonl",
        [
            {"id": THREAD, "timestamp": stamp(0), "instructions": None, "git": {}},
            {"record_type": "state"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": context}]},
            {
                "type": "local_shell_call",
                "call_id": KEY,
                "status": "completed",
                "action": {"type": "exec", "command": ["bash", "-lc", "make"]},
            },
            {
                "type": "function_call_output",
                "call_id": KEY,
                "output": '{"output":"No rule","metadata":{"exit_code":2}}',
            },
        ],
    )
    found = read(SOURCE, path).only
    assert (found.session, found.project, found.ok) == (THREAD, "/home/dev/old", False)
    assert found.step is not None
    assert found.step.input == "make"


def test_the_document_of_the_first_versions_is_read(tmp_path: Path) -> None:
    items: Json = [
        {"type": "message", "role": "user", "content": []},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": KEY},
        {"type": "function_call_output", "call_id": KEY, "output": '{"output":"a","metadata":{"exit_code":0}}'},
    ]
    path = tmp_path / "rollout-2025-06-26.json"
    path.write_text(json.dumps({"session": {"id": THREAD, "timestamp": stamp(0)}, "items": items}, indent=2))
    assert SOURCE.claims(peek(str(path)))
    assert (read(SOURCE, path).only.session, read(SOURCE, path).only.ok) == (THREAD, True)


def test_a_patch_through_a_custom_tool_keeps_its_change(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
    path = lines(
        tmp_path / "r.jsonl",
        [
            meta(),
            codex(
                "response_item", {"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": KEY}, 1
            ),
            codex(
                "response_item",
                {"type": "custom_tool_call_output", "call_id": KEY, "output": '{"output":"Success"}'},
                2,
            ),
        ],
    )
    step = read(SOURCE, path).only.step
    assert step is not None
    assert (step.tool, step.head, step.target, step.change) == ("apply_patch", "edit", "a.py", "- x = 1\n+ x = 2")


def finished(kind: str, key: str = "exec-1", **more: Json) -> Row:
    return codex("event_msg", {"type": "item_completed", "item": {"type": kind, "id": key, **more}}, 3)


def test_finished_items_of_0_147_are_steps(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "r.jsonl",
        [
            meta(),
            finished(
                "CommandExecution",
                "e1",
                command=["/bin/zsh", "-lc", "make test"],
                cwd="file:///w",
                status="failed",
                exit_code=2,
                aggregated_output="boom",
                duration={"secs": 1, "nanos": 500000000},
            ),
            finished(
                "McpToolCall",
                "e2",
                server="docs",
                tool="search",
                arguments={"q": "x"},
                status="failed",
                error={"message": "MCP error -32001"},
            ),
            finished(
                "FileChange",
                "e3",
                changes={"a.ts": {"type": "update", "unified_diff": "-old\n+new\n"}},
                status="completed",
            ),
            finished("AgentMessage", "e4", content=[]),
        ],
    )
    command, mcp, patch = read(SOURCE, path).outcomes
    assert (command.ok, command.project, command.duration_s) == (False, "/w", 1.5)
    assert command.step is not None
    assert (command.step.input, command.failure and command.failure.exit_code) == ("make test", 2)
    assert (mcp.task, mcp.ok, patch.ok) == ("docs__search", False, True)
    assert patch.step is not None
    assert patch.step.change == "- old\n+ new"


def test_a_finished_item_of_a_call_that_answers_later_counts_once(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "r.jsonl",
        [
            meta(),
            call({"cmd": "make"}, 1, name="exec_command"),
            finished("CommandExecution", KEY, command=["bash", "-lc", "make"], status="failed", exit_code=2),
            output("boom", 4),
        ],
    )
    found = read(SOURCE, path).only
    assert found.failure is not None
    assert found.failure.exit_code == 2


def test_a_scripts_failing_command_is_not_counted_again_as_the_script(tmp_path: Path) -> None:
    script: Row = {
        "type": "custom_tool_call",
        "name": "exec",
        "input": "await tools.exec_command({cmd:'make'})",
        "call_id": KEY,
    }
    said: Json = [
        {"type": "input_text", "text": "Script completed\nWall time 1 seconds\nOutput:\nmake: *** [all] Error 2"}
    ]
    path = lines(
        tmp_path / "r.jsonl",
        [
            meta(),
            codex("response_item", script, 1),
            finished("CommandExecution", command=["bash", "-lc", "make"], status="failed", exit_code=2, stdout="x"),
            codex("response_item", {"type": "custom_tool_call_output", "call_id": KEY, "output": said}, 4),
        ],
    )
    assert [found.ok for found in read(SOURCE, path).outcomes] == [False, True]


def test_events_about_a_calls_end_hint_at_it_or_stand_for_it(tmp_path: Path) -> None:
    ended: Row = {
        "type": "exec_command_end",
        "call_id": KEY,
        "command": ["bash", "-lc", "make"],
        "exit_code": 2,
        "aggregated_output": "boom",
    }
    tool: Row = {
        "type": "mcp_tool_call_end",
        "call_id": "call_2",
        "invocation": {"server": "s", "tool": "t", "arguments": {}},
        "result": {"Err": "no"},
    }
    path = lines(tmp_path / "r.jsonl", [meta(), codex("event_msg", ended, 1), codex("event_msg", tool, 2)])
    assert [(found.task, found.ok) for found in read(SOURCE, path).outcomes] == [
        ("exec_command", False),
        ("s__t", False),
    ]


def test_the_stream_of_codex_exec_is_read(tmp_path: Path) -> None:
    command: Row = {
        "id": "item_1",
        "type": "command_execution",
        "command": "/bin/bash -lc 'npm test'",
        "aggregated_output": "1 failed",
    }
    path = lines(
        tmp_path / "out.jsonl",
        [
            {"type": "thread.started", "thread_id": THREAD},
            {"type": "turn.started"},
            {"type": "item.started", "item": {**command, "status": "in_progress"}},
            {"type": "item.completed", "item": {**command, "exit_code": 1, "status": "failed"}},
            {
                "type": "item.completed",
                "item": {"id": "item_2", "item_type": "command_execution", "command": "ls", "exit_code": 0},
            },
            {"type": "item.completed", "item": {"id": "item_3", "type": "agent_message", "text": "done"}},
            {"type": "turn.failed", "error": {"message": "stream disconnected before completion"}},
        ],
    )
    failed, listed, model = read(SOURCE, path).outcomes
    assert (failed.session, failed.ok, listed.ok) == (THREAD, False, True)
    assert failed.step is not None
    assert failed.step.input == "npm test"
    assert (model.task, model.ok) == ("model", False)
    assert failed.started_at < listed.started_at < model.started_at


def test_an_export_without_its_header_has_a_session_from_its_name_or_content(tmp_path: Path) -> None:
    steps = [call(SHELL, 1), output("ok", 2)]
    named = lines(tmp_path / f"rollout-2026-02-01T10-00-00-{THREAD}.jsonl", steps)
    plain, copy = lines(tmp_path / "export.jsonl", steps), lines(tmp_path / "copy.jsonl", steps)
    assert read(SOURCE, named).only.session == THREAD
    assert read(SOURCE, plain).only.session == read(SOURCE, copy).only.session != ""


def test_a_subagents_rollout_bears_its_parents_session(tmp_path: Path) -> None:
    source: Json = {"subagent": {"thread_spawn": {"parent_thread_id": "parent-1", "depth": 1}}}
    found = read(SOURCE, lines(tmp_path / "r.jsonl", [meta(source=source), call(SHELL, 1), output("ok", 2)])).only
    assert (found.session, found.thread) == ("parent-1", THREAD)


def test_an_interrupted_turn_cancels_what_was_open(tmp_path: Path) -> None:
    aborted = codex("event_msg", {"type": "turn_aborted", "reason": "interrupted"}, 3)
    records = [meta(), call(SHELL, 1), aborted, output("aborted", 4)]
    failure = read(SOURCE, lines(tmp_path / "r.jsonl", records)).only.failure
    assert failure is not None
    assert failure.kind == "cancelled"


def test_a_rollout_grows(tmp_path: Path) -> None:
    path = lines(tmp_path / "r.jsonl", [meta(), call(SHELL, 1)])
    first = read(SOURCE, path)
    with path.open("a") as file:
        file.write(json.dumps(output("ok", 4)) + "\n")
    then = read(SOURCE, path, first.offset, first.carry)
    assert (then.only.session, then.only.duration_s) == (THREAD, 3.0)


def test_wrongly_typed_records_break_nothing(tmp_path: Path) -> None:
    odd: list[Json] = [
        {"type": "response_item", "payload": {"type": "function_call", "name": 5, "arguments": 7, "call_id": "c"}},
        {
            "type": "response_item",
            "payload": {"type": "function_call", "name": "shell", "arguments": "{cut", "call_id": "d"},
        },
        {"type": "event_msg", "payload": {"type": "item_completed", "item": [1]}},
        {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": "x"}}},
        {
            "type": "event_msg",
            "payload": {"type": "mcp_tool_call_end", "call_id": "z", "invocation": None, "result": []},
        },
        {"type": "session_meta", "payload": {"id": 5, "source": []}},
        {"type": "turn_context", "payload": {"cwd": 5}},
        {"type": "item.completed", "item": None},
    ]
    taught = read(SOURCE, lines(tmp_path / "r.jsonl", [*odd, call(SHELL, 1), output("ok", 2)]))
    assert taught.outcomes[-1].ok


def test_gzip_is_read_and_a_cut_one_keeps_what_it_holds(tmp_path: Path) -> None:
    plain = lines(tmp_path / "r.jsonl", [meta(), call(SHELL, 1), output("ok", 2)])
    packed = tmp_path / "r.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert SOURCE.claims(peek(str(packed)))
    whole = read(SOURCE, packed)
    assert whole.ids == read(SOURCE, plain).ids
    assert not read(SOURCE, packed, whole.offset, whole.carry).outcomes
    packed.write_bytes(packed.read_bytes()[:-9])
    assert "cut off" in read(SOURCE, packed).bad[-1].reason


def test_zstandard_without_a_reader_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("compression", "compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / "r.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd rest")
    with pytest.raises(BackendError, match="zstd -d"):
        peek(str(path))


def test_a_file_that_nothing_in_it_is_understood_of_is_an_error(tmp_path: Path) -> None:
    path = lines(tmp_path / "r.jsonl", [{"type": "some_future_thing", "payload": {}}] * 3)
    assert [piece.line for piece in read(SOURCE, path).bad] == [0]
