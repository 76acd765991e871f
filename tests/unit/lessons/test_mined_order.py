"""The state of a lesson is a function of its evidence: the order and the number of readings change nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons import lessons
from ratchet.lessons.mined import keep_evidence, mine_session, recount
from ratchet.ports import Store
from ratchet.records import Row
from ratchet.testing.stores import open_store
from support.sessions import call, session, shell

NO_UPSTREAM = "fatal: The current branch fix-{0} has no upstream branch."
MISSING = "Error: Cannot find module 'vite'"


def finding(line: int) -> str:
    said = "error returned from external package is unwrapped: sig: func os.Open (wrapcheck)"
    return f"cmd/cart.go:{line}:9: {said}\n\treturn err"


def wrapped(line: int, by: str = "fmt.Errorf") -> list[Row]:
    edit: Row = {
        "file_path": "/w/shop/cmd/cart.go",
        "old_string": "\treturn err",
        "new_string": f'\treturn {by}("open {line}: %w", err)',
    }
    return [shell("golangci-lint run", finding(line)), call("Edit", edit), shell("golangci-lint run")]


def pushed(number: int, *, vain: bool = False) -> list[Row]:
    error = NO_UPSTREAM.format(number)
    return [shell("git push", error), shell(f"git push --set-upstream origin fix-{number}", error if vain else "")]


def installed(by: str) -> list[Row]:
    return [shell("npm run build", MISSING), shell(by), shell("npm run build")]


SESSIONS = [
    *(wrapped(each) for each in (3, 40, 88)),
    wrapped(9, "errors.Wrap"),
    *(pushed(each) for each in range(3)),
    pushed(7, vain=True),
    installed("npm ci"),
    installed("npm ci"),
    installed("pnpm install"),
    *([shell("git push")] for _ in range(2)),
    [shell("npm run build")],
]


def rows_of(number: int) -> list[Row]:
    return session(SESSIONS[number], f"s{number}", start=1_700_000_000.0 + 10_000 * number)


def state_of(store: Store) -> list[Row]:
    """All that was learnt, without what says when."""
    dated = ("created_at", "updated_at", "revision", "pattern")
    found = store.find("lessons", order=("id",)).rows
    return [{name: value for name, value in row.items() if name not in dated} for row in found]


def learnt(folder: Path, order: list[int], *, at_once: bool = False, again: bool = False) -> list[Row]:
    folder.mkdir()
    store = open_store(folder)
    try:
        touched: set[str] = set()
        for number in order:
            rows = rows_of(number)
            if again:  # met live first, half of it
                ingest(store, rows[:1])
                mine_session(store, f"s{number}")
            ingest(store, rows)
            if at_once:
                touched |= keep_evidence(store, f"s{number}", rows).touched
            else:
                mine_session(store, f"s{number}")
        recount(store, touched)
        return state_of(store)
    finally:
        store.close()


@pytest.mark.parametrize("seed", range(6))
def test_any_order_gives_the_same_lessons(tmp_path: Path, seed: int) -> None:
    numbers = list(range(len(SESSIONS)))
    expected = learnt(tmp_path / "in-order", numbers)
    assert {str(row["state"]) for row in expected} >= {"active"}
    shuffled = random.Random(seed).sample(numbers, len(numbers))
    assert learnt(tmp_path / "shuffled", shuffled) == expected
    assert learnt(tmp_path / "at-once", shuffled, at_once=True) == expected
    assert learnt(tmp_path / "live", shuffled, again=True) == expected


def test_learning_a_session_twice_changes_nothing(tmp_path: Path) -> None:
    numbers = list(range(len(SESSIONS)))
    assert learnt(tmp_path / "once", numbers) == learnt(tmp_path / "twice", [*numbers, *numbers])


def test_a_retired_lesson_comes_back_when_its_evidence_does(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number, calls in enumerate([pushed(1), pushed(2), *([shell("git push")] for _ in range(6))]):
        ingest(store, session(calls, f"a{number}", start=1_700_000_000.0 + 10_000 * number))
        mine_session(store, f"a{number}")
    (found,) = lessons.listed(store)
    assert (found.state, found.reason) == ("retired", "the step works as it stands in 6 sessions since")
    ingest(store, session(pushed(3), "b", start=1_800_000_000.0))
    mine_session(store, "b")
    (found,) = lessons.listed(store)
    assert found.state == "active"
    store.close()
