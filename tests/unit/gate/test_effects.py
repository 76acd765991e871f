"""The statistics: right on what is known, invariant to how the data came, and never misled by looking often."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.gate import effects
from ratchet.gate.effects import LessonCounts, difference, e_value, interval, measure, shrink, tally

counts = st.builds(LessonCounts, *[st.integers(0, 60)] * 4)
tallies = st.dictionaries(st.sampled_from([0.5, 0.8, 0.95]), counts, max_size=3)


def test_nothing_known_is_no_evidence_and_no_interval() -> None:
    found = measure({})
    assert (found.estimate, found.low, found.high, found.evidence) == (None, -1.0, 1.0, 1.0)
    assert found.verdict == "not enough data yet"


@given(tallies)
def test_the_interval_holds_zero_iff_neither_direction_is_proven(known: dict[float, LessonCounts]) -> None:
    low, high = interval(known)
    helps, harms = e_value(known) >= 40, e_value(known, better=False) >= 40
    assert -1 <= low <= high <= 1
    if (low, high) != (-1.0, 1.0):
        assert (low > 0, high < 0) == (helps, harms)


def test_arms_that_contradict_their_shares_say_nothing() -> None:
    assert interval({0.8: LessonCounts(0, 0, 20, 30)}) == (-1.0, 1.0)


@given(tallies, st.floats(-1, 1), st.floats(-1, 1))
def test_evidence_falls_with_the_effect_that_is_tested(
    known: dict[float, LessonCounts], one: float, other: float
) -> None:
    small, large = sorted((one, other))
    assert e_value(known, effect=small) >= e_value(known, effect=large) * (1 - 1e-9)
    assert e_value(known, effect=small, better=False) <= e_value(known, effect=large, better=False) * (1 + 1e-9)


@given(tallies)
def test_exchanging_the_arms_turns_the_interval_round(known: dict[float, LessonCounts]) -> None:
    turned = {
        1 - share: LessonCounts(c.withheld_ok, c.withheld_failed, c.shown_ok, c.shown_failed)
        for share, c in known.items()
    }
    low, high = interval(known)
    assert list(interval(turned)) == pytest.approx([-high, -low], abs=1e-5)


@given(st.lists(st.tuples(st.sampled_from([0.5, 0.8]), st.booleans(), st.booleans()), max_size=60), st.randoms())
def test_merging_and_order_change_nothing(units: list[tuple[float, bool, bool]], chance: random.Random) -> None:
    mixed = units[:]
    chance.shuffle(mixed)
    half = len(units) // 2
    assert tally(mixed) == tally(units) == effects.merged([tally(units[:half]), tally(units[half:])])


@pytest.mark.parametrize("better", [True, False])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.93, 1.0])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_one_more_unit_multiplies_the_evidence_by_one_on_average(share: float, rate: float, better: bool) -> None:
    known = {share: LessonCounts(30, 10, 6, 5)}
    expected = 0.0
    for cell, chance in enumerate((share * rate, share * (1 - rate), (1 - share) * rate, (1 - share) * (1 - rate))):
        grown = list(known[share])
        grown[cell] += 1
        expected += chance * e_value({share: LessonCounts(*grown)}, better=better)
    assert expected == pytest.approx(e_value(known, better=better), rel=1e-9)


def test_units_without_a_coin_are_no_evidence() -> None:
    assert e_value({1.0: LessonCounts(500, 0, 0, 0), 0.0: LessonCounts(0, 0, 0, 500)}) == 1.0


def test_overwhelming_evidence_does_not_overflow() -> None:
    assert e_value({0.5: LessonCounts(10**6, 0, 0, 10**6)}) == math.inf
    low, high = interval({0.5: LessonCounts(10**6, 0, 0, 10**6)})
    assert 0.9 < low <= high <= 1


def run_of(chance: random.Random, withheld_rate: float, shown_rate: float, units: int) -> bool:
    """Whether an effect was ever called in a run that is looked at after each unit."""
    known = [0, 0, 0, 0]
    for _ in range(units):
        shown = chance.random() < 0.8
        succeeded = chance.random() < (shown_rate if shown else withheld_rate)
        known[(0 if shown else 2) + (0 if succeeded else 1)] += 1
        tallies = {0.8: LessonCounts(*known)}
        if max(e_value(tallies), e_value(tallies, better=False)) >= 2 / effects.ALPHA:
            return True
    return False


@pytest.mark.slow
def test_no_effect_is_rarely_called_one_however_often_one_looks() -> None:
    chance = random.Random(7)
    assert sum(run_of(chance, 0.6, 0.6, 150) for _ in range(200)) <= 10


def test_a_large_effect_is_found() -> None:
    chance = random.Random(7)
    assert sum(run_of(chance, 0.3, 0.8, 300) for _ in range(20)) >= 19
    assert measure({0.8: LessonCounts(240, 60, 25, 55)}).verdict == "helps"
    assert measure({0.8: LessonCounts(60, 240, 55, 25)}).verdict == "harms"


def test_many_units_without_an_effect_say_so() -> None:
    assert measure({0.5: LessonCounts(3000, 2000, 3000, 2000)}).verdict == "no clear effect"


def test_the_difference_is_that_within_shares() -> None:
    # The rate rose when the share did: taken together the lesson would seem to help.
    known = {0.5: LessonCounts(20, 80, 20, 80), 0.95: LessonCounts(760, 190, 40, 10)}
    found = difference(known)
    assert found is not None
    assert found[0] == pytest.approx(0)
    assert difference({0.8: LessonCounts(5, 5, 0, 0)}) is None


def test_a_lesson_without_a_control_arm_has_the_pooled_effect_however_often_it_won() -> None:
    pool = {0.8: LessonCounts(60, 40, 10, 15)}
    found = shrink({"easy": {0.8: LessonCounts(50, 0, 0, 0)}, "pool": pool})
    both = difference(effects.merged([pool, {0.8: LessonCounts(50, 0, 0, 0)}]))
    assert both is not None
    assert found["easy"].estimate == pytest.approx(both[0])
    assert found["easy"].weight == 0


def test_rank_follows_the_difference_and_not_the_share_of_wins() -> None:
    found = shrink(
        {
            "easy": {0.5: LessonCounts(95, 5, 95, 5)},  # wins nearly always, with and without
            "good": {0.5: LessonCounts(60, 40, 20, 80)},
        }
    )
    assert found["good"].estimate > found["easy"].estimate
    assert 0.2 < found["good"].estimate < 0.4
    assert found["good"].weight > 0.5


def test_few_units_move_a_lesson_little() -> None:
    found = shrink({"pool": {0.5: LessonCounts(600, 400, 500, 500)}, "new": {0.5: LessonCounts(3, 0, 0, 3)}})
    assert found["new"].weight < 0.1
    assert abs(found["new"].estimate - 0.1) < 0.08
