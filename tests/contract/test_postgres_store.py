"""The Postgres store itself: passwords, layouts, values that Postgres refuses, words, and a server that goes away."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

pytest.importorskip("psycopg", reason="needs the driver of Postgres: pip install 'ratchet-ai[postgres]'")

import psycopg

from ratchet.errors import StoreError, UsageError
from ratchet.failures.features import features_in
from ratchet.records import Row
from ratchet.store import (
    listening,
    postgres,
    postgres_batches,
    postgres_connections,
    postgres_layout,
    postgres_terms,
    postgres_values,
    sql,
)
from ratchet.store.address import masked, without_secrets
from ratchet.store.declaring import Column, Index, Table
from ratchet.store.migration_steps import Migrating
from ratchet.store.postgres import PostgresStore
from ratchet.store.schema import TABLES, VERSION
from ratchet.store.sqlite import SqliteStore
from support.postgres_server import PostgresServer, programs

if TYPE_CHECKING:
    from support.postgres_server import Databases

ROW: Row = {"id": "o1", "agent": "a", "ok": True, "started_at": 1.0}
PASSWORD = "p@ss/w:rd?#%"


@pytest.fixture
def url(postgres: Databases) -> Iterator[str]:
    found = postgres.fresh()
    yield found
    postgres.give_back(found)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server of one's own, which may be stopped."""
    if programs() is None:
        pytest.skip("needs a Postgres that may be stopped: pip install pgserver")
    with PostgresServer(password=PASSWORD) as started:
        yield started


def address(server: PostgresServer) -> str:
    return server.url().replace(PASSWORD, quote(PASSWORD, safe=""))


# -- addresses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://me:s3cret@host:5432/db",
        "postgresql://me:s3cret@host/db?password=s3cret&sslpassword=s3cret",
        "postgresql://me:s3cret/x@host/db",
        "postgresql://me:s3cret#x@host/db",
        "postgresql://me:s3cret?x@host/db",
        "postgresql:///db?host=/run&user=me&password=s3cret",
        "postgresql://me:x:s3cret@host:port/db",
        "postgres://[::1",
        "postgresql://me:s3cret@[::1]:5432/db",
    ],
)
def test_no_form_of_an_address_shows_its_password(given: str) -> None:
    assert "s3cret" not in masked(given)
    assert "s3cret" not in without_secrets(f"cannot connect with s3cret to {masked(given)}", given) or "x" in given


@pytest.mark.parametrize("given", ["postgresql://me:s3/cret@host:5432/db", "postgresql://me:s3cret@h:p/d", "mysql://x"])
def test_an_address_that_cannot_be_read_is_refused_without_being_quoted(given: str) -> None:
    with pytest.raises((UsageError, StoreError)) as caught:
        PostgresStore(given)
    assert "cret" not in str(caught.value)
    assert caught.value.__cause__ is None or "cret" not in str(caught.value.__cause__)


def test_a_wrong_password_is_said_without_it(server: PostgresServer) -> None:
    with pytest.raises(StoreError, match="refused the password") as caught:
        PostgresStore(address(server).replace(quote(PASSWORD, safe=""), "wr0ng-0ne"))
    assert "wr0ng" not in str(caught.value)


def test_a_database_that_does_not_exist_says_how_to_make_it(url: str) -> None:
    with pytest.raises(StoreError, match="createdb"):
        PostgresStore(url.rpartition("/")[0] + "/nowhere")


def test_a_store_prints_without_its_password(server: PostgresServer) -> None:
    opened = PostgresStore(address(server))
    assert PASSWORD not in repr(opened)
    assert quote(PASSWORD, safe="") not in repr(opened)
    opened.close()


# -- the layout ----------------------------------------------------------------------------------------------------


def test_tables_of_another_program_are_refused_and_left_alone(postgres: Databases) -> None:
    url = postgres.bare()
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("CREATE TABLE events (x integer)")
        with pytest.raises(StoreError, match="another program"):
            PostgresStore(url)
        assert other.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (1,)
    with pytest.raises(StoreError, match="CREATE SCHEMA"):
        PostgresStore(f"{url}?options=-csearch_path%3Dnowhere")


def test_a_schema_of_ones_own_is_used(postgres: Databases) -> None:
    url = postgres.bare()
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("CREATE TABLE events (x integer)")
        other.execute("CREATE SCHEMA mine")
    store = PostgresStore(f"{url}?options=-csearch_path%3Dmine")
    store.insert_new("outcomes", [ROW])
    assert store.get("outcomes", "o1") == ROW
    store.close()


