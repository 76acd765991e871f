"""What a race can see: how often it misses a gain, and the line that tells of it while it runs."""

from __future__ import annotations

import pytest

from ratchet.cli.show_evolve import race_line
from ratchet.evolving.bench.benchmark import Agent
from ratchet.evolving.candidate import Candidate, Evolution
from ratchet.evolving.loop.evolve import EvolveMoment
from ratchet.evolving.race.misses import chances_missed, missed
from ratchet.evolving.race.race import Standing


@pytest.mark.slow
def test_a_larger_gain_a_lower_bar_and_less_noise_are_missed_less() -> None:
    usual = {"gain": 0.10, "level": 0.01, "differed": 0.4, "mde": 0.05, "cap": 1_500, "doubt": 1.0}

    def changed(**about: float) -> float:
        return missed(**(usual | about))

    assert changed(gain=0.02) > changed(gain=0.05) > changed() > changed(gain=0.25)
    assert changed(level=1e-9, cap=200) > changed(cap=200)
    assert changed(differed=0.9) > changed(differed=0.15)
    assert changed(gain=0.0) >= 0.98
    assert changed() == changed()


def test_what_was_never_raced_says_nothing() -> None:
    one = Candidate(id="a", run="r", n=1, state="screened_out")
    assert chances_missed([one], mde=0.05, cap=1_500, doubt=1.0) == {}


def test_the_line_of_a_race_tells_of_the_likeliest_first_with_interval_and_bar() -> None:
    run = Evolution(
        id="e",
        state="running",
        agent=Agent(how="command"),
        benchmark="b",
        benchmark_hash="h",
        proposer="p",
        proposals=5,
        usd=1.0,
        seconds=60.0,
    )
    racers = tuple(Candidate(id=f"v{n}", run="e", n=n, state="racing", level=0.01) for n in range(1, 6))
    standings = tuple(Standing("wait", float(n), 100, n / 100, 0, differed=0.25) for n in range(1, 5))
    moment = EvolveMoment(
        what="evaluated", evolution=run, racers=racers, standings=(*standings, Standing("revert", 9.0, 100, 0.0, 0))
    )
    assert race_line(moment) == (
        "#4 +4.0 ±9.8, 100 pairs, luck 1 of 4, asked 1 of 100  #3 +3.0 ±9.8, 100 pairs, luck 1 of 3, asked 1 of 100  "
        "#2 +2.0 ±9.8, 100 pairs, luck 1 of 2, asked 1 of 100  "
        "and 1 more"
    )
