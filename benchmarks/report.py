"""Does the report tell the truth, and how soon? Simulated sessions with known effects, looked at after every unit.

The whole chain is simulated from the coin on: units fall to their arm by `ids.toss`, with the share that `publish`
would have told (a fifth withheld, half from the 20th unit to the 250th, a twentieth once proven), and an effect is
called when the interval excludes zero at any look. Beside it, in the same worlds, three rules that people use instead.

In the worlds "as in real sessions" units differ in how easily they are overcome, by their command, as `--histories DIR`
measures it. It prints how much of a unit's outcome was known before its coin fell.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, at_least, at_most, publish
from ratchet import Ratchet, ids
from ratchet.gate.deadline import (
    AIMED_WEIGHT,
    DEADLINE_UNITS,
    HARMS_ALPHA,
    HELPS_ALPHA,
    DeadlineBet,
    Expected,
    Met,
    expectations,
    measured,
    withheld_share,
)
from ratchet.gate.effects import LessonCounts, e_value
from ratchet.lessons import credit
from ratchet.records import Row
from ratchet.testing.stores import open_store

Rates = Sequence[tuple[float, float]]
"""(weight, success without a lesson) of the commands that units are about."""
Rule = Callable[[Sequence[Met]], "int | None"]
"""When a rule calls that lessons help, in units; None for never."""

REAL: Rates = (
    *((59, 0.75), (46, 0.61), (33, 0.28), (30, 0.83), (26, 0.81), (24, 0.12)),
    *((16, 0.51), (9, 0.64), (8, 0.69), (7, 0.66), (73, 0.47)),
)
"""331 failures of 72 sessions of nine people, by command: how often each was overcome, drawn to the mean by four."""
BEFORE = 331
"""Failures recorded before there were lessons: as many as the rates were measured from."""
ALIKE: Rates = ((1, 0.6),)
EASY: Rates = ((1, 0.8),)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The rates without a lesson all swing together by `drift`. `before` failures were recorded while there was none,
    at the rates of that time (`was`; empty: the same)."""

    name: str
    rates: Rates
    points: float
    drift: float = 0.0
    before: int = BEFORE
    was: Rates = ()

    def known(self, chance: random.Random) -> Mapping[str, float]:
        """The success that a home expects of each command when its first coin falls."""
        rates = self.was or self.rates
        ended: dict[str, tuple[int, int]] = {}
        for place in chance.choices(range(len(rates)), [weight for weight, _ in rates], k=self.before):
            met, overcome = ended.get(f"command-{place}", (0, 0))
            ended[f"command-{place}"] = met + 1, overcome + (chance.random() < rates[place][1])
        return expectations(ended)

    def unit(
        self, chance: random.Random, number: int, shown: bool, share: float, known: Mapping[str, float] | None = None
    ) -> Met:
        (place,) = chance.choices(range(len(self.rates)), [weight for weight, _ in self.rates])
        rate = lifted(self.rates, self.points)[place] if shown else self.rates[place][1]
        succeeded = chance.random() < rate + self.drift * math.sin(number / 60)
        head, found = f"command-{place}", known or {}
        return Met(share, shown, succeeded, f"pattern-{place}", head, found.get(head, found.get("")))


_lifted: dict[tuple[int, float], list[float]] = {}


def lifted(rates: Rates, points: float) -> list[float]:
    """The rates with a lesson: raised by the same log-odds, so that the mean gains `points`."""
    found = _lifted.get((id(rates), points))
    if found is None:
        whole, low, high = sum(weight for weight, _ in rates), -8.0, 8.0
        mean = sum(weight * rate for weight, rate in rates) / whole
        for _ in range(60):
            middle = (low + high) / 2
            moved = [1 / (1 + math.exp(-math.log(rate / (1 - rate)) - middle)) for _, rate in rates]
            reached = sum(weight * rate for (weight, _), rate in zip(rates, moved, strict=True)) / whole - mean
            low, high = (middle, high) if reached < points else (low, middle)
        found = _lifted[id(rates), points] = moved
    return found


