"""A reader claims a file by what only its client writes; what no reader can finish is named, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ratchet.failures.unflagged import says_failure
from ratchet.recording.sources import calls, source_for
from ratchet.records import Json, Outcome, Row

CASES = Path(__file__).parents[4] / "shared/cases/histories"
SESSION = "5f0d1c1e-0000-4000-8000-000000000001"


def steps_of(path: Path) -> list[Outcome]:
    read = source_for(str(path)).read(str(path), 0, {})
    return [item for each in read for item in each.items if isinstance(item, Outcome)]


def written(tmp_path: Path, *records: Row) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "agent", "steps", "failed"),
    [
        ("plain_type.jsonl", "plain_type", 2, 1),
        ("qwen_code_with_system_lines.jsonl", "qwen-code", 2, 1),
        ("cursor_stream.jsonl", "cursor", 2, 1),
        ("gemini_stream.jsonl", "gemini-cli", 2, 1),
        ("gemini-exit-128.jsonl", "gemini-cli", 2, 1),
        ("goose_legacy.jsonl", "messages", 2, 1),
        ("amp.json", "messages", 2, 2),
        ("cline_xml_history.json", "messages", 3, 2),
    ],
)
def test_steps_of_recorded_sessions(name: str, agent: str, steps: int, failed: int) -> None:
    case = CASES / name
    if not case.exists():
        pytest.skip(f"no {case}: clone the shared data beside this repository")
    found = steps_of(case)
    assert (len(found), sum(not each.ok for each in found)) == (steps, failed)
    assert {each.agent for each in found} == {agent}
    assert len({each.session for each in found}) == 1


@pytest.mark.parametrize("kind", ["user", "assistant", "system", "result", "progress", "tool-call", "task"])
@pytest.mark.parametrize("name", ["session_id", "sessionId"])
def test_own_lines_that_name_a_session_are_their_owners(tmp_path: Path, kind: str, name: str) -> None:
    lines: list[Row] = [{name: "s1", "type": kind, "task": "answer", "success": ok} for ok in (True, False)]
    found = steps_of(written(tmp_path, *lines))
    assert [each.ok for each in found] == [True, False]


@pytest.mark.parametrize(
    "extra", [{"systemPayload": {}, "type": "system", "subtype": "ui_telemetry"}, {"type": "system"}]
)
def test_one_line_in_a_shared_frame_does_not_take_the_whole_file(tmp_path: Path, extra: Row) -> None:
    part: Json = {"functionCall": {"id": "call_a1", "name": "run_shell_command", "args": {"command": "npm tset"}}}
    back: Json = {"functionResponse": {"id": "call_a1", "name": "run_shell_command", "response": {"error": "no"}}}
    frame: Row = {"sessionId": SESSION, "timestamp": "2026-11-01T10:00:00.000Z", "cwd": "/srv"}
    found = steps_of(
        written(
            tmp_path,
            {**frame, **extra},
            {**frame, "type": "assistant", "message": {"role": "model", "parts": [part]}},
            {**frame, "type": "tool_result", "message": {"role": "user", "parts": [back]}},
        )
    )
    assert [(each.agent, each.ok) for each in found] == [("qwen-code", False)]


@pytest.mark.parametrize(
    "line",
    [
        *("Exit code: 3", "exit code 3", "Exit Code: 3", "[exit code: 3]", "Process exited with code 3"),
        *("Command exited with code 3.", "(exit status 3)", "The command exited with status 3"),
    ],
)
@pytest.mark.parametrize("tool", ["Bash", "run_shell_command", "mcp__box__shell", "terminal"])
def test_an_exit_code_inside_a_result_counts_for_any_client(line: str, tool: str) -> None:
    for form in ("{}\nsome output", "some output\n{}", "<untrusted_context>\nx\n{}\nPGID: 4\n</x>"):
        failure = calls.failure_of(calls.Result(text=form.format(line)), tool=tool, head="npm test")
        assert failure is not None, form
        assert failure.exit_code == 3
        assert calls.failure_of(calls.Result(text=form.format(line.replace("3", "0"))), tool=tool) is None
    quoted = f"the docs say {line} means trouble, and so on"
    assert calls.failure_of(calls.Result(text=quoted), tool=tool) is None or says_failure(quoted, tool=tool)


@pytest.mark.parametrize(("waited", "kind"), [("10:00:40", "cancelled"), ("10:30:00", "timeout")])
def test_a_call_that_a_person_went_on_without_is_an_outcome(tmp_path: Path, waited: str, kind: str) -> None:
    frame: Row = {"sessionId": SESSION, "cwd": "/srv", "version": "2.0.0", "isSidechain": False}
    call: Json = {"type": "tool_use", "id": "toolu_01abcdefghij", "name": "Bash", "input": {"command": "make"}}
    found = steps_of(
        written(
            tmp_path,
            {
                **frame,
                "type": "assistant",
                "uuid": "a1",
                "timestamp": "2026-11-01T10:00:00.000Z",
                "message": {"role": "assistant", "id": "m1", "content": [call]},
            },
            {
                **frame,
                "type": "user",
                "uuid": "u1",
                "timestamp": f"2026-11-01T{waited}.000Z",
                "message": {"role": "user", "content": "never mind"},
            },
        )
    )
    assert [(each.ok, each.failure.kind if each.failure else "") for each in found] == [(False, kind)]


def learnt(home: Path, *paths: Path) -> tuple[int, Row, str]:
    ran = subprocess.run(
        [sys.executable, "-m", "ratchet", "--home", str(home), "learn", "--json", *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, json.loads(ran.stdout), ran.stderr


@pytest.mark.slow
def test_a_file_without_a_step_is_named_and_a_result_in_another_file_counts(tmp_path: Path) -> None:
    frame: Row = {"sessionId": SESSION, "cwd": "/srv", "version": "2.0.0", "isSidechain": False}
    call: Json = {"type": "tool_use", "id": "toolu_01abcdefghij", "name": "Bash", "input": {"command": "make"}}
    back: Json = {"type": "tool_result", "tool_use_id": "toolu_01abcdefghij", "content": "built"}
    asked: Json = {"role": "assistant", "id": "m1", "content": [call]}
    answered: Json = {"role": "user", "content": [back]}
    went_on: Json = {"role": "user", "content": "go on"}
    said: list[Row] = [
        {**frame, "type": "assistant", "uuid": "a1", "message": asked},
        {**frame, "type": "user", "uuid": "u1", "message": went_on},
        {**frame, "type": "user", "uuid": "u2", "message": answered},
    ]
    folder = tmp_path / "sessions"
    for name, kept in (("a", said[:2]), ("b", [said[0], said[2]]), ("c", said[1:2])):
        (folder / name).mkdir(parents=True)
        written(folder / name, *kept)
    status, report, _ = learnt(tmp_path / "home", folder)
    assert (status, report["outcomes"], report["failures"]) == (0, 1, 0)
    silent = folder / "c" / "session.jsonl"
    status, _, complaint = learnt(tmp_path / "home", silent)
    assert status != 0
    assert str(silent) in complaint.replace("\n", "")
