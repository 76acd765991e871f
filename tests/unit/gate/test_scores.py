"""The gate for any loop: valid whenever one looks, one answer for the same runs, honest about what lacks."""

from __future__ import annotations

from math import exp, inf
from random import Random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.errors import UsageError
from ratchet.evolving.score_plan import score_plan
from ratchet.gate import ScoreGate
from ratchet.gate.failing import Attempts, log_doubt, log_harm
from ratchet.gate.normal import Contrast, Running, Spread, contrast, least_ratio, log_evidence, log_ratio, most_evidence
from ratchet.gate.scores import RECENT, ScoreAnswer

scores = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8)


def looped(gate: ScoreGate, chance: Random, gains: list[float]) -> list[str]:
    """Propose versions that gain as much over what stands, run what the gate asks for; the versions that it kept."""
    truth = {"v0": 0.0}
    gate.add("v0", chance.gauss(0.0, 1.0))
    kept = []
    for n, gain in enumerate(gains, 1):
        name, standing = f"v{n}", gate.incumbent
        truth[name] = truth[standing] + gain
        wanted = name
        while wanted:
            gate.add(wanted, chance.gauss(truth[wanted], 1.0))
            wanted = gate.answer(name).next
        if gate.answer(name).decision == "keep":
            kept.append(name)
    return kept


@pytest.mark.slow
def test_the_expected_evidence_of_no_gain_is_at_most_one_at_a_time_chosen_by_looking() -> None:
    """The mean of an e-value stopped at its highest early point is the strictest look; a bound of 1 holds for any."""
    chance, stopped = Random(7), []
    for _ in range(1500):
        new, old = [chance.gauss(0, 1)], [chance.gauss(0, 1), chance.gauss(0, 1)]
        log_e = 0.0
        for _ in range(12):
            (new if chance.random() < 0.5 else old).append(chance.gauss(0, 1))
            log_e = log_evidence(contrast(Running.of(new), Running.of(old), Spread()))
            if log_e > 1.0:
                break
        stopped.append(exp(log_e))
    assert mean(stopped) < 1.1