WORLDS = (
    World(name="no effect at .60", rates=ALIKE, points=0.0),
    World(name="no effect at .90", rates=((1, 0.9),), points=0.0),
    World(name="no effect, as in real sessions", rates=REAL, points=0.0),
    World(name="no effect, as in real sessions, nothing recorded before", rates=REAL, points=0.0, before=0),
    World(name="no effect, as in real sessions, which were others before", rates=REAL, points=0.0, was=REAL[::-1]),
    World(name="no effect, rates drift", rates=((1, 0.57),), points=0.0, drift=0.3),
    World(name="+15 points, as in real sessions (.57 to .72)", rates=REAL, points=0.15),
    World(name="+15 points, as in real sessions, nothing recorded before", rates=REAL, points=0.15, before=0),
    World(name="+15 points, all alike (.60 to .75)", rates=ALIKE, points=0.15),
    World(name="+15 points, all alike (.80 to .95)", rates=EASY, points=0.15),
    World(name="+30 points, all alike (.50 to .80)", rates=((1, 0.5),), points=0.30),
    World(name="-15 points, all alike (.60 to .45)", rates=ALIKE, points=-0.15),
)


# --- Ratchet ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One simulated report: when an effect was first called, whether the interval missed the truth at its end, and the
    share of units that went without a lesson."""

    helps_at: int | None
    harms_at: int | None
    missed: bool
    withheld: float


def simulated(seed: int, world: World, units: int) -> Run:
    chance, salt = random.Random(seed), f"salt-{seed}"
    before = world.known(random.Random(f"before-{seed}"))
    bets = {
        True: DeadlineBet(alpha=AIMED_WEIGHT * HELPS_ALPHA),
        False: DeadlineBet(alpha=AIMED_WEIGHT * HARMS_ALPHA, better=False),
    }
    tallies: dict[float, list[int]] = {}
    called: dict[bool, int | None] = {True: None, False: None}
    met: list[Met] = []
    evidence = 1.0
    for number in range(units):
        # Of the two questions of a report the other one is silent here: its evidence is 1.
        share = 1 - withheld_share((evidence + 1) / 2, number, share=0.20, proven_share=0.05)
        unit = world.unit(chance, number, ids.toss(salt, f"session-{number}", "pattern", share=share), share, before)
        met.append(unit)
        tallies.setdefault(share, [0, 0, 0, 0])[(0 if unit.shown else 2) + (0 if unit.ok else 1)] += 1
        known = {each: LessonCounts(*counts) for each, counts in tallies.items()}
        for better, alpha in ((True, HELPS_ALPHA), (False, HARMS_ALPHA)):
            bets[better].update(unit)
            if called[better] is None:
                reached = AIMED_WEIGHT * bets[better].e_value() + (1 - AIMED_WEIGHT) * e_value(known, better=better)
                evidence = reached if better else evidence
                called[better] = number + 1 if reached >= 1 / alpha else None
    low, high = (measured(met).low, measured(met).high) if seed % 5 == 0 else (-1.0, 1.0)
    return Run(
        helps_at=called[True],
        harms_at=called[False],
        missed=not low <= world.points <= high,
        withheld=sum(not unit.shown for unit in met) / units,
    )


# --- other rules, with an even coin -----------------------------------------------------------------------------------


def five_a_side(run: Sequence[Met]) -> int | None:
    """Five units a side, and the higher mean wins."""
    arms: dict[bool, list[bool]] = {True: [], False: []}
    for number, unit in enumerate(run, 1):
        arms[unit.shown].append(unit.ok)
        if min(map(len, arms.values())) >= 5:
            first = {arm: sum(found[:5]) for arm, found in arms.items()}
            return number if first[True] > first[False] else None
    return None


def fisher(run: Sequence[Met]) -> int | None:
    """Fisher's exact test, two-sided at 5 %, looked at after every unit."""
    cells = [0, 0, 0, 0]
    for number, unit in enumerate(run, 1):
        cells[(0 if unit.shown else 2) + (0 if unit.ok else 1)] += 1
        if (
            number >= 8
            and _fisher(*cells) <= 0.05
            and cells[0] * (cells[2] + cells[3]) > cells[2] * (cells[0] + cells[1])
        ):
            return number
    return None


