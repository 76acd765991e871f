"""Without a coin: bounds that hold, refusals where the history is short, and one coin for a block of calls."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.errors import UsageError
from ratchet.gate.before_after import BeforeAfter, failure_bound, history_needed, streak_limit


def binomial_at_most(count: int, total: int, rate: float) -> float:
    return sum(math.comb(total, i) * rate**i * (1 - rate) ** (total - i) for i in range(count + 1))


def test_the_history_needed_is_the_limit_of_before_and_after() -> None:
    assert (history_needed(0.95, 0.10), history_needed(0.80, 0.10)) == (60, 117)
    for wrong in (0.0, 1.0, math.nan):
        with pytest.raises(UsageError):
            history_needed(wrong, 0.1)
    with pytest.raises(UsageError):
        history_needed(0.1, 0.2)


@given(st.integers(1, 80), st.data())
def test_the_bound_is_the_rate_at_which_so_few_failures_are_just_possible(total: int, data: st.DataObject) -> None:
    failures = data.draw(st.integers(0, total - 1))
    bound = failure_bound((total - failures, total))
    assert failures / total < bound < 1
    assert binomial_at_most(failures, total, bound) == pytest.approx(0.005, rel=1e-6)


def test_the_bound_of_none_or_only_failures_is_one_and_of_a_long_history_close() -> None:
    assert failure_bound((0, 0)) == failure_bound((0, 7)) == 1.0
    assert failure_bound((10, 10)) == pytest.approx(1 - 0.005 ** (1 / 10))
    assert 0.2 < failure_bound((80_000, 100_000)) < 0.2034


def test_the_hard_stop_waits_longer_the_longer_one_looks_and_the_worse_it_was() -> None:
    bound = failure_bound((95, 100))
    assert streak_limit(50, (95, 100)) == math.ceil(math.log(50 * 51 / 0.005) / math.log(1 / bound))
    assert streak_limit(1, (99_999, 100_000)) == 3
    limits = [streak_limit(t, (95, 100)) or 0 for t in range(1, 2_000)]
    assert limits == sorted(limits)
    assert streak_limit(10, (0, 0)) is None
    assert streak_limit(10, (0, 30)) is None
    with pytest.raises(UsageError):
        streak_limit(0, (9, 10))


def test_a_short_history_does_not_arm_and_says_what_is_missing() -> None:
    test = BeforeAfter(before=(18, 20))
    for _ in range(4):
        test.update(ok=False)
        test.update(ok=True)
    assert not test.armed
    assert test.advice.verdict == "too little history"
    assert str(test.needed) in test.advice.why
    assert test.e_value == pytest.approx(1.0)
    assert not BeforeAfter(before=(0, 0)).armed


def test_a_clear_fall_looks_worse_and_says_that_it_may_be_an_outage() -> None:
    test = BeforeAfter(before=(190, 200))
    for i in range(60):
        test.update(ok=i % 2 == 0)
    assert test.advice.verdict == "looks worse"
    assert "outage" in test.advice.why


def test_failures_in_a_row_stop_it_at_the_limit_and_for_good() -> None:
    test = BeforeAfter(before=(190, 200))
    for _ in range(20):
        test.update(ok=True)
    streak = 0
    while test.advice.verdict != "stop":
        test.update(ok=False)
        streak += 1
    assert streak == streak_limit(20 + streak, (190, 200))
    test.update(ok=True)
    assert test.advice.verdict == "stop"
    assert f"{streak} failures in a row" in test.advice.why


def test_an_unchanged_rate_is_hardly_ever_called_worse() -> None:
    chance = random.Random(1)
    alarms = 0
    for _ in range(100):
        test = BeforeAfter(before=(sum(chance.random() < 0.9 for _ in range(150)), 150))
        for _ in range(300):
            test.update(ok=chance.random() < 0.9)
        alarms += test.advice.verdict in ("looks worse", "stop")
    assert alarms <= 5


@pytest.mark.parametrize("wrong", [{"before": (2, 1)}, {"alpha": 0}, {"drop": math.nan}, {"drop": 1.0}])
def test_arguments_of_the_comparison_out_of_range_raise(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        BeforeAfter(**{"before": (9, 10), **wrong})


def test_reading_the_advice_changes_nothing() -> None:
    test = BeforeAfter(before=(190, 200))
    for i in range(30):
        test.update(ok=i % 3 > 0)
        assert test.advice == test.advice
