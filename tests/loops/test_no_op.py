"""A/A: changes that change nothing go through the whole loop. Few may be called better or worse; the rest is reported
as what it is, undecided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from ratchet.improving.loop import proposals
from ratchet.improving.loop.improve import Improve
from ratchet.improving.trials.evidence import evidence
from ratchet.improving.trials.trials import trials
from ratchet.ports import Fix, Problem
from ratchet.records import Version
from support.worlds import World

CHANGES = 200
AT_MOST = CHANGES * 5 // 100


def no_op(problem: Problem) -> Iterator[Fix]:
    yield Fix(title="does nothing", fix="retry_logic", new={"max_retries": 3})


def run(world: World, *, rounds: int, calls: int) -> Counter[str]:
    """`CHANGES` agents, each with a trial of its own; `calls` of each in every round, then one turn of the loop."""
    agents = [f"agent{number:03d}" for number in range(CHANGES)]
    rate = {agent: (0.5, 0.8, 0.95, 0.99)[number % 4] for number, agent in enumerate(agents)}
    improve = Improve(world.store, world.guard, observe=world.drain, proposers=(no_op,), auto_fix=True)
    for agent in agents:
        world.settings(agent).declare()

    def behave(version: Version | None, draw: float) -> tuple[bool, float]:
        return draw < rate[world.agent], 0.5 + draw

    for turn in range(rounds + 1):
        for agent in agents:
            world.agent = agent
            world.spacing_s = 0.01
            for _ in range(calls):
                world.call(behave)
            if turn == 0:
                for _ in range(5):
                    world.call(lambda version, draw: (False, 1.0))
        world.now += 700  # every exposure is older than its deadline when the loop looks
        assert improve.tick(world.now).faults == []
    world.now += 15 * 86_400
    assert improve.tick(world.now).faults == []
    held = trials(world.store)
    assert len({each.change.agent for each in held}) == CHANGES
    first = {each.change.agent: each for each in reversed(held)}
    for each in first.values():
        said = evidence(world.store, each, now=each.closed_at)
        assert said.new.units + said.old.units + said.waiting == said.exposures
        assert proposals.proposal(world.store, each.change.origin).state == each.state
    return Counter(each.state for each in first.values())


def check(states: Counter[str]) -> None:
    assert states["reverted"] <= AT_MOST
    assert states["kept"] <= AT_MOST
    assert states["undecided"] == CHANGES - states["reverted"] - states["kept"]


def test_two_hundred_changes_that_change_nothing_are_undecided_but_for_a_few(world: World) -> None:
    check(run(world, rounds=3, calls=40))


@pytest.mark.soak
def test_they_stay_so_when_one_looks_often_and_for_long(world: World) -> None:
    check(run(world, rounds=25, calls=60))
