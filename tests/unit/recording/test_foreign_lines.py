"""A client's file is known by what only this client writes, wherever in the file that stands and whatever is beside."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ratchet.recording.sources import source_for
from ratchet.records import Json, Outcome, Quarantined

ID = "0199a213-81c0-7800-8aa1-bbab2a035a53"
CALL: Json = {"command": "npm tset"}


def codex_item(at: int, payload: Json) -> Json:
    return {"timestamp": f"2026-11-01T10:00:{at:02d}.000Z", "type": "response_item", "payload": payload}


CLIENTS: dict[str, list[Json]] = {
    "codex": [
        {"timestamp": "2026-11-01T10:00:00.000Z", "type": "session_meta", "payload": {"id": ID, "cwd": "/p"}},
        codex_item(1, {"type": "function_call", "name": "shell", "arguments": json.dumps(CALL), "call_id": "c1"}),
        codex_item(2, {"type": "function_call_output", "call_id": "c1", "output": "Process exited with code 1\nno"}),
    ],
    "codex exec": [
        {"type": "thread.started", "thread_id": ID},
        {
            "type": "item.completed",
            "item": {"id": "i1", "type": "command_execution", "command": "npm tset", "exit_code": 1},
        },
    ],
    "claude": [
        {"type": "system", "subtype": "init", "cwd": "/p", "session_id": ID, "model": "m"},
        {
            "type": "assistant",
            "session_id": ID,
            "message": {
                "id": "m1",
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": CALL}],
            },
        },
        {
            "type": "user",
            "session_id": ID,
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "Exit code 1"}],
            },
        },
    ],
    "cursor": [
        {
            "type": "tool_call",
            "subtype": "completed",
            "call_id": "t1",
            "session_id": ID,
            "tool_call": {"shellToolCall": {"args": CALL, "result": {"failure": {"exitCode": 1, "stderr": "no"}}}},
        }
    ],
    "gemini": [
        {"type": "tool_use", "tool_id": "t1", "tool_name": "run_shell_command", "parameters": CALL},
        {"type": "tool_result", "tool_id": "t1", "status": "error", "error": {"message": "no"}},
    ],
    "copilot": [
        {
            "type": "assistant.message",
            "data": {"toolRequests": [{"toolCallId": "t1", "name": "bash", "arguments": CALL}]},
        },
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "t1", "success": False, "error": {"message": "no"}},
        },
    ],
    "messages": [
        {
            "role": "assistant",
            "tool_calls": [{"id": "t1", "function": {"name": "bash", "arguments": json.dumps(CALL)}}],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "no\nexit code: 1"},
    ],
}
SUMMARY = '{"type":"summary","summary":"a","leafUuid":"b"}'
SNAPSHOT = '{"type":"file-history-snapshot","messageId":"x","snapshot":{}}'
LAID: dict[str, Callable[[list[str]], str]] = {
    "as it is": lambda lines: "\n".join(lines) + "\n",
    "without its last line feed": "\n".join,
    "CRLF": lambda lines: "\r\n".join(lines) + "\r\n",
    "BOM": lambda lines: "\ufeff" + "\n".join(lines),
    "blank lines": lambda lines: "\n\n" + "\n\n".join(lines),
    "values before": lambda lines: "\n".join(["null", "[]", '""', *lines]),
    "words of others before": lambda lines: "\n".join([SNAPSHOT, SUMMARY, '{"foo":1}', *lines]),
    "text before": lambda lines: "\n".join(["Loading ...", *lines]),
    "a cut line behind": lambda lines: "\n".join([*lines, lines[-1][:30]]),
    "a long line before": lambda lines: "\n".join([json.dumps({"type": "prompt", "text": "x" * 100_000}), *lines]),
    "many lines before": lambda lines: "\n".join([*['{"type":"telemetry","pad":"' + "y" * 500 + '"}'] * 300, *lines]),
    "joined": "".join,
}


def counted(path: Path) -> tuple[int, int]:
    found = {
        item.id: item
        for read in source_for(str(path)).read(str(path), 0, {})
        for item in read.items
        if isinstance(item, Outcome)
    }
    return len(found), sum(not outcome.ok for outcome in found.values())


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("how", LAID)
def test_a_clients_steps_are_counted_whatever_is_beside_them(tmp_path: Path, client: str, how: str) -> None:
    path = tmp_path / "a.jsonl"
    laid = LAID[how]([json.dumps(record) for record in CLIENTS[client]])
    path.write_text(laid, "utf-8", newline="")
    assert counted(path) == (1, 1)
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", encoding="utf-8", newline="") as packed:
        packed.write(laid)
    assert counted(tmp_path / "a.jsonl.gz") == (1, 1)


@pytest.mark.parametrize("first", CLIENTS)
@pytest.mark.parametrize("second", CLIENTS)
def test_of_two_clients_in_one_file_both_are_read_or_the_lines_of_one_are_named(
    tmp_path: Path, first: str, second: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in CLIENTS[first] + CLIENTS[second] * (second != first)))
    source = source_for(str(path))
    unread = [
        item
        for read in source.read(str(path), 0, {})
        for item in read.items
        if isinstance(item, Quarantined) and f"in a file of {source.name}, not read" in item.reason
    ]
    outcomes = counted(path)[0]
    if first == second:
        assert (outcomes, unread) == (1, [])
    elif outcomes == 1:
        assert [each.line in (1, len(CLIENTS[first]) + 1) for each in unread] == [True]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("many", [1, 3])
@pytest.mark.parametrize("first", [True, False])
def test_generic_records_beside_a_clients_are_named_and_the_client_is_read(
    tmp_path: Path, client: str, many: int, first: bool
) -> None:
    path = tmp_path / "a.jsonl"
    theirs = CLIENTS[client]
    own = [{"agent": "bot", "task": f"t{n}", "ok": False, "error": f"boom {n}"} for n in range(many)]
    path.write_text("".join(json.dumps(each) + "\n" for each in ([*own, *theirs] if first else [*theirs, *own])))
    source = source_for(str(path))
    unread = [item for read in source.read(str(path), 0, {}) for item in read.items if isinstance(item, Quarantined)]
    said = "3 records of jsonl" if many > 1 else "1 record of jsonl"
    assert counted(path) == (1, 1)
    assert [(each.line, each.reason.partition(" in a file of ")[0]) for each in unread] == [
        (1 if first else len(theirs) + 1, said)
    ]


def test_calls_that_a_person_went_on_without_were_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    person = codex_item(9, {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]})
    context = "<environment_context>\n<cwd>/p</cwd>\n</environment_context>"
    by_client = codex_item(8, {"type": "message", "role": "user", "content": [{"type": "input_text", "text": context}]})
    begun, ended = CLIENTS["codex"][:2], CLIENTS["codex"][2]
    for records, expected in (
        ([*begun], (0, 0)),
        ([*begun, by_client], (0, 0)),
        ([*begun, person], (1, 1)),
        ([*begun, person, ended], (1, 1)),
    ):
        path.write_text("\n".join(map(json.dumps, records)))
        assert counted(path) == expected


def test_calls_that_a_stream_ended_without_were_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    call = CLIENTS["cursor"][0]
    assert isinstance(call, dict)
    begun = json.dumps({**call, "subtype": "started"})
    path.write_text(begun + "\n")
    assert counted(path) == (0, 0)
    ended = {"type": "result", "subtype": "success", "is_error": False, "session_id": ID, "result": "done"}
    path.write_text(f"{begun}\n{json.dumps(ended)}\n")
    assert counted(path) == (1, 1)


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        *(
            ("no\nexit code: 1", 1),
            ("<exit_code>1</exit_code>\nno", 1),
            ("no (Exit code 1)", 1),
            ("returncode=1\nno", 1),
        ),
        *(('{"exit_code": 1, "output": "no"}', 1), ("command failed with exit code 127: no", 1)),
        *(("ok\nexit code: 0", 0), ("<exit_code>0</exit_code>\nok", 0), ('{"exit_code": 0, "output": "ok"}', 0)),
        *(("the table lists exit code 1 as an error of usage\nand more", 0), ("returncode=0\nok", 0)),
    ],
)
def test_an_exit_code_within_a_result_counts(tmp_path: Path, said: str, failed: int) -> None:
    path = tmp_path / "a.jsonl"
    call, result = CLIENTS["messages"]
    assert isinstance(result, dict)
    path.write_text("\n".join(map(json.dumps, [call, {**result, "content": said}])))
    assert counted(path) == (1, failed)