@given(scores, scores, st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_the_unit_and_the_zero_of_a_score_change_nothing(
    new: list[float], old: list[float], unit: float, zero: float
) -> None:
    before = contrast(Running.of(new), Running.of(old), Spread())
    if before.squares < 1e-6:
        return
    after = contrast(Running.of(unit * v + zero for v in new), Running.of(unit * v + zero for v in old), Spread())
    assert log_evidence(after) == pytest.approx(log_evidence(before), rel=1e-3, abs=1e-3)


@given(scores, scores, st.floats(0.1, 5.0))
def test_the_cheap_bounds_hold(new: list[float], old: list[float], effect: float) -> None:
    found = contrast(Running.of(new), Running.of(old), Spread())
    assert log_evidence(found) <= most_evidence(found) + 1e-6
    assert least_ratio(found, effect) <= log_ratio(found, effect) + 1e-6


def test_a_run_costs_the_same_however_many_versions_were_left_alone() -> None:
    chance = Random(4)
    gate = ScoreGate(incumbent="base")
    for n in range(3 * RECENT):
        gate.add("base", chance.gauss(0, 1))
        gate.add(f"v{n}", chance.gauss(0, 1))
    left_alone = gate.answer("v10")
    assert len(gate.open) > RECENT
    gate.add("base", chance.gauss(0, 1))
    assert gate.answer("v10").gain == left_alone.gain  # as of its last look
    gate.add("v10", 0.0)
    assert gate.answer("v10").gain != left_alone.gain


@given(scores, scores)
def test_a_version_that_scores_less_is_no_evidence_of_a_gain(new: list[float], old: list[float]) -> None:
    found = contrast(Running.of(new), Running.of(old), Spread())
    if found.gain <= 0:
        assert all(log_ratio(found, effect) <= 1e-9 for effect in (0.5, 1.0, 4.0))


@pytest.mark.slow
def test_in_fifty_idle_proposals_nothing_is_kept() -> None:
    kept = [looped(ScoreGate(), Random(seed), [0.0] * 50) for seed in range(4)]
    assert sum(map(bool, kept)) <= 1  # each with a chance of at most 5 %


def test_gains_are_kept_and_harm_is_discarded_soon() -> None:
    gate = ScoreGate()
    assert looped(gate, Random(3), [0.0, 3.0, -2.0, 0.0, 4.0, -1.0]) == ["v2", "v5"]
    assert gate.incumbent == "v5"
    assert (gate.kept, gate.proposed) == (2, 6)
    harm = gate.answer("v3")
    assert harm.decision == "discard"
    assert harm.runs <= 4


def test_the_same_runs_give_the_same_answers() -> None:
    chance = Random(1)
    runs = [(f"v{chance.randrange(4)}", chance.gauss(0, 1)) for _ in range(60)]
    first, second = ScoreGate(), ScoreGate()
    for version, score in runs:
        first.add(version, score)
        second.add(version, score)
        if len(first.answers()):
            first.answer()  # reading changes nothing
    assert first.answers() == second.answers()


def test_one_run_of_each_proves_nothing_and_says_what_to_run() -> None:
    gate = ScoreGate()
    gate.add("old", 1.0)
    gate.add("new", 900.0)
    answer = gate.answer()
    assert (answer.decision, answer.next, answer.noise) == ("again", "old", None)
    assert "nothing was run twice" in answer.reason


def test_scores_that_never_differ_are_no_gain() -> None:
    gate = ScoreGate()
    for version in ("old", "new", "old", "new"):
        gate.add(version, 0.25)
    assert gate.answer("new").decision == "discard"


def test_lower_may_be_better() -> None:
    gate = ScoreGate(lower=True)
    chance = Random(2)
    for _ in range(14):
        gate.add("old", 1.0 + chance.gauss(0, 0.01))
        gate.add("new", 0.9 + chance.gauss(0, 0.01))
    answer = gate.answer("new")
    assert answer.decision == "keep"
    assert answer.gain == pytest.approx(0.1, abs=0.02)


def test_a_guard_that_gets_worse_ends_a_version_that_scores_better() -> None:
    gate = ScoreGate(guards={"seconds": True})
    chance = Random(4)
    for _ in range(6):
        gate.add("old", chance.gauss(0, 1), guards={"seconds": chance.gauss(10, 0.5)})
        gate.add("new", chance.gauss(2, 1), guards={"seconds": chance.gauss(20, 0.5)})
    answer = gate.answer("new")
    assert answer.decision == "discard"
    assert "seconds" in answer.reason


def guarded(new_s: list[float | None], old_s: list[float | None]) -> ScoreAnswer:
    """A version whose score is plainly better, with these seconds of each run."""
    gate = ScoreGate(guards={"seconds": True})
    chance = Random(4)
    for ours, others in zip(new_s, old_s, strict=True):
        gate.add("old", chance.gauss(0, 0.1), guards={} if others is None else {"seconds": others})
        gate.add("new", chance.gauss(2, 0.1), guards={} if ours is None else {"seconds": ours})
    return gate.answer("new")


@pytest.mark.parametrize("seconds", [11.0, 20.0])
def test_a_guard_without_spread_is_not_known_to_be_worse_nor_to_be_no_worse(seconds: float) -> None:
    early, late = guarded([seconds] * 6, [10.0] * 6), guarded([seconds] * 12, [10.0] * 12)
    assert early.decision == "again"
    assert late.decision == "discard"
    for answer in (early, late):
        assert "proven" not in answer.reason
        assert f"seconds is {seconds:g} beside 10" in answer.reason
        assert "not known" in answer.reason


def test_a_guard_without_spread_that_stands_no_worse_holds_nothing_up() -> None:
    assert guarded([10.0] * 12, [10.0] * 12).decision == "keep"
    assert guarded([9.0] * 12, [10.0] * 12).decision == "keep"


@pytest.mark.parametrize(("new", "old"), [([None] * 12, [10.0] * 12), ([10.0] * 12, [None] * 12)])
def test_a_guard_that_was_not_measured_is_not_known(new: list[float | None], old: list[float | None]) -> None:
    answer = guarded(new, old)
    assert answer.decision == "discard"
    assert "seconds was not measured" in answer.reason


def test_a_guard_measured_too_seldom_waits_for_more_runs() -> None:
    few: list[float | None] = [11.0, *[None] * 5]
    assert guarded(few, [10.0, *[None] * 5]).decision == "again"
    jittering = [11.0, 9.0, 10.5, 9.5] * 3
    assert guarded([*jittering], [*reversed(jittering)]).decision == "keep"


def test_by_task_only_whole_rounds_count() -> None:
    gate = ScoreGate(noise="bounded")
    for task in ("a", "b"):
        gate.add("old", 0.0, task=task)
    gate.add("new", 1.0, task="a")
    assert gate.answer("new").runs == 0
    assert gate.answer("new").next == "new"
    gate.add("new", 0.0, task="b")
    assert gate.answer("new").runs == 1
    assert gate.answer("new").gain == 0.5


def test_by_task_a_version_that_is_good_at_the_first_tasks_alone_is_no_gain() -> None:
    """In any order of tasks: better on the first half, worse on the second."""
    gate = ScoreGate(noise="bounded")
    for n in range(12):
        for task in range(40):
            gate.add("old", 0.5, task=str(task))
            gate.add("new", 1.0 if task < 20 else 0.0, task=str(task))
        assert gate.answer("new").decision != "keep", n


def test_versions_that_are_open_when_another_is_kept_are_compared_with_it() -> None:
    gate, chance = ScoreGate(), Random(5)
    gate.add("old", chance.gauss(0, 1))
    gate.add("later", chance.gauss(3, 1))
    while not gate.kept:
        gate.add("best", chance.gauss(9, 1))
        gate.add("old", chance.gauss(0, 1))
    assert gate.answer("later").incumbent == "best"
    assert gate.proposed == 3


def test_an_open_end_never_spends_more_than_the_budget_and_a_planned_one_ends() -> None:
    open_end = ScoreGate(fdr=0.05)
    assert sum(open_end._share(t) for t in range(1, 200_000)) <= 1
    assert open_end._share(1) == open_end._share(100) > open_end._share(101)
    planned = ScoreGate(planned=1)
    planned.add("old", 1.0)
    planned.add("a", 1.0)
    planned.add("b", 5.0)
    assert planned.answer("b").decision == "discard"
    assert "planned for 1" in planned.answer("b").reason


@pytest.mark.parametrize("score", [float("nan"), inf, True])
def test_a_score_that_is_no_number_is_refused(score: float) -> None:
    with pytest.raises(UsageError, match="score"):
        ScoreGate().add("old", score)


def test_bounded_scores_outside_of_0_to_1_and_unknown_versions_are_refused() -> None:
    with pytest.raises(UsageError, match="bounded"):
        ScoreGate(noise="bounded").add("old", 1.5)
    gate = ScoreGate()
    gate.add("old", 1.0)
    with pytest.raises(UsageError, match="run the new version"):
        gate.answer()
    with pytest.raises(UsageError, match="no run of lost"):
        gate.answer("lost")


# -- runs without a score ----------------------------------------------------------------------------------------------


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_doubt_is_never_a_gain_and_harm_never_more_than_doubt(a: int, b: int, c: int, d: int) -> None:
    new, old = Attempts(a, a + b), Attempts(c, c + d)
    assert log_doubt(new, old) + 1e-9 >= 0
    assert log_harm(new, old) <= log_doubt(new, old) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.05, 0.3, 0.6])
