"""Does the gate revert what hurts, keep what helps, and leave the rest alone? Simulated worlds whose truth is known.

    python benchmarks/guard.py [--full]

Beside each figure stands what is used instead, in the same worlds: the fixed rule of self-improving-loop 0.1.3 (its
own code, where the package is installed), a z-test that is looked at after every call, CUSUM and Page-Hinkley. Rules
without a control arm run the new setting on every unit after the change; those with one toss a coin. To add a policy,
see `guard_policies`. `--full` takes ten times as many runs.

A rate of at most 5 % shows, in so many runs, as somewhat more or less; a cell is called missed when it exceeds its
goal by more than 2.5 standard errors of the goal, or the mean of all cells exceeds it. The low-variance check needs no
such allowance.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from multiprocessing import Pool
from typing import Protocol, TypeVar

from figures import Figure, publish
from guard_cost import cost_of_a_unit
from guard_likelihood import Draws, false_alarms
from guard_policies import OTHERS, Gate, MakePolicy
from guard_runs import (
    Backoff,
    Job,
    Latency,
    Result,
    Settled,
    Slip,
    Trials,
    backoff,
    reverted_in_flight,
    settled,
    slipped,
    slowed,
    tried,
)
from guard_search import mean_of, searched
from guard_worlds import BACKGROUNDS, World, shortest_delay

RATES = (0.5, 0.8, 0.95, 0.99)
DROPS = (0.05, 0.10, 0.20, 0.40)
HISTORIES = (10, 100, 1_000)

Given = TypeVar("Given")
Got = TypeVar("Got")


class Workers(Protocol):
    """Who runs the jobs: a pool of processes, or `InProcess`."""

    def map(
        self, func: Callable[[Given], Got], iterable: Iterable[Given], chunksize: int | None = None
    ) -> list[Got]: ...
    def apply(self, func: Callable[..., Got], args: tuple[object, ...] = ()) -> Got: ...


class InProcess:
    """Runs jobs where it is called."""

    def map(self, func: Callable[[Given], Got], iterable: Iterable[Given], chunksize: int | None = None) -> list[Got]:
        del chunksize
        return [func(each) for each in iterable]

    def apply(self, func: Callable[..., Got], args: tuple[object, ...] = ()) -> Got:
        return func(*args)


Row = Callable[[Workers, int], list[Figure]]
"""Measures a row of the table with about `runs` runs a cell."""


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def span(values: Sequence[float], show: Callable[[float], str] = percent) -> str:
    return f"{show(min(values))} to {show(max(values))}"


def allowance(goal: float, runs: int) -> float:
    """How far chance alone takes a rate above a true one of `goal`."""
    return 2.5 * math.sqrt(goal * (1 - goal) / runs)


def others(workers: Workers, jobs: Callable[[MakePolicy], list[Job]], of: Callable[[list[Result]], str]) -> str:
    """What each other policy comes to in the same worlds."""
    said = []
    for policy in OTHERS:
        said.append(f"{policy.name} {of(workers.map(tried, jobs(policy), chunksize=1))}")
    return "; ".join(said)


def reverted(results: list[Result]) -> str:
    return span([each.reverted for each in results])


def mean_reverted(results: list[Result]) -> float:
    return sum(each.reverted for each in results) / len(results)


def false_reverts(workers: Workers, runs: int) -> list[Figure]:
    """Changes that change nothing, in 12 cells."""

    def jobs(policy: MakePolicy = Gate, seeds: int = runs, units: int = 10_000) -> list[Job]:
        return [
            Job(
                world=World(old=p, new=p, background=background, with_latency=policy is not Gate),
                units=units,
                seeds=seeds,
                policy=policy,
            )
            for p in RATES
            for background in BACKGROUNDS
        ]

    cells = [each.reverted for each in workers.map(tried, jobs(), chunksize=1)]
    rivals = [workers.map(tried, jobs(policy, max(runs // 8, 5)), chunksize=1) for policy in OTHERS]
    exact = workers.map(false_alarms, [Draws(rate=p, draws=max(2 * runs, 20)) for p in RATES], chunksize=1)
    mean = sum(cells) / len(cells)
    names = [f"p = {p}, {background}" for p in RATES for background in BACKGROUNDS]
    return [
        *(
            Figure(
                name=f"false revert within 10,000 calls, {name}",
                measured=percent(cell),
                goal="<= 5 %",
                baseline="; ".join(
                    f"{policy.name} {percent(results[at].reverted)}"
                    for policy, results in zip(OTHERS, rivals, strict=True)
                ),
                holds=cell <= 0.05 + allowance(0.05, runs),
            )
            for at, (name, cell) in enumerate(zip(names, cells, strict=True))
        ),
        Figure(
            name=f"mean of these cells ({runs} runs each)", measured=percent(mean), goal="<= 5 %", holds=mean <= 0.05
        ),
        Figure(
            name="the same by the low-variance check, worst p",
            measured=f"{100 * max(exact):.2f} %",
            goal="<= 5 %",
            holds=max(exact) <= 0.05,
        ),
    ]


def good_thrown_away(workers: Workers, runs: int) -> list[Figure]:
    def jobs(policy: MakePolicy = Gate, seeds: int = runs) -> list[Job]:
        return [
            Job(
                world=World(old=p, new=p + gain, background=background, with_latency=policy is not Gate),
                units=2_000,
                seeds=seeds,
                policy=policy,
            )
            for p, gains in ((0.5, (0.03, 0.05, 0.10)), (0.8, (0.03, 0.05, 0.10)), (0.95, (0.03,)))
            for gain in gains
            for background in BACKGROUNDS
        ]

    cells = [each.reverted for each in workers.map(tried, jobs(), chunksize=1)]
    mean = sum(cells) / len(cells)
    return [
        Figure(
            name="good change (+3 to +10 points) thrown away within 2,000 calls",
            measured=f"{percent(mean)} ({span(cells)})",
            goal="<= 2 %",
            baseline=others(workers, lambda policy: jobs(policy, max(runs // 8, 5)), reverted),
            holds=mean <= 0.02 and max(cells) <= 0.02 + allowance(0.02, runs),
        )
    ]


def delays(workers: Workers, runs: int) -> list[Figure]:
    cells = [(p, drop, history) for p in RATES for drop in DROPS for history in HISTORIES]
    seeds = max(runs // 2, 4)

    def jobs(policy: MakePolicy = Gate, seeds: int = seeds, units: int = 40_000) -> list[Job]:
        return [
            Job(world=World(old=p, new=p - drop), units=units, seeds=seeds, history=history, policy=policy)
            for p, drop, history in cells
        ]

    results = workers.map(tried, jobs(), chunksize=1)
    ratios = [
        each.mean_delay(40_000) / shortest_delay(p, p - drop) for each, (p, drop, _) in zip(results, cells, strict=True)
    ]
    mean = sum(ratios) / len(ratios)

    def ratio(results: list[Result]) -> str:
        found = [
            each.mean_delay(10_000) / shortest_delay(p, p - d) for each, (p, d, _) in zip(results, cells, strict=True)
        ]
        return f"{sum(found) / len(found):.2f}"

    def missed(results: list[Result]) -> str:
        late = [
            at is None or at > 10_000
            for each, (_, drop, _) in zip(results, cells, strict=True)
            for at in each.reverted_at
            if drop >= 0.10
        ]
        return percent(sum(late) / len(late))

    return [
        Figure(
            name="mean delay / shortest possible, worst of 48 cells",
            measured=f"{max(ratios):.2f}",
            goal="<= 1.75",
            holds=max(ratios) <= 1.75,
        ),
        Figure(
            name="mean delay / shortest possible, mean of 48 cells",
            measured=f"{mean:.2f}",
            goal="<= 1.40",
            baseline=others(workers, lambda policy: jobs(policy, max(runs // 16, 3), 10_000), ratio),
            holds=mean <= 1.40,
        ),
        Figure(
            name="-10 points or worse missed by 10,000",
            measured=missed(results),
            goal="0 %",
            baseline=others(workers, lambda policy: jobs(policy, max(runs // 16, 3), 10_000), missed),
            holds=missed(results) == percent(0),
        ),
    ]


def failures_beyond_oracle(workers: Workers, runs: int) -> list[Figure]:
    return [_beyond_oracle(workers, runs, drop, goal) for drop, goal in ((0.10, 24), (0.20, 12), (0.40, 5))]


def _beyond_oracle(workers: Workers, runs: int, drop: float, goal: int) -> Figure:
    def jobs(policy: MakePolicy = Gate, seeds: int = runs) -> list[Job]:
        return [
            Job(world=World(old=p, new=p - drop), units=10_000, seeds=seeds, history=h, policy=policy, ramp=True)
            for p in RATES
            for h in HISTORIES
        ]

    def suffered(results: list[Result]) -> float:
        return drop * sum(each.mean_new_units for each in results) / len(results)

    measured = suffered(workers.map(tried, jobs(), chunksize=1))
    return Figure(
        name=f"failures suffered beyond an oracle, -{100 * drop:.0f} points, ramp, mean of 12 cells",
        measured=f"{measured:.1f}",
        goal=f"<= {goal}",
        baseline=others(
            workers, lambda policy: jobs(policy, max(runs // 8, 5)), lambda results: f"{suffered(results):.1f}"
        ),
        holds=measured <= goal,
    )


def catastrophe(workers: Workers, runs: int) -> list[Figure]:
    # A run has a dozen units, so many are cheap.
    def jobs(policy: MakePolicy = Gate, seeds: int = 15 * runs, ramp: bool = False) -> list[Job]:
        return [
            Job(world=World(old=p, new=0.05), units=10_000, seeds=seeds, history=h, policy=policy, ramp=ramp)
            for p in (0.8, 0.95, 0.99)
            for h in HISTORIES
        ]

    def bad(results: list[Result]) -> float:
        return max(each.mean_new_units for each in results)

    halves = bad(workers.map(tried, jobs(), chunksize=1))
    ramped = bad(workers.map(tried, jobs(ramp=True), chunksize=1))
    return [
        Figure(
            name="catastrophe (p >= .8 -> .05), bad units, 50/50 (worst cell)",
            measured=f"{halves:.1f}",
            goal="<= 7",
            baseline=others(
                workers, lambda policy: jobs(policy, max(runs // 8, 5)), lambda results: f"{bad(results):.1f}"
            ),
            holds=halves <= 7,
        ),
        Figure(name="the same on the ramp", measured=f"{ramped:.1f}", goal="<= 5", holds=ramped <= 5),
    ]


def harm_kept(workers: Workers, runs: int) -> list[Figure]:
    seeds = max(runs // 8, 4)
    jobs = [
        Trials(world=World(old=p, new=p - harm, background=background), seeds=seeds)
        for p in (0.5, 0.8, 0.95)
        for harm in (0.02, 0.03, 0.05)
        for background in BACKGROUNDS
    ]

    def remaining(policy: MakePolicy) -> list[Job]:
        """What a policy that can only roll back has not rolled back after 2,000 units."""
        return [
            Job(world=replace(job.world, with_latency=True), units=2_000, seeds=max(seeds // 4, 2), policy=policy)
            for job in jobs
        ]

    cells: list[Settled] = workers.map(settled, jobs, chunksize=1)
    kept = [each.kept / each.trials for each in cells]
    # Ten proposals of -3 points one after the other.
    slips = [Trials(world=World(old=p, new=p), seeds=max(seeds // 2, 2), changes=10, points=-0.03) for p in (0.6, 0.88)]
    lost = [job.world.old - each.mean_success for job, each in zip(slips, workers.map(settled, slips), strict=True)]
    return [
        Figure(
            name=f"harm of 2 to 5 points kept, 27 cells of {seeds} trials",
            measured=f"{percent(sum(kept) / len(kept))} ({span(kept)})",
            goal="<= 5 % each",
            baseline=others(workers, remaining, lambda results: percent(1 - mean_reverted(results))),
            holds=max(kept) <= 0.05 + allowance(0.05, seeds) and sum(kept) / len(kept) <= 0.05,
        ),
        Figure(
            name="points lost over ten proposals of -3",
            measured=f"{100 * max(lost):.2f}",
            goal="<= 1",
            baseline="; ".join(
                f"{policy.name} {100 * workers.apply(slipped, (Slip(success=0.88, seeds=seeds, policy=policy),)):.1f}"
                for policy in OTHERS
            ),
            holds=max(lost) <= 0.01,
        ),
    ]


def showcase(workers: Workers, runs: int) -> list[Figure]:
    del runs
    kept, lost, units = workers.apply(backoff, (Backoff(seeds=100),))
    said = [
        f"{policy.name} {workers.apply(backoff, (Backoff(seeds=100, policy=policy),))[1]} reverted" for policy in OTHERS
    ]
    return [
        Figure(
            name="backoff, .60 -> .96, slower: kept of 100",
            measured=f"{kept}, {lost} reverted, {units:.0f} units",
            goal="100, 0 reverted",
            baseline="; ".join(said),
            holds=(kept, lost) == (100, 0),
        )
    ]


def latency(workers: Workers, runs: int) -> list[Figure]:
    false = workers.apply(slowed, (Latency(slower=1.0, margin=1.0, seeds=runs),)).reverted
    rows = [
        Figure(
            name="latency x1.0 reverted within 10,000",
            measured=percent(false),
            goal="<= 5 %",
            holds=false <= 0.05 + allowance(0.05, runs),
        )
    ]
    cells = [(1.5, 1.0, 140), (2.0, 1.0, 60), (1.5, 1.1, 240), (2.0, 1.1, 80)]
    found = workers.map(
        slowed, [Latency(slower=s, margin=m, seeds=2 * runs, units=5_000) for s, m, _ in cells], chunksize=1
    )
    for (slower, margin, goal), each in zip(cells, found, strict=True):
        delay = each.mean_delay(5_000)
        rows.append(
            Figure(
                name=f"latency x{slower} found, margin {margin:.2f}, mean calls",
                measured=f"{delay:.0f}",
                goal=f"<= {goal}",
                holds=delay <= goal,
            )
        )
    return rows


def in_flight(workers: Workers, runs: int) -> list[Figure]:
    started, ended = workers.apply(reverted_in_flight, (runs,))
    return [
        Figure(
            name="new fails fast, 50 in flight: false revert",
            measured=percent(started),
            goal="<= 5 %",
            baseline=f"in the order of ending {percent(ended)}",
            holds=started <= 0.05 + allowance(0.05, runs),
        )
    ]


def searches(workers: Workers, runs: int) -> list[Figure]:
    seeds = range(max(runs // 6, 3))
    rival, one, eight = map(mean_of, zip(*workers.map(searched, [(s, "") for s in seeds], chunksize=1), strict=True))
    _, even, _ = map(mean_of, zip(*workers.map(searched, [(s, "even") for s in seeds], chunksize=1), strict=True))
    idle_rival, idle, _ = map(mean_of, zip(*workers.map(searched, [(s, "idle") for s in seeds]), strict=True))
    return [
        Figure(
            name="false keeps, 200 proposals of which 10 % help",
            measured=f"K=1 {percent(one.false_share)}, K=8 {percent(eight.false_share)}",
            goal="<= 10 %",
            baseline=f"greedy {percent(rival.false_share)}",
            holds=max(one.false_share, eight.false_share) <= 0.10,
        ),
        Figure(
            name="any keep when nothing helps",
            measured=f"{percent(idle.keeping)} of runs",
            goal="<= 10 %",
            baseline=f"greedy {percent(idle_rival.keeping)}",
            holds=idle.keeping <= 0.10 + allowance(0.10, len(seeds)),
        ),
        *(
            Figure(
                name=f"runs used and gain against greedy, K={k}",
                measured=f"{mine.runs:,.0f}, {percent(mine.gain / rival.gain)}",
                goal=f"<= {most:,}, >= {100 * least:.0f} %",
                baseline=f"greedy {rival.runs:,.0f}",
                holds=mine.runs <= most and mine.gain >= least * rival.gain,
            )
            for k, mine, most, least in ((1, one, 36_000, 0.88), (8, eight, 26_000, 0.86))
        ),
        Figure(name="runs used, K=1, where each fix helps all tasks alike (noisier)", measured=f"{even.runs:,.0f}"),
    ]


def cost(workers: Workers, runs: int) -> list[Figure]:
    del workers, runs
    return cost_of_a_unit()


ROWS: tuple[Row, ...] = (
    false_reverts,
    good_thrown_away,
    delays,
    failures_beyond_oracle,
    catastrophe,
    harm_kept,
    showcase,
    latency,
    in_flight,
    searches,
    cost,
)


def measured(workers: Workers, runs: int, rows: Sequence[Row] = ROWS) -> list[Figure]:
    """The table, with about `runs` runs a cell. The same figures for the same `runs`, but for `cost`."""
    return [figure for row in rows for figure in row(workers, runs)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="ten times as many runs")
    parser.add_argument("--runs", type=int, default=200, help="runs a cell (default: 200)")
    arguments = parser.parse_args()
    with Pool(2) as pool:
        publish("guard", measured(pool, arguments.runs * (10 if arguments.full else 1)))
