"""The SQLite file itself: its mode, its layout, and what happens when it is damaged, foreign, newer, locked or full."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from ratchet.errors import StoreError
from ratchet.records import Row
from ratchet.store import migrations, search, sql, sqlite
from ratchet.store.declaring import Column, Index, Table
from ratchet.store.migration_steps import Migrating
from ratchet.store.schema import TABLES, VERSION
from ratchet.store.sqlite import SqliteStore

ROW: Row = {"id": "o1", "agent": "a", "ok": True, "started_at": 1.0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "ratchet.db"


def filled(path: Path) -> None:
    store = SqliteStore(path)
    store.insert_new("outcomes", [ROW])
    store.close()


def test_only_the_owner_can_read_the_file_its_log_and_its_folder(path: Path) -> None:
    store = SqliteStore(path)
    store.insert_new("outcomes", [ROW])
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    assert modes == dict.fromkeys(modes, 0o600)
    assert {"ratchet.db", "ratchet.db-wal"} <= set(modes)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    store.close()


def test_a_file_that_others_could_read_is_closed_to_them(path: Path) -> None:
    filled(path)
    path.chmod(0o644)
    SqliteStore(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_write_waits_for_another_writer_instead_of_failing(path: Path) -> None:
    """Every write transaction begins immediate: a reader never has to become a writer half-way."""
    filled(path)
    one, two = SqliteStore(path), SqliteStore(path)
    with one.transaction():
        seen: list[str] = []
        raw = sqlite3.connect(path, timeout=0.05, isolation_level=None)
        try:
            raw.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            seen.append(str(error))
        raw.close()
        assert seen == ["database is locked"]
        assert two.get("outcomes", "o1") is not None  # and a reader never waits
    one.close()
    two.close()


def test_a_damaged_file_is_named_with_a_remedy_and_left_as_it_is(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database, " * 400)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"ratchet\.db.*move it aside"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_an_emptied_file_is_no_new_store(path: Path) -> None:
    filled(path)
    os.truncate(path, 0)
    with pytest.raises(StoreError, match=r"ratchet\.db is empty.*begin anew"):
        SqliteStore(path)
    assert path.stat().st_size == 0


def test_making_a_store_leaves_nothing_beside_it(path: Path) -> None:
    SqliteStore(path).close()
    assert [each.name for each in path.parent.iterdir()] == ["ratchet.db"]


@pytest.mark.parametrize("put_back", [False, True])
def test_a_store_whose_file_is_gone_or_another_writes_nothing_and_says_so(path: Path, put_back: bool) -> None:
    store = SqliteStore(path)
    for each in path.parent.iterdir():
        each.unlink()
    if put_back:
        SqliteStore(path).close()
    with pytest.raises(StoreError, match=rf"{'replaced' if put_back else 'removed'} while it was in use.*restart"):
        store.insert_new("outcomes", [ROW])
    store.close()


def test_a_file_that_was_cut_in_half_is_an_error_and_no_empty_answer(path: Path) -> None:
    store = SqliteStore(path)
    store.insert_new("outcomes", [{**ROW, "id": f"o{n}", "context": {"text": "x" * 500}} for n in range(2000)])
    store.close()
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreError, match=r"ratchet\.db"):
        SqliteStore(path).find("outcomes")


def test_a_database_of_another_program_is_refused_and_not_touched(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(path)
    other = sqlite3.connect(path)
    assert [row[0] for row in other.execute("SELECT name FROM sqlite_master")] == ["theirs"]
    other.close()


def test_a_store_of_a_newer_ratchet_says_to_upgrade_and_is_left_alone(path: Path) -> None:
    filled(path)
    raw = sqlite3.connect(path)
    raw.execute(f"PRAGMA user_version = {VERSION + 1}")
    raw.close()
    with pytest.raises(StoreError, match=r"newer Ratchet.*pip install --upgrade"):
        SqliteStore(path)
    with pytest.raises(StoreError, match="newer Ratchet"):
        SqliteStore(path, readonly=True)


def test_an_older_store_is_brought_up_to_date_with_its_rows(path: Path) -> None:
    filled(path)
    raw = sqlite3.connect(path, isolation_level=None)
    old = TABLES["outcomes"]
    wider = Table(
        name="outcomes",
        key=old.key,
        columns=(*old.columns, Column(name="colour", type="text")),
        indexes=(*old.indexes, Index(columns=("colour",))),
        terms="task",
    )
    fresh = Table(name="things", key=("id",), columns=(Column(name="id", type="text"),))

    def paint(into: Migrating) -> None:
        into.run("UPDATE outcomes SET colour = 'red', task = 'paint it'")

    target = VERSION + 1
    migrations.migrate(raw, str(path), tables=[wider, fresh], version=target, plan={target: paint})
    assert raw.execute("SELECT id, colour FROM outcomes").fetchall() == [("o1", "red")]
    assert raw.execute("SELECT COUNT(*) FROM things").fetchone() == (0,)
    found = raw.execute("SELECT rowid FROM outcomes_terms WHERE outcomes_terms MATCH 'paint'").fetchall()
    assert found == [(1,)]
    assert raw.execute("PRAGMA user_version").fetchone() == (target,)
    raw.close()


def test_facts_of_before_circumstances_are_kept_and_their_sessions_counted_anew(path: Path) -> None:
    store = SqliteStore(path)
    store.swap("sessions", "s1", 0, {"pending": False, "at": 1.0})
    store.close()
    raw = sqlite3.connect(path, isolation_level=None)
    names = [column.name for column in TABLES["facts"].columns if column.name != "around"]
    kept: Row = {"project": "/w", "session": "gone", "tool": "Bash", "head": "ls"}
    kept |= {"file": "", "finding": "", "model": "", "hour": 1}
    raw.execute("DROP TABLE facts")
    raw.execute(f"CREATE TABLE facts ({', '.join(names)}, PRIMARY KEY (project, session, tool, head)) WITHOUT ROWID")
    raw.execute(
        f"INSERT INTO facts ({', '.join(kept)}, calls) VALUES ({', '.join('?' * len(kept))}, 7)", [*kept.values()]
    )
    raw.execute("PRAGMA user_version = 11")
    raw.close()
    store = SqliteStore(path)
    twice: list[Row] = [{**kept, "around": around, "calls": 1} for around in ("last:ok", "last:failed")]
    store.add("facts", twice)
    counts = {row["around"]: row["calls"] for row in store.sum_by("facts", ("around",), ("calls",))}
    assert counts == {"": 7, "last:ok": 1, "last:failed": 1}
    assert store.find("sessions", {"pending": True}).rows
    store.close()


def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    filled(path)
    raw = sqlite3.connect(path, isolation_level=None)
    fresh = Table(name="things", key=("id",), columns=(Column(name="id", type="text"),))

    def break_down(into: Migrating) -> None:
        into.run("DELETE FROM outcomes")
        raise KeyboardInterrupt

    target = VERSION + 1
    with pytest.raises(KeyboardInterrupt):
        migrations.migrate(raw, str(path), tables=[fresh], version=target, plan={target: break_down})
    raw.close()
    store = SqliteStore(path)
    assert store.get("outcomes", "o1") == ROW
    store.close()


def test_a_read_only_store_answers_and_refuses_to_write(path: Path) -> None:
    filled(path)
    store = SqliteStore(path, readonly=True)
    assert store.get("outcomes", "o1") == ROW
    assert store.sum_by("outcomes", (), ("count:*",)) == [{"count:*": 1}]
    with pytest.raises(StoreError, match="read-only"):
        store.insert_new("outcomes", [{**ROW, "id": "o2"}])
    with pytest.raises(StoreError, match="read-only"), store.transaction():
        pass
    assert store.get("outcomes", "o2") is None
    store.close()


def test_a_read_only_look_at_a_store_that_does_not_exist_creates_nothing(path: Path) -> None:
    with pytest.raises(StoreError, match=r"ratchet\.db"):
        SqliteStore(path, readonly=True)
    assert not path.exists()


def test_a_read_only_store_of_an_older_layout_says_what_to_do(path: Path) -> None:
    filled(path)
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 0")
    raw.close()
    with pytest.raises(StoreError, match=r"older Ratchet.*write access"):
        SqliteStore(path, readonly=True)


def test_a_thread_that_ends_takes_its_connection_along(path: Path) -> None:
    store = SqliteStore(path)
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("counts open files by /proc, which is absent here")
    for _ in range(3):  # files may be opened lazily by the first ones
        thread = threading.Thread(target=store.find, args=("outcomes",))
        thread.start()
        thread.join()
    before = len(list(folder.iterdir()))
    for _ in range(20):
        thread = threading.Thread(target=store.find, args=("outcomes",))
        thread.start()
        thread.join()
    assert len(list(folder.iterdir())) <= before
    store.close()


def test_an_interrupt_in_the_middle_of_a_transaction_leaves_the_store_usable(path: Path) -> None:
    store = SqliteStore(path)

    def interrupted() -> None:
        with store.transaction():
            store.insert_new("outcomes", [ROW])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert store.find("outcomes").rows == []
    store.insert_new("outcomes", [ROW])
    assert store.get("outcomes", "o1") == ROW
    store.close()


def test_a_batch_with_words_is_inserted_and_found_whole_however_large_it_is(path: Path) -> None:
    """Many rows travel in one statement: what is known stays as it is, and a value that is refused is cleaned."""
    store = SqliteStore(path)
    store.insert_new("steps", [{"id": "s7", "session": "first", "words": "early", "at": 1.0, "revision": 1}])
    rows: list[Row] = [
        {"id": f"s{at % 400}", "session": "a", "words": f"git w{at}", "at": 1.0 + at, "revision": 1}
        for at in range(401)
    ]
    assert store.insert_new("steps", rows) == [at for at in range(400) if at != 7]
    assert len(store.having("steps", ["git"], limit=500)) == 399
    assert [row["id"] for row in store.having("steps", ["w399"])] == ["s399"]
    assert [row["id"] for row in store.having("steps", ["early"])] == ["s7"]
    odd: list[Row] = [{**row, "id": f"o{row['id']}", "session": "\ud83d"} for row in rows[:5]]
    assert store.insert_new("steps", odd) == [0, 1, 2, 3, 4]
    assert len(store.having("steps", ["git"], {"session": "?"})) == 5
    store.close()


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        SqliteStore(tmp_path / "file" / "ratchet.db")


def test_a_full_disk_is_a_store_error_and_what_was_stored_stays(path: Path) -> None:
    filled(path)
    code = textwrap.dedent(
        f"""
        import resource, signal
        from ratchet.errors import StoreError
        from ratchet.store.sqlite import SqliteStore
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        store = SqliteStore({str(path)!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        row = {{"agent": "a", "ok": True, "started_at": 1.0, "context": {{"text": "x" * 5000}}}}
        try:
            store.insert_new("outcomes", [{{**row, "id": f"big{{n}}"}} for n in range(500)])
        except StoreError as error:
            assert "full" in str(error), error
            assert store.find("outcomes").rows[0]["id"] == "o1"
            print("told")
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("told", "")
    store = SqliteStore(path)
    assert [row["id"] for row in store.find("outcomes").rows] == ["o1"]
    store.close()


@pytest.mark.slow
def test_first_starts_at_the_same_time_all_succeed(path: Path) -> None:
    code = f"from ratchet.store.sqlite import SqliteStore; SqliteStore({str(path)!r}).close()"
    starts = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) for _ in range(6)]
    assert [start.communicate(timeout=60)[1] for start in starts] == [""] * 6


