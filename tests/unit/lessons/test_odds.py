"""Odds of a step are counts of what ran: they find what a failure hangs on, and say nothing where nothing ran."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.lessons.mining.calls import calls_of
from ratchet.lessons.mining.circumstances import Trail, circumstances
from ratchet.lessons.odds import SESSIONS, STEPS, Counted, Odds
from support.sessions import call, session, shell

LINT, TEST = "mise run lint", "mise run test"


def counted(head: str, around: str, runs: int, failures: int) -> Counted:
    return Counted(tool="Bash", head=head, around=tuple(around.split()), runs=runs, failures=failures)


def test_a_step_is_as_likely_to_fail_as_its_command_did_here() -> None:
    odds = Odds([counted(LINT, "", 100, 30), counted(TEST, "", 100, 5)], sessions=10)
    lint, test = odds.chance("Bash", LINT, ()), odds.chance("Bash", TEST, ())
    assert lint is not None
    assert test is not None
    assert (lint.runs, lint.failures) == (100, 30)
    assert lint.probability == pytest.approx(0.3, abs=0.01)
    assert test.probability == pytest.approx(0.05, abs=0.01)


def test_a_circumstance_counts_by_what_it_adds_to_the_command_s_own_rate() -> None:
    cells = [
        counted(LINT, "added:0", 100, 10),
        counted(LINT, "added:128", 100, 40),
        counted(TEST, "added:0", 300, 6),
        counted(TEST, "added:128", 100, 8),
    ]
    odds = Odds(cells, sessions=10)
    many, none = odds.chance("Bash", TEST, ["added:128"]), odds.chance("Bash", TEST, ["added:0"])
    assert many is not None
    assert none is not None
    assert many.probability == pytest.approx(0.08, abs=0.03)
    assert none.probability == pytest.approx(0.02, abs=0.01)
    assert [each.name for each in many.reasons] == ["added:128"]
    assert (many.reasons[0].runs, many.reasons[0].failures) == (200, 48)
    assert many.reasons[0].expected < 48


def test_two_circumstances_that_always_come_together_are_not_counted_twice() -> None:
    together = Odds([counted(LINT, "a:1 b:1", 200, 80), counted(LINT, "a:0 b:0", 200, 20)], sessions=10)
    alone = Odds([counted(LINT, "a:1", 200, 80), counted(LINT, "a:0", 200, 20)], sessions=10)
    both, one = together.chance("Bash", LINT, ["a:1", "b:1"]), alone.chance("Bash", LINT, ["a:1"])
    assert both is not None
    assert one is not None
    assert both.probability == pytest.approx(one.probability, abs=0.04)


def test_a_command_that_never_ran_gets_the_mean_of_the_commands_each_counting_once() -> None:
    cells = [counted("ls", "", 1000, 0), *(counted(f"tool{n}", "", 20, 10) for n in range(20))]
    chance = Odds(cells, sessions=10).chance("Bash", "new", ())
    assert chance is not None
    assert (chance.runs, chance.heads) == (0, 21)
    assert 0.3 < chance.probability < 0.5


@pytest.mark.parametrize(("sessions", "runs"), [(SESSIONS - 1, STEPS), (SESSIONS, STEPS - 1), (0, 0)])
def test_a_project_in_which_little_ran_has_no_odds(sessions: int, runs: int) -> None:
    odds = Odds([counted(LINT, "", runs, 5)] if runs else [], sessions=sessions)
    assert odds.chance("Bash", LINT, ()) is None


_cells = st.lists(
    st.builds(
        lambda head, around, ok, bad: Counted(tool="Bash", head=head, around=around, runs=ok + bad, failures=bad),
        st.sampled_from(["a", "b", "c"]),
        st.tuples(st.sampled_from(["x:0", "x:1"]), st.sampled_from(["y:0", "y:1"])),
        st.integers(0, 200),
        st.integers(0, 200),
    ),
    max_size=8,
)


@given(cells=_cells)
def test_a_probability_is_never_certain_and_the_sum_of_all_is_near_what_failed(cells: Sequence[Counted]) -> None:
    odds = Odds(cells, sessions=SESSIONS)
    said = [(cell, odds.chance(cell.tool, cell.head, cell.around)) for cell in cells]
    assert all(chance is None or 0 < chance.probability < 1 for _, chance in said)
    runs = sum(cell.runs for cell in cells)
    expected = sum(cell.runs * chance.probability for cell, chance in said if chance)
    if odds.known:
        assert expected == pytest.approx(sum(cell.failures for cell in cells), abs=8 + 0.05 * runs)


def test_how_a_step_ended_is_no_circumstance_of_it() -> None:
    rng = random.Random(7)
    steps = [("go test ./...", "FAIL"), ("mise run lint", "x.go:1:1: bad (errcheck)"), ("ls", "No such file")]
    rows = session(
        [
            call("Edit", {"file_path": f"/w/shop/{n}.go", "old_string": "a", "new_string": "b\nc"})
            if rng.random() < 0.3
            else shell(*rng.choice(steps)[: rng.choice((1, 2))])
            for n in range(60)
        ]
    )
    turned = session([shell(row["step"]["input"]) if row["task"] == "Bash" else row for row in rows])  # type: ignore[index, call-overload, arg-type]
    first_failure = next(n for n, row in enumerate(rows) if not row["ok"])
    one, other = ([around for _, around in circumstances(calls_of(each))] for each in (rows, turned))
    assert one[: first_failure + 1] == other[: first_failure + 1]
    assert one != other


def test_lines_are_counted_since_the_check_last_ran_whatever_command_ran_it() -> None:
    change = call("Write", {"file_path": "/w/shop/a.go", "content": "x\n" * 69})
    calls = calls_of(session([change, shell("golangci-lint run"), change, change, shell("mise run lint")]))
    told = {call.input: around for call, around in circumstances(calls) if call.shell}
    assert "added:64" in told["golangci-lint run"]
    assert "added:128" in told["mise run lint"]
    assert Trail(calls).added_since("golangci-lint") == 0
