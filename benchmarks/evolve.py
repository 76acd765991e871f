"""What a run of 200 proposals on a noisy benchmark keeps, at what price, and whether what it claims is true.

    python benchmarks/evolve.py [--worlds 200] [--looped 2] [--aa 200]

Worlds are those of `guard_search`; the rules stand side by side on the same ones (`evolve_rules`). Some worlds go
through the whole loop with its store (`evolve_loop`), and so does an agent against itself. GEPA runs where it is
installed (`pip install gepa==0.1.4`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from multiprocessing import Pool
from pathlib import Path
from random import Random
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).parent))

from evolve_example import HELPS, Found, after, before
from evolve_loop import cost, looped
from evolve_rules import Ran, bench, best_of_n, gepa_runs, greedy, one_standard_error, raced, shortened, three_examples
from figures import Figure, publish
from guard_search import FDR, score
from ratchet.evolving.race.race import Race, draw, levels

RULES: dict[str, Callable[..., Ran | None]] = {
    "greedy": greedy,
    "one standard error": one_standard_error,
    "three examples": three_examples,
    "gepa 0.1.4": gepa_runs,
}
GOALS = ((1, 36_000, 0.88), (8, 26_000, 0.86))
AA_PROPOSALS = 20

__all__ = ["against_itself", "bench", "greedy", "measured", "raced", "shortened"]


def world_of(seed: int) -> dict[str, Ran | float | None]:
    """Every rule in one world, Ratchet's also where nothing helps."""
    on, idle = bench(seed), bench(seed, "idle")
    found: dict[str, Ran | float | None] = {name: rule(on) for name, rule in RULES.items()}
    for k, _, _ in GOALS:
        found[f"K={k}"] = raced(on, at_once=k)
        found[f"idle K={k}"] = raced(idle, at_once=k)
    found["idle greedy"] = greedy(idle)
    found["start"] = score(on.agent)
    found["best of N"] = best_of_n(on, found["K=1"].runs) if isinstance(found["K=1"], Ran) else None
    return found


def against_itself(seed: int) -> bool:
    """Whether a run of identical proposals keeps anything: an agent that always, never or sometimes succeeds."""
    chance = Random(f"itself{seed}")
    agent = [chance.choice((0.0, 1.0, chance.random())) for _ in range(40)]
    at_once = (1, 8)[seed % 2]
    history: list[bool] = []
    batch = 0
    while len(history) < AA_PROPOSALS:
        batch += 1
        count = min(at_once, AA_PROPOSALS - len(history))
        race = Race(levels(history, count, fdr=FDR, planned=AA_PROPOSALS))
        while wanted := race.wanted(1):
            (run,) = wanted
            race.record(run, float(chance.random() < agent[draw(seed, batch, run.pair, len(agent)).task]))
        history += [racer == race.best for racer in range(count)]
    return any(history)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def allowance(share: float, runs: int) -> float:
    """Two standard errors of a share: what so few runs cannot tell apart."""
    return 2 * sqrt(share * (1 - share) / runs)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


class Workers(Protocol):
    """A pool of processes."""

    def map(self, function: Callable[[int], Any], items: Iterable[int], chunksize: int = 1) -> list[Any]: ...


class Worlds:
    """What every rule came to over all worlds."""

    def __init__(self, found: Sequence[dict[str, Ran | float | None]]) -> None:
        self._found = found

    def of(self, name: str) -> list[Ran]:
        return [each for found in self._found if isinstance(each := found[name], Ran)]

    def number(self, name: str) -> float:
        return mean([each for found in self._found if isinstance(each := found[name], float)])

    def false_share(self, name: str) -> float:
        return mean([each.false / each.kept if each.kept else 0.0 for each in self.of(name)])

    def keeping(self, name: str) -> float:
        return mean([float(each.kept > 0) for each in self.of(name)])

    def gain(self, name: str) -> float:
        return mean([each.gain for each in self.of(name)])

    def bias(self, name: str) -> float:
        """Claimed minus true, in points."""
        return 100 * mean([each.claimed - each.truth for each in self.of(name)])

    def line(self, name: str) -> str:
        runs = mean([each.runs for each in self.of(name)])
        return f"{percent(self.gain(name) / self.gain('greedy'))} of greedy's gain in {runs:,.0f} runs"


