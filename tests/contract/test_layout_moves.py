"""A store brought to another layout under a process that has it open, and one that such a process left wrong."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ratchet.errors import StoreError
from ratchet.failures.patterns.ingest import ingest
from ratchet.recording.journal import segments
from ratchet.records import Row
from ratchet.runtime import Runtime
from ratchet.store.deriving import differing
from ratchet.store.schema import VERSION
from ratchet.store.sum_tables import SUM_TABLES
from support.postgres_server import Databases
from support.shop import history

Run = Callable[[str], None]
"""Runs a statement on the database itself, as code of another age would."""
Place = tuple[Path, Run, Runtime]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A home of either database, and a way past Ratchet into that."""
    if request.param == "sqlite":
        monkeypatch.delenv("RATCHET_DATABASE_URL", raising=False)

        def on_file(statement: str) -> None:
            with closing(sqlite3.connect(home / "ratchet.db", isolation_level=None)) as raw:
                raw.execute(statement)

        with Runtime.open(home=home) as runtime:
            yield home, on_file, runtime
        return
    databases: Databases = request.getfixturevalue("postgres")
    import psycopg

    url = databases.fresh()
    monkeypatch.setenv("RATCHET_DATABASE_URL", url)

    def on_server(statement: str) -> None:
        with psycopg.connect(url, autocommit=True) as raw:
            raw.execute(statement)

    with Runtime.open(home=home) as runtime:
        yield home, on_server, runtime
    databases.give_back(url)


def layout(home: Path, run: Run, version: int) -> None:
    """Say that the store has this layout."""
    is_file = (home / "ratchet.db").exists()
    run(f"PRAGMA user_version = {version}" if is_file else f"UPDATE ratchet_layout SET version = {version}")


@pytest.mark.parametrize("moved", [VERSION + 1, VERSION - 1])
def test_a_process_writes_nothing_into_a_layout_that_it_does_not_know(place: Place, moved: int) -> None:
    home, run, runtime = place
    runtime.record("a", error="429 Too Many Requests", session="s")
    runtime.drain()
    before = runtime.store.find("tallies").rows
    layout(home, run, moved)
    try:
        runtime.record("a", error="429 Too Many Requests", session="late")
        for write in (
            runtime.drain,
            lambda: ingest(runtime.store, [{"id": "x", "agent": "a", "task": "t", "ok": True, "started_at": 1e9}]),
            lambda: runtime.store.swap("lessons", "l1", 0, {"text": "t"}),
            lambda: runtime.store.add("activity", [{"agent": "a", "hour": 1, "calls": 1}]),
            lambda: runtime.store.delete("outcomes", {"agent": "a"}),
            lambda: runtime.store.delete_before("outcomes", "started_at", 1e12),
            runtime.store.derive,
        ):
            with pytest.raises(StoreError, match=rf"layout {moved} while .* knows {VERSION}: nothing .* restart"):
                write()
        assert runtime.store.find("tallies").rows == before  # and who only reads goes on
        assert any(Path(each).stat().st_size for each in segments(str(home)))
    finally:
        layout(home, run, VERSION)
    assert [each.count for each in runtime.patterns()] == [2]


def test_what_is_computed_agrees_in_every_table_and_is_made_anew(place: Place, tmp_path: Path) -> None:
    _, run, runtime = place
    runtime.learn([history(tmp_path / "h.jsonl")])
    for number in range(12):
        error = "TypeError: x is not a function" if number % 3 else None
        runtime.record("ab"[number % 2], error=error, session=f"s{number % 4}" if number % 5 else "", cost_usd=0.1)
    runtime.drain()
    assert differing(runtime.store) == ()
    assert runtime.retention.compact(1.0, now=time.time() + 40 * 86_400).removed
    assert differing(runtime.store) == ()  # what is forgotten is no fault
    runtime.sessions.forget("s1")
    assert differing(runtime.store) == ()
    held = {table.name: runtime.store.find(table.name).rows for table in SUM_TABLES}
    assert all(held.values())
    for table in SUM_TABLES:  # each by itself: none is missed for another one
        run(f'DELETE FROM "{table.name}"')
        assert differing(runtime.store)
        runtime.store.derive()
        assert differing(runtime.store) == ()
        assert runtime.store.find(table.name).rows == [_near(row) for row in held[table.name]]
    run("UPDATE patterns SET terms = NULL")
    assert differing(runtime.store) == ("terms of patterns",)
    runtime.store.derive()
    assert differing(runtime.store) == ()


def test_lessons_of_before_are_found_by_the_features_of_today_and_the_move_says_so(place: Place) -> None:
    home, run, runtime = place
    said = "Exit code 2\ncurl: (60) SSL certificate problem"
    lesson = runtime.lessons.add(when=said, do="renew it", state="active", scope="global")
    (row,) = runtime.store.find("lessons", {"id": lesson.id}).rows
    run(f"UPDATE lessons SET terms = '0badfeed' WHERE id = '{lesson.id}'")
    layout(home, run, 22)
    with Runtime.open(home=home) as again:
        assert again.store.find("lessons", {"id": lesson.id}).rows[0]["terms"] == row["terms"]
        assert [each.text for each in again.recall(f"$ deploy\n{said}", project=None).lessons] == ["renew it"]
        told = [str(each["reason"]) for each in again.store.find("events", {"record": "layout 23"}).rows]
        assert told == ["lessons are found by the features of their texts: 1 had others"]


def _near(row: Row) -> dict[str, object]:
    return {name: pytest.approx(value) if isinstance(value, float) else value for name, value in row.items()}


def test_doctor_tells_what_older_code_left_behind_and_mends_it(place: Place) -> None:
    _, run, runtime = place
    for number in range(6):
        runtime.record("a", error="429 Too Many Requests", session=f"s{number}")
    runtime.drain()
    # What code before layout 18 does: it moves tallies and sightings, and knows of no sums.
    run("UPDATE tallies SET n = n + 4")
    run("UPDATE sightings SET session = session || '-late' WHERE signature <> '' AND session = 's0'")
    run(
        "INSERT INTO sightings (signature, session, agent, n) SELECT signature, 's9', agent, 4 FROM sightings "
        "WHERE signature <> '' AND session = 's1'"
    )
    told = doctor()
    assert told["sums"]["ok"] is False
    assert "sums of patterns, sessions of patterns, sums of kinds" in str(told["sums"]["found"])
    assert "ratchet doctor --mend" in str(told["sums"]["remedy"])
    assert doctor("--mend")["sums"]["ok"] is True
    assert [(each.count, each.sessions) for each in runtime.patterns()] == [(10, 7)]
    assert doctor()["sums"]["ok"] is True


def doctor(*words: str) -> dict[str, dict[str, object]]:
    asked = [sys.executable, "-m", "ratchet", "doctor", "--json", *words]
    said = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)
    return {each["check"]: each for each in json.loads(said.stdout)}


def test_what_is_written_between_two_questions_is_no_fault(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, runtime = place
    ask, asked = runtime.store.sum_by, Counter[str]()

    def while_somebody_writes(table: str, *rest: Any, **more: Any) -> list[Row]:
        asked[table] += 1
        if table == "tallies" and asked[table] == 1:
            runtime.record("a", error="429 Too Many Requests", session="s")
            runtime.drain()
        return ask(table, *rest, **more)

    monkeypatch.setattr(runtime.store, "sum_by", while_somebody_writes)
    assert differing(runtime.store) == ()
    assert asked["tallies"] > 2  # it did differ, and was looked at again
