"""`ratchet gate` on loops of 100 proposals with noise, beside the rules that loops use.

    python benchmarks/gate.py [--worlds 200]

A world: an agent solves each of 40 tasks with a probability of its own; a run tries all of them, and its score is the
share solved. Where nothing helps, six proposals of ten change nothing and four do harm; else one of twenty helps, by 8,
12 or 20 points. Every rule sees the same proposals and pays for its runs. A false keep is a version no better than
what it replaced. The oracle is Wald's test told the true gain and the noise; it shares runs of the incumbent as the
gate does.

The rules: greedy (one run scores higher); two seeds, both better; two median absolute deviations above five runs of the
incumbent; a bootstrap over tasks, 95 %; autojudge 1.0.1 (1.5 times the spread of the last five keeps, .3 % before there
are three); chimera-agent 0.78.2 (Newcombe's interval for the difference of pass rates without 0, its error rate spread
over the rounds); gepa 0.1.4 (the sum over three tasks is larger); SkillOpt 0.2.0 (any gain on the selection set, the
standing score remembered). Each is written here after its source.

SkillOpt's collapse: 50 nights of one proposal each on eight selection tasks, of which most do harm.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log, sqrt
from random import Random
from statistics import NormalDist, mean, median, stdev

from figures import Figure, at_least, at_most, publish
from ratchet.gate import ScoreGate

TASKS = 40
PROPOSALS = 100
FDR = 0.05
HELPING = 0.05
HELPS = (0.08, 0.12, 0.2)
HARMS = (0.05, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class Version:
    """An agent: how likely it solves each task."""

    name: str
    rates: tuple[float, ...]

    @property
    def truth(self) -> float:
        return mean(self.rates)


@dataclass(slots=True)
class Ran:
    """What a rule made of a world."""

    kept: int = 0
    false: int = 0
    helped: int = 0
    runs: int = 0
    lost: float = 0.0
    """How far what stands in the end lies below what stood at first; 0 where it does not."""


class World:
    """Proposals, each a change of what stands when it is made: the same changes for every rule."""

    def __init__(self, seed: int, helping: float, *, tasks: int = TASKS, proposals: int = PROPOSALS) -> None:
        chance = Random(f"world{seed}/{helping}")
        self.first = Version("v0", tuple(chance.betavariate(1, 3) for _ in range(tasks)))
        self.shifts = [self._shift(chance, helping) for _ in range(proposals)]
        self.helps = sum(shift > 0 for shift in self.shifts)

    @staticmethod
    def _shift(chance: Random, helping: float) -> float:
        if chance.random() < helping:
            return chance.choice(HELPS)
        return -chance.choice(HARMS) if chance.random() < 0.4 else 0.0

    def proposal(self, n: int, standing: Version) -> Version:
        shift = self.shifts[n]
        return Version(f"v{n + 1}", tuple(min(max(rate + shift, 0.0), 1.0) for rate in standing.rates))


class Bench:
    """Runs versions and counts what is paid."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(f"runs{seed}")
        self.runs = 0.0

    def tried(self, version: Version, tasks: int = 0) -> list[float]:
        """Solved or not, of all tasks or of so many drawn at random."""
        rates = self._chance.sample(version.rates, tasks) if tasks else version.rates
        self.runs += len(rates) / len(version.rates)
        return [float(self._chance.random() < rate) for rate in rates]

    def score(self, version: Version) -> float:
        return mean(self.tried(version))


Rule = Callable[[World, Bench], "Judge"]
Judge = Callable[[Version, Version], bool]
"""Tells whether to keep the second version in place of the first."""


def ran(world: World, rule: Rule, seed: int) -> Ran:
    bench = Bench(seed)
    judge = rule(world, bench)
    found, standing = Ran(), world.first
    for n in range(len(world.shifts)):
        new = world.proposal(n, standing)
        if judge(standing, new):
            found.kept += 1
            found.false += new.truth <= standing.truth
            found.helped += new.truth > standing.truth
            standing = new
    found.runs = round(bench.runs)
    found.lost = max(0.0, world.first.truth - standing.truth)
    return found


