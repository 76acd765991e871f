"""`ratchet bench watch` over 200 days of a check each six hours, in worlds whose truth is known.

    python benchmarks/watch.py [--worlds 100]

An agent solves each of 40 tasks with a probability of its own. Its baseline is ten runs of each task, a check one. In
quiet worlds nothing ever changes; in others the mean of its probabilities falls by five points after 25 days. What is
promised beforehand is what `ratchet gate plan --gain 0.05` says from the baseline's noise: nine of ten are told by
then. Beside it: a threshold of five points below the baseline, two checks in a row below it, and two standard
deviations.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from random import Random
from statistics import mean, median, stdev

from figures import Figure, at_least, at_most, publish
from ratchet.evolving.score_plan import score_plan
from ratchet.gate import ScoreGate
from ratchet.gate.watching import HORIZON, RegressionWatch, watch_plan

TASKS = 40
REPEATS = 10
QUIET = 100
LOSS = 0.05


class Agent:
    """How likely each task is solved, before and after."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(f"agent {seed}")
        self._before = [self._chance.betavariate(1.5, 0.8) for _ in range(TASKS)]
        left = 1 - LOSS / mean(self._before)
        self._after = [rate * left for rate in self._before]

    def noise(self) -> float:
        """The standard deviation of one check, as a baseline shows it."""
        return stdev(self.score() for _ in range(REPEATS))

    def score(self, *, worse: bool = False) -> float:
        rates = self._after if worse else self._before
        return sum(self._chance.random() < rate for rate in rates) / TASKS


Told = Callable[[Sequence[float], Sequence[float]], bool]
"""Tells from the baseline's runs and the checks so far whether it got worse."""


def five_points(baseline: Sequence[float], checks: Sequence[float]) -> bool:
    return checks[-1] < mean(baseline) - LOSS


def twice(baseline: Sequence[float], checks: Sequence[float]) -> bool:
    return len(checks) > 1 and all(five_points(baseline, [each]) for each in checks[-2:])


def two_deviations(baseline: Sequence[float], checks: Sequence[float]) -> bool:
    return checks[-1] < mean(baseline) - 2 * stdev(baseline)


RULES: dict[str, Told] = {"5 points below": five_points, "twice in a row": twice, "2 deviations": two_deviations}


def until(seed: int, quiet: int, horizon: int) -> int | None:
    """Checks until the watch told of a regression; None for none."""
    agent = Agent(seed)
    watch = RegressionWatch([agent.score() for _ in range(REPEATS)])
    for n in range(horizon):
        if watch.add(agent.score(worse=n >= quiet)).alarm is not None:
            return n + 1
    return None


def by_rule(rule: Told, seed: int) -> bool:
    agent, checks = Agent(seed), list[float]()
    baseline = [agent.score() for _ in range(REPEATS)]
    for _ in range(HORIZON):
        checks.append(agent.score())
        if rule(baseline, checks):
            return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=100)
    worlds = range(parser.parse_args().worlds)
    alarms = [until(seed, HORIZON, HORIZON) for seed in worlds]
    loud = {name: 100 * mean(by_rule(rule, seed) for seed in worlds) for name, rule in RULES.items()}
    others = ", ".join(f"{name} {share:.0f} %" for name, share in loud.items())
    delays = [(told or HORIZON) - QUIET for told in (until(seed, QUIET, HORIZON) for seed in worlds)]
    noise = mean(Agent(seed).noise() for seed in worlds)
    plan = score_plan(ScoreGate, gain=LOSS, noise=noise, first=REPEATS)  # `ratchet gate plan --gain 0.05 --sd NOISE`
    own = watch_plan(noise, LOSS, baseline=REPEATS, quiet=QUIET)
    early = sum(delay <= 0 for delay in delays)
    figures: list[Figure] = [
        at_least(
            "200 quiet days without an alarm",
            100 * mean(each is None for each in alarms),
            95,
            unit="%",
            baseline=f"alarms of others: {others}",
        ),
        at_least(
            "a regression of 5 points found within what `gate plan` said",
            100 * mean(0 < delay <= plan.most for delay in delays),
            90,
            unit="%",
            baseline=f"{early} alarms before it began",
        ),
        at_least(
            "the same within what the watch itself said",
            100 * mean(0 < delay <= (own.most or HORIZON) for delay in delays),
            85,
            unit="%",
            baseline=f"said {own.median} in half of cases, {own.most} in nine of ten",
        ),
        at_most(
            "checks until it is found, median of worlds",
            median(delays),
            plan.median,
            unit="checks",
            baseline=f"`gate plan`: {plan.median} in half of cases, {plan.most} in nine of ten",
        ),
    ]
    return publish("watch", figures)


if __name__ == "__main__":
    raise SystemExit(main())
