"""Races: what is decided depends on the pairs alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.evolving.race.race import INCUMBENT, MOST_UNMEASURED, Race, RacedRun, Standing, draw, levels
from ratchet.gate.arms import EvidenceLedger, PairedGate

Scores = Callable[[RacedRun], float | None]


def coins(seed: int, rates: Sequence[float], incumbent: float) -> Scores:
    """A score for every run, the same whenever it is asked for."""

    def score(run: RacedRun) -> float | None:
        rate = incumbent if run.racer == INCUMBENT else rates[run.racer]
        return float(Random(f"{seed}/{run.racer}/{run.pair}").random() < rate)

    return score


def raced(race: Race, score: Scores, dice: Random, *, at_once: int) -> list[RacedRun]:
    """Run a race with so many runs under way, ending in random order; what was run."""
    under_way: list[RacedRun] = []
    made: list[RacedRun] = []
    while not race.decided:
        under_way += race.wanted(at_once - len(under_way), under_way)
        run = under_way.pop(dice.randrange(len(under_way)))
        made.append(run)
        race.record(run, score(run))
    return made


def standings(race: Race, racers: int) -> list[Standing]:
    return [race.standing(racer) for racer in range(racers)]


@pytest.mark.slow
@given(st.integers(0, 10**6), st.lists(st.sampled_from([0.2, 0.5, 0.7, 0.9]), min_size=1, max_size=5))
def test_the_order_in_which_runs_end_and_how_many_are_under_way_decide_nothing(seed: int, rates: list[float]) -> None:
    score, found = coins(seed, rates, 0.5), []
    for at_once in (1, 3, 16):
        race = Race([0.01] * len(rates), cap=200)
        raced(race, score, Random(seed + at_once), at_once=at_once)
        found.append((standings(race, len(rates)), race.best))
    assert found[0] == found[1] == found[2]


@given(st.integers(0, 10**6), st.integers(1, 400))
def test_a_race_that_is_told_again_what_was_run_before_goes_on_as_if_it_never_stopped(seed: int, cut: int) -> None:
    score = coins(seed, (0.8, 0.5), 0.5)
    whole = Race([0.01, 0.01], cap=300)
    made = raced(whole, score, Random(seed), at_once=4)
    resumed = Race([0.01, 0.01], cap=300)
    for run in sorted(made[:cut]):
        resumed.record(run, score(run))
    again = raced(resumed, score, Random(seed + 1), at_once=2)
    assert not set(again) & set(made[:cut])
    assert standings(resumed, 2) == standings(whole, 2)


@given(st.integers(0, 10**6), st.sampled_from([0.3, 0.6, 0.9]))
def test_one_racer_is_decided_as_its_gate_decides(seed: int, rate: float) -> None:
    score, gate, race = coins(seed, [rate], 0.5), PairedGate(0.001), Race([0.001])
    made = raced(race, score, Random(seed), at_once=1)
    while gate.decision == "wait":
        new, old = score(RacedRun(0, gate.pairs)), score(RacedRun(INCUMBENT, gate.pairs))
        assert new is not None
        assert old is not None
        gate.update(new - old)
    stood = race.standing(0)
    decided = Standing(gate.decision, gate.e_value, gate.pairs, gate.mean, 0)
    assert stood == replace(decided, peak=stood.peak, differed=stood.differed)
    assert stood.peak >= max(1.0, gate.e_value)
    assert len(made) == 2 * gate.pairs


def test_candidates_of_a_race_share_the_runs_of_the_incumbent() -> None:
    race = Race([0.001] * 8, cap=50)
    made = raced(race, coins(1, [0.5] * 8, 0.5), Random(1), at_once=1)
    assert len(made) == len(set(made))
    assert sum(run.racer == INCUMBENT for run in made) == max(race.standing(racer).pairs for racer in range(8))


def test_a_racer_that_is_decided_is_not_run_any_more() -> None:
    race = Race([0.001, 0.001], cap=1_000)
    made = raced(race, coins(3, [0.05, 0.95], 0.5), Random(3), at_once=1)
    for racer in (0, 1):
        assert sum(run.racer == racer for run in made) == race.standing(racer).pairs
    assert race.standing(0).pairs < race.standing(1).pairs + 30


def test_the_best_of_those_proven_better_is_kept() -> None:
    race = Race([0.01] * 3)
    raced(race, coins(5, [0.6, 0.99, 0.8], 0.3), Random(5), at_once=6)
    assert race.best == 1
    assert [race.standing(racer).finish for racer in range(3)] == ["keep"] * 3


def test_nothing_is_kept_where_nothing_is_proven() -> None:
    race = Race([0.0005] * 2)
    raced(race, coins(2, [0.5, 0.2], 0.5), Random(2), at_once=6)
    assert race.best is None


def test_a_pair_that_could_not_be_measured_is_no_pair() -> None:
    clean, holed = Race([0.01], cap=100), Race([0.01], cap=100)
    scores = coins(7, [0.7], 0.5)
    holes = {4, 9, 10, 30}
    kept = [index for index in range(400) if index not in holes]

    def with_holes(run: RacedRun) -> float | None:
        missing = {4: INCUMBENT, 9: 0, 10: INCUMBENT, 30: 0}.get(run.pair)
        return None if missing == run.racer else scores(run)

    raced(holed, with_holes, Random(1), at_once=3)
    raced(clean, lambda run: scores(RacedRun(run.racer, kept[run.pair])), Random(1), at_once=3)
    one, other = clean.standing(0), holed.standing(0)
    assert (one.finish, one.pairs, one.mean, one.e_value) == (other.finish, other.pairs, other.mean, other.e_value)
    assert other.unmeasured == sum(index < other.pairs + other.unmeasured for index in holes)


def test_a_racer_whose_runs_cannot_be_measured_is_neither_kept_nor_given_up() -> None:
    race = Race([0.01])
    raced(race, lambda _run: None, Random(1), at_once=2)
    assert race.standing(0).finish == "unmeasured"
    assert race.standing(0).pairs == 0
    assert race.standing(0).unmeasured == MOST_UNMEASURED


def test_a_candidate_that_excuses_itself_where_it_would_lose_is_refused_and_named() -> None:
    for at_once in (1, 4):
        race = Race([0.05])
        scores = coins(5, [0.5], 0.5)

        def excused(run: RacedRun, scores: Scores = scores) -> float | None:
            loses = run.racer == 0 and scores(run) == 0 and scores(RacedRun(INCUMBENT, run.pair)) == 1
            return None if loses else scores(run)

        raced(race, excused, Random(1), at_once=at_once)
        found = race.standing(0)
        assert (found.finish, race.best) == ("refused", None)
        assert found.reason.startswith("refused: only its own runs could not be measured in 10 pairs, and only those")


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.1, 0.01])
def test_nobody_is_kept_by_the_pairs_that_it_leaves_out(level: float) -> None:
    """Nine excuses are too few to be told from chance; they are no help either."""
    kept = 0
    for seed in range(120):
        race, scores, left = Race([level], cap=200), coins(seed, [0.5], 0.5), 9
        while not race.decided:
            for run in race.wanted(2):
                score = scores(run)
                loses = run.racer == 0 and score == 0 and scores(RacedRun(INCUMBENT, run.pair)) == 1
                left -= bool(loses and left)
                race.record(run, None if loses and left else score)
        kept += race.best is not None
    assert kept / 120 <= 1.5 * level + 0.01


def test_an_outage_that_hits_both_alike_excuses_both() -> None:
    race = Race([0.01], cap=600)
    scores = coins(11, [0.75], 0.5)
    down = Random(3)
    holes = {RacedRun(racer, pair): down.random() < 0.15 for pair in range(600) for racer in (INCUMBENT, 0)}
    raced(race, lambda run: None if holes[run] else scores(run), Random(1), at_once=4)
    assert race.best == 0


def test_a_racer_that_meddles_is_refused_and_named_whatever_it_scores() -> None:
    race = Race([0.01, 0.01])
    scores = coins(3, [1.0, 0.9], 0.2)
    while not race.decided:
        for run in race.wanted(3):
            race.record(run, scores(run), refusal="it wrote to graders/" if run == RacedRun(0, 5) else "")
    assert race.standing(0).finish == "refused"
    assert race.standing(0).reason == "it wrote to graders/"
    assert race.standing(0).pairs == 5
    assert race.best == 1


def test_meddling_in_a_run_beyond_the_proof_still_refuses() -> None:
    race = Race([0.5])
    index = 0
    while race.standing(0).finish == "wait":
        race.record(RacedRun(INCUMBENT, index), 0.0)
        race.record(RacedRun(0, index), 1.0)
        index += 1
    assert race.best == 0
    race.record(RacedRun(0, index + 1), 1.0, refusal="it set the clock")
    assert race.best is None


def test_only_runs_that_can_still_matter_are_needed() -> None:
    race = Race([0.01, 0.01], cap=1)
    race.record(RacedRun(INCUMBENT, 0), 1.0)
    race.record(RacedRun(0, 0), 1.0)
    assert not race.needs(RacedRun(0, 1))
    assert race.needs(RacedRun(1, 0))
    assert race.needs(RacedRun(INCUMBENT, 1))
    race.record(RacedRun(1, 0), 0.0)
    assert race.decided
    assert not race.needs(RacedRun(INCUMBENT, 1))
    assert race.wanted(5) == []


def test_draws_are_the_same_everywhere_and_spread_evenly() -> None:
    assert draw(7, 3, 11, 20) == draw(7, 3, 11, 20)
    found = [draw(1, batch, index, 10) for batch in range(20) for index in range(500)]
    counts = Counter(each.task for each in found)
    assert set(counts) == set(range(10))
    assert max(abs(count - 1_000) for count in counts.values()) < 150
    assert len({each.seed for each in found}) > 0.999 * len(found)
    assert all(0 <= each.seed < 2**31 for each in found)


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 8), st.integers(1, 200))
def test_levels_of_a_batch_use_the_keeps_from_before_it(history: list[bool], count: int, planned: int) -> None:
    ledger = EvidenceLedger(0.1, planned=planned)
    for kept in history:
        ledger.record(kept)
    assert levels(history, count, fdr=0.1, planned=planned) == ledger.levels(count)
    assert levels(history, count, fdr=0.1, planned=planned) == pytest.approx(
        [0.1 * (sum(history) + 1) / planned] * count
    )


@pytest.mark.slow
def test_twenty_idle_proposals_are_hardly_ever_kept() -> None:
    kept = 0
    for seed in range(30):
        history: list[bool] = []
        for batch in range(4):
            race = Race(levels(history, 5, fdr=0.1, planned=20), cap=300)
            raced(race, coins(100 * seed + batch, [0.5] * 5, 0.5), Random(seed), at_once=1)
            history += [racer == race.best for racer in range(5)]
        kept += any(history)
    assert kept <= 3