# -- the gate, and the oracle ------------------------------------------------------------------------------------------


def gated(_: World, bench: Bench, *, by_task: bool) -> Judge:
    gate = ScoreGate(noise="bounded" if by_task else "normal", incumbent="v0")

    def judge(old: Version, new: Version) -> bool:
        def run(name: str) -> float | dict[str, float]:
            tried = bench.tried(new if name == new.name else old)
            return {str(task): score for task, score in enumerate(tried)} if by_task else mean(tried)

        return gate.decide(new.name, run).decision == "keep"

    return judge


def oracle(world: World, bench: Bench) -> Judge:
    scores: dict[str, list[float]] = {}
    kept = 0

    def judge(old: Version, new: Version) -> bool:
        nonlocal kept
        gain = max(new.truth - old.truth, 0.0) or min(HELPS)
        variance = max(mean(rate * (1 - rate) for rate in old.rates), 0.01) / len(old.rates)
        level = FDR * (kept + 1) / len(world.shifts)
        mine, his = scores.setdefault(new.name, []), scores.setdefault(old.name, [])
        while True:
            version, runs = (old, his) if len(his) <= len(mine) else (new, mine)
            runs.append(bench.score(version))
            if not (mine and his):
                continue
            effective = 1 / (1 / len(mine) + 1 / len(his))
            ratio = effective / variance * gain * (mean(mine) - mean(his) - gain / 2)
            if ratio >= -log(level) or ratio <= log(0.1):
                kept += ratio > 0
                return ratio > 0

    return judge


# -- the rules in use --------------------------------------------------------------------------------------------------


def remembered(bench: Bench, better: Callable[[float, float], bool]) -> Judge:
    """One run of each proposal beside the score that the standing version was kept for."""
    standing: list[float] = []

    def judge(old: Version, new: Version) -> bool:
        if not standing:
            standing.append(bench.score(old))
        score = bench.score(new)
        if not better(score, standing[-1]):
            return False
        standing.append(score)
        return True

    return judge


def greedy(_: World, bench: Bench) -> Judge:
    return remembered(bench, lambda new, old: new > old)


def two_seeds(_: World, bench: Bench) -> Judge:
    def judge(old: Version, new: Version) -> bool:
        return all(bench.score(new) > bench.score(old) for _ in range(2))

    return judge


def deviations(_: World, bench: Bench) -> Judge:
    def judge(old: Version, new: Version) -> bool:
        runs = [bench.score(old) for _ in range(5)]
        spread = median(abs(each - median(runs)) for each in runs)
        return bench.score(new) > median(runs) + 2 * spread

    return judge


def bootstrap(_: World, bench: Bench) -> Judge:
    chance = Random("bootstrap")

    def judge(old: Version, new: Version) -> bool:
        gains = [b - a for a, b in zip(bench.tried(old), bench.tried(new), strict=True)]
        drawn = sorted(sum(chance.choices(gains, k=len(gains))) for _ in range(200))
        return drawn[4] > 0  # the 2.5 % quantile

    return judge


def autojudge(_: World, bench: Bench) -> Judge:
    kept: list[float] = []

    def judge(old: Version, new: Version) -> bool:
        if not kept:
            kept.append(1 - bench.score(old))  # it minimises
        loss, best = 1 - bench.score(new), min(kept)
        steps = [b - a for a, b in zip(kept[-5:], kept[-4:], strict=False)]
        floor = stdev(steps) if len(steps) >= 2 else 0.0
        keeps = loss <= best and (best - loss >= 1.5 * floor if floor > 1e-10 else best - loss >= 0.003 * best)
        if keeps:
            kept.append(loss)
        return keeps

    return judge


