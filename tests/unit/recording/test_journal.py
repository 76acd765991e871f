"""The journal and its drain: what was acknowledged is kept, each line counts once, a bad one costs itself."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from ratchet.cli.doctor import examine
from ratchet.config import load
from ratchet.errors import StoreError, UsageError
from ratchet.ports import Store
from ratchet.recording.drain import BATCH_BYTES, Drained, drain
from ratchet.recording.journal import Journal, segments
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore

NOW = 1_790_000_000.0


def outcome(name: str, **more: object) -> Row:
    row: Row = {"r": "outcome", "id": name, "agent": "a", "ok": True, "started_at": NOW}
    return {**row, **more}  # type: ignore[dict-item]


@dataclass(frozen=True)
class Taken:
    new: Sequence[Row]


def insert(store: Store, rows: Sequence[Row]) -> Taken:
    """The least that an ingest does."""
    return Taken([rows[i] for i in store.insert_new("outcomes", rows)])


@pytest.fixture
def store(home: Path) -> Iterator[SqliteStore]:
    home.mkdir(mode=0o700)
    opened = SqliteStore(home / "ratchet.db")
    yield opened
    opened.close()


def ids(store: Store) -> list[str]:
    return [str(row["id"]) for row in store.find("outcomes", order=("started_at",)).rows]


def drained(store: Store, home: Path, now: float | None = None) -> Drained:
    return drain(store, str(home), insert, time.time() if now is None else now)


# --- writing ---------------------------------------------------------------------------------------------------------
def test_a_record_is_one_line_in_this_process_own_segment(home: Path) -> None:
    journal = Journal(str(home))
    assert journal.append(outcome("1"))
    assert journal.append(outcome("2", task="zwei\nZeilen, ümläut"))
    (segment,) = segments(str(home))
    lines = Path(segment).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["1", "2"]
    assert json.loads(lines[1])["task"] == "zwei\nZeilen, ümläut"


@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
def test_folders_are_0700_and_files_0600_whatever_the_umask(home: Path, umask: int) -> None:
    held = os.umask(umask)
    try:
        for shared in (False, True):
            assert Journal(str(home), shared=shared).append(outcome("1"))
    finally:
        os.umask(held)
    for folder in (home, home / "journal"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(segments(str(home))) == 2
    for segment in segments(str(home)):
        assert stat.S_IMODE(Path(segment).stat().st_mode) == 0o600


def test_hooks_share_one_segment_a_day(home: Path) -> None:
    for number in range(5):
        assert Journal(str(home), shared=True).append(outcome(str(number)))
    assert [Path(path).name for path in segments(str(home))] == [time.strftime("hooks-%Y%m%d.jsonl", time.gmtime())]


def test_a_full_segment_is_followed_by_another(home: Path) -> None:
    journal = Journal(str(home), segment_bytes=1000)
    for number in range(50):
        assert journal.append(outcome(str(number), task="x" * 100))
    assert len(segments(str(home))) > 5


def test_a_relative_home_stays_where_it_was(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    journal = Journal("home")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert journal.append(outcome("1"))
    assert segments(str(home))


def test_threads_write_whole_lines(home: Path, store: SqliteStore) -> None:
    journal = Journal(str(home), segment_bytes=20_000)

    def write(thread: int) -> None:
        for number in range(200):
            assert journal.append(outcome(f"{thread}-{number}", task="x" * (number % 50)))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drained(store, home).outcomes == 1200


def test_an_append_within_an_append_is_written_too(
    home: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a signal handler or the finalizer of a generator does it.
    journal = Journal(str(home))
    real = os.write
    nested: list[bool] = []

    def write(fd: int, data: bytes) -> int:
        if not nested:
            nested.append(True)
            assert journal.append(outcome("inner"))
        return real(fd, data)

    monkeypatch.setattr("ratchet.recording.journal.os.write", write)
    assert journal.append(outcome("outer"))
    monkeypatch.undo()
    assert drained(store, home).outcomes == 2


def test_a_short_write_tears_one_line_and_is_written_again_on_a_fresh_one(
    home: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(str(home))
    real = os.write
    calls: list[int] = []

    def short(fd: int, data: bytes) -> int:
        calls.append(len(data))
        return real(fd, data[: len(data) // 2] if len(calls) == 2 else data)

    monkeypatch.setattr("ratchet.recording.journal.os.write", short)
    assert all(journal.append(outcome(name)) for name in "123")
    monkeypatch.undo()
    found = drained(store, home)
    assert ids(store) == ["1", "2", "3"]
    assert [piece.line for piece in found.quarantined] == [2]
    assert journal.lost == 0


def test_a_disk_that_stays_full_is_reported_once_counted_and_told_when_it_is_over(
    home: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    journal = Journal(str(home), report=told.append)
    assert journal.append(outcome("1"))
    real = os.write
    room = [100]

    def full(fd: int, data: bytes) -> int:
        piece = data[: room[0]]
        if not piece:
            raise OSError(errno.ENOSPC, "No space left on device")
        room[0] -= len(piece)
        return real(fd, piece)

    monkeypatch.setattr("ratchet.recording.journal.os.write", full)
    assert [journal.append(outcome(name, task="x" * 60)) for name in "2345"] == [False] * 4
    monkeypatch.undo()
    assert journal.lost == 4
    assert len(told) == 1
    assert journal.append(outcome("6"))
    found = drained(store, home)
    assert ids(store) == ["1", "6"]
    assert found.lost == 4
    assert any("4 records" in piece.reason for piece in found.quarantined)
    assert journal.append(outcome("7"))
    assert len(told) == 1


def test_a_home_that_cannot_be_made_costs_nothing_but_the_records(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    told: list[str] = []
    journal = Journal(str(tmp_path / "file" / "home"), report=told.append)
    assert [journal.append(outcome(str(n))) for n in range(3)] == [False] * 3
    assert (journal.lost, len(told)) == (3, 1)


def test_an_outage_ends_by_itself(home: Path, monkeypatch: pytest.MonkeyPatch, store: SqliteStore) -> None:
    (home / "journal").write_text("in the way")
    journal = Journal(str(home))
    assert not journal.append(outcome("1"))
    (home / "journal").unlink()
    clock = time.monotonic() + 5
    monkeypatch.setattr("ratchet.recording.journal.time.monotonic", lambda: clock)
    assert journal.append(outcome("2"))
    assert drained(store, home).lost == 1


def test_a_closed_descriptor_is_opened_again(home: Path, store: SqliteStore) -> None:
    journal = Journal(str(home))
    assert journal.append(outcome("1"))
    os.close(journal._fd)
    assert journal.append(outcome("2"))
    assert drained(store, home).outcomes == 2


def test_a_home_that_was_removed_is_made_anew_and_said_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    said: list[str] = []
    journal = Journal(str(home), report=said.append)
    journal.append(outcome("before"))
    shutil.rmtree(home)
    now[0] += 2.0
    for name in ("after", "then"):
        assert journal.append(outcome(name))
    (segment,) = segments(str(home))
    assert [json.loads(line)["id"] for line in Path(segment).read_text().splitlines()] == ["after", "then"]
    assert len(said) == 1
    assert "removed while it was in use" in said[0]


def test_a_value_that_is_no_json_is_lost_and_counted_but_raises_nothing(home: Path) -> None:
    journal = Journal(str(home))
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    assert not journal.append({"r": "outcome", "x": cyclic})  # type: ignore[dict-item]
    assert not journal.append({"r": "outcome", "x": float("nan")})
    assert not journal.append({"r": "outcome", "x": object()})  # type: ignore[dict-item]
    assert journal.append(outcome("\ud800"))
    assert journal.lost == 3


def test_a_closed_journal_writes_on(home: Path, store: SqliteStore) -> None:
    journal = Journal(str(home))
    assert journal.append(outcome("1"))
    journal.close()
    journal.close()
    assert journal.append(outcome("2"))
    assert drained(store, home).outcomes == 2


# --- draining --------------------------------------------------------------------------------------------------------
def test_a_drain_moves_each_line_once_and_deletes_what_nobody_writes_to(home: Path, store: SqliteStore) -> None:
    journal = Journal(str(home))
    journal.append(outcome("1"))
    assert drained(store, home).outcomes == 1
    assert drained(store, home) == Drained()
    assert len(segments(str(home))) == 1, "its writer lives"
    journal.append(outcome("2"))
    journal.close()
    assert drained(store, home).outcomes == 1
    assert segments(str(home)) == []
    assert ids(store) == ["1", "2"]
    assert store.find("cursors").rows == []


def test_a_writer_that_is_quicker_than_a_drain_does_not_hold_it_up(home: Path, store: SqliteStore) -> None:
    journal = Journal(str(home))
    written = [journal.append(outcome("0"))]

    def writes_on(store: Store, rows: Sequence[Row]) -> Taken:
        assert len(written) < 50
        written.append(journal.append(outcome(str(len(written)))))
        return insert(store, rows)

    assert drain(store, str(home), writes_on, time.time()).outcomes == 1
    assert drain(store, str(home), writes_on, time.time()).outcomes == 1
    journal.close()
    assert drained(store, home).outcomes == 1


def test_nothing_recorded_is_nothing_to_drain(home: Path, store: SqliteStore) -> None:
    assert drained(store, home) == Drained()


def test_the_hooks_segment_of_today_is_kept_and_an_old_one_deleted(home: Path, store: SqliteStore) -> None:
    Journal(str(home), shared=True).append(outcome("1"))
    now = time.time()
    assert drained(store, home, now).outcomes == 1
    assert drained(store, home, now + 86_400).outcomes == 0
    assert len(segments(str(home))) == 1
    drained(store, home, now + 3 * 86_400)
    assert segments(str(home)) == []


def test_a_line_that_is_still_being_written_waits(home: Path, store: SqliteStore) -> None:
    journal = Journal(str(home))
    journal.append(outcome("1"))
    (segment,) = segments(str(home))
    whole = json.dumps(outcome("2")).encode()
    with open(segment, "ab") as file:
        file.write(whole[:20])
        file.flush()
        assert drained(store, home).outcomes == 1
        file.write(whole[20:] + b"\n")
    found = drained(store, home)
    assert (found.outcomes, found.quarantined) == (1, ())


BAD = {
    "torn": b'{"r":"outcome","id":"x","agent":"a","ok":tr',
    "NUL": b"\0" * 100,
    "invalid UTF-8": b'{"r":"outcome","id":"\xff\xfe"}',
    "null": b"null",
    "a list": b"[1, 2]",
    "a number": b"17",
    "no object of ours": b'{"hello": "world"}',
    "without an id": b'{"r":"outcome","agent":"a","ok":true,"started_at":1}',
    "wrong types": b'{"r":"outcome","id":"x","agent":"a","ok":"yes","started_at":1}',
    "nested wrong types": b'{"r":"outcome","id":"x","agent":"a","ok":false,"started_at":1,"failure":{"message":[1]}}',
    "a number that is none": b'{"r":"outcome","id":"x","agent":"a","ok":true,"started_at":NaN}',
    "infinity": b'{"r":"outcome","id":"x","agent":"a","ok":true,"started_at":1e999}',
    "a giant integer": b'{"r":"outcome","id":"x","agent":"a","ok":true,"started_at":1,"tokens":' + b"9" * 6000 + b"}",
    "too many tokens": b'{"r":"outcome","id":"x","agent":"a","ok":true,"started_at":1,"tokens":' + b"9" * 30 + b"}",
    "nested deeply": b'{"r":"outcome","id":"x","context":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    "nested deeply, a list": b"[" * 500_000,
    "10 MB": b'{"r":"outcome","id":"x","task":"' + b"x" * 10_000_000 + b'"}',
    "an incomplete exposure": b'{"r":"exposure","trial":"t"}',
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_bad_line_goes_to_quarantine_with_its_reason_and_stops_nothing(
    home: Path, store: SqliteStore, kind: str, end: bytes
) -> None:
    good = [json.dumps(outcome(name)).encode() + b"\n" for name in "12"]
    (home / "journal").mkdir()
    segment = home / "journal" / "0192f0c1-aaaa-7bbb-8ccc-0123456789ab.jsonl"
    segment.write_bytes(good[0] + b"\n" + good[1] + BAD[kind] + end + (good[0].replace(b'"1"', b'"3"') if end else b""))
    found = drained(store, home)
    assert ids(store) == (["1", "2", "3"] if end else ["1", "2"])
    (bad,) = found.quarantined
    assert (bad.path, bad.line) == (str(segment), 4)
    assert bad.reason
    (row,) = store.find("quarantine").rows
    assert (row["path"], row["line"], row["reason"]) == (bad.path, bad.line, bad.reason)
    assert not segment.exists()
    assert drained(store, home) == Drained()


def test_two_broken_lines_never_make_a_whole_one(home: Path, store: SqliteStore) -> None:
    whole = json.dumps({**outcome("x"), "context": {"a": 1}})
    (home / "journal").mkdir()
    (home / "journal" / "s.jsonl").write_text(whole[:30] + "\n" + whole[30:] + "\n" + json.dumps(outcome("1")) + "\n")
    found = drained(store, home)
    assert ids(store) == ["1"]
    assert len(found.quarantined) == 2


def test_escapes_that_no_database_takes_are_replaced(home: Path, store: SqliteStore) -> None:
    (home / "journal").mkdir()
    line = json.dumps(outcome("1", task="a\ud800b\0c"))
    (home / "journal" / "s.jsonl").write_text(line + "\n")
    assert drained(store, home).outcomes == 1
    (row,) = store.find("outcomes").rows
    assert str(row["task"]).startswith("a")
    str(row["task"]).encode()
    assert "\0" not in str(row["task"])


def test_a_segment_of_many_batches_is_drained_in_order(home: Path, store: SqliteStore) -> None:
    journal = Journal(str(home))
    count = 2 * BATCH_BYTES // 1000 + 10
    for number in range(count):
        journal.append(outcome(f"{number:06d}", task="x" * 1000))
    assert drained(store, home).outcomes == count
    assert ids(store) == [f"{number:06d}" for number in range(count)]


def test_a_drain_that_dies_after_a_batch_repeats_nothing(home: Path, store: SqliteStore) -> None:
    journal = Journal(str(home))
    for number in range(5000):
        journal.append(outcome(str(number), task="x" * 1000))
    batches: list[int] = []

    def dies(store: Store, rows: Sequence[Row]) -> Taken:
        batches.append(len(rows))
        taken = insert(store, rows)
        if len(batches) == 2:
            raise StoreError("the machine stops here")
        return taken

    with pytest.raises(StoreError):
        drain(store, str(home), dies, NOW)
    assert len(ids(store)) == batches[0]
    assert drained(store, home).outcomes == 5000 - batches[0]


def test_a_store_that_is_down_loses_nothing_and_hinders_nobody(home: Path, store: SqliteStore) -> None:
    def down(store: Store, rows: Sequence[Row]) -> Taken:
        raise StoreError("down")

    journal = Journal(str(home))
    assert journal.append(outcome("1"))
    with pytest.raises(StoreError):
        drain(store, str(home), down, NOW)
    assert journal.append(outcome("2"))
    assert drained(store, home).outcomes == 2


def test_a_row_that_the_store_refuses_costs_itself(home: Path, store: SqliteStore) -> None:
    def picky(store: Store, rows: Sequence[Row]) -> Taken:
        if any(row["id"] == "2" for row in rows):
            raise UsageError("no twos")
        return insert(store, rows)

    journal = Journal(str(home))
    for name in "123":
        journal.append(outcome(name))
    found = drain(store, str(home), picky, NOW)
    assert ids(store) == ["1", "3"]
    assert [piece.reason for piece in found.quarantined] == ["outcome '2' cannot be stored: no twos"]


@pytest.mark.slow
def test_drains_at_the_same_time_count_each_line_once(home: Path, store: SqliteStore) -> None:
    journal = Journal(str(home))
    for number in range(6000):
        journal.append(outcome(str(number), task="x" * 1000))
    found: list[Drained] = []
    stores = [SqliteStore(home / "ratchet.db") for _ in range(3)]
    threads = [threading.Thread(target=lambda each=each: found.append(drained(each, home))) for each in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in stores:
        each.close()
    assert sum(each.outcomes for each in found) == 6000
    assert len(ids(store)) == 6000


def test_exposures_are_stored_once(home: Path, store: SqliteStore) -> None:
    row: Row = {"r": "exposure", "trial": "l1", "unit": "s1/p1", "arm": "control", "share": 0.8, "at": NOW}
    journal = Journal(str(home))
    journal.append(dict(row))
    journal.append(dict(row))
    assert drained(store, home).exposures == 1
    (stored,) = store.find("exposures").rows
    assert stored["arm"] == "control"


def test_a_segment_that_cannot_be_read_is_named_and_the_rest_drained(home: Path, store: SqliteStore) -> None:
    (home / "journal" / "folder.jsonl").mkdir(parents=True)
    Journal(str(home)).append(outcome("1"))
    found = drained(store, home)
    assert ids(store) == ["1"]
    assert [Path(piece.path).name for piece in found.quarantined] == ["folder.jsonl"]


# --- fork ------------------------------------------------------------------------------------------------------------
def in_child(work: Callable[[], object]) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_forked_child_writes_to_a_segment_of_its_own(home: Path, store: SqliteStore) -> None:
    journal = Journal(str(home))
    journal.append(outcome("parent"))

    def child() -> None:
        assert journal.append(outcome("child"))

    in_child(child)
    journal.append(outcome("parent again"))
    assert len(segments(str(home))) == 2
    assert drained(store, home).outcomes == 3
    assert len(segments(str(home))) == 1, "the parent's, which it still writes to"


@pytest.mark.slow
def test_a_fork_while_another_thread_writes_blocks_neither(home: Path, store: SqliteStore) -> None:
    journal = Journal(str(home))
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            journal.append(outcome(f"t{number}"))
            number += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(20):
            in_child(partial(journal.append, outcome(f"c{number}")))
    finally:
        stop.set()
        thread.join()
    drained(store, home)
    assert {f"c{number}" for number in range(20)} <= set(ids(store))


def test_a_segment_may_have_any_name(home: Path, store: SqliteStore) -> None:
    folder = home / "journal"
    folder.mkdir()
    for name in (b"\xff.jsonl", b"a\nb.jsonl", b".jsonl"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(f"{json.dumps(outcome(name.hex()))}\n{{\n")
    done = [drained(store, home, time.time() + 86_400) for _ in range(2)]
    assert [(each.outcomes, len(each.quarantined)) for each in done] == [(3, 3), (0, 0)]
    assert not any(folder.iterdir())


def test_a_link_among_the_segments_is_named_and_not_read_for_ever(home: Path, store: SqliteStore) -> None:
    Journal(str(home)).append(outcome("o1"))
    (home / "journal" / "endless.jsonl").symlink_to("/dev/zero")
    (home / "journal" / "nowhere.jsonl").symlink_to("nowhere")
    found = drained(store, home)
    assert found.outcomes == 1
    assert sorted(Path(piece.path).name for piece in found.quarantined) == ["endless.jsonl", "nowhere.jsonl"]
    assert next(each for each in examine(load(home=home), {}, home) if each.name == "journal").ok