def test_who_fails_alike_is_seldom_found_to_fail_more_however_often_one_looks(rate: float) -> None:
    chance, fired = Random(5), 0
    for _ in range(400):
        counts, highest = [[0, 0], [0, 0]], 0.0
        for n in range(120):
            arm = counts[n % 2]
            arm[0] += chance.random() < rate
            arm[1] += 1
            highest = max(highest, log_harm(Attempts(*counts[0]), Attempts(*counts[1])))
        fired += exp(highest) >= 20
    assert fired <= 20  # 5 % of 400


def test_versions_that_fail_alike_are_compared_by_their_scores() -> None:
    chance, gate = Random(3), ScoreGate(incumbent="old")
    for n in range(24):
        for version, middle in (("old", 0.0), ("new", 4.0)):
            gate.add(version, None if n % 3 == 0 else chance.gauss(middle, 1.0))
    assert gate.answer("new").decision == "keep"
    assert gate.incumbent == "new"


def test_failed_runs_ask_for_more_evidence_and_those_of_what_stands_are_no_gain() -> None:
    def answered(*, new: int, old: int) -> float:
        gate = ScoreGate(incumbent="old")
        for version, score in (("old", 0.0), ("old", 0.3), ("old", 0.1), ("new", 0.6), ("new", 0.9)):
            gate.add(version, score)
        for version, times in (("old", old), ("new", new)):
            for _ in range(times):
                gate.add(version, None)
        return gate.answer("new").e_value

    assert answered(new=2, old=0) < answered(new=1, old=0) < answered(new=0, old=0)
    assert answered(new=0, old=3) == answered(new=0, old=0)


