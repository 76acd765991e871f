"""Runs of one policy or trial in one world, many seeds each: the jobs that the table's cells are made of.

A job is data, so that it can be sent to another process; the same job gives the same result anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random

from guard_policies import Gate, MakePolicy
from guard_worlds import LATENCY_SPREAD, Unit, World, in_flight, ramp_share
from ratchet.gate.arms import CanaryTest, RankBet
from ratchet.gate.trial import TrialGate, TrialPlan

FULL_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Try the change of `world` under `policy`, `seeds` times, for `units` units after `history` calls of the old."""

    world: World
    units: int
    seeds: int
    history: int = 100
    policy: MakePolicy = Gate
    ramp: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """For each seed when the change was rolled back (None: not within the units), and how many units ran the new."""

    reverted_at: tuple[int | None, ...]
    new_units: tuple[int, ...]

    @property
    def reverted(self) -> float:
        """Share of runs that rolled back."""
        return sum(at is not None for at in self.reverted_at) / len(self.reverted_at)

    def mean_delay(self, horizon: int) -> float:
        return sum(horizon if at is None else at for at in self.reverted_at) / len(self.reverted_at)

    @property
    def mean_new_units(self) -> float:
        return sum(self.new_units) / len(self.new_units)


def tried(job: Job) -> Result:
    """The result of a job."""
    runs = [_one(job, Random(f"{job.world}{job.history}{seed}")) for seed in range(job.seeds)]
    return Result(reverted_at=tuple(at for at, _ in runs), new_units=tuple(new for _, new in runs))


def _one(job: Job, chance: Random) -> tuple[int | None, int]:
    policy = job.policy(job.world.history(chance, job.history))
    new_units = 0
    share = FULL_SHARE if policy.control else 1.0
    ramp = job.ramp and policy.control
    for i, unit in enumerate(islice(job.world.units(chance, share=share, ramp=ramp), job.units)):
        new_units += unit.new_arm
        if policy.update(unit, ramp_share(i) if ramp else share):
            return i + 1, new_units
    return None, new_units


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Put `changes` in turn to a whole trial, each adding `points` of success to what is then in place."""

    world: World
    seeds: int
    units: int = 10_000
    changes: int = 1
    points: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """`changes` of -3 points one after the other under a policy; what it has not rolled back in `units` units stays."""

    success: float
    seeds: int
    policy: MakePolicy
    changes: int = 10
    units: int = 2_000


def slipped(job: Slip) -> float:
    """Points of success lost in the end, in the mean."""
    lost = 0.0
    for seed in range(job.seeds):
        chance = Random(f"slip{job.success}{seed}")
        world = World(old=job.success, new=job.success - 0.03, with_latency=True)
        for _ in range(job.changes):
            at, _new_units = _one(Job(world=world, units=job.units, seeds=1, policy=job.policy), chance)
            if at is None:
                world = replace(world, old=world.new, new=world.new - 0.03)
        lost += job.success - world.old
    return lost / job.seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Changes kept and reverted over all seeds, units a trial took in the mean, and where success ended in the mean."""

    kept: int
    reverted: int
    trials: int
    mean_units: float
    mean_success: float


def settled(job: Trials) -> Settled:
    """The result of trials."""
    kept = reverted = units = 0
    success = 0.0
    for seed in range(job.seeds):
        chance = Random(f"{job}{seed}")
        world = job.world
        for _ in range(job.changes):
            if job.points:
                world = replace(world, new=world.old + job.points)
            decision, took = _trial(world, chance, job)
            units += took
            kept += decision == "keep"
            reverted += decision == "revert"
            world = replace(world, old=world.new) if decision == "keep" else world
        success += world.old
    trials = job.seeds * job.changes
    return Settled(
        kept=kept, reverted=reverted, trials=trials, mean_units=units / trials, mean_success=success / job.seeds
    )


def _trial(world: World, chance: Random, job: Trials) -> tuple[str, int]:
    history = world.history(chance, 100)
    plan = TrialPlan(deadline_s=60.0, before=(sum(unit.ok for unit in history), 100), most_units=job.units)
    gate = TrialGate(plan, share=ramp_share(0))
    return _run(gate, world.units(chance, share=FULL_SHARE, ramp=True), job.units)


