"""A home of an old version is brought up to date without loss, also if that is killed again and again."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from ratchet.lessons.recall import recall
from ratchet.store.schema import VERSION
from ratchet.store.sqlite import SqliteStore
from support import old_home

# Opens the store and kills itself before statement number N; without a number it tells how many there were.
_OPENS = """
import os, signal, sqlite3, sys
from ratchet.store import sqlite

limit, count = int(sys.argv[2]), 0

class Counting(sqlite3.Connection):
    def execute(self, *arguments):
        global count
        count += 1
        if count == limit:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*arguments)

plain = sqlite3.connect
sqlite.sqlite3.connect = lambda *arguments, **options: plain(*arguments, factory=Counting, **options)
sqlite.SqliteStore(sys.argv[1]).close()
print(count)
"""


def opened(path: Path, limit: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", _OPENS, path, str(limit)], capture_output=True, text=True)


def held(path: Path) -> tuple[object, ...]:
    """What must not be lost, read without the code under test."""
    with closing(sqlite3.connect(path)) as raw:
        ask = raw.execute
        return (
            ask("SELECT count(*), count(signature), sum(started_at) FROM outcomes").fetchone(),
            ask(
                "SELECT id, state, scope, signature, when_text, text, tried, worked FROM lessons ORDER BY id"
            ).fetchall(),
            ask("SELECT sum(n) FROM tallies").fetchone(),
        )


def upgrade(tmp_path: Path, *, outcomes: int, lessons: int, kills: int) -> float:
    """Upgrade a copy after each kill; return how long it took undisturbed, in seconds."""
    path = old_home.write(tmp_path / "home", tmp_path, outcomes=outcomes, lessons=lessons)
    before = held(path)
    assert len(before[1]) == lessons  # type: ignore[arg-type]
    other = tmp_path / "killed" / "ratchet.db"
    other.parent.mkdir()
    shutil.copy(path, other)
    started = time.perf_counter()
    whole = opened(path, 0)
    taken_s = time.perf_counter() - started
    assert whole.returncode == 0, whole.stderr
    total = int(whole.stdout)
    for at in range(kills):
        killed = opened(other, 1 + at * total // kills)
        assert killed.returncode == -9
        assert held(other) == before
    for each in (path, other):
        store = SqliteStore(each)
        found = store.find("lessons", order=("id",)).rows
        assert store.spread("lessons", [""]) == {"": lessons}
        assert sum(bool(row.get("said")) for row in found) == sum(row["source"] == "session" for row in found) > 0
        asked = next(row for row in found if row.get("said"))
        told = recall(store, str(asked["said"]))
        assert asked["id"] in [each.id for each in (*told.lessons, *told.possibly)]
        assert store.find("events", {"verb": "migrated"}).rows
        store.close()
        assert held(each) == before
        with closing(sqlite3.connect(each)) as raw:
            assert raw.execute("PRAGMA user_version").fetchone() == (VERSION,)
            assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return taken_s


@pytest.mark.sqlite
def test_a_small_home_survives_an_upgrade_that_is_killed(tmp_path: Path) -> None:
    upgrade(tmp_path, outcomes=300, lessons=24, kills=3)


@pytest.mark.soak
@pytest.mark.sqlite
def test_a_large_home_survives_an_upgrade_that_is_killed_twenty_times(tmp_path: Path) -> None:
    assert upgrade(tmp_path, outcomes=100_000, lessons=500, kills=20) < 60