def _fisher(a: int, b: int, c: int, d: int) -> float:
    if not (a + b and c + d and a + c and b + d):
        return 1.0

    def log_chance(x: int) -> float:
        return _chosen(a + b, x) + _chosen(c + d, a + c - x) - _chosen(a + b + c + d, a + c)

    seen = log_chance(a) + 1e-9
    possible = map(log_chance, range(max(0, a - d), min(a + b, a + c) + 1))
    return min(1.0, sum(math.exp(each) for each in possible if each <= seen))


def _chosen(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def mcnemar(run: Sequence[Met], block: int = 5) -> int | None:
    """McNemar's exact test at 5 % on the pairs of A/B/A/B blocks, looked at after every pair of blocks."""
    gained = lost = 0
    for start in range(0, len(run) - 2 * block + 1, 2 * block):
        for shown, withheld in zip(run[start : start + block], run[start + block : start + 2 * block], strict=True):
            gained += shown.ok and not withheld.ok
            lost += withheld.ok and not shown.ok
        pairs, least = gained + lost, min(gained, lost)
        tail = sum(math.exp(_chosen(pairs, x)) for x in range(least + 1)) / 2**pairs
        if pairs and 2 * tail <= 0.05 and gained > lost:
            return start + 2 * block
    return None


def by_rule(seed: int, world: World, rule: Rule, units: int) -> bool:
    """Whether a rule calls an effect; where there is none, in either direction."""
    chance = random.Random(seed)
    blocks = rule is mcnemar
    arms = [(number // 5) % 2 == 0 if blocks else chance.random() < 0.5 for number in range(units)]
    run = [world.unit(chance, number, shown, 0.5) for number, shown in enumerate(arms)]
    turned = [unit._replace(ok=not unit.ok) for unit in run]
    return rule(run) is not None or (not world.points and rule(turned) is not None)


RULES: dict[str, Rule] = {
    "five units a side, the higher mean wins": five_a_side,
    "McNemar over A/B/A/B blocks": mcnemar,
    "Fisher's test after every unit": fisher,
}


# --- how much was known before ----------------------------------------------------------------------------------------


def explained(histories: Path) -> tuple[int, float, float]:
    """(failures, share of the variance of "was it overcome" that was known before each, by the command and pattern; the
    same by the session's own earlier ones), walking forward through the sessions below a folder."""
    with tempfile.TemporaryDirectory() as home:
        with Ratchet(home) as ratchet:
            ratchet.learn(histories)
        store = open_store(Path(home))
        sessions: dict[str, list[Row]] = defaultdict(list)
        for row in store.find("outcomes", {}, order=("started_at",)).rows:
            if isinstance(row.get("step"), dict):
                sessions[str(row.get("session"))].append(row)
        patterns = {str(row["signature"]): str(row.get("pattern")) for row in store.find("signatures", {}).rows}
        store.close()
    met = sorted((each for calls in sessions.items() for each in _failures(*calls, patterns)), key=lambda each: each[0])
    return len(met), _known([unit for _, unit, _ in met]), _known([unit._replace(head=s) for _, unit, s in met])


def _failures(session: str, calls: list[Row], patterns: dict[str, str]) -> list[tuple[float, Met, str]]:
    """The first failure of each pattern of a session, as a unit that nobody was told anything about."""
    found: dict[str, tuple[float, Met, str]] = {}

    def pattern_of(row: Row) -> str:
        failure = row.get("failure")
        return "" if row["ok"] or not isinstance(failure, dict) else patterns.get(str(failure.get("signature")), "")

    for row in calls:
        pattern, step, failure = pattern_of(row), row["step"], row.get("failure")
        if not pattern or pattern in found or not isinstance(step, dict) or not isinstance(failure, dict):
            continue
        if failure.get("kind") not in ("cascade", "user_denied", "cancelled"):
            at = float(str(row["started_at"]))
            exposure: Row = {"at": at, "trigger": row["id"]}

            def recurs(each: Row, own: str = pattern) -> bool:
                return pattern_of(each) == own

            ok = credit.judged(exposure, calls, steps=(), recurs=recurs)
            found[pattern] = (at, Met(0.0, False, bool(ok), pattern, f"{step.get('tool')} {step.get('head')}"), session)
    return list(found.values())


def _known(units: Sequence[Met]) -> float:
    """The walk-forward share of variance explained, against the mean of all before."""
    told = untold = 0.0
    plain, full = Expected(), Expected()
    for unit in units:
        told += (unit.ok - full.of(unit)) ** 2
        untold += (unit.ok - plain.of(unit._replace(pattern="", head=""))) ** 2
        full.add(unit)
        plain.add(unit._replace(pattern="", head=""))
    return 1 - told / untold


# --- figures ----------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--units", type=int, default=DEADLINE_UNITS)
    parser.add_argument("--histories", type=Path, help="sessions of coding agents, to measure what is known before")
    given = parser.parse_args()
    figures: list[Figure] = []
    for world in WORLDS:
        figures += figures_of(world, [simulated(seed, world, given.units) for seed in range(given.runs)], given)
    figures.append(bound())
    if given.histories:
        count, by_command, by_session = explained(given.histories)
        figures.append(
            Figure(
                name=f"known before the coin fell, of {count} failures",
                measured=f"{100 * by_command:.0f} % of the variance, by command and pattern",
                baseline=f"by the session's own earlier ones: {100 * by_session:.0f} %",
            )
        )
    publish("report", figures)


def figures_of(world: World, runs: list[Run], given: argparse.Namespace) -> list[Figure]:
    missed = at_most(
        f"{world.name}: interval misses the truth", 500 * sum(run.missed for run in runs) / len(runs), 5, unit="%"
    )
    if not world.points:
        called = 100 * sum(bool(run.helps_at or run.harms_at) for run in runs) / len(runs)
        return [at_most(f"{world.name}: called an effect", called, 5, unit="%", baseline=_beside(world, given)), missed]
    better = world.points > 0
    found = sorted(at for run in runs if (at := run.helps_at if better else run.harms_at))
    wrong = 100 * sum(bool(run.harms_at if better else run.helps_at) for run in runs) / len(runs)
    share, withheld = 100 * len(found) / len(runs), 100 * sum(run.withheld for run in runs) / len(runs)
    median = f"; median {found[len(found) // 2]} units" if found else ""
    beside = _beside(world, given) if better else ""
    name = f"{world.name}: found within {given.units} units"
    measured_as = f"{share:.0f} %{median}; {withheld:.0f} % withheld"
    goal = at_least(name, share, 80, unit="%")
    return [
        Figure(name=name, measured=measured_as, goal=goal.goal if better else "", baseline=beside, holds=goal.holds),
        at_most(f"{world.name}: called the opposite", wrong, 5, unit="%"),
        missed,
    ]


def _beside(world: World, given: argparse.Namespace) -> str:
    runs = min(300, given.runs)
    said = []
    for name, rule in RULES.items():
        called = sum(by_rule(seed, world, rule, given.units) for seed in range(runs))
        said.append(f"{name}: {100 * called / runs:.0f} %")
    return "; ".join(said)


def bound() -> Figure:
    """The best that any rule can do which errs in at most 4.5 % at a single look at 250 units, half withheld: the
    test of Neyman and Pearson, in Gaussian terms, where nothing but the arm is known."""
    from statistics import NormalDist

    normal, shown, withheld = NormalDist(), 0.75, 0.6
    mean = (shown + withheld) / 2
    told = sum(
        0.5 * (p * math.log(p / mean) + (1 - p) * math.log((1 - p) / (1 - mean))) for p in (shown, withheld)
    )  # nats a unit
    power = normal.cdf(math.sqrt(2 * DEADLINE_UNITS * told) - normal.inv_cdf(1 - HELPS_ALPHA))
    return Figure(
        name=".60 to .75, all alike: the most that a rule can find which looks once, at 250 units",
        measured=f"{100 * power:.0f} %",
        baseline="one look at 5 % two-sided: "
        f"{100 * normal.cdf(math.sqrt(2 * DEADLINE_UNITS * told) - normal.inv_cdf(0.975)):.0f} %",
    )


if __name__ == "__main__":
    main()