def of_worlds(worlds: Worlds, count: int) -> list[Figure]:
    rivals = [name for name in RULES if worlds.of(name)]
    beside = "; ".join
    figures = [
        Figure(
            name="false keeps, 200 proposals of which 10 % help",
            measured=", ".join(f"K={k} {percent(worlds.false_share(f'K={k}'))}" for k, _, _ in GOALS),
            goal="<= 10 % (expected <= 3 %)",
            baseline=beside(f"{name} {percent(worlds.false_share(name))}" for name in rivals),
            holds=max(worlds.false_share(f"K={k}") for k, _, _ in GOALS) <= 0.10,
        ),
        Figure(
            name="any keep when nothing helps",
            measured=", ".join(f"K={k} {percent(worlds.keeping(f'idle K={k}'))}" for k, _, _ in GOALS),
            goal="<= 10 % of runs",
            baseline=f"greedy {percent(worlds.keeping('idle greedy'))}",
            holds=max(worlds.keeping(f"idle K={k}") for k, _, _ in GOALS) <= 0.10 + allowance(0.10, count),
        ),
    ]
    for k, most, least in GOALS:
        ran, share = worlds.of(f"K={k}"), worlds.gain(f"K={k}") / worlds.gain("greedy")
        runs = mean([each.runs for each in ran])
        figures.append(
            Figure(
                name=f"runs used and gain against greedy, K={k}",
                measured=f"{runs:,.0f}, {percent(share)}",
                goal=f"<= {most:,}, >= {100 * least:.0f} %",
                baseline=beside(f"{name} {worlds.line(name)}" for name in rivals),
                holds=runs <= most and share >= least,
            )
        )
    bias = max((worlds.bias(f"K={k}") for k, _, _ in GOALS), key=abs)
    figures.append(
        Figure(
            name="claimed minus true score, points",
            measured=", ".join(f"K={k} {worlds.bias(f'K={k}'):+.2f}" for k, _, _ in GOALS),
            goal="within 1",
            baseline=beside(f"{name} {worlds.bias(name):+.2f}" for name in rivals),
            holds=abs(bias) <= 1.0,
        )
    )
    start = worlds.number("start")
    figures.append(
        Figure(
            name="true score in the end, K=1",
            measured=percent(start + worlds.gain("K=1")),
            baseline=f"start {percent(start)}; best of N at the same runs, a judge at each use: "
            f"{percent(worlds.number('best of N'))}",
        )
    )
    return figures


def of_loops(ran: Sequence[Ran], worlds: Sequence[int]) -> list[Figure]:
    """Worlds that went through the whole loop."""
    if not ran:
        return []
    alone = [raced(bench(seed), at_once=8).runs for seed in worlds]
    return [
        Figure(
            name=f"the same through the whole loop and its store, {len(worlds)} worlds, K=8",
            measured=f"{mean([each.runs for each in ran]):,.0f} runs, {sum(each.false for each in ran)} false of "
            f"{sum(each.kept for each in ran)} kept, claimed minus true "
            f"{100 * mean([each.claimed - each.truth for each in ran]):+.2f} points",
            baseline=f"the races alone in these worlds: {mean(alone):,.0f} runs",
            holds=sum(each.false for each in ran) <= max(1, round(0.10 * sum(each.kept for each in ran))),
        )
    ]


def measured(workers: Workers, worlds: int, loops: int, aa: int) -> list[Figure]:
    """The table. The same figures for the same counts, but for what it costs."""
    figures = of_worlds(Worlds(workers.map(world_of, range(worlds), chunksize=1)), worlds)
    figures += of_example(workers.map(before, range(worlds)), workers.map(after, range(worlds)))
    figures += of_loops(workers.map(_looped, range(loops), chunksize=1), range(loops))
    kept = mean([float(each) for each in workers.map(against_itself, range(aa))])
    figures.append(
        Figure(
            name=f"A/A: {aa} runs of {AA_PROPOSALS} identical proposals, any keep",
            measured=percent(kept),
            goal="<= 10 % of runs",
            holds=kept <= 0.10,
        )
    )
    return figures


def of_example(was: Sequence[Found], now: Sequence[Found]) -> list[Figure]:
    """12 proposals, 3 good, 2 cheats: the same worlds by the decisions of before and of now."""

    def told(found: Sequence[Found]) -> str:
        all_good = percent(mean([float(each.good == len(HELPS)) for each in found]))
        return (
            f"{mean([each.runs for each in found]):,.0f} evaluations, {mean([each.good for each in found]):.2f} of 3"
            f" good kept ({all_good} all 3), {mean([each.others for each in found]):.2f} others"
        )

    share = mean([each.runs for each in now]) / mean([each.runs for each in was])
    same = mean([each.good for each in now]) >= mean([each.good for each in was])
    return [
        Figure(
            name=f"12 proposals, 3 good and 2 cheats, {len(now)} worlds",
            measured=f"{share:.2f} of the evaluations: {told(now)}",
            goal="<= .60, the same truth",
            baseline=f"one at a time: {told(was)}",
            holds=share <= 0.60 and same,
        )
    ]


def _looped(seed: int) -> Ran:
    return looped(seed, at_once=8)[0]


def price() -> list[Figure]:
    spent = cost()
    return [
        Figure(
            name="the loop itself, an evaluation: CPU, wall",
            measured=f"{spent.cpu_ms:.2f} ms, {spent.wall_ms:.2f} ms",
            goal="<= 15 ms",
            baseline=f"{spent.evaluations:,} evaluations that cost nothing",
            holds=spent.wall_ms <= 15,
        ),
        Figure(
            name=f"list {spent.listed:,} stored evaluations",
            measured=f"{spent.list_s:.2f} s",
            goal="< 1 s",
            holds=spent.list_s < 1,
        ),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--looped", type=int, default=2, help="worlds that go through the whole loop")
    parser.add_argument("--aa", type=int, default=200, help="runs of identical proposals")
    arguments = parser.parse_args()
    with Pool(2) as workers:
        table = measured(workers, arguments.worlds, arguments.looped, arguments.aa)
    publish("evolve", [*table, *price()])
