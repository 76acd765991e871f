"""The example of the examination: 12 proposals, of which 3 are good and 2 cheat, by the loop's decisions and as before.

Before, a proposal raced by itself and was given up at one standard error of doubt. Now all race at once on one stream
of the incumbent's runs, are given up sooner, and those that are proven better go on together.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from random import Random

from guard_search import FDR, TASKS, Agent, Proposal, world
from ratchet.evolving.loop.evolve import DOUBT
from ratchet.evolving.race.race import INCUMBENT, Race, draw, levels

PROPOSALS = 12
HELPS = (0.20, 0.25, 0.30)
"""The share of failures that each good one removes."""
CHEAT = Proposal(relieves=-1.0)


@dataclass(frozen=True, slots=True)
class Found:
    """Good ones of the three that were kept, others kept, and evaluations used."""

    good: int
    others: int
    runs: int


def example(seed: int) -> tuple[Agent, list[Proposal]]:
    chance = Random(f"example{seed}")
    agent, _ = world(chance, helping=0.0)
    good = [
        Proposal(relieves=each, parts=tuple(chance.betavariate(each / 2, (1 - each) / 2) for _ in range(TASKS)))
        for each in HELPS
    ]
    proposals = [*good, CHEAT, CHEAT, Proposal(costs=0.05), Proposal(costs=0.05), *[Proposal()] * 5]
    chance.shuffle(proposals)
    return agent, proposals


def before(seed: int) -> Found:
    return decided(seed, at_once=1, doubt=1.0, merging=False)


def after(seed: int) -> Found:
    return decided(seed, at_once=PROPOSALS, doubt=DOUBT, merging=True)


def decided(seed: int, *, at_once: int, doubt: float, merging: bool) -> Found:
    """One run. What waits is raced first; a merged candidate that is not proven falls apart again."""
    agent, proposals = example(seed)
    chance = Random(f"decided{seed}/{at_once}")
    waiting, fresh = deque[list[Proposal]](), deque([each] for each in proposals)
    history: list[bool] = []
    kept: list[Proposal] = []
    runs = batch = 0
    while waiting or fresh:
        batch += 1
        racers = [(waiting or fresh).popleft() for _ in range(min(at_once, len(waiting) + len(fresh)))]
        race = Race(levels(history, len(racers), fdr=FDR, planned=PROPOSALS), doubt=doubt)
        runs += _raced(chance, race, agent, racers, seed, batch)
        history += [i == race.best for i in range(len(racers))]
        proven = [each for i, each in enumerate(racers) if race.standing(i).finish == "keep" and i != race.best]
        if merging and len(proven) > 1:
            proven = [[one for each in proven for one in each]]
        apart = [[one] for i, each in enumerate(racers) for one in each if len(each) > 1 and i != race.best]
        waiting += [*proven, *apart]
        if race.best is not None:
            agent = _applied(agent, racers[race.best])
            kept += racers[race.best]
    good = sum(each.relieves > 0 for each in kept)
    return Found(good=good, others=len(kept) - good, runs=runs)


def _raced(chance: Random, race: Race, agent: Agent, racers: list[list[Proposal]], seed: int, batch: int) -> int:
    versions = {INCUMBENT: agent} | {i: _applied(agent, each) for i, each in enumerate(racers)}
    runs = 0
    while wanted := race.wanted(1):
        (run,) = wanted
        task = draw(seed, batch, run.pair, len(agent)).task
        cheats = run.racer != INCUMBENT and CHEAT in racers[run.racer]
        score = float(chance.random() < versions[run.racer][task])
        race.record(run, score, refusal="refused: it wrote the answers" if cheats else "")
        runs += 1
    return runs


def _applied(agent: Agent, proposals: list[Proposal]) -> Agent:
    for each in proposals:
        agent = agent if each is CHEAT else each.applied(agent)
    return agent
