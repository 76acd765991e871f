"""Health is an exponentially weighted success rate: 1 for a perfect agent, and quick to notice a drop."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.failures.health import HALF_LIFE_CALLS, RECENT, health_of, score_of

RUNS = st.lists(st.booleans(), min_size=1, max_size=300)


@given(st.integers(1, 500))
def test_a_perfect_agent_is_exactly_one_and_a_failing_one_exactly_zero(calls: int) -> None:
    assert score_of([True] * calls) == 1.0
    assert score_of([False] * calls) == 0.0


@given(RUNS)
def test_a_score_lies_between_zero_and_one(ran: list[bool]) -> None:
    score = score_of(ran)
    assert score is not None
    assert 0.0 <= score <= 1.0


@given(RUNS)
def test_a_success_never_lowers_and_a_failure_never_raises_it(ran: list[bool]) -> None:
    score = score_of(ran)
    better, worse = score_of([*ran, True]), score_of([*ran, False])
    assert score is not None
    assert better is not None
    assert worse is not None
    assert worse <= score + 1e-9
    assert score - 1e-9 <= better


def test_twenty_calls_halve_the_weight_of_what_was_before() -> None:
    score = score_of([False] * RECENT + [True] * HALF_LIFE_CALLS)
    assert score == pytest.approx(0.5, abs=0.001)
    assert health_of({}).half_life_calls == 20


def test_no_call_is_no_score() -> None:
    assert score_of([]) is None
    nobody = health_of({"a": []})
    assert nobody.score is None
    assert nobody.agents == {}


def test_only_the_last_outcomes_count() -> None:
    assert score_of([False] * 50 + [True] * RECENT) == 1.0


def test_overall_weighs_agents_by_their_evidence() -> None:
    found = health_of({"steady": [True] * 200, "beginner": [False]})
    assert found.agents == {"steady": 1.0, "beginner": 0.0}
    assert found.score is not None
    assert 0.9 < found.score < 1.0
    assert health_of({"a": [True] * 3, "b": [True] * 300}).score == 1.0


def test_a_drop_from_95_to_55_percent_lowers_it_by_a_tenth_within_20_calls_in_nine_runs_of_ten() -> None:
    random_ = random.Random(20)
    noticed = 0
    for _ in range(1000):
        ran = [random_.random() < 0.95 for _ in range(RECENT)]
        before = score_of(ran)
        assert before is not None
        after = 1.0
        for _ in range(HALF_LIFE_CALLS):
            ran.append(random_.random() < 0.55)
            after = min(after, score_of(ran) or 0.0)
        noticed += after <= before - 0.10
    assert noticed >= 900


def test_a_steady_agent_seldom_looks_like_one_that_dropped() -> None:
    random_ = random.Random(21)
    alarmed = 0
    for _ in range(1000):
        ran = [random_.random() < 0.95 for _ in range(RECENT + HALF_LIFE_CALLS)]
        alarmed += (score_of(ran) or 0.0) <= (score_of(ran[:RECENT]) or 0.0) - 0.10
    assert alarmed <= 50
