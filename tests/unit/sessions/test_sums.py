"""What pages read is at every moment the sum of what it is kept of."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.records import Json
from ratchet.runtime import Runtime
from ratchet.store.schema import TABLES
from ratchet.store.sums import fill_sums
from support.histories import SESSION, lines
from support.shop import HISTORY, history, shell

pytestmark = pytest.mark.sqlite
SUMS = ("signature_sums", "kind_tallies", "fact_days", "spending_days")
Found = dict[tuple[object, ...], dict[str, object]]


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime.open(home=tmp_path / "home") as opened:
        yield opened


def read(connection: sqlite3.Connection, table: str) -> Found:
    """Rows by key; times of what went stay as they were, so they are left out."""
    key, names = TABLES[table].key, TABLES[table].names
    summed = [name for name in names if name not in (*key, "min_at", "max_at")]
    columns = ", ".join(f'"{name}"' for name in (*key, *summed))
    return {
        row[: len(key)]: {name: pytest.approx(value or 0) for name, value in zip(summed, row[len(key) :], strict=True)}
        for row in connection.execute(f'SELECT {columns} FROM "{table}"')
    }


def check(runtime: Runtime, tmp_path: Path) -> None:
    """Compare every sum with one that is made anew."""
    runtime.drain()
    copy = tmp_path / "copy.db"
    with sqlite3.connect(tmp_path / "home" / "ratchet.db") as source, sqlite3.connect(copy) as target:
        source.backup(target)
        held = {table: read(target, table) for table in SUMS}
        for table in SUMS:
            target.execute(f'DELETE FROM "{table}"')
        fill_sums(target, "?")
        for table in SUMS:
            assert held[table] == read(target, table), table
    copy.unlink()


def test_sums_move_with_what_they_are_kept_of(runtime: Runtime, tmp_path: Path) -> None:
    path = history(tmp_path / "history.jsonl")
    runtime.learn([path])
    check(runtime, tmp_path)
    grown = lines(
        tmp_path / "grown.jsonl", [*HISTORY, *shell("late", "make all", "make: *** No rule", 90_000, failed=True)]
    )
    shutil.copy(grown, path)
    runtime.learn([path])
    check(runtime, tmp_path)
    again = shell("nine", "make build", "make: *** No rule to make target 'build'.  Stop.", 20, failed=True)
    other: list[Json] = [{**each, "sessionId": "other", "uuid": f"{each['uuid']}-other"} for each in again]
    runtime.learn([lines(tmp_path / "other.jsonl", other)])
    runtime.record("bare", error="429 Too Many Requests", session="bare", cost_usd=0.5)
    runtime.record("bare", error="429 Too Many Requests", cost_usd=0.5)
    runtime.record("second", error="429 Too Many Requests", session="bare")
    check(runtime, tmp_path)
    both = runtime.patterns()
    assert {each.kind: each.sessions for each in both}["rate_limit"] == 1
    runtime.sessions.forget(SESSION)
    check(runtime, tmp_path)
    runtime.sessions.forget("other")
    runtime.sessions.forget(before=2e10)
    check(runtime, tmp_path)
    assert runtime.patterns() == []
    assert runtime.failing.by("command") == ()
