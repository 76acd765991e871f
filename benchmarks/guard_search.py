"""Runs of many proposals against a noisy benchmark: who keeps what, at what price.

A world has 200 tasks of bimodal difficulty (start score .35) and 200 proposals: 10 % remove 10, 20 or 30 % of
failures, 60 % do nothing, 30 % cost 5 or 10 points. A proposal acts on whatever is the incumbent when it is tried. A
helping one solves some tasks for good and leaves most as they are, as fixes do (its part of each task's failures is
drawn from a U-shaped beta); `even=True` spreads it over all tasks instead. Every run of a task is a fresh coin.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, fields
from random import Random

from ratchet.gate.arms import EvidenceLedger, PairedGate

TASKS = 200
PROPOSALS = 200
START = 0.35
FDR = 0.10
HELPING = 0.10
HARMING = 0.30

Agent = list[float]
"""The probability to solve each task."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """`relieves`: the share of failures it removes, `parts` of each task's; `costs`: points of mean score it takes."""

    relieves: float = 0.0
    costs: float = 0.0
    parts: tuple[float, ...] = ()

    def applied(self, agent: Agent) -> Agent:
        """The candidate that this proposal makes of an agent."""
        if self.costs:
            keeps = max(1 - self.costs / score(agent), 0.0)
            return [p * keeps for p in agent]
        if not self.parts:
            return [1 - (1 - p) * (1 - self.relieves) for p in agent]
        failures = sum(1 - p for p in agent)
        scale = self.relieves * failures / sum((1 - p) * part for p, part in zip(agent, self.parts, strict=True))
        return [1 - (1 - p) * (1 - min(part * scale, 1.0)) for p, part in zip(agent, self.parts, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a run came to, or several in the mean. `false_share` of the keeps do not help; `keeping`: kept anything."""

    kept: float
    false_share: float
    keeping: float
    runs: float
    gain: float


def mean_of(searches: Sequence[Search]) -> Search:
    return Search(**{f.name: sum(getattr(each, f.name) for each in searches) / len(searches) for f in fields(Search)})


def searched(job: tuple[int, str]) -> tuple[Search, Search, Search]:
    """(greedy, one at a time, eight at once) in the same world: `job` is its seed, and "", "even" or "idle" (no
    proposal helps)."""
    seed, kind = job
    agent, proposals = world(
        Random(f"world{seed}{kind}"), helping=0.0 if kind == "idle" else HELPING, even=kind == "even"
    )
    return (
        greedy(Random(f"greedy{seed}"), agent, proposals),
        gated(Random(f"one{seed}"), agent, proposals),
        gated(Random(f"eight{seed}"), agent, proposals, at_once=8),
    )


def _search(kept: int, false: int, runs: int, gain: float) -> Search:
    return Search(kept=kept, false_share=false / kept if kept else 0.0, keeping=min(kept, 1), runs=runs, gain=gain)


def score(agent: Agent) -> float:
    return sum(agent) / len(agent)


def world(chance: Random, *, helping: float = HELPING, even: bool = False) -> tuple[Agent, list[Proposal]]:
    """Tasks that are mostly easy or mostly hard, and proposals in random order."""
    agent = [chance.betavariate(9, 1) if chance.random() < 0.3125 else chance.betavariate(1, 9) for _ in range(TASKS)]
    shift = START / score(agent)
    agent = [min(p * shift, 1.0) for p in agent]
    proposals = [_help(chance, (0.1, 0.2, 0.3)[i % 3], even) for i in range(round(helping * PROPOSALS))]
    proposals += [Proposal(costs=(0.05, 0.10)[i % 2]) for i in range(round(HARMING * PROPOSALS))]
    proposals += [Proposal()] * (PROPOSALS - len(proposals))
    chance.shuffle(proposals)
    return agent, proposals


def _help(chance: Random, relieves: float, even: bool) -> Proposal:
    if even:
        return Proposal(relieves=relieves)
    parts = tuple(chance.betavariate(relieves / 2, (1 - relieves) / 2) for _ in range(TASKS))
    return Proposal(relieves=relieves, parts=parts)


def greedy(chance: Random, agent: Agent, proposals: list[Proposal]) -> Search:
    """The usual rule: run each candidate once on all tasks, keep it if it beats the incumbent's remembered mean."""
    start = score(agent)
    measured = _measured(chance, agent)
    kept = false = 0
    for proposal in proposals:
        candidate = proposal.applied(agent)
        result = _measured(chance, candidate)
        if result > measured:
            agent, measured = candidate, result
            kept += 1
            false += not proposal.relieves
    return _search(kept, false, TASKS * (len(proposals) + 1), score(agent) - start)


def _measured(chance: Random, agent: Agent) -> float:
    return sum([chance.random() < p for p in agent]) / len(agent)


def gated(chance: Random, agent: Agent, proposals: list[Proposal], *, at_once: int = 1) -> Search:
    """Ratchet's: pairs of fresh runs, `at_once` candidates raced on one stream of incumbent runs."""
    start = score(agent)
    ledger = EvidenceLedger(FDR, planned=len(proposals))
    queue = deque(proposals)
    kept = false = runs = 0
    while queue:
        racers = [queue.popleft() for _ in range(min(at_once, len(queue)))]
        gates = [PairedGate(level) for level in ledger.levels(len(racers))]
        runs += _race(chance, agent, [each.applied(agent) for each in racers], gates)
        crossers = [i for i, gate in enumerate(gates) if gate.decision == "keep"]
        best = max(crossers, key=lambda i: gates[i].mean, default=None)
        for i, proposal in enumerate(racers):
            ledger.record(i == best)
            if i in crossers and i != best:
                queue.append(proposal)
        if best is not None:
            agent = racers[best].applied(agent)
            kept += 1
            false += not racers[best].relieves
    return _search(kept, false, runs, score(agent) - start)


def _race(chance: Random, incumbent: Agent, candidates: list[Agent], gates: list[PairedGate]) -> int:
    """Feed each gate until it decides; how many runs that took."""
    runs = 0
    open_ = list(zip(candidates, gates, strict=True))
    while open_:
        task = chance.randrange(TASKS)
        old = chance.random() < incumbent[task]
        for candidate, gate in open_:
            gate.update((chance.random() < candidate[task]) - old)
        runs += 1 + len(open_)
        open_ = [each for each in open_ if each[1].decision == "wait"]
    return runs