def test_what_was_kept_and_then_only_fails_falls_and_the_former_is_judged_as_before() -> None:
    def fed(*, fallen: bool) -> ScoreGate:
        chance, gate = Random(2), ScoreGate()
        for _ in range(12):
            gate.add("old", chance.gauss(0, 1))
        if fallen:
            for _ in range(6):
                gate.add("new", 30.0)
            assert gate.incumbent == "new"
            for _ in range(30):
                gate.add("new", None)
        for _ in range(3):
            gate.add("other", chance.gauss(1, 1))
        return gate

    gate = fed(fallen=True)
    assert (gate.incumbent, gate.kept, gate.answer("new").decision) == ("old", 0, "discard")
    assert gate.answer("other").gain == pytest.approx(fed(fallen=False).answer("other").gain)


def test_a_loop_whose_runs_fail_comes_to_an_end() -> None:
    chance = Random(1)
    works = ScoreGate(incumbent="old")
    found = works.decide("new", lambda version: None if version == "new" else chance.gauss(0, 1))
    assert (found.decision, found.runs) == ("discard", 0)
    assert works.attempts["new"].total <= 6
    assert ScoreGate(incumbent="old").decide("new", lambda _: None).decision == "discard"
    assert ScoreGate(incumbent="old", noise="bounded").decide("new", lambda _: None).decision == "discard"


def test_what_runs_next_is_known_without_weighing_how_much_speaks_for_a_version() -> None:
    chance, gate, wanted = Random(3), ScoreGate(incumbent="v0", least=0.2), "v1"
    while wanted:
        gate.add(wanted, chance.gauss(0.3, 1.0))
        wanted = gate.following("v1")
        assert wanted == gate.answer("v1").next
    with pytest.raises(UsageError, match="no run of v9 beside"):
        gate.following("v9")


def test_a_plan_weighs_a_simulated_proposal_only_where_a_cheap_bound_lets_it_win(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The e-value of each look, which nobody reads, took nine tenths of the time."""
    weighed = []

    def weighing(of: Contrast) -> float:
        weighed.append(of)
        return log_evidence(of)

    monkeypatch.setattr("ratchet.gate.scores.log_evidence", weighing)
    plan = score_plan(ScoreGate, gain=0.01, noise=0.05)
    runs = 200 * plan.idle  # and more, of those that gain a little
    assert len(weighed) < 400 + runs / 8, "one for each that ends, and few looks"
