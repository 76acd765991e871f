"""The bet with a deadline: no luck beats it, it loses little against a fixed sample, and it reads as an interval."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.gate.deadline import (
    DEADLINE_UNITS,
    HARMS_ALPHA,
    HELPS_ALPHA,
    DeadlineBet,
    EffectEvidence,
    Expected,
    Met,
    expectations,
    measured,
)

units = st.lists(
    st.builds(
        Met,
        st.sampled_from([0.0, 0.5, 0.8, 1.0]),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["p", "q"]),
        st.sampled_from(["git push", "go test"]),
        st.sampled_from([None, 0.2, 0.9]),
    ),
    max_size=40,
)


def simulated(seed: int, withheld: float, shown: float, count: int, share: float = 0.5) -> list[Met]:
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        arm = chance.random() < share
        found.append(Met(share, arm, chance.random() < (shown if arm else withheld)))
    return found


def found_at(run: list[Met], *, better: bool = True) -> int | None:
    alpha = HELPS_ALPHA if better else HARMS_ALPHA
    bet = DeadlineBet(alpha=alpha, better=better)
    for number, unit in enumerate(run, 1):
        bet.update(unit)
        if bet.e_value() >= 1 / alpha:
            return number
    return None


@pytest.mark.parametrize("better", [True, False])
@given(
    known=units,
    rate=st.floats(0.0, 1.0),
    share=st.sampled_from([0.1, 0.5, 0.8]),
    told=st.none() | st.floats(0.0, 1.0),
)
def test_one_more_unit_multiplies_the_evidence_by_one_on_average(
    better: bool, known: list[Met], rate: float, share: float, told: float | None
) -> None:
    def value(more: list[Met]) -> float:
        bet = DeadlineBet(alpha=0.05, better=better)
        for unit in [*known, *more]:
            bet.update(unit)
        return bet.e_value()

    expected = sum(
        (share if arm else 1 - share) * (rate if ok else 1 - rate) * value([Met(share, arm, ok, expected=told)])
        for arm in (True, False)
        for ok in (True, False)
    )
    assert expected == pytest.approx(value([]), rel=1e-9)


@given(units, st.floats(-1, 1), st.floats(-1, 1))
def test_evidence_falls_with_the_effect_that_is_tested(known: list[Met], one: float, other: float) -> None:
    small, large = sorted((one, other))
    evidence = EffectEvidence(known)
    assert evidence(small) >= evidence(large) * (1 - 1e-9)
    assert evidence(small, better=False) <= evidence(large, better=False) * (1 + 1e-9)


@given(units)
def test_an_effect_is_called_iff_its_interval_leaves_zero_out(known: list[Met]) -> None:
    found = measured(known)
    evidence = EffectEvidence(known)
    helps, harms = evidence() >= 1 / HELPS_ALPHA, evidence(better=False) >= 1 / HARMS_ALPHA
    assert (found.verdict == "helps", found.verdict == "harms") == (helps and not harms, harms and not helps)


def test_units_without_a_coin_are_no_evidence() -> None:
    known = [Met(1.0, True, True)] * 50 + [Met(0.0, False, False)] * 50
    assert EffectEvidence(known)() == pytest.approx(1.0)


@pytest.mark.slow
def test_no_effect_is_rarely_called_one_however_often_one_looks() -> None:
    calls = [found_at(simulated(seed, 0.6, 0.6, DEADLINE_UNITS)) for seed in range(150)]
    assert sum(at is not None for at in calls) <= 10


def test_an_effect_of_thirty_points_is_found_long_before_the_deadline() -> None:
    calls = [found_at(simulated(seed, 0.5, 0.8, DEADLINE_UNITS)) for seed in range(25)]
    assert sum(at is not None for at in calls) >= 24
    assert sorted(at for at in calls if at)[12] < 170


def test_harm_is_found_too() -> None:
    calls = [found_at(simulated(seed, 0.8, 0.5, DEADLINE_UNITS), better=False) for seed in range(25)]
    assert sum(at is not None for at in calls) >= 22


def test_what_is_known_before_the_coin_falls_sharpens_the_answer() -> None:
    """The same units, once with the commands by which they differ, once without."""

    def run(seed: int, told: bool) -> bool:
        chance, bet = random.Random(seed), DeadlineBet(alpha=HELPS_ALPHA)
        for _ in range(160):
            easy, arm = chance.random() < 0.5, chance.random() < 0.5
            rate = (0.85 if easy else 0.05) + (0.12 if arm else 0.0)
            bet.update(Met(0.5, arm, chance.random() < rate, head=str(easy) if told else ""))
        return bet.e_value() >= 1 / HELPS_ALPHA

    assert sum(run(seed, True) for seed in range(60)) > 1.5 * sum(run(seed, False) for seed in range(60))


def test_what_failures_before_all_lessons_came_to_sharpens_the_first_answers() -> None:
    """The same units of many commands, few of each: nothing is learnt of one while they are met."""

    def run(seed: int, told: bool) -> bool:
        chance, bet = random.Random(seed), DeadlineBet(alpha=HELPS_ALPHA)
        for number in range(160):
            easy, arm = chance.random() < 0.5, chance.random() < 0.5
            rate = 0.85 if easy else 0.05
            ok = chance.random() < rate + (0.12 if arm else 0.0)
            bet.update(Met(0.5, arm, ok, head=str(number), expected=rate if told else None))
        return bet.e_value() >= 1 / HELPS_ALPHA

    assert sum(run(seed, True) for seed in range(60)) > 1.5 * sum(run(seed, False) for seed in range(60))


def test_a_command_that_was_seldom_met_is_expected_to_be_like_all() -> None:
    known = expectations({"git push": (400, 40), "go test": (1, 0), "make": (199, 160)})
    assert known["git push"] == pytest.approx(0.1, abs=0.01)
    assert known["make"] == pytest.approx(0.8, abs=0.03)
    assert known["go test"] == pytest.approx(known[""], abs=0.03)
    assert expectations({}) == {}


def test_units_gain_upon_what_was_known_of_them() -> None:
    expected = Expected()
    for _ in range(200):
        for rate, oks in ((0.2, (True, False)), (0.6, (True, True, True, True, False))):  # .5 and .8 of them
            for ok in oks:
                expected.add(Met(0.5, True, ok, head=str(rate), expected=rate))
    assert expected.of(Met(0.5, True, True, head="0.2", expected=0.2)) == pytest.approx(0.5, abs=0.02)
    assert expected.of(Met(0.5, True, True, head="0.6", expected=0.6)) == pytest.approx(0.8, abs=0.02)