def _run(gate: TrialGate, units: Iterator[Unit], most: int) -> tuple[str, int]:
    share = ramp_share(0)
    with_latency = "latency" in gate.plan.metrics
    for i, unit in enumerate(islice(units, most)):
        if ramp_share(i) != share:
            share = ramp_share(i)
            gate.stage(share)
        gate.update(new_arm=unit.new_arm, ok=unit.ok, latency_s=unit.latency_s if with_latency else None)
        if gate.decision != "wait":
            return gate.decision, i + 1
    return "wait", most


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The showcase: a provider refuses 40 % of first attempts at once; new retries twice, waiting 2 s and 4 s."""

    seeds: int
    policy: MakePolicy | None = None


FIRST_SUCCESS = 0.60
RETRY_SUCCESS = 0.6838  # .60 + .40 (1 - (1 - .6838)^2) = .96
REFUSED_S = 0.2
DEADLINE_S = 30.0


def backoff(job: Backoff) -> tuple[int, int, float]:
    """(kept, reverted, mean units to the decision) under Ratchet's trial, or under a policy, which can only revert."""
    kept = reverted = units = 0
    for seed in range(job.seeds):
        chance = Random(f"backoff{seed}")
        if job.policy:
            history = [_attempt(chance, False) for _ in range(100)]
            policy = job.policy(history)
            share = FULL_SHARE if policy.control else 1.0
            decisions = (policy.update(_attempt(chance, chance.random() < share), share) for _ in range(2_000))
            took = next((i + 1 for i, reverts in enumerate(decisions) if reverts), None)
            reverted += took is not None
            units += took or 2_000
            continue
        before = sum(_attempt(chance, False).ok for _ in range(100))
        plan = TrialPlan(deadline_s=DEADLINE_S, metrics=("success", "latency"), before=(before, 100))
        stream = (_attempt(chance, chance.random() < ramp_share(i)) for i in range(5_000))
        decision, took = _run(TrialGate(plan, share=ramp_share(0)), stream, 5_000)
        kept += decision == "keep"
        reverted += decision == "revert"
        units += took
    return kept, reverted, units / job.seeds


def _attempt(chance: Random, new_arm: bool) -> Unit:
    latency_s = 0.0
    for attempt in range(3 if new_arm else 1):
        latency_s += 0.0 if not attempt else 2.0**attempt
        if chance.random() < (RETRY_SUCCESS if attempt else FIRST_SUCCESS):
            return Unit(new_arm, True, min(latency_s + chance.lognormvariate(0.0, LATENCY_SPREAD), DEADLINE_S))
        latency_s += REFUSED_S
    return Unit(new_arm, False, latency_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Values `slower` times as high on new, lognormal."""

    slower: float
    margin: float
    seeds: int
    units: int = 10_000


def slowed(job: Latency) -> Result:
    """When a rank bet finds it."""
    found: list[int | None] = []
    log_slower = math.log(job.slower)
    for seed in range(job.seeds):
        chance = Random(f"{job.slower}{job.margin}{seed}")
        bet = RankBet(share=FULL_SHARE, margin=job.margin)
        at = None
        for i in range(job.units):
            new_arm = chance.random() < FULL_SHARE
            bet.update(new_arm=new_arm, value=math.exp(chance.gauss(log_slower if new_arm else 0.0, LATENCY_SPREAD)))
            if bet.decision == "revert":
                at = i + 1
                break
        found.append(at)
    return Result(reverted_at=tuple(found), new_units=())


def reverted_in_flight(seeds: int) -> tuple[float, float]:
    """False reverts when new only fails faster, 50 calls in flight: (in start order, in the order of ending)."""
    reverted = [0, 0]
    for seed in range(seeds):
        orders = in_flight(
            Random(f"flight{seed}"), success=0.8, slots=50, units=2_000, slow_failure_s=1.0, fast_failure_s=0.05
        )
        for i, units in enumerate(orders):
            reverted[i] += _reverts(units)
    return reverted[0] / seeds, reverted[1] / seeds


def _reverts(units: Sequence[Unit]) -> bool:
    test = CanaryTest(share=FULL_SHARE, before=(80, 100))
    for unit in units:
        test.update(new_arm=unit.new_arm, ok=unit.ok)
    return test.decision == "revert"
