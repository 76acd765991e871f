"""A home whose store is a shared database: commands, hooks, moving there and back, and a server that is down."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

pytest.importorskip("psycopg", reason="needs the driver of Postgres: pip install 'ratchet-ai[postgres]'")

import ratchet
from ratchet.config import load
from ratchet.errors import Refused, StoreError, UsageError
from ratchet.lessons import exposure
from ratchet.runtime import Runtime
from ratchet.store.postgres import PostgresStore
from ratchet.store.schema import TABLES
from ratchet.store.sqlite import SqliteStore
from support.postgres_server import PostgresServer, programs

if TYPE_CHECKING:
    from support.postgres_server import Databases

HISTORY = Path(ratchet.__file__).parent / "demo" / "history"
PASSWORD = "s3cr3t/pass@word"
ERROR = "fatal: The current branch fix-9 has no upstream branch."


class Machine:
    """One machine of a team: its own home, the same database."""

    def __init__(self, root: Path, url: str) -> None:
        self.home = root / "home" / ".ratchet"
        self.environ = {**os.environ, "HOME": str(root / "home"), "RATCHET_DATABASE_URL": url, "COLUMNS": "200"}
        self.environ.pop("RATCHET_HOME", None)
        (root / "home").mkdir(parents=True)

    def run(self, *words: str, code: int = 0, stdin: str = "", **changed: str) -> str:
        environ = {**self.environ, **changed}
        command = [sys.executable, "-m", "ratchet", *words]
        done = subprocess.run(
            command, env=environ, input=stdin, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == code, f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}"
        assert PASSWORD not in done.stdout + done.stderr
        assert quote(PASSWORD, safe="") not in done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def url(postgres: Databases) -> Iterator[str]:
    found = postgres.fresh()
    yield found
    postgres.give_back(found)


@pytest.fixture
def machine(tmp_path: Path, url: str) -> Machine:
    return Machine(tmp_path / "one", url)


def test_a_project_may_not_say_where_records_go(tmp_path: Path) -> None:
    (tmp_path / "ratchet.toml").write_text('database_url = "postgresql://evil@host/db"\n')
    assert not load(environ={"HOME": str(tmp_path / "home")}, cwd=tmp_path).database_url
    held = load(environ={"RATCHET_HOME": str(tmp_path)}, cwd=tmp_path / "nowhere")
    assert held.database_url == "postgresql://evil@host/db"


@pytest.mark.parametrize("given", ["mysql://me:s3cret@host/db", "/some/file", "s3cret"])
def test_another_kind_of_address_is_refused_without_being_quoted(given: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no address of a Postgres database") as caught:
        load(environ={"RATCHET_DATABASE_URL": given}, cwd=tmp_path)
    assert "s3cret" not in str(caught.value)


def test_settings_print_without_the_password(tmp_path: Path) -> None:
    held = load(environ={"RATCHET_DATABASE_URL": f"postgresql://me:{PASSWORD}@host/db"}, cwd=tmp_path)
    assert PASSWORD not in repr(held)


def test_what_one_machine_learns_another_recalls(machine: Machine, url: str, tmp_path: Path) -> None:
    machine.run("learn", str(HISTORY))
    other = Machine(tmp_path / "two", url)
    assert "git push --set-upstream origin" in other.run("recall", ERROR)
    assert other.run("patterns", "--json") == machine.run("patterns", "--json")
    assert not (machine.home / "ratchet.db").exists()
    assert machine.home.stat().st_mode & 0o077 == 0


def test_hooks_know_the_lessons_of_the_database_also_while_it_is_down(
    machine: Machine, url: str, tmp_path: Path
) -> None:
    machine.run("learn", str(HISTORY))
    other = Machine(tmp_path / "two", url)
    other.run("health")  # any command that reads tells the hooks
    for each in (machine, other):
        (each.home / "salt").write_text("0" * 32)
        said = [
            each.run(
                *("hook", "PostToolUseFailure"),
                stdin=json.dumps(
                    {
                        "session_id": f"session-{n}",
                        "cwd": "/home/dev/shop",
                        "hook_event_name": "PostToolUseFailure",
                        "tool_name": "Bash",
                        "tool_input": {"command": "git push"},
                        "tool_use_id": f"toolu_{n:024}",
                        "error": f"Exit code 128\n{ERROR}\n",  # with git's own hint there is nothing to add
                        "is_interrupt": False,
                    }
                ),
                RATCHET_DATABASE_URL="postgresql://nobody@127.0.0.1:9/none",
            )
            for n in range(4)
        ]
        assert any("git push --set-upstream origin" in answer for answer in said), said


def test_a_lesson_that_changes_is_told_to_hooks_and_a_home_of_its_own_forgets_the_copy(
    machine: Machine, tmp_path: Path
) -> None:
    machine.run("learn", str(HISTORY))
    copy = Path(exposure.mirror_path(str(machine.home)))

    def told() -> set[str]:
        raw = sqlite3.connect(copy)
        found = {str(row[0]) for row in raw.execute("SELECT id FROM lessons")}
        raw.close()
        return found

    before = told()
    assert before
    gone = min(before)
    machine.run("lessons", "retire", gone, "--reason", "moved")
    assert told() == before - {gone}
    assert not copy.with_name("lessons.db-wal").exists()
    machine.run("health", RATCHET_DATABASE_URL="")
    assert not copy.exists()


def test_doctor_says_whether_the_database_answers(machine: Machine) -> None:
    assert "no tables yet" in machine.run("doctor") or "0 outcomes" in machine.run("doctor")
    machine.run("learn", str(HISTORY))
    assert "76 outcomes; hooks read" in machine.run("doctor")
    down = machine.run(
        "doctor", code=1, RATCHET_DATABASE_URL=f"postgresql://me:{quote(PASSWORD, safe='')}@127.0.0.1:9/x"
    )
    assert "postgresql://me:***@127.0.0.1:9/x: the database is down or cannot be reached: start it" in down


def test_writers_spool_while_the_database_is_down_and_nothing_is_lost(tmp_path: Path) -> None:
    if programs() is None:
        pytest.skip("needs a Postgres that may be stopped: pip install pgserver")
    with PostgresServer(password=PASSWORD) as server:
        address = server.url().replace(PASSWORD, quote(PASSWORD, safe=""))
        machine = Machine(tmp_path / "one", address)
        machine.run("record", "a", "--ok")
        assert "0.9" in machine.run("health") or "1" in machine.run("health")
        server.stop()
        for _ in range(5):
            machine.run("record", "a", "--error", "connection refused by the depot")
        said = machine.run("patterns", code=6)
        assert "start it; nothing is lost" in said
        server.start()
        (found,) = json.loads(machine.run("patterns", "--json"))
        assert found["count"] == 5


# -- moving --------------------------------------------------------------------------------------------------------


@pytest.fixture
def taught(tmp_path: Path) -> Runtime:
    runtime = Runtime(load(home=tmp_path / "own", environ={}, cwd=tmp_path))
    runtime.learn([HISTORY])
    runtime.store.insert_new("outcomes", [ODD])
    runtime.store.add("sightings", [{"signature": "", "session": "s", "agent": "\u00e9", "n": 1}])
    return runtime


ODD: ratchet.records.Row = {
    "id": "odd",
    "agent": "nul \x00",
    "ok": False,
    "started_at": 1.5,
    "session": "x" * 4_000,
    "context": {"text": "\x00 \u2028 \U0001f600", "huge": 10**30},
    "failure": {"message": "m", "kind": "other", "signature": "v1:odd"},
}


def rows(store: SqliteStore | PostgresStore) -> dict[str, list[ratchet.records.Row]]:
    return {name: store.find(name, order=table.key).rows for name, table in TABLES.items()}


def test_a_home_moves_to_a_database_and_back_without_loss(taught: Runtime, url: str, tmp_path: Path) -> None:
    there = taught.move(url)
    assert [each.table for each in there.tables] == list(TABLES)
    assert sum(each.copied for each in there.tables) == sum(each.rows for each in there.tables) > 150
    database = PostgresStore(url)
    assert rows(database) == rows(taught.store)  # type: ignore[arg-type]
    shared = Runtime(load(home=tmp_path / "shared", database_url=url, environ={}, cwd=tmp_path))
    assert [each.id for each in shared.patterns()] == [each.id for each in taught.patterns()]
    assert [each.lesson.id for each in shared.recall(ERROR).lessons] == [
        each.lesson.id for each in taught.recall(ERROR).lessons
    ]
    back = shared.move(str(tmp_path / "back"))
    assert {each.table: each.hash for each in back.tables} == {each.table: each.hash for each in there.tables}
    again = SqliteStore(tmp_path / "back")
    assert rows(again) == rows(database)
    for each in (again, database, shared, taught):
        each.close()


def test_a_second_move_copies_nothing_and_a_broken_off_one_the_rest(taught: Runtime, url: str) -> None:
    class Killed(BaseException):
        pass

    def kill(done: int, total: int, what: str) -> None:
        if what == "activity":
            raise Killed

    with pytest.raises(Killed):
        taught.move(url, progress=kill)
    rest = taught.move(url).tables
    assert 0 < sum(each.copied for each in rest) < sum(each.rows for each in rest)
    assert sum(each.copied for each in taught.move(url).tables) == 0
    taught.close()


def test_a_database_that_holds_something_else_is_refused_and_left_alone(taught: Runtime, url: str) -> None:
    database = PostgresStore(url)
    database.swap("meta", "of somebody else", 0, {"value": 1})
    with pytest.raises(Refused, match="1 in meta"):
        taught.move(url)
    assert database.find("outcomes").rows == []
    database.close()
    taught.close()


def test_where_everything_is_already_is_no_place_to_move_to(taught: Runtime) -> None:
    for place in (taught.home, taught.home / "ratchet.db"):
        with pytest.raises(UsageError, match="already"):
            taught.move(str(place))
    with pytest.raises(StoreError, match="start it"):
        taught.move("postgresql://nobody@127.0.0.1:9/none")
    taught.close()
