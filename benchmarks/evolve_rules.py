"""One run of 200 proposals by several rules of acceptance, in the same world (`guard_search`), each told in full.

Ratchet's rule is the code of its loop (`evolving.race`): draws, races, levels; what waits is raced first. The
others are the rules in use: keep whatever scores higher (greedy), whatever scores higher by a standard error, GEPA's
minibatch of three, and GEPA 0.1.4 itself.

What a run claims in the end is compared with the truth: Ratchet measures its winner again on sealed tasks, which no
decision has seen; the others claim the score by which they chose.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import sqrt
from random import Random

from guard_search import FDR, HELPING, TASKS, Agent, Proposal, score, world
from ratchet.evolving.race.race import INCUMBENT, Race, draw, levels

SEALED = 200
REPEATS = 3
"""Runs of each sealed task, as the loop has it."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A world: the agent on the tasks that decide and on sealed ones, and what every proposal does to either."""

    seed: int
    agent: Agent
    proposals: tuple[Proposal, ...]
    sealed: Agent
    on_sealed: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run came to. `false` of the `kept` do not help; `runs` decided, `gain` is true; `claimed` is the score it
    tells of its result, `truth` what that is on the same tasks."""

    kept: int
    false: int
    runs: int
    gain: float
    claimed: float
    truth: float


def bench(seed: int, kind: str = "") -> Bench:
    """The world of that seed: as `guard_search` has it; `kind` "even" or "idle" (no proposal helps)."""
    chance = Random(f"world{seed}{kind}")
    agent, proposals = world(chance, helping=0.0 if kind == "idle" else HELPING, even=kind == "even")
    chance = Random(f"sealed{seed}{kind}")
    sealed, _ = world(chance, helping=0.0)
    return Bench(seed, agent, tuple(proposals), sealed, tuple(_alike(chance, each) for each in proposals))


def shortened(on: Bench, proposals: int) -> Bench:
    """The same world with the first so many proposals only."""
    return replace(on, proposals=on.proposals[:proposals], on_sealed=on.on_sealed[:proposals])


def _alike(chance: Random, proposal: Proposal) -> Proposal:
    """The same change, as it acts on other tasks."""
    if not proposal.parts:
        return proposal
    share = proposal.relieves
    return Proposal(relieves=share, parts=tuple(chance.betavariate(share / 2, (1 - share) / 2) for _ in range(SEALED)))


# -- Ratchet -----------------------------------------------------------------------------------------------------------


def raced(on: Bench, *, at_once: int) -> Ran:
    """The loop's own decisions: batches of `at_once`, what waits first."""
    chance = Random(f"raced{on.seed}/{at_once}")
    agent, sealed = on.agent, on.sealed
    fresh, waiting = deque(range(len(on.proposals))), deque[int]()
    history: list[bool] = []
    kept = false = runs = batch = 0
    while fresh or waiting:
        batch += 1
        racers = [(waiting or fresh).popleft() for _ in range(min(at_once, len(waiting) + len(fresh)))]
        candidates = [on.proposals[n].applied(agent) for n in racers]
        race = Race(levels(history, len(racers), fdr=FDR, planned=len(on.proposals)))
        runs += _race(chance, race, agent, candidates, on.seed, batch)
        history += [i == race.best for i in range(len(racers))]
        proven = [n for i, n in enumerate(racers) if race.standing(i).finish == "keep" and i != race.best]
        waiting += proven
        if race.best is not None:
            won = racers[race.best]
            agent, sealed = candidates[race.best], on.on_sealed[won].applied(sealed)
            kept += 1
            false += not on.proposals[won].relieves
    claimed = sum(chance.random() < p for p in sealed for _ in range(REPEATS)) / (REPEATS * len(sealed))
    return Ran(
        kept=kept,
        false=false,
        runs=runs,
        gain=score(agent) - score(on.agent),
        claimed=claimed,
        truth=score(sealed),
    )


def _race(chance: Random, race: Race, agent: Agent, candidates: Sequence[Agent], seed: int, batch: int) -> int:
    """Make the runs that a race wants, one after the other; how many there were."""
    versions = {INCUMBENT: agent, **dict(enumerate(candidates))}
    runs = 0
    while wanted := race.wanted(1):
        (run,) = wanted
        task = draw(seed, batch, run.pair, len(agent)).task
        race.record(run, float(chance.random() < versions[run.racer][task]))
        runs += 1
    return runs


# -- the rules in use --------------------------------------------------------------------------------------------------


def greedy(on: Bench) -> Ran:
    """Each candidate once on all tasks; kept if it beats the incumbent's remembered mean."""
    return _remembered(on, "greedy", lambda new, old: new > old)


