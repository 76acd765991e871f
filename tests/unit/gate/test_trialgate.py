"""A trial's one decision: harm in any metric counts, only a proven purpose keeps, and the rules around both."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.errors import UsageError
from ratchet.gate.arms import CanaryTest, PromoteTest, RankBet
from ratchet.gate.trial import MOST_AGE_S, QUARTER_S, TrialGate, TrialPlan, neutral_allowance, ramp

DAY_S = 86_400.0


def feed(gate: TrialGate, count: int, *, new: dict[str, Any], old: dict[str, Any]) -> None:
    """`count` units of each arm in turn."""
    for _ in range(count):
        gate.update(new_arm=True, **new)
        gate.update(new_arm=False, **old)


def test_the_ramp_starts_small_unless_the_target_is_quiet() -> None:
    shares = [ramp(units, calls_per_day=500.0) for units in range(200)]
    assert [(share, len(list(run))) for share, run in itertools.groupby(shares)] == [(0.1, 40), (0.25, 60), (0.5, 100)]
    assert ramp(0, calls_per_day=99.9) == 0.5
    with pytest.raises(UsageError):
        ramp(-1, calls_per_day=500.0)
    with pytest.raises(UsageError):
        ramp(0, calls_per_day=math.nan)


def test_the_neutral_budget_is_five_points_in_a_quarter() -> None:
    charges = [(0.0, 0.02), (10 * DAY_S, 0.02)]
    assert neutral_allowance([], now_s=0.0) == pytest.approx(0.05)
    assert neutral_allowance(charges, now_s=11 * DAY_S) == pytest.approx(0.01)
    assert neutral_allowance([*charges, (12 * DAY_S, 0.02)], now_s=13 * DAY_S) == 0.0
    assert neutral_allowance(charges, now_s=QUARTER_S) == pytest.approx(0.03)


def test_weights_are_shared_out_among_the_metrics_that_exist() -> None:
    def weights(*metrics: Any) -> dict[Any, float]:
        return TrialPlan(deadline_s=1.0, metrics=metrics).weights

    assert weights("success") == {"success": 1.0}
    assert weights("success", "latency") == pytest.approx({"success": 0.75, "latency": 0.25})
    assert weights("success", "latency", "cost", "score") == pytest.approx(
        {"success": 0.6, "latency": 0.2, "cost": 0.1, "score": 0.1}
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"deadline_s": 0.0},
        {"deadline_s": math.nan},
        {"metrics": ("latency",)},
        {"metrics": ("success", "mood")},
        {"purpose": "cost"},
        {"purpose": "mood"},
    ],
)
def test_a_plan_that_makes_no_sense_raises(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        TrialPlan(**{"deadline_s": 1.0, **wrong})


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=150))
def test_with_success_alone_the_trial_is_the_two_tests(units: list[tuple[bool, bool]]) -> None:
    gate = TrialGate(TrialPlan(deadline_s=1.0, before=(8, 10)), share=0.5)
    canary, promote = CanaryTest(share=0.5, before=(8, 10)), PromoteTest(share=0.5, before=(8, 10))
    expected = "wait"
    for new_arm, ok in units:
        for each in (gate, canary, promote):
            each.update(new_arm=new_arm, ok=ok)
        if expected == "wait":
            expected = "revert" if canary.decision == "revert" else promote.decision
        assert gate.decision == expected
    assert gate.evidence["revert"] == pytest.approx(canary.e_value)
    assert gate.evidence["keep"] == pytest.approx(promote.e_value)


def test_a_change_that_succeeds_as_often_but_takes_three_times_as_long_is_reverted() -> None:
    gate = TrialGate(TrialPlan(deadline_s=60.0, metrics=("success", "latency")), share=0.5)
    chance = random.Random(3)
    for _ in range(400):
        new_arm = chance.random() < 0.5
        gate.update(new_arm=new_arm, ok=True, latency_s=chance.lognormvariate(math.log(3) if new_arm else 0.0, 0.5))
    assert gate.decision == "revert"
    assert gate.evidence["success"] < 20


def test_a_declared_trade_lets_a_change_buy_success_with_time() -> None:
    def outcome(**declared: Any) -> str:
        plan = TrialPlan(deadline_s=60.0, metrics=("success", "latency"), **declared)
        gate, chance = TrialGate(plan, share=0.5), random.Random(5)
        for _ in range(4_000):
            new_arm = chance.random() < 0.5
            ok = chance.random() < (0.95 if new_arm else 0.85)
            gate.update(new_arm=new_arm, ok=ok, latency_s=chance.lognormvariate(math.log(6) if new_arm else 0, 0.4))
        return gate.decision

    assert outcome() == "revert"
    assert outcome(margins={"latency": 10.0}) == "keep"


def test_a_failure_takes_its_deadline_however_fast_it_was() -> None:
    gate = TrialGate(TrialPlan(deadline_s=30.0, metrics=("success", "latency")), share=0.5)
    bet = RankBet(share=0.5, margin=1.10)
    units: list[tuple[bool, bool, float]] = [
        (True, False, 0.1),
        (False, True, 2.0),
        (True, True, 3.0),
        (True, True, 99.0),
    ]
    for new_arm, ok, latency_s in units * 3:
        gate.update(new_arm=new_arm, ok=ok, latency_s=latency_s)
        bet.update(new_arm=new_arm, value=min(latency_s, 30.0) if ok else 30.0)
    assert gate.evidence["latency"] == bet.e_value


def test_a_metric_that_a_unit_lacks_is_left_as_it_is() -> None:
    gate = TrialGate(TrialPlan(deadline_s=1.0, metrics=("success", "latency", "cost", "score")), share=0.5)
    feed(gate, 20, new={"ok": True}, old={"ok": True})
    assert gate.evidence["latency"] == gate.evidence["cost"] == gate.evidence["score"] == pytest.approx(1.0)
    assert gate.units == 40


def test_what_is_free_counts_as_the_cheapest_and_a_lower_score_as_harm() -> None:
    dear = TrialGate(TrialPlan(deadline_s=1.0, metrics=("success", "cost")), share=0.5)
    feed(dear, 60, new={"ok": True, "cost_usd": 0.02}, old={"ok": True, "cost_usd": 0.0})
    poor = TrialGate(TrialPlan(deadline_s=1.0, metrics=("success", "score")), share=0.5)
    feed(poor, 60, new={"ok": True, "score": 0.2}, old={"ok": True, "score": 0.9})
    assert (dear.decision, poor.decision) == ("revert", "revert")


@pytest.mark.parametrize("wrong", [{"score": 1.5}, {"score": math.nan}, {"latency_s": -1.0}, {"cost_usd": math.inf}])
def test_a_value_out_of_range_raises_and_counts_nothing(wrong: dict[str, float]) -> None:
    gate = TrialGate(TrialPlan(deadline_s=1.0, metrics=("success", "latency", "cost", "score")), share=0.5)
    with pytest.raises(UsageError):
        gate.update(new_arm=True, ok=True, **wrong)
    assert gate.units == 0
    assert gate.canary.counts == {}


def test_a_change_meant_to_be_faster_is_kept_when_it_is() -> None:
    plan = TrialPlan(deadline_s=60.0, metrics=("success", "latency"), purpose="latency")
    gate, chance = TrialGate(plan, share=0.25), random.Random(11)
    for _ in range(600):
        new_arm = chance.random() < 0.25
        gate.update(new_arm=new_arm, ok=True, latency_s=chance.lognormvariate(-0.9 if new_arm else 0.0, 0.5))
    assert gate.decision == "keep"


def test_a_faster_change_that_fails_more_is_not_kept() -> None:
    plan = TrialPlan(deadline_s=60.0, metrics=("success", "latency"), purpose="latency")
    gate, chance = TrialGate(plan, share=0.5), random.Random(12)
    for _ in range(2_000):
        new_arm = chance.random() < 0.5
        gate.update(new_arm=new_arm, ok=chance.random() < (0.5 if new_arm else 0.9), latency_s=1.0)
    assert gate.decision == "revert"


def test_a_neutral_change_is_kept_on_doing_no_harm() -> None:
    gate = TrialGate(TrialPlan(deadline_s=1.0, neutral_margin=0.02), share=0.5)
    feed(gate, 3_000, new={"ok": True}, old={"ok": True})
    assert gate.decision == "keep"


def test_both_arms_failing_pauses_and_does_not_revert() -> None:
    gate = TrialGate(TrialPlan(deadline_s=1.0), share=0.5)
    feed(gate, 20, new={"ok": True}, old={"ok": True})
    feed(gate, 7, new={"ok": False}, old={"ok": False})
    assert gate.verdict() == "wait"
    feed(gate, 1, new={"ok": False}, old={"ok": False})
    assert (gate.verdict(), gate.decision) == ("pause", "wait")
    gate.update(new_arm=False, ok=True)
    assert gate.verdict() == "wait"


def test_an_arm_that_never_succeeded_is_no_outage() -> None:
    gate = TrialGate(TrialPlan(deadline_s=1.0), share=0.5)
    gate.update(new_arm=False, ok=True)
    feed(gate, 8, new={"ok": False}, old={"ok": False})
    assert not gate.is_outage


def test_a_trial_that_tells_nothing_ends_undecided() -> None:
    gate = TrialGate(TrialPlan(deadline_s=1.0, most_units=100), share=0.5)
    feed(gate, 49, new={"ok": True}, old={"ok": True})
    assert gate.verdict() == "wait"
    assert gate.verdict(age_s=MOST_AGE_S) == "undecided"
    feed(gate, 1, new={"ok": True}, old={"ok": True})
    assert gate.verdict() == "undecided"


def test_what_comes_after_the_horizon_decides_nothing() -> None:
    gate = TrialGate(TrialPlan(deadline_s=1.0, most_units=10), share=0.5)
    feed(gate, 5, new={"ok": True}, old={"ok": True})
    feed(gate, 50, new={"ok": False}, old={"ok": True})
    assert (gate.canary.decision, gate.verdict()) == ("revert", "undecided")


def test_the_ramps_share_reaches_every_test() -> None:
    gate = TrialGate(TrialPlan(deadline_s=1.0, metrics=("success", "latency"), purpose="latency"), share=0.1)
    gate.stage(0.25)
    gate.update(new_arm=True, ok=True, latency_s=0.5)
    assert gate.canary.counts == gate.promote.counts == {0.25: (0, 0, 1, 0)}
