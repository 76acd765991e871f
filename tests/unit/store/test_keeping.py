"""What goes by policy, and what stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.config import load
from ratchet.errors import UsageError
from ratchet.failures.patterns.ingest import ingest
from ratchet.ports import Store
from ratchet.records import Row
from ratchet.store.retention import DAY_S, Retention
from ratchet.testing.stores import open_store

NOW = 1_800_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


def ran(number: int, days_ago: float, message: str = "", **fields: object) -> Row:
    row: Row = {"id": f"o{number}", "agent": "a", "ok": not message, "started_at": NOW - days_ago * DAY_S}
    if message:
        row["failure"] = {"message": message}
    return {**row, **fields}  # type: ignore[dict-item]


def filled(store: Store) -> None:
    rows = [ran(n, n, session=f"s{n}") for n in range(100)]
    rows += [ran(1000 + n, n, "disk quota of the depot exceeded", tokens=3) for n in range(0, 100, 10)]
    rows += [ran(2000, 90, "the old fault of the sluice"), ran(2001, 80, "the old fault of the sluice")]
    ingest(store, rows, now=NOW)


def ids(store: Store) -> set[str]:
    return {str(row["id"]) for row in store.find("outcomes").rows}


def test_old_outcomes_go_and_recent_ones_tallies_and_an_example_of_each_failure_stay(store: Store) -> None:
    filled(store)
    tallied = ("tallies", "sightings", "activity", "recents", "signatures", "patterns")
    before = {name: store.find(name).rows for name in tallied}
    done = Retention(lambda: store, 30).compact(now=NOW)
    assert done.removed["outcomes"] == 69 + 6 + 1
    assert ids(store) == {f"o{n}" for n in range(31)} | {f"o{1000 + n}" for n in (0, 10, 20, 30)} | {"o2001"}
    assert {name: store.find(name).rows for name in tallied} == before
    again = Retention(lambda: store, 30).compact(now=NOW)
    assert not any(again.removed.values())


def test_a_dry_run_counts_and_removes_nothing(store: Store) -> None:
    filled(store)
    before = ids(store)
    done = Retention(lambda: store, 30).compact(dry_run=True, now=NOW)
    assert ids(store) == before
    assert Retention(lambda: store, 30).compact(now=NOW).removed == done.removed


def test_what_was_counted_and_forgotten_is_not_counted_again(store: Store) -> None:
    filled(store)
    counted = store.sum_by("activity", (), ("calls", "failures"))
    Retention(lambda: store, 30).compact(now=NOW)
    filled(store)  # a history that is met once more
    assert store.sum_by("activity", (), ("calls", "failures")) == counted
    assert "o99" not in ids(store)
    ingest(store, [ran(5000, 2, "a new fault")], now=NOW)
    assert "o5000" in ids(store)


@pytest.mark.parametrize(
    "needs",
    [
        ("trials", "t1", {"state": "open", "created_at": NOW - 60 * DAY_S}),
        ("sessions", "s60", {"pending": True, "at": NOW}),
    ],
    ids=["an open trial", "a session to be mined"],
)
def test_what_is_still_to_be_read_is_not_old(store: Store, needs: tuple[str, str, Row]) -> None:
    filled(store)
    table, key, row = needs
    store.swap(table, key, 0, row)
    Retention(lambda: store, 30).compact(now=NOW)
    assert {f"o{n}" for n in range(61)} <= ids(store)
    assert "o61" not in ids(store)


def test_an_unsettled_exposure_keeps_its_outcomes_and_settled_ones_stay_for_ever(store: Store) -> None:
    filled(store)
    store.insert_new(
        "exposures",
        [
            {"trial": "l", "unit": "u", "at": NOW - 50 * DAY_S, "settled": False, "revision": 1},
            {"trial": "l", "unit": "v", "at": NOW - 90 * DAY_S, "settled": True, "revision": 1},
        ],
    )
    Retention(lambda: store, 30).compact(now=NOW)
    assert {"o50", "o49"} <= ids(store)
    assert len(store.find("exposures").rows) == 2


def test_the_timeline_keeps_decisions_and_loses_the_rest(store: Store) -> None:
    old, new = NOW - 40 * DAY_S, NOW - DAY_S
    store.insert_new(
        "events",
        [
            {"id": f"{noun}{at}", "noun": noun, "record": "r", "verb": "v", "at": at}
            for noun in ("trial", "lesson", "pattern", "attempt")
            for at in (old, new)
        ],
    )
    assert Retention(lambda: store, 30).compact(now=NOW).removed["events"] == 2
    left = {(str(row["noun"]), row["at"]) for row in store.find("events").rows}
    assert {("trial", old), ("lesson", old), ("pattern", new), ("attempt", new)} <= left
    assert ("pattern", old) not in left


def test_healing_loses_diffs_and_ways_back_and_keeps_its_account(store: Store) -> None:
    for name, ended in (("old", NOW - 40 * DAY_S), ("new", NOW - DAY_S)):
        store.swap("episodes", name, 0, {"task": "t", "status": "passed", "started_at": ended, "ended_at": ended})
        store.swap("attempts", (name, "1"), 0, {"status": "passed", "diff": "- a\n+ b", "cause": "a typing error"})
        store.swap("checkpoints", (name, "1"), 0, {"at": ended, "files": [{"path": "x"}]})
    done = Retention(lambda: store, 30).compact(now=NOW)
    assert (done.removed["attempts"], done.removed["checkpoints"]) == (1, 1)
    shed, whole = store.get("attempts", ("old", "1")), store.get("attempts", ("new", "1"))
    assert shed is not None
    assert whole is not None
    assert (shed.get("diff"), shed["cause"], whole["diff"]) == (None, "a typing error", "- a\n+ b")
    assert len(store.find("episodes").rows) == 2


def test_the_policy_is_followed_once_a_day_and_only_where_there_is_one(store: Store) -> None:
    filled(store)
    assert Retention(lambda: store, 0).when_due(now=NOW) is None
    policy = Retention(lambda: store, 30)
    assert policy.when_due(now=NOW) is not None
    assert policy.when_due(now=NOW + DAY_S / 2) is None
    assert policy.when_due(now=NOW + DAY_S) is not None


@pytest.mark.parametrize("days", [0, 0.5, -1, float("nan")])
def test_nothing_is_removed_without_saying_how_long(store: Store, days: float) -> None:
    filled(store)
    with pytest.raises(UsageError, match="RATCHET_RETENTION_DAYS"):
        Retention(lambda: store, 0).compact(days, now=NOW)
    assert len(ids(store)) == 112


def test_a_project_may_not_say_how_long_a_persons_records_stay(tmp_path: Path) -> None:
    (tmp_path / "ratchet.toml").write_text("retention_days = 1\n")
    assert not load(environ={"HOME": str(tmp_path / "home")}, cwd=tmp_path).retention_days
    assert load(environ={"RATCHET_HOME": str(tmp_path)}, cwd=tmp_path / "nowhere").retention_days == 1