def one_standard_error(on: Bench) -> Ran:
    """The same, but better by more than a standard error of the difference."""

    def beats(new: float, old: float) -> bool:
        return new - old > sqrt((new * (1 - new) + old * (1 - old)) / TASKS)

    return _remembered(on, "error", beats)


def _remembered(on: Bench, name: str, beats: Callable[[float, float], bool]) -> Ran:
    chance, agent = Random(f"{name}{on.seed}"), on.agent
    held = _mean(chance, agent)
    kept = false = 0
    for proposal in on.proposals:
        candidate = proposal.applied(agent)
        result = _mean(chance, candidate)
        if beats(result, held):
            agent, held = candidate, result
            kept += 1
            false += not proposal.relieves
    runs = TASKS * (len(on.proposals) + 1)
    return Ran(kept=kept, false=false, runs=runs, gain=score(agent) - score(on.agent), claimed=held, truth=score(agent))


def three_examples(on: Bench) -> Ran:
    """Incumbent and candidate once on three tasks drawn at random; kept if its sum is higher. It claims the mean of a
    last look at all tasks, which is fair."""
    chance, agent = Random(f"three{on.seed}"), on.agent
    kept = false = 0
    for proposal in on.proposals:
        candidate = proposal.applied(agent)
        tasks = chance.sample(range(TASKS), 3)
        old = sum(chance.random() < agent[task] for task in tasks)
        if sum(chance.random() < candidate[task] for task in tasks) > old:
            agent = candidate
            kept += 1
            false += not proposal.relieves
    return Ran(
        kept=kept,
        false=false,
        runs=6 * len(on.proposals),
        gain=score(agent) - score(on.agent),
        claimed=_mean(chance, agent),
        truth=score(agent),
    )


def best_of_n(on: Bench, runs: int) -> float:
    """The true score of the agent as it was when it may try each task so often that `runs` are used, the best kept: a
    judge is needed at every use, and each use costs N times as much."""
    return sum(1 - (1 - p) ** max(1, round(runs / TASKS)) for p in on.agent) / TASKS


def _mean(chance: Random, agent: Agent) -> float:
    return sum([chance.random() < p for p in agent]) / len(agent)


# -- GEPA 0.1.4 --------------------------------------------------------------------------------------------------------


def gepa_runs(on: Bench) -> Ran | None:
    """GEPA's own engine (`gepa.optimize`, its defaults: Pareto selection of parents, minibatch of three, strict
    improvement, then all tasks): its adapter measures by coin, and its reflection hands out the same proposals in the
    same order. A candidate is the list of proposals applied. None where it is not installed."""
    try:
        gepa, adapter = import_module("gepa"), import_module("gepa.core.adapter")
    except ImportError:
        return None
    chance = Random(f"gepa{on.seed}")
    versions: dict[str, Agent] = {"": on.agent}
    handed = iter(range(len(on.proposals)))
    state = {"runs": 0, "handed": 0}

    def version(text: str) -> Agent:
        if text not in versions:
            before, _, last = text.rpartition(" ")
            versions[text] = on.proposals[int(last)].applied(version(before))
        return versions[text]

    class Adapter:
        propose_new_texts = None

        def evaluate(self, batch: list[int], candidate: dict[str, str], capture_traces: bool = False) -> object:
            agent = version(candidate["applied"])
            state["runs"] += len(batch)
            scores = [float(chance.random() < agent[task]) for task in batch]
            return adapter.EvaluationBatch(outputs=batch, scores=scores, trajectories=batch if capture_traces else None)

        def make_reflective_dataset(self, *_: object) -> dict[str, list[dict[str, str]]]:
            return {"applied": [{}]}

    def propose(candidate: dict[str, str], *_: object, **__: object) -> dict[str, str]:
        state["handed"] += 1
        return {"applied": f"{candidate['applied']} {next(handed)}".strip()}

    class Quiet:
        def log(self, message: str) -> None:
            """Nobody reads it."""

    result = gepa.optimize(
        {"applied": ""},
        trainset=list(range(TASKS)),
        valset=list(range(TASKS)),
        adapter=Adapter(),
        custom_candidate_proposer=propose,
        reflection_minibatch_size=3,
        stop_callbacks=lambda _state: state["handed"] >= len(on.proposals),
        logger=Quiet(),
        seed=on.seed,
    )
    # "kept" are those let into the pool; the result is the one with the best validation score.
    added = [int(each["applied"].split()[-1]) for each in result.candidates if each["applied"]]
    best = result.candidates[result.best_idx]["applied"]
    return Ran(
        kept=len(added),
        false=sum(not on.proposals[n].relieves for n in added),
        runs=state["runs"],
        gain=score(version(best)) - score(on.agent),
        claimed=result.val_aggregate_scores[result.best_idx],
        truth=score(version(best)),
    )
