"""Sessions that agents keep in a database: each call once, a session that grew read on, other databases left aside."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from ratchet.recording.sources import source_for
from ratchet.recording.sources.find import find
from ratchet.records import Outcome, Quarantined, Row

OPENCODE = """
CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, time_created INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_updated INTEGER, data TEXT);
"""
GOOSE = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, working_dir TEXT);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER);
"""
AT_MS = 1_795_895_829_000


def tool(key: str, command: str, output: str, exit_code: int) -> str:
    state = {
        "status": "completed", "input": {"command": command}, "output": output,
        "metadata": {"exit": exit_code}, "time": {"start": AT_MS, "end": AT_MS + 500},
    }  # fmt: skip
    return json.dumps({"type": "tool", "tool": "bash", "callID": key, "state": state})


@pytest.fixture
def opencode(tmp_path: Path) -> Path:
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as held:
        held.executescript(OPENCODE)
        held.execute("INSERT INTO session VALUES ('ses_1', '/p/shop', 1)")
        asked = {"role": "user", "time": {"created": AT_MS}}
        answered = {"role": "assistant", "modelID": "m", "tokens": {"total": 12}, "time": {"created": AT_MS + 1}}
        held.execute("INSERT INTO message VALUES ('msg_1', 'ses_1', 1, ?)", [json.dumps(asked)])
        held.execute("INSERT INTO message VALUES ('msg_2', 'ses_1', 2, ?)", [json.dumps(answered)])
        held.execute("""INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 1, '{"type":"text","text":"push it"}')""")
        add(held, "prt_2", tool("call_1", "git push", "fatal: no upstream branch", 128))
    return path


def add(held: sqlite3.Connection, key: str, data: str) -> None:
    held.execute("INSERT INTO part VALUES (?, 'msg_2', 'ses_1', ?, ?)", [key, int(key[-1]), data])


def outcomes(path: Path, carry: Row) -> list[Outcome]:
    reads = list(source_for(str(path)).read(str(path), 0, carry))
    return [item for read in reads for item in read.items if isinstance(item, Outcome)]


def test_the_calls_of_an_opencode_session_are_read_once_and_read_on_when_it_grew(opencode: Path) -> None:
    carry: Row = {}
    (pushed,) = outcomes(opencode, carry)
    assert (pushed.agent, pushed.session, pushed.project, pushed.model) == ("opencode", "ses_1", "/p/shop", "m")
    assert pushed.failure is not None
    assert (pushed.failure.exit_code, pushed.failure.message) == (128, "fatal: no upstream branch")
    assert outcomes(opencode, carry) == []
    with sqlite3.connect(opencode) as held:
        add(held, "prt_3", tool("call_2", "git push -u origin HEAD", "done", 0))
    again, fixed = outcomes(opencode, carry)
    assert (again.id, fixed.ok) == (pushed.id, True)


def test_a_goose_session_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    asked = {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "npm tset"}}}
    answered = {"status": "error", "error": "Unknown command: tset"}
    with sqlite3.connect(path) as held:
        held.executescript(GOOSE)
        held.execute("INSERT INTO sessions VALUES ('20261128_1', '/p/shop')")
        for role, block in (
            ("assistant", {"type": "toolRequest", "id": "c1", "toolCall": asked}),
            ("user", {"type": "toolResponse", "id": "c1", "toolResult": answered}),
        ):
            row = ["20261128_1", role, json.dumps([block]), AT_MS // 1000]
            held.execute(
                "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES (?,?,?,?)", row
            )
    (found,) = outcomes(path, {})
    assert (found.agent, found.project, found.ok) == ("goose", "/p/shop", False)
    assert found.started_at == AT_MS // 1000


def test_another_database_is_left_aside_and_an_error_where_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as held:
        held.execute("CREATE TABLE message (id, text)")
    assert find([str(tmp_path)]).files == []
    (read,) = source_for(str(path)).read(str(path), 0, {})
    assert "no agent that is known" in str(read.items[0])


def test_a_damaged_database_is_named(opencode: Path) -> None:
    with opencode.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 4000)
    (read,) = source_for(str(opencode)).read(str(opencode), 0, {})
    assert "cannot be read as a database" in str(read.items[0])


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, {} FROM n"


def test_a_view_that_never_ends_is_not_read(opencode: Path) -> None:
    with sqlite3.connect(opencode) as held:
        held.execute("DROP TABLE part")
        asked = ENDLESS.format("'msg_2' AS message_id, 'ses_1' AS session_id, i AS time_updated, '{}' AS data")
        held.execute(f"CREATE VIEW part AS {asked}")
    assert find([str(opencode.parent)]).files == []
    (read,) = source_for(str(opencode)).read(str(opencode), 0, {})
    assert "no agent that is known" in str(read.items[0])


@pytest.mark.slow
def test_tables_whose_join_is_beyond_all_measure_are_given_up(opencode: Path) -> None:
    with sqlite3.connect(opencode) as held:
        held.execute("DROP TABLE session")
        held.execute("CREATE TABLE session (id TEXT, directory TEXT, time_created INTEGER)")
        held.executemany("INSERT INTO session VALUES ('ses_1', '/p', ?)", [(n,) for n in range(20_000)])
        held.executemany("INSERT INTO part VALUES (?, 'msg_2', 'ses_1', 1, '{}')", [(f"p{n}",) for n in range(20_000)])
    (read,) = source_for(str(opencode)).read(str(opencode), 0, {})
    assert "interrupted" in str(read.items[0])


@pytest.mark.parametrize(
    "data", ["[" * 200_000, '{"type":', b"\x00\xff", "[1]", '{"type":"tool","state":' + "[" * 900 + "]" * 900 + "}"]
)
def test_an_odd_row_costs_itself(opencode: Path, data: str | bytes) -> None:
    with sqlite3.connect(opencode) as held:
        held.execute("INSERT INTO part VALUES ('prt_9', 'msg_2', 'ses_1', 9, ?)", [data])
    carry: Row = {}
    assert [each.ok for each in outcomes(opencode, carry)] == [False]
    json.dumps(carry)


@pytest.mark.parametrize("column", ["time_updated", "data", "id"])
def test_a_row_with_a_blob_is_named_and_the_rest_is_read(opencode: Path, column: str) -> None:
    with sqlite3.connect(opencode) as held:
        add(held, "prt_3", tool("call_2", "git push -u origin HEAD", "done", 0))
        held.execute(f"UPDATE part SET {column} = x'00ff' WHERE id = 'prt_1'")
        held.execute("INSERT INTO message VALUES (x'01', 'ses_1', 3, x'02')")
        held.execute("INSERT INTO part VALUES ('prt_4', x'01', 'ses_1', 1, '{}')")
    carry: Row = {}
    items = [item for read in source_for(str(opencode)).read(str(opencode), 0, carry) for item in read.items]
    assert [each.ok for each in items if isinstance(each, Outcome)] == [False, True]
    assert any("BLOB" in each.reason for each in items if isinstance(each, Quarantined))
    json.dumps(carry)
    assert outcomes(opencode, carry) == []
