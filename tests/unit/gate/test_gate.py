"""The gate: right by its definition, the same in any order, and blind to how often it is read."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.errors import UsageError
from ratchet.gate.arms import CanaryTest, EvidenceLedger, PairedGate, PromoteTest, RankBet

ArmTest = CanaryTest | PromoteTest
Make = Callable[[float], ArmTest]
Labels = list[tuple[float, bool, bool]]

SHARES = (0.1, 0.25, 0.5)
RATES = (0.4, 0.6, 0.8, 0.9, 0.96, 0.99)
DROPS = (0.06, 0.12, 0.25, 0.5, 0.9)
MAKES: dict[str, Make] = {
    "canary": lambda share: CanaryTest(share=share, before=(70, 100)),
    "promote": lambda share: PromoteTest(share=share, before=(70, 100)),
    "neutral": lambda share: PromoteTest(share=share, margin=0.02),
}
each_test = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
labels = st.lists(st.tuples(st.sampled_from(SHARES), st.booleans(), st.booleans()), max_size=80)
values = st.floats(1e-6, 1e6)


def fed(make: Make, units: Iterable[tuple[float, bool, bool]]) -> ArmTest:
    test = make(0.5)
    for share, new_arm, ok in units:
        test.stage(share)
        test.update(new_arm=new_arm, ok=ok)
    return test


def posterior(ok: int, total: int, rates: Iterable[float]) -> list[float]:
    likelihoods = [rate**ok * (1 - rate) ** (total - ok) for rate in rates]
    return [each / sum(likelihoods) for each in likelihoods]


def canary_by_definition(units: Labels, ok: int, total: int) -> float:
    known = posterior(ok, total, RATES)
    e = 0.0
    for p0, weight in zip(RATES, known, strict=True):
        for g in DROPS:
            p1 = p0 * (1 - g)
            product = 1.0
            for pi, new_arm, succeeded in units:
                new, old = (p1, p0) if succeeded else (1 - p1, 1 - p0)
                q = pi * new / (pi * new + (1 - pi) * old)
                product *= q / pi if new_arm else (1 - q) / (1 - pi)
            e += (0.8 * weight + 0.2 / 6) / 5 * product
    return e


@given(labels)
def test_the_canary_is_what_its_formula_says(units: Labels) -> None:
    assert fed(MAKES["canary"], units).e_value == pytest.approx(canary_by_definition(units, 70, 100), rel=1e-9)


@given(labels)
def test_without_history_promoting_is_the_canary_with_the_arms_exchanged(units: Labels) -> None:
    promote = fed(lambda share: PromoteTest(share=share), units)
    canary = fed(lambda share: CanaryTest(share=share), [(1 - share, not new, ok) for share, new, ok in units])
    assert promote.e_value == pytest.approx(canary.e_value, rel=1e-9)


@given(labels)
def test_the_neutral_test_is_what_its_formula_says(units: Labels) -> None:
    e = 0.0
    for size in (0.02, 0.05, 0.1, 0.2, 0.4):
        product = 1.0
        for pi, new_arm, ok in units:
            z = 0.0 if ok else (1 / pi if new_arm else -1 / (1 - pi))
            product *= 1 - min(size, 0.95 / (1 / pi - 0.02)) * (z - 0.02)
        e += product / 5
    assert fed(MAKES["neutral"], units).e_value == pytest.approx(e, rel=1e-9)


@each_test
@given(units=labels, parts=st.integers(1, 5), chance=st.randoms())
def test_parts_merged_in_any_order_are_one_process(
    make: Make, units: Labels, parts: int, chance: random.Random
) -> None:
    whole = fed(make, units)
    pieces = [fed(make, units[i::parts]) for i in range(parts)]
    chance.shuffle(pieces)
    merged = pieces[0]
    for piece in pieces[1:]:
        merged.merge(piece)  # type: ignore[arg-type]
    assert merged.counts == whole.counts
    assert merged.e_value == pytest.approx(whole.e_value, rel=1e-9)


@each_test
@given(units=labels)
def test_reading_never_changes_anything(make: Make, units: Labels) -> None:
    test, unread = make(0.5), make(0.5)
    for share, new_arm, ok in units:
        for each in (test, unread):
            each.stage(share)
            each.update(new_arm=new_arm, ok=ok)
        seen = (test.e_value, test.counts, test.decision, test.ceiling)
        assert (test.e_value, test.counts, test.decision, test.ceiling) == seen
    assert pickle.dumps(test) == pickle.dumps(unread)


@each_test
@given(units=labels)
def test_the_decision_is_the_first_crossing_and_stays(make: Make, units: Labels) -> None:
    test, crossed = make(0.5), False
    for share, new_arm, ok in units * 4:
        test.stage(share)
        test.update(new_arm=new_arm, ok=ok)
        crossed = crossed or test.e_value >= 20
        assert (test.decision != "wait") == crossed
        assert test.ceiling >= test.e_value * (1 - 1e-12)


@each_test
@given(units=labels)
def test_counts_that_a_store_kept_are_the_whole_test(make: Make, units: Labels) -> None:
    test, restored = fed(make, units), make(0.5)
    restored.add(test.counts)
    assert (restored.counts, restored.e_value) == (test.counts, test.e_value)


def test_counts_are_kept_per_share_in_the_documented_order() -> None:
    test = CanaryTest(share=0.1)
    assert test.counts == {}
    assert test.e_value == 1.0
    assert test.decision == "wait"
    for new_arm, ok in [(True, False), *[(False, False)] * 2, *[(True, True)] * 3]:
        test.update(new_arm=new_arm, ok=ok)
    test.stage(0.5)
    test.update(new_arm=False, ok=True)
    assert test.counts == {0.1: (1, 2, 3, 0), 0.5: (0, 0, 0, 1)}


def test_a_catastrophe_is_reverted_and_an_improvement_kept() -> None:
    canary, promote = CanaryTest(share=0.5, before=(9, 10)), PromoteTest(share=0.5, before=(5, 10))
    for _ in range(20):
        canary.update(new_arm=True, ok=False)
        canary.update(new_arm=False, ok=True)
        promote.update(new_arm=True, ok=True)
        promote.update(new_arm=False, ok=False)
    assert (canary.decision, promote.decision) == ("revert", "keep")


def test_evidence_beyond_the_range_of_a_float_is_infinite() -> None:
    test = CanaryTest(share=0.5)
    test.add({0.5: (10_000, 0, 0, 10_000)})
    assert (test.e_value, test.decision) == (math.inf, "revert")
    other = CanaryTest(share=0.5)
    other.add({0.5: (0, 10**6, 10**6, 0)})
    assert (other.e_value, other.decision) == (0.0, "wait")


def test_a_part_that_decided_by_itself_does_not_decide_for_all() -> None:
    part, rest = CanaryTest(share=0.5), CanaryTest(share=0.5)
    while part.decision == "wait":
        part.update(new_arm=True, ok=False)
        part.update(new_arm=False, ok=True)
    rest.add({0.5: (0, 30, 30, 0)})
    rest.merge(part)
    assert rest.e_value < 20
    assert rest.decision == "wait"


@pytest.mark.parametrize(
    "other",
    [
        CanaryTest(share=0.5, alpha=0.01),
        CanaryTest(share=0.5, before=(1, 2)),
        PromoteTest(share=0.5),
        PromoteTest(share=0.5, margin=0.01),
    ],
)
def test_tests_of_different_things_do_not_merge(other: Any) -> None:
    with pytest.raises(UsageError, match="merged"):
        CanaryTest(share=0.5).merge(other)


NAN, INF = math.nan, math.inf
WRONG: dict[str, Callable[[Any], object]] = {
    "share": lambda x: CanaryTest(share=x),
    "promote's share": lambda x: PromoteTest(share=x),
    "rank's share": lambda x: RankBet(share=x),
    "alpha": lambda x: CanaryTest(share=0.5, alpha=x),
    "rank's alpha": lambda x: RankBet(share=0.5, alpha=x),
    "stage": lambda x: CanaryTest(share=0.5).stage(x),
    "rank's stage": lambda x: RankBet(share=0.5).stage(x),
    "pair's alpha": lambda x: PairedGate(x),
    "mde": lambda x: PairedGate(0.05, mde=x),
    "fdr": lambda x: EvidenceLedger(x),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_a_probability_outside_zero_to_one_raises(call: Callable[[Any], object]) -> None:
    wrong: Any
    for wrong in (0, 1, 0.0, 1.0, -0.1, 1.1, NAN, INF, -INF, True, False, None, "0.5"):
        with pytest.raises(UsageError):
            call(wrong)


@pytest.mark.parametrize("wrong", [(2, 1), (-1, 3), (1.5, 3), (True, 3), (NAN, 3), (1,), None, "ab", (1, 2, 3)])
def test_a_history_that_is_none_raises(wrong: Any) -> None:
    for make in (CanaryTest, PromoteTest):
        with pytest.raises(UsageError):
            make(share=0.5, before=wrong)


@pytest.mark.parametrize("wrong", [-0.01, 0.021, 0.05, NAN, INF, True])
def test_a_margin_above_two_points_raises(wrong: Any) -> None:
    with pytest.raises(UsageError):
        PromoteTest(share=0.5, margin=wrong)


@pytest.mark.parametrize("wrong", [NAN, 0.7, 2, -1, None, "yes", "True"])
def test_a_label_that_is_not_true_or_false_raises_and_counts_nothing(wrong: Any) -> None:
    for make in MAKES.values():
        test = make(0.5)
        with pytest.raises(UsageError):
            test.update(new_arm=wrong, ok=True)
        with pytest.raises(UsageError):
            test.update(new_arm=True, ok=wrong)
        assert test.counts == {}
    with pytest.raises(UsageError):
        RankBet(share=0.5).update(new_arm=wrong, value=1.0)
    with pytest.raises(UsageError):
        EvidenceLedger(0.1).record(wrong)


@pytest.mark.parametrize("wrong", [NAN, INF, -INF, 0, -1.0, True, None, "1"])
def test_a_value_without_a_logarithm_raises_and_counts_nothing(wrong: Any) -> None:
    bet = RankBet(share=0.5)
    with pytest.raises(UsageError):
        bet.update(new_arm=True, value=wrong)
    assert bet.state == RankBet(share=0.5).state
    with pytest.raises(UsageError):
        RankBet(share=0.5, margin=wrong)


@pytest.mark.parametrize("wrong", [NAN, INF, 1.01, -1.01, True, None])
def test_a_difference_outside_its_range_raises(wrong: Any) -> None:
    gate = PairedGate(0.05)
    with pytest.raises(UsageError):
        gate.update(wrong)
    assert gate.pairs == 0


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, NAN, "3"])
def test_a_number_of_pairs_or_proposals_that_is_none_raises(wrong: Any) -> None:
    with pytest.raises(UsageError):
        PairedGate(0.05, cap=wrong)
    with pytest.raises(UsageError):
        EvidenceLedger(0.1, planned=wrong)


@pytest.mark.parametrize("wrong", [{0.5: (1, 2, 3)}, {0.5: (1, 2, 3, -1)}, {1.5: (1, 2, 3, 4)}, {0.5: (1, 2, 3, 0.5)}])
def test_counts_that_are_none_raise_and_add_nothing(wrong: Any) -> None:
    test = CanaryTest(share=0.5)
    with pytest.raises(UsageError):
        test.add({0.25: (1, 1, 1, 1), **wrong})
    assert test.counts == {}


@given(st.lists(st.tuples(st.booleans(), values), max_size=60))
def test_reading_a_rank_bet_changes_nothing(units: list[tuple[bool, float]]) -> None:
    bet, unread = RankBet(share=0.5, margin=1.1), RankBet(share=0.5, margin=1.1)
    for new_arm, value in units:
        bet.update(new_arm=new_arm, value=value)
        unread.update(new_arm=new_arm, value=value)
        assert (bet.e_value, bet.state, bet.decision) == (bet.e_value, bet.state, bet.decision)
    assert bet.state == unread.state


@given(st.lists(st.tuples(st.booleans(), values), max_size=60), st.floats(0.01, 100))
def test_a_rank_bet_does_not_depend_on_the_unit_of_measurement(units: list[tuple[bool, float]], scale: float) -> None:
    bet, scaled = RankBet(share=0.25), RankBet(share=0.25)
    for new_arm, value in units:
        # Values apart by less than rounding would make the scale itself a matter of rounding.
        rounded = float(f"{value:.2g}")
        bet.update(new_arm=new_arm, value=rounded)
        scaled.update(new_arm=new_arm, value=rounded * 2.0 ** round(math.log2(scale)))
    assert scaled.e_value == pytest.approx(bet.e_value, rel=1e-3)


@given(st.lists(st.tuples(st.booleans(), values), min_size=1, max_size=60), st.integers(1, 4), st.randoms())
def test_rank_bets_merge_in_any_order(units: list[tuple[bool, float]], parts: int, chance: random.Random) -> None:
    def merged(order: list[int]) -> RankBet:
        bets = [RankBet(share=0.5) for _ in range(parts)]
        for i, (new_arm, value) in enumerate(units):
            bets[i % parts].update(new_arm=new_arm, value=value)
        whole = RankBet(share=0.5)
        for i in order:
            whole.merge(bets[i])
        return whole

    one, other = merged(list(range(parts))), merged(chance.sample(range(parts), parts))
    assert one.e_value == pytest.approx(other.e_value, rel=1e-9)
    assert list(one.state) == pytest.approx(list(other.state), rel=1e-6, abs=1e-6)
    assert one.state[0] == len(units)


def test_a_rank_bet_takes_up_what_was_kept() -> None:
    bet, later = RankBet(share=0.5), RankBet(share=0.5)
    for i in range(50):
        bet.update(new_arm=i % 2 == 0, value=1.0 + i % 7)
    later.load(bet.state)
    for each in (bet, later):
        each.update(new_arm=True, value=3.0)
    assert later.state == bet.state
    for wrong in ((), (1.0,) * 7, (NAN,) * 8, (-1.0,) * 8):
        with pytest.raises(UsageError):
            later.load(wrong)


def test_a_rank_bet_finds_what_is_twice_as_slow_and_only_by_more_than_its_margin() -> None:
    chance = random.Random(7)
    strict, lenient = RankBet(share=0.5), RankBet(share=0.5, margin=2.0)
    for _ in range(400):
        new_arm = chance.random() < 0.5
        value = math.exp(chance.gauss(math.log(2) if new_arm else 0.0, 0.8))
        strict.update(new_arm=new_arm, value=value)
        lenient.update(new_arm=new_arm, value=value)
    assert (strict.decision, lenient.decision) == ("revert", "wait")


def test_a_constant_that_rises_is_found() -> None:
    bet = RankBet(share=0.5)
    for i in range(40):
        bet.update(new_arm=i % 2 == 1, value=2.0 if i % 2 else 1.0)
    assert bet.decision == "revert"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("value", [1e-300, 1e300])
def test_no_single_unit_can_ruin_a_rank_bet(share: float, value: float) -> None:
    bet = RankBet(share=share)
    for v in (1.0, 1.1, 0.9, 1.0):
        bet.update(new_arm=False, value=v)
    for new_arm in (True, False):
        bet.update(new_arm=new_arm, value=value)
    assert 0 < bet.e_value < math.inf


@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=29))
def test_the_paired_gate_is_what_its_formula_says(pairs: list[int]) -> None:
    gate = PairedGate(1e-9)
    for d in pairs:
        gate.update(d)
    wins, losses = pairs.count(1), pairs.count(-1)
    e = sum((1 + size) ** wins * (1 - size) ** losses for size in (0.1, 0.2, 0.35, 0.55, 0.8)) / 5
    assert gate.e_value == pytest.approx(e, rel=1e-9)
    assert (gate.pairs, gate.decision) == (len(pairs), "wait")


def test_a_paired_gate_keeps_what_wins_and_gives_up_what_does_not() -> None:
    winner, idle, late = PairedGate(0.05), PairedGate(0.05), PairedGate(1e-12, cap=40)
    for i in range(40):
        winner.update(1)
        idle.update(0)
        late.update(i % 2)
    assert (winner.decision, idle.decision, late.decision) == ("keep", "revert", "revert")
    assert idle.pairs == 30  # not before: a good one may start badly
    assert late.pairs == 40
    assert winner.mean == 1.0


def test_after_its_decision_a_paired_gate_ignores_what_comes() -> None:
    gate = PairedGate(0.05)
    while gate.decision == "wait":
        gate.update(1)
    kept = (gate.pairs, gate.e_value)
    for _ in range(100):
        gate.update(-1)
    assert (gate.pairs, gate.e_value, gate.decision) == (*kept, "keep")


def test_levels_of_a_planned_run_are_even_and_grow_with_keeps() -> None:
    ledger = EvidenceLedger(0.10, planned=200)
    assert ledger.level == pytest.approx(0.0005)
    assert ledger.levels(8) == (ledger.level,) * 8
    ledger.record(False)
    assert ledger.level == pytest.approx(0.0005)
    ledger.record(True)
    assert ledger.level == pytest.approx(0.0010)


def test_levels_of_an_open_ended_run_spend_no_more_than_they_have() -> None:
    ledger = EvidenceLedger(0.10)
    first = ledger.levels(5)
    spent = 0.0
    for t in range(5_000):
        if t < 5:
            assert ledger.level == first[t]
        spent += ledger.level
        ledger.record(False)
    assert 0 < spent <= 0.10
    assert first[0] == pytest.approx(0.10 * 0.0772 * math.log(2))


def _labels_from_the_mixture(chance: random.Random, rate: float, promote: bool) -> Iterable[tuple[bool, bool]]:
    """(new arm, ok) as the bets wish they were: no history, so every pair is as likely."""
    p0, g = chance.choice(RATES), chance.choice(DROPS)
    p1 = p0 * (1 - g)
    while True:
        ok = chance.random() < rate
        worse, better = (p1, p0) if ok else (1 - p1, 1 - p0)
        yield (chance.random() < worse / (worse + better)) != promote, ok


@pytest.mark.slow
@pytest.mark.parametrize("promote", [False, True], ids=["revert", "keep"])
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95, 0.99])
def test_a_change_that_does_nothing_is_hardly_ever_judged(rate: float, promote: bool) -> None:
    """P(ever fires) = E_Q[1{fires} / likelihood ratio], by the definition's ratio and not by the gate's."""
    chance = random.Random(f"{rate}{promote}")
    total, draws = 0.0, 60
    for _ in range(draws):
        test = (PromoteTest if promote else CanaryTest)(share=0.5)
        units: Labels = []
        for new_arm, ok in _labels_from_the_mixture(chance, rate, promote):
            test.update(new_arm=new_arm, ok=ok)
            units.append((0.5, new_arm != promote, ok))
            if test.decision != "wait":
                total += 1 / canary_by_definition(units, 0, 0)
                break
            if len(units) == 1_000:
                break
    assert 0.01 < total / draws <= 0.05