def newcombe(world: World, bench: Bench) -> Judge:
    z = NormalDist().inv_cdf(1 - 0.025 / len(world.shifts))

    def wilson(passed: float, n: int) -> tuple[float, float]:
        rate = passed / n
        middle, half = rate + z * z / (2 * n), z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
        return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)

    def better(new: float, old: float) -> bool:
        n = len(world.first.rates)
        low, _ = wilson(new * n, n)
        _, high = wilson(old * n, n)
        return new - old - sqrt((new - low) ** 2 + (high - old) ** 2) > 0

    return remembered(bench, better)


def minibatch(_: World, bench: Bench) -> Judge:
    chance = Random("minibatch")

    def judge(old: Version, new: Version) -> bool:
        tasks = chance.sample(range(len(old.rates)), 3)
        picked = [Version(each.name, tuple(each.rates[task] for task in tasks)) for each in (old, new)]
        before, after = (sum(bench.tried(each)) for each in picked)
        bench.runs -= 2 * (1 - 3 / len(old.rates))
        return after > before

    return judge


RULES: dict[str, Rule] = {
    "greedy": greedy,
    "two seeds": two_seeds,
    "two deviations": deviations,
    "bootstrap": bootstrap,
    "autojudge": autojudge,
    "chimera-agent": newcombe,
    "gepa": minibatch,
    "SkillOpt": greedy,
}


def measured(rule: Rule, helping: float, worlds: int) -> tuple[list[Ran], float]:
    """Every world's run, and the share of helping proposals that were kept."""
    found, helps = [], 0
    for seed in range(worlds):
        world = World(seed, helping)
        helps += world.helps
        found.append(ran(world, rule, seed))
    return found, sum(each.helped for each in found) / max(helps, 1)


def falsely(runs: list[Ran]) -> float:
    return 100 * mean(each.false > 0 for each in runs)


def spent(runs: list[Ran]) -> float:
    return mean(each.runs for each in runs)


def collapse(rule: Rule, worlds: int) -> list[float]:
    """Points lost in 50 nights on eight selection tasks."""
    return [100 * ran(World(seed, 0.0, tasks=8, proposals=50), rule, seed).lost for seed in range(worlds)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=200)
    worlds = parser.parse_args().worlds
    means: Rule = partial(gated, by_task=False)
    by_task: Rule = partial(gated, by_task=True)
    null = {name: falsely(measured(rule, 0.0, worlds)[0]) for name, rule in RULES.items()}
    others = ", ".join(f"{name} {share:.0f}" for name, share in null.items())
    figures: list[Figure] = []
    known, reached = measured(oracle, HELPING, worlds)
    for name, rule in (("scores of whole runs", means), ("scores by task", by_task)):
        idle, _ = measured(rule, 0.0, worlds)
        some, power = measured(rule, HELPING, worlds)
        figures += [
            at_most(
                f"{name}: runs of 100 idle proposals with any false keep, {worlds} worlds",
                falsely(idle),
                5,
                unit="%",
                baseline=others,
            ),
            at_least(
                f"{name}: helping ones kept, of the oracle's", power / reached, 0.9, baseline=f"oracle {reached:.2f}"
            ),
            at_most(
                f"{name}: its runs, of the oracle's",
                spent(some) / spent(known),
                1.3,
                baseline=f"oracle {spent(known):.0f}",
            ),
        ]
    nights = collapse(by_task, worlds)
    skillopt = collapse(greedy, worlds)
    figures.append(
        at_most(
            "points lost in 50 nights, worst of all worlds",
            max(nights),
            0,
            unit="points",
            baseline=f"SkillOpt's rule: mean {mean(skillopt):.1f}, worst {max(skillopt):.1f}",
        )
    )
    for name, rule in RULES.items():
        some, power = measured(rule, HELPING, worlds)
        figures.append(
            Figure(
                name=f"{name}, where one in twenty helps",
                measured=f"{power:.2f} of those kept, {spent(some):.0f} runs",
                baseline=f"false keeps {100 * sum(r.false for r in some) / max(1, sum(r.kept for r in some)):.0f} %",
            )
        )
    return publish("gate", figures)


if __name__ == "__main__":
    raise SystemExit(main())
