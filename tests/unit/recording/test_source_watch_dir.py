"""The watched folder: what is dropped is taken once, moved aside, and refused with its reason."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ratchet.errors import StoreError, UsageError
from ratchet.recording.sources.watch_dir import Polled, poll
from ratchet.records import Outcome


class Inbox:
    """Keeps what is delivered, once per id, as a store does."""

    def __init__(self) -> None:
        self.held: dict[str, Outcome] = {}

    def __call__(self, outcomes: Sequence[Outcome]) -> None:
        self.held.update({outcome.id: outcome for outcome in outcomes})


def look(folder: Path, inbox: Inbox) -> Polled:
    return poll(str(folder), inbox, settle_s=0.3)


def drop(path: Path, text: str, *, age_s: float = 60.0) -> None:
    path.write_text(text)
    at = time.time() - age_s
    os.utime(path, (at, at))


GOOD = {"task": "a", "success": False, "error": "boom"}


def test_an_object_a_list_and_lines_are_taken_and_moved(tmp_path: Path) -> None:
    drop(tmp_path / "one.json", json.dumps(GOOD, indent=2))
    drop(tmp_path / "list.json", json.dumps([GOOD, {"task": "b", "ok": True}]))
    drop(tmp_path / "lines.jsonl", json.dumps(GOOD) + "\n" + json.dumps(GOOD) + "\n")
    inbox = Inbox()
    done = look(tmp_path, inbox)
    assert (done.processed, done.outcomes, done.rejected) == (3, 5, [])
    assert len(inbox.held) == 5
    assert sorted(path.name for path in (tmp_path / ".processed").iterdir()) == ["lines.jsonl", "list.json", "one.json"]
    assert look(tmp_path, inbox) == Polled()


@pytest.mark.parametrize("text", ["{not json", "", "[]", "null", '{"name": "no run"}', "\0\0", '{"a": ' * 50_000])
def test_a_bad_file_is_moved_with_the_reason_beside_it(tmp_path: Path, text: str) -> None:
    drop(tmp_path / "bad.json", text)
    done = look(tmp_path, Inbox())
    assert (done.processed, len(done.rejected)) == (0, 1)
    aside = tmp_path / ".rejected"
    assert (aside / "bad.json").read_text() == text
    assert (aside / "bad.json.reason.txt").read_text().strip()


def test_good_lines_of_a_bad_file_are_kept_and_the_bad_ones_named(tmp_path: Path) -> None:
    drop(tmp_path / "mixed.jsonl", json.dumps(GOOD) + "\n{cut\n" + json.dumps(GOOD) + "\n")
    inbox = Inbox()
    done = look(tmp_path, inbox)
    assert (len(inbox.held), [piece.line for piece in done.rejected]) == (2, [2])
    note = (tmp_path / ".rejected" / "mixed.jsonl.reason.txt").read_text()
    assert "line 2" in note
    assert "2 runs in it were good" in note


def test_a_file_still_being_written_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drop(tmp_path / "half.json", '{"task": "a", "succ', age_s=0)
    drop(tmp_path / "lines.jsonl", json.dumps(GOOD) + "\n", age_s=0)
    inbox = Inbox()

    def write_on(_: float) -> None:
        drop(tmp_path / "half.json", '{"task": "a", "success": fal', age_s=0)

    monkeypatch.setattr(time, "sleep", write_on)
    done = poll(str(tmp_path), inbox, settle_s=30)
    assert (done.processed, done.waiting, done.rejected) == (0, 2, [])
    monkeypatch.setattr(time, "sleep", lambda _: None)
    drop(tmp_path / "half.json", json.dumps(GOOD), age_s=0)
    done = poll(str(tmp_path), inbox, settle_s=30)
    assert (done.processed, done.waiting) == (1, 1)


def test_lines_just_written_are_taken_in_the_same_poll_once_they_have_settled(tmp_path: Path) -> None:
    drop(tmp_path / "lines.jsonl", json.dumps(GOOD) + "\n", age_s=0)
    done = look(tmp_path, Inbox())
    assert (done.processed, done.waiting) == (1, 0)


def test_a_taken_name_gets_a_number_and_the_same_words_dropped_twice_are_two_runs(tmp_path: Path) -> None:
    inbox = Inbox()
    for age_s in (60.0, 50.0, 40.0):
        drop(tmp_path / "one.json", json.dumps(GOOD), age_s=age_s)
        look(tmp_path, inbox)
    assert sorted(path.name for path in (tmp_path / ".processed").iterdir()) == ["one.1.json", "one.2.json", "one.json"]
    assert len(inbox.held) == 3


def test_a_crash_between_delivery_and_move_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(tmp_path / "one.json", json.dumps(GOOD))
    inbox = Inbox()
    with monkeypatch.context() as broken:
        broken.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space left"):
            look(tmp_path, inbox)
    assert look(tmp_path, inbox).processed == 1
    assert len(inbox.held) == 1


def test_what_delivery_raises_leaves_the_file_in_place(tmp_path: Path) -> None:
    def refuse(_: Sequence[Outcome]) -> None:
        raise StoreError("the store is read-only")

    drop(tmp_path / "one.json", json.dumps(GOOD))
    with pytest.raises(StoreError):
        poll(str(tmp_path), refuse)
    assert (tmp_path / "one.json").exists()


def test_hidden_files_and_folders_are_left_alone_and_a_missing_folder_is_named(tmp_path: Path) -> None:
    drop(tmp_path / ".hidden.json", json.dumps(GOOD))
    (tmp_path / "folder").mkdir()
    assert look(tmp_path, Inbox()) == Polled()
    with pytest.raises(UsageError, match="no such folder"):
        poll(str(tmp_path / "nowhere"), Inbox())


def test_a_link_to_itself_and_a_name_of_full_length_stop_nothing(tmp_path: Path) -> None:
    inbox = Inbox()
    (tmp_path / "a-link.json").symlink_to("a-link.json")
    long = "b" * 250 + ".json"
    drop(tmp_path / long, "no history")
    drop(tmp_path / "c.json", json.dumps(GOOD))
    done = look(tmp_path, inbox)
    assert (done.processed, len(done.rejected), len(inbox.held)) == (1, 1, 1)
    (reason,) = (tmp_path / ".rejected").glob("*.reason.txt")
    assert reason.name.startswith("b" * 240)
