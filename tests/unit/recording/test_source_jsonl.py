"""Generic JSON lines: every usual spelling of one finished run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ratchet.recording.sources import spellings
from ratchet.recording.sources.jsonl import Jsonl
from ratchet.recording.sources.lines import peek
from ratchet.records import Json, Row
from support.histories import lines, read

SOURCE = Jsonl()


@pytest.mark.parametrize(
    ("record", "ok"),
    [
        ({"success": False}, False),
        ({"success": True}, True),
        ({"ok": 1}, True),
        ({"passed": "false"}, False),
        ({"failed": True}, False),
        ({"is_error": True}, False),
        ({"status": "error"}, False),
        ({"status": "FAILED"}, False),
        ({"status": "completed"}, True),
        ({"status": "timed-out"}, False),
        ({"result": "pass"}, True),
        ({"outcome": "failure"}, False),
        ({"status": 503}, False),
        ({"status_code": 200}, True),
        ({"exit_code": 2}, False),
        ({"returncode": 0}, True),
        ({"error": "boom"}, False),
        ({"error": None}, True),
        ({"error": "none"}, True),
        ({"error": {"type": "RateLimitError", "message": "slow down"}}, False),
        ({"exception": "ValueError: x"}, False),
        ({"level": "ERROR", "msg": "boom"}, False),
        ({"response": {"status_code": 429, "body": {"error": {"message": "slow"}}}, "error": None}, False),
        ({"score": 0.2}, False),
        ({"quality": 4}, True),
        ({"quality": 1}, False),
        ({"level": "info", "msg": "hello"}, None),
        ({"status": "running"}, None),
    ],
)
def test_a_verdict_is_read_in_its_usual_spellings(record: Row, ok: bool | None) -> None:
    found = spellings.verdict(record)
    assert found is not None
    assert found.ok is ok


def test_fields_are_taken_from_their_usual_names(tmp_path: Path) -> None:
    record: Row = {
        "agent_id": "crawler",
        "operation": "fetch",
        "success": False,
        "error": {"type": "HTTPError", "message": "slow down", "code": "rate_limited"},
        "status_code": 429,
        "timestamp": "2026-02-01T10:00:00Z",
        "duration_ms": 1500,
        "cost": 0.25,
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        "model": "m-1",
        "run_id": "r1",
        "quality": 2,
        "cwd": "/w",
    }
    found = read(SOURCE, lines(tmp_path / "a.jsonl", [record])).only
    assert (found.agent, found.task, found.session, found.project, found.model) == (
        "crawler",
        "fetch",
        "r1",
        "/w",
        "m-1",
    )
    assert (found.started_at, found.duration_s, found.cost_usd, found.tokens, found.score) == (
        1769940000.0,
        1.5,
        0.25,
        15,
        0.25,
    )
    assert found.failure is not None
    assert (found.failure.status, found.failure.type) == (429, "HTTPError")
    assert found.failure.message == "HTTPError: rate_limited: slow down"


@pytest.mark.parametrize(
    "at", [1769940000, 1769940000.0, 1769940000000, 1769940000000000000, "1769940000", "2026-02-01 10:00:00+00:00"]
)
def test_times_are_read_in_every_unit(tmp_path: Path, at: Json) -> None:
    found = read(SOURCE, lines(tmp_path / "a.jsonl", [{"task": "x", "ok": True, "ts": at}])).only
    assert found.started_at == pytest.approx(1769940000.0)


def test_a_tool_with_its_input_is_a_step(tmp_path: Path) -> None:
    record: Row = {
        "tool": "bash",
        "input": {"command": "git push"},
        "success": False,
        "stderr": "fatal: no upstream\nhint: x",
    }
    step = read(SOURCE, lines(tmp_path / "a.jsonl", [record])).only.step
    assert step is not None
    assert (step.head, step.input) == ("git push", "git push")


def test_a_success_whose_text_says_otherwise_is_an_unflagged_failure(tmp_path: Path) -> None:
    body = '{"error": {"code": 429, "message": "Rate limit reached", "type": "rate_limit_error"}}'
    found = read(SOURCE, lines(tmp_path / "a.jsonl", [{"task": "chat", "success": True, "result": body}])).only
    assert found.failure is not None
    assert not found.failure.flagged


def test_reading_again_or_a_copy_adds_nothing_and_equal_lines_are_two_runs(tmp_path: Path) -> None:
    records: list[Json] = [{"task": "a", "success": False, "error": "boom"}] * 2
    path, copy = lines(tmp_path / "a.jsonl", records), lines(tmp_path / "copy.jsonl", records)
    assert read(SOURCE, path).ids == read(SOURCE, copy).ids
    assert len(set(read(SOURCE, path).ids)) == 2


def test_ids_of_their_own_are_kept_when_they_are_unique(tmp_path: Path) -> None:
    unique = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
    first = lines(tmp_path / "a.jsonl", [{"id": unique, "ok": False}, {"id": "task-1", "ok": False}])
    moved = lines(
        tmp_path / "b.jsonl", [{"ok": True}, {"id": unique, "ok": False, "more": 1}, {"id": "task-1", "ok": True}]
    )
    assert len(set(read(SOURCE, first).ids) & set(read(SOURCE, moved).ids)) == 1
    own = "o" + "a1" * 12
    assert read(SOURCE, lines(tmp_path / "c.jsonl", [{"id": own, "ok": True}])).ids == [own]


def test_lines_that_are_no_run_are_named_up_to_a_number_and_then_counted(tmp_path: Path) -> None:
    alien: list[Json] = [{"name": "n"}] * 50
    taught = read(SOURCE, lines(tmp_path / "a.jsonl", [{"task": "x", "ok": True}, *alien]))
    assert len(taught.outcomes) == 1
    assert [piece.line for piece in taught.bad] == [*range(2, 22), 0]
    assert "30 more lines" in taught.bad[-1].reason


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"results": rows, "version": 1}])
@pytest.mark.parametrize("indent", [None, 2])
def test_documents_with_runs_are_read(tmp_path: Path, wrap: object, indent: int | None) -> None:
    assert callable(wrap)
    path = tmp_path / "a.json"
    path.write_text(
        json.dumps(
            wrap([{"task": "a", "status": "failed", "error": "x"}, {"task": "b", "status": "ok"}]), indent=indent
        )
    )
    if indent or wrap([]) == []:
        assert SOURCE.claims(peek(str(path)))
        assert [found.ok for found in read(SOURCE, path).outcomes] == [False, True]


def test_secrets_are_redacted_and_numbers_of_any_size_are_survived(tmp_path: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 4
    record: Row = {
        "task": f"push {secret}",
        "ok": False,
        "error": f"bad token {secret}",
        "duration": "NaN",
        "cost": 10**400,
    }
    found = read(SOURCE, lines(tmp_path / "a.jsonl", [record])).only
    assert secret not in repr(found)
    assert (found.duration_s, found.cost_usd) == (None, None)


def test_a_growing_file_is_continued(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [{"task": "a", "ok": True}])
    first = read(SOURCE, path)
    with path.open("a") as file:
        file.write('{"task": "b", "ok": fal')
    torn = read(SOURCE, path, first.offset, first.carry)
    assert not torn.outcomes
    assert "cut off" in torn.bad[0].reason
    with path.open("a") as file:
        file.write("se}")
    whole = read(SOURCE, path, torn.offset, torn.carry)
    assert whole.only.task == "b"
    with path.open("a") as file:
        file.write('\n{"task": "c", "ok": true}\n')
    last = read(SOURCE, path, whole.offset, whole.carry)
    assert last.only.task == "c"
    assert read(SOURCE, path).ids == [*first.ids, *whole.ids, *last.ids]
