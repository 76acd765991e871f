"""A person's decision about a pattern: what it means as time goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.errors import NotFound, UsageError
from ratchet.failures.patterns.patterns import patterns
from ratchet.failures.patterns.triage import decide, standing
from ratchet.lessons import learning
from ratchet.ports import Store
from ratchet.records import Row, Triage, whole_in
from ratchet.testing.stores import open_store

NOW = 1_790_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = open_store(tmp_path)
    row: Row = {
        "id": "o1",
        "agent": "a",
        "ok": False,
        "started_at": NOW - 100,
        "session": "s",
        "failure": {"message": "disk is full"},
    }
    learning.take(opened, [row], lambda *_: None)
    return opened


def pattern_of(store: Store) -> str:
    return str(store.find("patterns").rows[0]["id"])


def triage_of(store: Store, pattern: str) -> Triage:
    (held,) = [each.triage for each in patterns(store, now=NOW + 5) if each.id == pattern]
    return held


def test_a_pattern_without_a_decision_is_open(store: Store) -> None:
    assert triage_of(store, pattern_of(store)).state == "open"


@pytest.mark.parametrize(("last_seen", "state"), [(NOW - 1, "resolved"), (NOW + 1, "regressed")])
def test_a_resolved_pattern_is_regressed_once_it_failed_later_than_that(last_seen: float, state: str) -> None:
    assert standing({"pattern": "p", "state": "resolved", "at": NOW}, last_seen, NOW + 5).state == state


def test_a_history_that_is_read_late_is_no_regression(store: Store) -> None:
    pattern = decide(store, pattern_of(store), now=NOW, state="resolved")
    older = {"id": "o2", "agent": "a", "ok": False, "started_at": NOW - 500, "failure": {"message": "disk is full"}}
    learning.take(store, [older], lambda *_: None)  # type: ignore[list-item]
    assert triage_of(store, pattern).state == "resolved"


def test_a_mute_ends_by_itself() -> None:
    row: Row = {"pattern": "p", "state": "muted", "at": NOW, "until": NOW + 60}
    assert [standing(row, NOW, at).state for at in (NOW + 59, NOW + 60)] == ["muted", "open"]


def test_what_is_not_named_stays_and_every_decision_is_on_the_timeline(store: Store) -> None:
    pattern = pattern_of(store)
    decide(store, pattern, now=NOW, state="ignored", note="a flaky disk")
    decide(store, pattern[:8], now=NOW + 1, assigned="Kim")
    held = triage_of(store, pattern)
    assert (held.state, held.at, held.note, held.assigned) == ("ignored", NOW, "a flaky disk", "Kim")
    verbs = [row["verb"] for row in store.find("events", {"record": pattern}, order=("at", "id")).rows]
    assert verbs == ["ignored", "triaged"]


def test_secrets_in_a_note_are_taken_out(store: Store) -> None:
    key = "sk-ant-api03-" + "Ab1" * 20 + "-AA"
    pattern = decide(store, pattern_of(store), now=NOW, note=f"use {key}", assigned=key)
    assert key[:16] not in str(store.get("triage", pattern))
    assert key[:16] not in str(store.find("events").rows)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"state": "gone"},
        {"state": "muted"},
        {"state": "muted", "until": NOW - 1},
        {"state": "resolved", "until": NOW + 1},
    ],
    ids=str,
)
def test_a_decision_that_is_none_is_refused(store: Store, wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        decide(store, pattern_of(store), now=NOW, **wrong)  # type: ignore[arg-type]
    assert store.find("triage").rows == []


def test_a_pattern_that_is_not_there_is_said_so(store: Store) -> None:
    with pytest.raises(NotFound):
        decide(store, "p-nowhere", now=NOW, state="resolved")


def test_a_decision_follows_a_pattern_into_the_one_that_absorbed_it(store: Store) -> None:
    former, present = pattern_of(store), "p0123456789abcdef"
    decide(store, former, now=NOW, state="ignored")
    (held,) = store.find("patterns").rows
    store.insert_new("patterns", [{**held, "id": present, "revision": 1}])
    store.swap("patterns", former, whole_in(held, "revision"), {**held, "merged_into": present})
    (signature,) = store.find("signatures").rows
    moved: Row = {**signature, "pattern": present}
    store.swap("signatures", str(signature["signature"]), whole_in(signature, "revision"), moved)
    assert triage_of(store, present).state == "ignored"
