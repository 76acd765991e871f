"""opencode's sessions as files: a session with what lies beside it, each call once, what is broken named."""

from __future__ import annotations

import json
from pathlib import Path

from ratchet.recording.sources import source_for
from ratchet.recording.sources.find import find
from ratchet.recording.sources.homes import known_homes
from ratchet.records import Json, MessageTokens, Outcome, Quarantined, Row

AT_MS = 1_795_895_829_000


def put(path: Path, value: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2))


def tool(name: str, given: Row, ms: int, **state: Json) -> Row:
    time: Json = {"start": AT_MS + ms, "end": AT_MS + ms + 500}
    return {
        "id": f"prt_{ms}",
        "type": "tool",
        "callID": f"call_{ms}",
        "tool": name,
        "state": {"input": given, "time": time, **state},
    }


def storage(folder: Path) -> Path:
    """A session of two messages with a call each; the path of the file that names it."""
    root = folder / "opencode/storage"
    tokens: Json = {"input": 10, "output": 2, "cache": {"read": 5, "write": 1}}
    for number, role in enumerate(("user", "assistant", "assistant")):
        info: Row = {
            "id": f"msg_{number}",
            "sessionID": "ses_1",
            "role": role,
            "modelID": "m",
            "time": {"created": AT_MS + number},
        }
        put(root / f"message/ses_1/msg_{number}.json", {**info, "tokens": tokens} if role == "assistant" else info)
    put(root / "part/msg_0/prt_0.json", {"id": "prt_0", "type": "text", "text": "push it"})
    pushed = tool("bash", {"command": "git push"}, 1, status="completed", output="fatal: no", metadata={"exit": 128})
    put(root / "part/msg_1/prt_1.json", pushed)
    missing = tool("read", {"filePath": "/w/x"}, 2, status="error", error="Error: File not found: /w/x")
    put(root / "part/msg_2/prt_1.json", missing)
    named = root / "session/abc/ses_1.json"
    put(named, {"id": "ses_1", "projectID": "abc", "directory": "/w", "version": "0.6.0", "time": {"created": AT_MS}})
    return named


def read(path: Path, carry: Row) -> list[object]:
    source = source_for(str(path))
    assert source.name == "opencode-files"
    return [item for piece in source.read(str(path), 0, carry) for item in piece.items]


def test_a_session_is_read_with_the_messages_and_parts_beside_it(tmp_path: Path) -> None:
    items = read(storage(tmp_path), {})
    calls = [item for item in items if isinstance(item, Outcome)]
    assert [(each.task, each.ok, each.session, each.project, each.model) for each in calls] == [
        ("bash", False, "ses_1", "/w", "m"),
        ("read", False, "ses_1", "/w", "m"),
    ]
    assert calls[0].failure is not None
    assert calls[0].failure.exit_code == 128
    tokens = [item for item in items if isinstance(item, MessageTokens)]
    assert [(each.given, each.cached, each.stored, each.made) for each in tokens] == [(10, 5, 1, 2)] * 2


def test_a_session_of_which_nothing_was_written_is_passed_by_and_one_that_grew_is_read(tmp_path: Path) -> None:
    carry: Row = {}
    path = storage(tmp_path)
    first = {item.id for item in read(path, carry) if isinstance(item, Outcome)}
    assert read(path, carry) == []
    more = tool("bash", {"command": "ls"}, 9, status="completed", output="x", metadata={"exit": 0})
    put(path.parents[2] / "part/msg_2/prt_2.json", more)
    grown = {item.id for item in read(path, carry) if isinstance(item, Outcome)}
    assert first < grown
    assert len(grown) == 3


def test_a_part_that_cannot_be_read_costs_itself_and_a_link_is_not_followed(tmp_path: Path) -> None:
    path = storage(tmp_path)
    parts = path.parents[2] / "part/msg_1"
    (parts / "prt_2.json").write_text('{"type": "tool"')
    (tmp_path / "other.json").write_text(json.dumps(tool("bash", {"command": "x"}, 7, status="completed", output="y")))
    (parts / "prt_3.json").symlink_to(tmp_path / "other.json")
    items = read(path, {})
    assert sum(isinstance(item, Outcome) for item in items) == 2
    (bad,) = [item for item in items if isinstance(item, Quarantined)]
    assert bad.path.endswith("prt_2.json")


def test_only_the_file_that_names_a_session_is_one_to_read_and_its_home_is_known(tmp_path: Path) -> None:
    path = storage(tmp_path)
    assert find([str(tmp_path)]).files == [str(path)]
    homes = known_homes({"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)})
    assert (str(path.parents[1]), "opencode") in [(home.path, home.agent) for home in homes]
