"""A regression is told when it is proven, and seldom otherwise."""

from __future__ import annotations

from random import Random

import pytest

from ratchet.errors import UsageError
from ratchet.gate.watching import RegressionWatch, watch_plan


def watched(seed: int, *, quiet: int, loss: float, checks: int) -> RegressionWatch:
    chance = Random(seed)
    watch = RegressionWatch([chance.gauss(0.6, 0.05) for _ in range(10)])
    for n in range(checks):
        watch.add(chance.gauss(0.6 if n < quiet else 0.6 - loss, 0.05))
    return watch


@pytest.mark.slow
def test_a_quiet_watch_stays_quiet() -> None:
    assert all(watched(seed, quiet=200, loss=0, checks=200).state.alarm is None for seed in range(4))


def test_a_loss_is_told_with_the_moment_of_its_beginning() -> None:
    for seed in range(3):
        state = watched(seed, quiet=60, loss=0.1, checks=100).state
        assert state.alarm is not None
        assert 60 <= state.alarm < 100
        assert state.since is not None
        assert abs(state.since - 60) <= 8
        assert state.loss == pytest.approx(0.1, abs=0.05)


def test_an_alarm_stays() -> None:
    watch = watched(1, quiet=20, loss=0.3, checks=40)
    alarm = watch.state.alarm
    for _ in range(50):
        watch.add(0.9)
    assert watch.state.alarm == alarm


def test_a_gain_is_no_alarm() -> None:
    assert watched(1, quiet=20, loss=-0.2, checks=60).state.alarm is None


def test_scores_that_never_vary_are_told_of_at_once() -> None:
    watch = RegressionWatch([0.5] * 10)
    for _ in range(20):
        assert watch.add(0.5).alarm is None
    assert watch.add(0.4).checks == 21


def test_a_smaller_loss_takes_more_checks_and_one_too_small_is_said() -> None:
    small, large = (watch_plan(0.05, loss, baseline=10) for loss in (0.05, 0.1))
    assert small.median is not None
    assert large.median is not None
    assert small.most is not None
    assert large.median < small.median < small.most
    assert watch_plan(0.05, 0.01, baseline=10).median is None


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(UsageError, match="baseline"):
        RegressionWatch([float("nan")])
