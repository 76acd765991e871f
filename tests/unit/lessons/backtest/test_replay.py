"""Replayed sessions: what was known before each, counted by hand here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.backtest.backtest import Backtest, backtest, keep, kept
from ratchet.lessons.backtest.counted import Saving
from ratchet.lessons.backtest.telling import cost, page, said
from ratchet.lessons.mined import mine_session
from ratchet.records import Row
from ratchet.testing.stores import open_store
from support.coincidences import false_lessons
from support.sessions import call, session, shell

START = 1_700_000_000.0
WRAPCHECK = (
    "cmd/cart.go:{0}:9: error returned from external package is unwrapped: sig: func os.Open (wrapcheck)\n\treturn err"
)
NILERR = "cmd/cart.go:{0}:2: error is not nil but it returns nil (nilerr)\n\treturn nil"


def edit(old: str, new: str) -> Row:
    return call("Edit", {"file_path": "/w/shop/cmd/cart.go", "old_string": old, "new_string": new})


def wrapped(line: int, *, failing: int = 1, by: str = "fmt.Errorf") -> list[Row]:
    """Lint fails so often, then the error is wrapped and lint passes."""
    fails = [shell("golangci-lint run", WRAPCHECK.format(line)) for _ in range(failing)]
    return [*fails, edit("\treturn err", f'\treturn {by}("open {line}: %w", err)'), shell("golangci-lint run")]


def both(line: int) -> list[Row]:
    """Two findings in one failing run, of which only one has a known fix."""
    said = f"{WRAPCHECK.format(line)}\n{NILERR.format(line + 9)}"
    return [
        shell("golangci-lint run", said),
        edit("\treturn err", f'\treturn fmt.Errorf("open {line}: %w", err)'),
        edit("\treturn nil", "\treturn later()"),
        shell("golangci-lint run"),
    ]


def replay(folder: Path, sessions: Sequence[list[Row]], order: Iterable[int] | None = None) -> Backtest:
    """The replay of sessions, each an hour behind the one before, learnt in any order."""
    folder.mkdir(parents=True)
    store = open_store(folder)
    try:
        for number in order if order is not None else range(len(sessions)):
            ingest(store, session(sessions[number], f"s{number:03}", start=START + 3_600 * number))
            mine_session(store, f"s{number:03}")
        found, by_lesson = backtest(store)
        keep(store, found, by_lesson)
        assert kept(store) == found
        return found
    finally:
        store.close()


def test_a_step_that_is_no_command_is_told_by_its_tool_and_what_it_was_given(tmp_path: Path) -> None:
    said = "ENOENT: no such file or directory, posix_spawn '/opt/claude/2.1/claude'"
    fails = call("Glob", {"pattern": "**/*.md", "path": "docs", "depth": 3}, said)
    found = replay(tmp_path / "h", [[fails, shell("ls docs")] for _ in range(4)])
    (best,) = found.best
    assert best.step == "Glob pattern=**/*.md path=docs depth=3"


def test_money_and_time_are_said_first_and_of_tokens_the_new_ones() -> None:
    saved = Saving(turns=24, duration_s=250, tokens=2_213_653, cached=2_100_000, cost_usd=1.16)
    assert cost(saved) == "4 min, at least 1.16 USD, 113,653 new tokens"
    assert cost(replace(saved, cached=0, cost_usd=None)) == "4 min, 2,213,653 tokens"


def test_what_a_cache_gave_is_told_apart(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number, calls in enumerate([wrapped(3), wrapped(40), wrapped(88, failing=2)]):
        ingest(store, session(calls, f"s{number:03}", start=START + 3_600 * number))
        mine_session(store, f"s{number:03}")
    answer: Row = {"session": "s002", "agent": "a", "model": "m", "at": START, "given": 5, "stored": 5}
    store.insert_new("message_tokens", [{**answer, "id": "m1", "step": "o-s002-0", "cached": 90}])
    found, _ = backtest(store)
    assert (found.saved_before.tokens, found.saved_before.cached) == (200, 90)
    assert (found.saved.tokens, found.saved.cached) == (100, 0)
    store.close()


def test_three_sessions_counted_with_pencil(tmp_path: Path) -> None:
    # s000 and s001 teach the fix. s002 meets it in two failing runs: told at the first, the second is spared; told
    # before it, both are. Each call takes 1 s and begins 10 s after the one before, 9 s of them a pause, but the
    # first of a session, which has nothing before it: 10 s are spared at the failure, 11 s before it.
    found = replay(tmp_path / "h", [wrapped(3), wrapped(40), wrapped(88, failing=2)])
    assert (found.sessions, found.failures, found.recurring, found.offered, found.silent) == (3, 4, 3, 2, 2)
    assert (found.right, found.wrong, found.unknown) == (1, 0, 0)
    assert (found.saved.turns, found.saved.duration_s, found.saved.tokens) == (1, 10.0, 100)
    assert (found.saved_before.turns, found.saved_before.duration_s, found.saved_before.tokens) == (2, 11.0, 200)
    (best,) = found.best
    assert (best.session, best.outcome, best.key, best.turns) == ("s002", "o-s002-0", "wrapcheck", 2)
    assert best.step == "golangci-lint run"
    assert (
        "2 of 4 failed calls prevented (11 s, 200 tokens), by telling an agent a lesson of earlier sessions before the "
        "step. Lessons told in all: 1 time, 1 right, 0 wrong. Told only after a step has failed, they would have "
        "prevented 1 (10 s, 100 tokens)."
    ) in said(found)


def test_a_turn_that_fails_of_something_else_as_well_is_not_spared(tmp_path: Path) -> None:
    found = replay(tmp_path / "h", [wrapped(3), wrapped(40), both(88)])
    assert (found.right, found.offered) == (1, 1)
    assert found.saved_before.turns == 0


def test_another_fix_makes_an_offer_wrong(tmp_path: Path) -> None:
    found = replay(tmp_path / "h", [wrapped(3), wrapped(40), wrapped(88, by="errors.Join")])
    assert (found.right, found.wrong) in ((1, 0), (0, 1))  # `%w` is what both share
    other = [
        shell("golangci-lint run", WRAPCHECK.format(9)),
        edit("\treturn err", "\tlog.Fatal(err)"),
        shell("golangci-lint run"),
    ]
    found = replay(tmp_path / "o", [wrapped(3), wrapped(40), other])
    assert (found.right, found.wrong, found.saved_before.turns) == (0, 1, 0)
    assert [each.session for each in found.worst] == ["s002"]


def test_a_missing_path_is_counted_by_what_was_opened_next(tmp_path: Path) -> None:
    def read(file: str, error: str = "") -> Row:
        return call("Read", {"file_path": f"/w/shop/{file}"}, error)

    gone = read("src/pay.go", "File does not exist.")
    opened = [read("cmd/pay.go"), read("cmd/cart.go"), gone]
    found = replay(
        tmp_path / "h",
        [
            opened,
            [gone, read("cmd/pay.go")],
            [gone, shell("ls"), read("cmd/cart.go")],
            [gone, shell("ls")],
            [gone, *[shell("ls")] * 8, read("cmd/pay.go")],
        ],
    )
    assert (found.right, found.wrong, found.unknown) == (1, 1, 2), "too late is not known"
    assert found.saved_before.turns == 0
    (best,) = found.best
    assert (best.session, best.key, best.text) == ("s001", "/w/shop/src/pay.go", "`pay.go` is `cmd/pay.go` here.")


def test_what_had_not_ended_was_not_known(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number, rows in enumerate([wrapped(3), wrapped(40), wrapped(88)]):
        ingest(store, session(rows, f"s{number}", start=START + number))  # all three run side by side
        mine_session(store, f"s{number}")
    found, _ = backtest(store)
    assert (found.failures, found.recurring, found.offered) == (3, 0, 0)
    store.close()


def test_a_planted_fix_is_credited_from_its_second_sighting_on(tmp_path: Path) -> None:
    sessions = [wrapped(number + 1) if number % 5 == 0 else plain(number) for number in range(50)]
    found = replay(tmp_path / "h", sessions)
    assert (found.right, found.wrong) == (8, 0)  # ten sightings, the first two teach it
    assert {each.sessions: each.right for each in found.trusted_after} == {2: 8, 3: 7, 4: 6, 5: 5}


def plain(number: int) -> list[Row]:
    return [shell("go build ./..."), shell(f"cat cmd/file{number}.go"), shell("git status")]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_planted_coincidence_is_never_credited(tmp_path: Path, seed: int) -> None:
    """500 such worlds are tried by benchmarks/learn.py."""
    assert false_lessons(tmp_path / "h", seed, sessions=25) == []


def test_the_order_of_learning_changes_nothing(tmp_path: Path) -> None:
    sessions = [wrapped(3), wrapped(40), both(50), wrapped(88, failing=2)]
    assert replay(tmp_path / "a", sessions) == replay(tmp_path / "b", sessions, [2, 0, 3, 1])


def test_what_forgotten_sessions_taught_is_still_known(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number, rows in enumerate([wrapped(3), wrapped(40), wrapped(88)]):
        ingest(store, session(rows, f"s{number}", start=START + 3_600 * number))
        mine_session(store, f"s{number}")
    store.delete("outcomes", {"session": ("in", ["s0", "s1"])})
    found, _ = backtest(store)
    assert (found.sessions, found.failures, found.right) == (1, 1, 1)
    store.close()


def test_later_sessions_alone_may_be_counted(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number, rows in enumerate([wrapped(3), wrapped(40), wrapped(88)]):
        ingest(store, session(rows, f"s{number}", start=START + 3_600 * number))
        mine_session(store, f"s{number}")
    found, _ = backtest(store, since=START + 7_000)
    assert (found.sessions, found.failures, found.right) == (1, 1, 1)
    store.close()


def test_the_page_shows_foreign_text_as_text(tmp_path: Path) -> None:
    found = replay(tmp_path / "h", [wrapped(3), wrapped(40), wrapped(88)])
    assert "&quot;open 3: %w&quot;" in page(found) or "&quot;open 40: %w&quot;" in page(found)
    assert page(found).count("<script") == 0
    empty = replay(tmp_path / "e", [plain(1)])
    assert said(empty).startswith("Nothing to replay")
    assert "None." in page(empty)
