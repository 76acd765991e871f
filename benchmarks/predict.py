"""How well is it known beforehand which steps fail? Real sessions in order, each told what the ones before it left.

    python benchmarks/predict.py --history DIR [--split 2026-01-20] [--later]

DIR holds the sessions of one project (JSON lines of Claude Code, the file's name its session; public source:
entireio/cli, MIT). What counts as a circumstance was tuned on the sessions before the split; with `--later` those from
it on are scored. Calls that a person refused, or that were cancelled, are neither.

Beside the odds stands, in the same run, the bare rate of (tool, command) in earlier sessions. AUC: how often a step
that failed is given more than one that did not. Brier: how far the squared error lies below that of always saying the
part's own rate.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from before import PROJECT, rows_in_order
from figures import Figure, at_least, publish
from lessons import SPLIT, sessions_in
from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.mined import keep_evidence
from ratchet.lessons.mining.calls import calls_of
from ratchet.lessons.mining.circumstances import NEW, UNKNOWN, circumstances
from ratchet.lessons.mining.facts import facts
from ratchet.lessons.odds import Odds, odds_of
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore

HIGHEST = 50
BINS = (0.02, 0.05, 0.1, 0.2, 0.3, 1.01)


@dataclass
class Part:
    """Steps of one part: whether each failed, what was said of it, and the bare rate."""

    failed: list[bool] = field(default_factory=list)
    said: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    silent: int = 0


class BareRate:
    """The rate of a tool's command in earlier sessions, drawn towards the rate of all steps."""

    def __init__(self) -> None:
        self.runs: Counter[tuple[str, str]] = Counter()
        self.failures: Counter[tuple[str, str]] = Counter()

    def of(self, tool: str, head: str) -> float:
        base = (self.failures.total() + 1) / (self.runs.total() + 20)
        return (self.failures[tool, head] + 2 * base) / (self.runs[tool, head] + 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--history", required=True)
    parser.add_argument("--split", default=SPLIT)
    parser.add_argument("--later", action="store_true", help="score the sessions from the split on, too")
    asked = parser.parse_args()
    parts = {"before": Part(), "from": Part()}
    rates, spent_s, times = BareRate(), 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "facts.db")
        for name, rows in rows_in_order(sessions_in(Path(asked.history))):
            part = "before" if name < asked.split else "from"
            if part == "from" and not asked.later:
                break
            begun = time.perf_counter()
            odds = odds_of(store, PROJECT)
            spent_s, times = spent_s + time.perf_counter() - begun, times + 1
            judge(odds, rates, rows, parts[part])
            ingest(store, rows)
            keep_evidence(store, name, rows)
        store.close()
    for part, label in (("before", f"sessions before {asked.split}"), ("from", f"sessions from {asked.split} on")):
        if parts[part].failed:
            report(label, parts[part])
    print(f"\nfitting a project's odds: {1000 * spent_s / times:.0f} ms")
    unseen = parts["from"]
    if unseen.failed:
        gain = auc(unseen.failed, unseen.said) - auc(unseen.failed, unseen.bare)
        figures = [
            at_least("AUC above the bare rate of (tool, command)", gain, 0.06),
            at_least("Brier below the base", skill(unseen.failed, unseen.said), 0.10),
            at_least(f"failed, of the {HIGHEST} highest", highest(unseen.failed, unseen.said), 0.4),
            Figure(name="Brier below the base, bare rate", measured=f"{skill(unseen.failed, unseen.bare):.3f}"),
        ]
        publish("predict", figures)


def judge(odds: Odds, rates: BareRate, rows: Sequence[Row], part: Part) -> None:
    """Predict each step of a session, then count it for the bare rate."""
    calls = calls_of(rows)
    root = next((call.project for call in calls if call.project), "")
    for call, around in circumstances(calls):
        if call.excused:
            continue
        file = next((fact.file for fact in facts([call], root) if fact.around), "")
        known = tuple(UNKNOWN if each == NEW and file not in odds.files else each for each in around)
        bare = rates.of(call.tool, call.head)
        chance = odds.chance(call.tool, call.head, known)
        part.silent += chance is None
        part.failed.append(call.failed)
        part.said.append(bare if chance is None else chance.probability)
        part.bare.append(bare)
    for call in calls:
        if not call.excused:
            rates.runs[call.tool, call.head] += 1
            rates.failures[call.tool, call.head] += call.failed


def report(label: str, part: Part) -> None:
    """Print what was measured, the bare rate beside it, and how often what was said came true."""
    count = len(part.failed)
    print(f"\n{label}: {count} steps, {sum(part.failed)} failed; no basis for {part.silent}, given the bare rate")
    for name, said in (("odds", part.said), ("bare rate", part.bare)):
        print(
            f"  {name:10} AUC {auc(part.failed, said):.3f}, Brier {skill(part.failed, said):.3f} below the base, "
            f"of the {HIGHEST} highest {highest(part.failed, said):.2f} failed"
        )
    for low, high in zip((0.0, *BINS), BINS, strict=False):
        held = [(said, failed) for said, failed in zip(part.said, part.failed, strict=True) if low <= said < high]
        if held:
            mean, came = sum(said for said, _ in held) / len(held), sum(failed for _, failed in held) / len(held)
            print(f"    said {mean:.3f}: {came:.3f} of {len(held)} failed")


def auc(failed: Sequence[bool], said: Sequence[float]) -> float:
    """The share of pairs (one failed, one did not) in which the failed one was given more; ties count half."""
    order = sorted(zip(said, failed, strict=True))
    ranks, at = 0.0, 0
    while at < len(order):
        end = at
        while end < len(order) and order[end][0] == order[at][0]:
            end += 1
        ranks += sum(failed for _, failed in order[at:end]) * (at + end + 1) / 2
        at = end
    bad = sum(failed)
    return (ranks - bad * (bad + 1) / 2) / (bad * (len(order) - bad))


def skill(failed: Sequence[bool], said: Sequence[float]) -> float:
    """How far the squared error lies below that of always saying the rate of the part."""
    rate = sum(failed) / len(failed)
    error = sum((each - bad) ** 2 for each, bad in zip(said, failed, strict=True)) / len(failed)
    return 1 - error / (rate * (1 - rate))


def highest(failed: Sequence[bool], said: Sequence[float]) -> float:
    """The share that failed of the steps that were given most."""
    order = sorted(zip(said, failed, strict=True), key=lambda each: -each[0])[:HIGHEST]
    return sum(bad for _, bad in order) / len(order)


if __name__ == "__main__":
    main()
