"""Scores with intervals, pairs, and what so many of them cannot see."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.bench.figures import figures, needed_pairs, of_task, over_tasks, paired


def made(task: str, seed: int, score: float | None, candidate: str = "c", **more: object) -> Evaluation:
    result = "unmeasured" if score is None else "passed" if score >= 1 else "partly" if score > 0 else "failed"
    return Evaluation(run="r", candidate=candidate, task=task, seed=seed, result=result, score=score or 0.0, **more)  # type: ignore[arg-type]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_an_interval_holds_its_mean_and_stays_within_0_and_1(scores: list[float]) -> None:
    for found in (of_task(scores), over_tasks({f"t{n}": [score] for n, score in enumerate(scores)})):
        assert 0 <= found.low <= found.mean <= found.high <= 1
        assert found.n == len(scores)


def test_the_interval_of_one_task_is_the_published_one() -> None:
    found = of_task([1.0] * 8 + [0.0] * 2)  # Clopper and Pearson: 0.4439 to 0.9748
    assert (round(found.low, 4), round(found.high, 4)) == (0.4439, 0.9748)
    assert of_task([]).n == 0


def test_runs_of_one_task_are_no_more_evidence_of_others_than_one() -> None:
    once, often = (over_tasks({f"t{n}": [n % 2] * runs for n in range(8)}) for runs in (1, 20))
    assert (once.low, once.high) == (often.low, often.high)


def test_few_tasks_cover_the_truth() -> None:
    dice = random.Random(1)
    for tasks, truth in ((4, 0.9), (6, 0.5), (12, 0.95)):
        held = 0
        for _ in range(1_000):
            found = over_tasks({f"t{n}": [float(dice.random() < truth)] * 3 for n in range(tasks)})
            held += found.low <= truth <= found.high
        assert held >= 930, (tasks, truth)


def test_a_task_counts_once_however_often_it_was_run() -> None:
    found = over_tasks({"often": [0.0] * 9, "once": [1.0]})
    assert found.mean == 0.5
    assert found.n == 10


def test_all_alike_is_not_certain() -> None:
    found = over_tasks({f"t{n}": [1.0] for n in range(10)})
    assert found.mean == 1
    assert found.low < 0.8


def test_what_could_not_be_measured_is_in_no_score_but_counted() -> None:
    found = figures([made("a", 0, 1.0), made("a", 1, None, cost_usd=0.5), made("b", 0, 0.5, wall_s=2.0)])
    assert (found.runs, found.unmeasured, found.cost_usd, found.wall_s) == (3, 1, 0.5, 2.0)
    assert found.score.mean == 0.75
    assert [each.unmeasured for each in found.tasks] == [1, 0]


@given(st.permutations([made(f"t{n % 5}", n // 5, (n % 3) / 2) for n in range(20)]))
def test_the_order_of_evaluations_changes_nothing(mixed: list[Evaluation]) -> None:
    ordered = sorted(mixed, key=lambda each: (each.task, each.seed))
    assert figures(mixed) == figures(ordered)
    assert paired(mixed, mixed) == paired(ordered, ordered)


def test_runs_are_paired_by_task_and_seed() -> None:
    first = [made("a", 1, 0.0), made("a", 2, 1.0), made("b", 1, 0.0), made("old", 1, 1.0)]
    second = [made("a", 2, 0.0), made("a", 1, 1.0), made("b", 1, 1.0), made("new", 1, 1.0), made("new", 2, 1.0)]
    found = paired(first, second)
    assert (found.gain.n, found.better, found.worse, found.unpaired, found.tasks) == (3, 2, 1, 3, 2)
    assert found.gain.mean == 0.5  # of a: (1 - 1) / 2, of b: 1


def test_runs_with_no_seed_in_common_are_paired_by_their_order() -> None:
    found = paired([made("a", 0, 0.0), made("a", 1, 1.0)], [made("a", 10, 1.0), made("a", 11, 1.0)])
    assert (found.gain.n, found.better, found.worse, found.unpaired) == (2, 1, 0, 0)


def test_pairs_that_could_not_be_measured_are_left_out_and_counted_on_their_side() -> None:
    first = [made("a", 0, 1.0), made("b", 0, None), made("c", 0, 1.0)]
    second = [made("a", 0, 1.0), made("b", 0, 1.0), made("c", 0, None)]
    found = paired(first, second)
    assert (found.gain.n, found.left_out, found.left_out_first, found.left_out_second) == (1, 2, 1, 1)
    assert found.worst == -0.5  # had c been a wrong answer


def test_an_agent_against_itself_shows_a_gain_in_few_of_many_runs() -> None:
    dice = random.Random(7)
    outside = 0
    for _ in range(200):
        chances = [dice.random() for _ in range(40)]
        one, two = ([made(f"t{n}", seed, float(dice.random() < p)) for n, p in enumerate(chances)] for seed in (0, 1))
        gain = paired(one, two).gain
        outside += not gain.low <= 0 <= gain.high
    assert outside <= 24  # 5 % are 10; more than 24 come about once in 10,000 times


def test_needed_pairs_are_for_four_gains_of_five() -> None:
    assert needed_pairs(0.3, 0.05, 0.05) > 1.8 * 2 * 0.3 * math.log(20) / 0.05**2  # where half of them are seen
    assert needed_pairs(0.0, 0.05) == needed_pairs(0.05, 0.05)  # a gain of 5 points takes 5 % that differ
    with_sixty = paired(
        [made(f"t{n}", 0, float(n % 2)) for n in range(60)], [made(f"t{n}", 0, float(n % 3 > 0)) for n in range(60)]
    )
    assert with_sixty.gain.n == 60
    assert with_sixty.needed() > 60


@given(st.floats(0.01, 1), st.floats(0.01, 0.5))
def test_a_smaller_gain_needs_more_pairs(spread: float, effect: float) -> None:
    assert needed_pairs(spread, effect / 2) >= needed_pairs(spread, effect)


def test_the_same_figures_give_the_same_interval() -> None:
    scores = {f"t{n}": [n / 10] for n in range(10)}
    assert over_tasks(scores) == over_tasks(dict(reversed(scores.items())))
    assert over_tasks(scores).mean == pytest.approx(0.45)
