"""A remedy that the error itself names is trusted after one session in which the very step then worked."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.lessons import listed
from ratchet.lessons.mined import mine_session
from ratchet.lessons.recall import recall
from ratchet.ports import Store
from ratchet.records import Lesson, Row
from ratchet.testing.stores import open_store
from support.sessions import call, session, shell

UNKNOWN_SKILL = "Unknown skill: review:plan"


def learnt(store: Store, *sessions: list[Row]) -> list[Lesson]:
    for number, calls in enumerate(sessions):
        ingest(store, session(calls, f"s{number}", start=1_700_000_000.0 + 3_600 * number))
        mine_session(store, f"s{number}")
    return [each for each in listed(store) if each.state == "active"]


@pytest.mark.parametrize(
    ("failed", "error", "worked"),
    [
        ("shopctl ls --quick", "Error: unknown flag: --quick", "shopctl ls"),
        ("./run.sh", "./run.sh: line 3: /tmp/shop-bin: No such file or directory", ""),
    ],
)
def test_a_cause_that_the_error_names_is_enough(tmp_path: Path, failed: str, error: str, worked: str) -> None:
    store = open_store(tmp_path)
    between = [] if worked else [shell("go build -o /tmp/shop-bin ./cmd/shop")]
    (lesson,) = learnt(store, [shell(failed, error), *between, shell(worked or failed)])
    assert lesson.state == "active"
    store.close()


def test_a_step_that_merely_came_next_is_not(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert learnt(store, [shell("git push", "remote: busy, try again"), shell("git fetch"), shell("git push")]) == []
    store.close()


def test_a_wrong_value_is_answered_only_where_it_is_named(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    tried = [
        call("Skill", {"skill": "review:plan", "on": "x"}, UNKNOWN_SKILL),
        call("Skill", {"skill": "plan", "on": "x"}),
    ]
    (lesson,) = learnt(store, tried)
    assert "`plan`" in lesson.text
    found = recall(store, UNKNOWN_SKILL, project="/w/shop", states=("active",))
    assert [each.id for each in found.lessons] == [lesson.id]
    assert recall(store, "Unknown skill: review:code", project="/w/shop", states=("active",)).abstained
    store.close()