def test_a_store_of_a_newer_ratchet_says_to_upgrade(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("UPDATE ratchet_layout SET version = version + 1")
        with pytest.raises(StoreError, match=r"newer Ratchet.*pip install --upgrade"):
            PostgresStore(url)
        raw.execute("UPDATE ratchet_layout SET version = version - 1")


def test_an_older_store_is_brought_up_to_date_with_its_rows(postgres: Databases) -> None:
    url = postgres.bare()
    store = PostgresStore(url)
    store.insert_new("outcomes", [ROW])
    store.swap("lessons", "l1", 0, {"when_text": "old words", "tool": "Bash"})
    store.close()
    old = TABLES["outcomes"]
    wider = Table(
        name="outcomes",
        key=old.key,
        columns=(*old.columns, Column(name="colour", type="text")),
        indexes=(*old.indexes, Index(columns=("colour",))),
    )
    fresh = Table(name="things", key=("id",), columns=(Column(name="id", type="text"),), terms="id")
    target = VERSION + 1

    def paint(into: Migrating) -> None:
        into.run("UPDATE outcomes SET colour = 'red'")

    with psycopg.connect(url, autocommit=True) as raw:
        postgres_layout.migrate(
            raw,
            "there",
            tables=[wider, fresh],
            version=target,
            plan={target: paint},
        )
        assert raw.execute("SELECT id, colour FROM outcomes").fetchall() == [("o1", "red")]
        assert raw.execute("SELECT count(*) FROM things_terms").fetchone() == (0,)
        assert raw.execute("SELECT version FROM ratchet_layout").fetchall() == [(target,)]


def test_a_store_of_the_first_layouts_takes_every_step_and_keeps_its_facts(postgres: Databases) -> None:
    url = postgres.bare()
    store = PostgresStore(url)
    failed: Row = {"kind": "timeout", "signature": "s", "message": "late"}
    outcome: Row = {"id": "o1", "agent": "a", "ok": False, "started_at": 1.0, "session": "s1", "failure": failed}
    store.insert_new("outcomes", [{**outcome, "tokens": 3, "cost_usd": 0.5, "model": "m"}])
    mined: Row = {"id": "l1", "state": "candidate", "uses": 0, "provenance": "mined from sessions", "text": "t"}
    store.swap_many("lessons", [mined, {**mined, "id": "l2", "approved": True}])
    store.close()
    kept: Row = {
        "project": "/w",
        "session": "gone",
        "tool": "Bash",
        "head": "ls",
        "file": "",
        "finding": "",
        "model": "",
    }
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("ALTER TABLE facts DROP COLUMN around")
        raw.execute("ALTER TABLE facts ADD PRIMARY KEY (project, session, tool, head, file, finding, model, hour)")
        raw.execute("UPDATE ratchet_layout SET version = 5")
        raw.execute("INSERT INTO facts VALUES ('/w', 'gone', 'Bash', 'ls', '', '', '', 1, 7)")
    store = PostgresStore(url)
    store.add("facts", [{**kept, "hour": 1, "around": around, "calls": 1} for around in ("last:ok", "last:failed")])
    counts = {row["around"]: row["calls"] for row in store.sum_by("facts", ("around",), ("calls",))}
    assert counts == {"": 7, "last:ok": 1, "last:failed": 1}
    assert [row["id"] for row in store.find("lessons").rows] == ["l2"]
    tallied = store.get("session_tallies", "s1")
    assert tallied is not None
    wanted = {"calls": 1, "failures": 1, "excused": 0, "tokens": 3, "cost_usd": 0.5, "model": "m"}
    assert tallied.items() >= wanted.items()
    store.close()


def test_a_migration_that_fails_changes_nothing(url: str) -> None:
    store = PostgresStore(url)
    store.insert_new("outcomes", [ROW])

    def break_down(into: Migrating) -> None:
        into.run("DELETE FROM outcomes")
        raise KeyboardInterrupt

    target = VERSION + 1
    fresh = Table(name="things", key=("id",), columns=(Column(name="id", type="text"),))
    with psycopg.connect(url, autocommit=True) as raw:
        with pytest.raises(KeyboardInterrupt):
            postgres_layout.migrate(raw, "there", tables=[fresh], version=target, plan={target: break_down})
        assert raw.execute("SELECT to_regclass('things')").fetchone() == (None,)
    assert store.get("outcomes", "o1") == ROW
    store.close()


def test_first_starts_at_the_same_time_all_succeed(postgres: Databases) -> None:
    code = f"from ratchet.store.postgres import PostgresStore; PostgresStore({postgres.bare()!r}).close()"
    starts = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [start.communicate(timeout=120)[1] for start in starts] == [""] * 4


def test_dialect_files_know_no_table_and_no_noun() -> None:
    nouns = "outcome|exposure|failure|kind of failure|signature|pattern|resolution|lesson|trial|episode|benchmark"
    names = "|".join(TABLES)
    parts = (postgres_batches, postgres_layout, postgres_connections, postgres_terms, postgres_values)
    for module in (sql, listening, postgres, *parts):
        text = Path(str(module.__file__)).read_text()
        assert re.findall(rf"(?i)\b(?:{names}|(?:{nouns})s?)\b", text) == [], module.__name__


# -- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 40], ids=["one", "a batch"])
def test_texts_that_postgres_refuses_come_back_as_they_were(store: PostgresStore, count: int) -> None:
    odd = [
        "nul \x00 inside",
        "half \ud83d",
        "x" * 3_000,
        "\U0001f600" * 1_000,
        "",
        "\\N",
        "tab\tline\nend\r",
        "\x1f\x1e",
    ]
    rows: list[Row] = [
        {**ROW, "id": f"{n}-{at}", "session": text, "task": text, "context": {"text": text, "huge": 10**40}}
        for n in range(count)
        for at, text in enumerate(odd)
    ]
    assert store.insert_new("outcomes", rows) == list(range(len(rows)))
    for row in rows[: len(odd)]:
        assert store.get("outcomes", str(row["id"])) == row
        assert len(store.find("outcomes", {"session": row["session"]}).rows) == count
    assert store.insert_new("outcomes", rows) == []


def test_keys_too_long_for_an_index_stay_apart(store: PostgresStore) -> None:
    long = "k" * 5_000
    rows: list[Row] = [{**ROW, "id": f"{long}{n}"} for n in range(3)]
    assert store.insert_new("outcomes", rows) == [0, 1, 2]
    assert store.get("outcomes", f"{long}1") == rows[1]
    assert store.insert_new("outcomes", [rows[0], {**ROW, "id": f"{long}4"}]) == [1]


def test_a_counter_stays_at_its_limit_and_goes_on_counting_the_rest(store: PostgresStore) -> None:
    key: Row = {"signature": "s", "agent": "a", "hour": 1, "n": 1}
    for tokens in (2**70, 5, 1.6):
        store.add("tallies", [{**key, "tokens": tokens}])
    (held,) = store.find("tallies").rows
    assert (held["n"], held["tokens"]) == (3, 2**63 - 1)


def test_many_counters_are_added_at_once_whatever_they_hold(store: PostgresStore) -> None:
    names = [f"agent {n}" for n in range(30)] + [
        "nul \x00",
        "half \ud83d",
        "unit \x1f",
        "none \x1e",
        "\x1e",
        "x" * 3_000,
    ]
    rows: list[Row] = [{"agent": name, "hour": 1, "calls": 1, "duration_s": 0.1, "min_at": 1.0} for name in names]
    for batch in (rows[:30], rows, [*rows[:30], rows[0]], [{**row, "calls": 2**65} for row in rows[:20]]):
        store.add("activity", batch)
    found = {str(row["agent"]): row["calls"] for row in store.find("activity").rows}
    assert found["agent 0"] == found["agent 19"] == 2**63 - 1
    assert found["agent 25"] == 3
    assert len(found) == len(names)
    assert store.find("activity", {"agent": "x" * 3_000}).rows[0]["calls"] == 1


def test_a_batch_with_known_and_repeated_keys_inserts_the_rest(store: PostgresStore) -> None:
    store.insert_new("exposures", [{"trial": "t", "unit": f"u{n}", "at": 1.0} for n in range(5)])
    rows: list[Row] = [{"trial": "t", "unit": f"u{n % 30}", "at": 2.0} for n in range(40)]
    assert store.insert_new("exposures", rows) == list(range(5, 30))
    assert store.sum_by("exposures", ("at",), ("count:*",)) in (
        [{"at": 1.0, "count:*": 5}, {"at": 2.0, "count:*": 25}],
        [{"at": 2.0, "count:*": 25}, {"at": 1.0, "count:*": 5}],
    )


def test_a_refused_row_leaves_the_transaction_of_its_caller_whole(store: PostgresStore) -> None:
    with store.transaction():
        store.insert_new("outcomes", [ROW])
        with pytest.raises(UsageError):
            store.insert_new("outcomes", [{**ROW, "id": "o2", "started_at": "noon"}])
        with pytest.raises(UsageError):
            store.insert_new("outcomes", [{**ROW, "id": f"p{n}", "agent": None} for n in range(40)])
        store.insert_new("outcomes", [{**ROW, "id": "o3"}])
    assert [row["id"] for row in store.find("outcomes", order=("id",)).rows] == ["o1", "o3"]


# -- terms ---------------------------------------------------------------------------------------------------------


def test_rows_are_weighed_and_counted_as_in_sqlite(store: PostgresStore, tmp_path: Path) -> None:
    other = SqliteStore(tmp_path / "ratchet.db")
    words = ["branch", "upstream", "file", "such", "error", "refused", "push", "Größe", "snake_case", "módulo"]
    for n in range(60):
        text = " ".join(words[(n * step) % len(words)] for step in range(1, 3 + n % 9)) + f" only{n}"
        for each in (store, other):
            each.swap("lessons", f"l{n:03}", 0, {"when_text": text, "state": "active" if n % 3 else "retired"})
            if not n % 7:
                each.swap("lessons", f"l{n:03}", 1, {"when_text": text + " again", "state": "active"})
    for asked in ("branch", "größe error", "snake_case only8", "push refused only11 file"):
        weights = {term: 1.0 + at for at, term in enumerate(features_in(asked))}
        assert store.spread("lessons", [*weights, ""]) == other.spread("lessons", [*weights, ""])
        for where in (None, {"state": "active"}):
            ours = store.match("lessons", weights, where, limit=200)
            theirs = other.match("lessons", weights, where, limit=200)
            assert [row["id"] for row in ours] == [row["id"] for row in theirs]
    other.close()


# -- a server that goes away ---------------------------------------------------------------------------------------


def test_a_store_survives_its_servers_restart(server: PostgresServer) -> None:
    store = PostgresStore(address(server))
    changes = store.changes()
    store.insert_new("outcomes", [ROW])
    assert changes.wait(60.0)
    for ends in (server.stop, server.kill):
        ends()
        with pytest.raises(StoreError, match="down or cannot be reached: start it") as caught:
            store.get("outcomes", "o1")
        assert PASSWORD not in str(caught.value)
        with pytest.raises(StoreError, match="nothing is lost"):
            store.insert_new("outcomes", [{**ROW, "id": "o2"}])
        with pytest.raises(StoreError):
            changes.wait(0.1)
        with pytest.raises(StoreError):
            changes.wait(0.1)
        server.start()
        assert changes.wait(60.0)  # it may have missed some
        assert store.get("outcomes", "o1") == ROW
        assert store.find("outcomes", {"id": "o2"}).rows == []
    changes.close()
    store.close()


def test_a_transaction_that_loses_its_server_is_undone_and_said(server: PostgresServer) -> None:
    store = PostgresStore(address(server))

    def cut_off() -> None:
        with store.transaction():
            store.insert_new("outcomes", [ROW])
            server.stop()
            store.insert_new("outcomes", [{**ROW, "id": "o2"}])

    with pytest.raises(StoreError):
        cut_off()
    server.start()
    assert store.find("outcomes").rows == []
    store.insert_new("outcomes", [ROW])
    assert store.get("outcomes", "o1") == ROW
    store.close()


def test_an_interrupt_in_the_middle_of_a_transaction_leaves_the_store_usable(store: PostgresStore) -> None:
    def interrupted() -> None:
        with store.transaction():
            store.insert_new("outcomes", [ROW])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert store.find("outcomes").rows == []
    store.insert_new("outcomes", [ROW])
    assert store.get("outcomes", "o1") == ROW


def test_a_thread_that_ends_takes_its_connection_along(store: PostgresStore, url: str) -> None:
    for _ in range(5):
        thread = threading.Thread(target=store.find, args=("outcomes",))
        thread.start()
        thread.join()
    name = url.rpartition("/")[2].partition("?")[0]
    with psycopg.connect(url, autocommit=True) as raw:
        for _ in range(200):  # the server needs a moment to see them off
            (count,) = raw.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", (name,)).fetchone() or (
                0,
            )
            if count == 2:
                break
    assert count == 2


def test_without_the_driver_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ratchet.config import load
    from ratchet.errors import Refused
    from ratchet.store import opening as stores

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Refused, match=r"pip install .*\[postgres\]'") as caught:
        stores.opened(load(home=tmp_path, database_url="postgresql://me:s3cret@host/db"))
    assert "s3cret" not in str(caught.value)