def test_dialect_files_know_no_table_and_no_noun() -> None:
    nouns = "outcome|exposure|failure|kind of failure|signature|pattern|resolution|lesson|trial|episode|benchmark"
    names = "|".join(TABLES)
    for module in (sql, sqlite, search):
        text = Path(str(module.__file__)).read_text()
        assert re.findall(rf"(?i)\b(?:{names}|(?:{nouns})s?)\b", text) == [], module.__name__


def test_another_process_that_comes_and_goes_takes_nothing_away_from_the_threads_of_this_one(path: Path) -> None:
    other = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from ratchet.store.sqlite import SqliteStore

        store = SqliteStore(Path(sys.argv[1]))
        print(len(store.find("events").rows))
        store.insert_new("events", [{"id": sys.argv[2], "at": 1.0}])
        store.close()
        """
    )

    def in_another_process(name: str) -> int:
        done = subprocess.run([sys.executable, "-c", other, path, name], check=True, capture_output=True, text=True)
        return int(done.stdout)

    def connect_and_stay() -> None:
        store.find("events")
        connected.set()
        over.wait(60)

    store = SqliteStore(path)
    connected, over = threading.Event(), threading.Event()
    thread = threading.Thread(target=connect_and_stay)
    thread.start()
    assert connected.wait(60)
    try:
        assert in_another_process("theirs") == 0
        assert [row["id"] for row in store.find("events").rows] == ["theirs"]
        store.insert_new("events", [{"id": "ours", "at": 2.0}])
        assert in_another_process("theirs again") == 2
        assert len(store.find("events").rows) == 3
    finally:
        over.set()
        thread.join()
        store.close()
