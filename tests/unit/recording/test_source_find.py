"""Finding histories below what a person names, and deciding who reads each."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ratchet.errors import BackendError, UsageError
from ratchet.recording.sources import SOURCES, source_for
from ratchet.recording.sources.find import find, grown
from ratchet.recording.sources.homes import known_homes
from ratchet.recording.sources.lines import peek
from ratchet.runtime import Runtime
from support.histories import claude, codex, lines

TALK = claude("user", 1, message={"role": "user", "content": "hi"})


def test_folders_are_walked_in_a_stable_order_and_what_is_no_history_is_left_aside(tmp_path: Path) -> None:
    (tmp_path / "b" / "inner").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "node_modules").mkdir()
    for place in ("b/inner/two.jsonl", "b/one.jsonl", ".git/x.jsonl", "node_modules/y.jsonl"):
        lines(tmp_path / place, [TALK])
    (tmp_path / "LICENSE").write_text("MIT License\n\nPermission is hereby granted\n")
    (tmp_path / "README.md").write_text("# x\n```\nTraceback (most recent call last):\n  File x\n```\n")
    (tmp_path / "package.json").write_text(json.dumps({"name": "shop", "version": "1"}, indent=2))
    (tmp_path / "users.json").write_text(json.dumps({"users": [{"role": "admin", "status": 1}]}, indent=2))
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": {"error": "x", "status": "ok"}}, indent=2))
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "app.log").write_text("2026-02-01 10:00:00 ERROR x\n")
    found = find([str(tmp_path)])
    assert [os.path.relpath(path, tmp_path) for path in found.files] == ["app.log", "b/one.jsonl", "b/inner/two.jsonl"]
    assert len(found.skipped) == 7
    assert not found.quarantined


def test_a_file_meant_as_a_history_is_never_left_aside_in_silence(tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text("{not json at all\n")
    (tmp_path / "odd.jsonl").write_text('{"name": "x"}\n')
    found = find([str(tmp_path)])
    assert len(found.files) == 2
    with pytest.raises(BackendError, match="not a whole JSON document"):
        source_for(found.files[0])
    (tmp_path / "notes.txt").write_text("once upon a time\n")
    with pytest.raises(BackendError, match="no history that Ratchet reads"):
        source_for(str(tmp_path / "notes.txt"))
    assert source_for(found.files[1]).name == "jsonl"


def test_links_in_a_circle_and_double_names_are_met_once(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    path = lines(inner / "a.jsonl", [TALK])
    (inner / "up").symlink_to(tmp_path)
    (tmp_path / "same.jsonl").symlink_to(path)
    (tmp_path / "dead.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "itself.jsonl").symlink_to("itself.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    found = find([str(tmp_path), str(inner), str(path)])
    assert len(found.files) == 1
    assert [Path(piece.path).name for piece in found.quarantined] == ["dead.jsonl", "itself.jsonl"]


def test_a_link_out_of_the_named_folder_is_told_of_and_not_followed(tmp_path: Path) -> None:
    named, outside = tmp_path / "named", tmp_path / "outside"
    for folder in (named, outside):
        folder.mkdir()
    lines(named / "a.jsonl", [TALK])
    other = lines(outside / "b.jsonl", [TALK])
    (named / "folder").symlink_to(outside)
    (named / "file.jsonl").symlink_to(other)
    found = find([str(named)])
    assert found.files == [str(named / "a.jsonl")]
    assert [Path(each.path).name for each in found.quarantined] == ["file.jsonl", "folder"]
    assert {each.reason for each in found.quarantined} == {"a link out of what was named; name it itself to read it"}
    assert len(find([str(named), str(outside)]).files) == 2
    assert len(find([str(named / "folder")]).files) == 1
    assert len(find([str(named)], own=True).files) == 2


def test_a_path_that_is_not_there_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        find([str(tmp_path / "nowhere")])


def test_a_named_file_is_always_read(tmp_path: Path) -> None:
    plain = tmp_path / "notes.txt"
    plain.write_text("nothing here\n")
    assert find([str(plain)]).files == [str(plain)]


def test_an_unreadable_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    assert [piece.reason for piece in find([str(tmp_path)]).quarantined] == ["Permission denied"]


def test_the_usual_homes_follow_the_settings_of_each_agent(tmp_path: Path) -> None:
    for place in (
        ".claude/projects",
        ".codex/sessions",
        ".codex/archived_sessions",
        "elsewhere/projects",
        "cx/sessions",
    ):
        (tmp_path / place).mkdir(parents=True)
    assert [home.path for home in known_homes({"HOME": str(tmp_path)})] == [
        str(tmp_path / place) for place in (".claude/projects", ".codex/sessions", ".codex/archived_sessions")
    ]
    moved = {
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere"),
        "CODEX_HOME": str(tmp_path / "cx"),
    }
    assert [home.path for home in known_homes(moved)] == [
        str(tmp_path / place) for place in ("elsewhere/projects", ".claude/projects", "cx/sessions")
    ]


def test_each_format_is_claimed_by_its_own_source(tmp_path: Path) -> None:
    samples = {
        "claude-code": json.dumps(TALK),
        "codex": json.dumps(codex("session_meta", {"id": "x"}, 0)),
        "otlp": '{"resourceSpans": []}',
        "messages": '{"role": "user", "content": "hi"}',
        "jsonl": '{"task": "x", "success": false}',
        "log": "2026-02-01 10:00:00 ERROR x",
    }
    for name, text in samples.items():
        head = text.encode() + b"\n"
        assert next(source.name for source in SOURCES if source.claims(head)) == name


def test_a_bad_first_line_does_not_hide_the_format(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"type": "user", "mess\n' + json.dumps(TALK).encode() + b"\n")
    assert source_for(str(path)).name == "claude-code"
    path.write_bytes(b'\xef\xbb\xbf{"task": "x", "suc\n{"task": "x", "success": true}\n')
    assert source_for(str(path)).name == "jsonl"


def test_a_first_line_longer_than_the_head_is_seen_whole(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [claude("user", 1, message={"role": "user", "content": "x" * 3_000_000})])
    assert len(peek(str(path))) > 3_000_000
    assert source_for(str(path)).name == "claude-code"


def test_a_pipe_that_is_named_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    found = find([str(tmp_path / "pipe.jsonl")])
    assert not found.files
    assert [bad.reason for bad in found.quarantined] == ["a pipe or a device, no file"]


def test_only_histories_that_grew_since_they_were_read_are_found_again_the_latest_first(
    tmp_path: Path, home: Path
) -> None:
    folder = tmp_path / "projects"
    folder.mkdir()
    for number, name in enumerate(("old", "new")):
        path = folder / f"{name}.jsonl"
        path.write_text(json.dumps(TALK) + "\n")
        os.utime(path, (number, number))
    (folder / "notes.md").write_text("# prose")
    with Runtime.open(home=home) as runtime:
        assert grown(runtime.store, str(folder)) == [str(folder / "new.jsonl"), str(folder / "old.jsonl")]
        runtime.sweep(str(folder))
        assert grown(runtime.store, str(folder)) == []
        with (folder / "old.jsonl").open("a") as file:
            file.write(json.dumps(TALK) + "\n")
        assert grown(runtime.store, str(folder)) == [str(folder / "old.jsonl")]
        assert grown(runtime.store, str(tmp_path / "nowhere")) == []


def test_histories_in_a_folder_that_is_a_link_elsewhere_are_found_again_once_each(tmp_path: Path, home: Path) -> None:
    """A home, or a project of it, may lie on another disk; a link back to it is not gone round."""
    kept, folder = tmp_path / "kept", tmp_path / "projects"
    (kept / "shop").mkdir(parents=True)
    (kept / "shop" / "talk.jsonl").write_text(json.dumps(TALK) + "\n")
    (kept / "shop" / "again").symlink_to(kept)
    for named, found in ((kept, "shop/talk.jsonl"), (folder, "shop/talk.jsonl")):
        if named is folder:
            folder.mkdir()
            (folder / "shop").symlink_to(kept / "shop")
        with Runtime.open(home=home) as runtime:
            assert grown(runtime.store, str(named))[:1] == [str(named / found)]
    linked = tmp_path / "linked"
    linked.symlink_to(kept)
    with Runtime.open(home=home) as runtime:
        assert grown(runtime.store, f"{linked}/") == [str(linked / "shop" / "talk.jsonl")]
        runtime.sweep(str(linked))
        assert grown(runtime.store, str(linked)) == []


def test_a_home_that_two_names_lead_to_is_one(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude"
    (real / "projects").mkdir(parents=True)
    (tmp_path / ".claude").symlink_to(real)
    environ = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(real)}
    places = [home.path for home in known_homes(environ) if "claude" in home.path.lower()]
    assert len(places) == len({os.path.realpath(place) for place in places}) == 1
