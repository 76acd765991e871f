"""Grouping accuracy and speed on public log sets, with drain3 beside it in the same run.

    python benchmarks/grouping.py --loghub DIR

DIR holds loghub-2k files with corrected templates (`*_structured_corrected.csv`: columns Content, EventId). Source:
Zhu, He, He, Liu, Lyu, "Loghub: A Large Collection of System Log Datasets for AI-driven Log Analytics", ISSRE 2023
(github.com/logpai/loghub), templates as corrected by Khan, Shin, Bianculli, Briand, "Guidelines for Assessing the
Accuracy of Log Message Template Identification Techniques", ICSE 2022. Both tools see the same lines, each with one
configuration, in memory that knows nothing yet.
"""

from __future__ import annotations

import argparse
import csv
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, at_least, publish
from ratchet.failures.grouping import group

LOGHUB = Path(__file__).resolve().parents[2] / "shared" / "data" / "loghub"
# The masks of drain3's own example (examples/drain3.ini in its repository): its generic configuration.
_START, _END = r"((?<=[^A-Za-z0-9])|^)", r"((?=[^A-Za-z0-9])|$)"
DRAIN_MASKS = (
    (r"(([0-9a-f]{2,}:){3,}([0-9a-f]{2,}))", "ID"),
    (r"(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})", "IP"),
    (r"([0-9a-f]{6,} ?){3,}", "SEQ"),
    (r"([0-9A-F]{4} ?){4,}", "SEQ"),
    (r"(0x[a-f0-9A-F]+)", "HEX"),
    (r"([\-\+]?\d+)", "NUM"),
)

Grouping = Callable[[Sequence[str]], Sequence[object]]


@dataclass(frozen=True, slots=True)
class Score:
    """`ga`: share of messages whose group is exactly a true group; `fga`: F1 over groups of the same."""

    ga: float
    fga: float


def score(predicted: Sequence[object], true: Sequence[str]) -> Score:
    mine: dict[object, list[int]] = defaultdict(list)
    theirs: dict[str, list[int]] = defaultdict(list)
    for i, (ours, event) in enumerate(zip(predicted, true, strict=True)):
        mine[ours].append(i)
        theirs[event].append(i)
    exact = {tuple(members) for members in theirs.values()}
    right = [members for members in mine.values() if tuple(members) in exact]
    precision, recall = len(right) / len(mine), len(right) / len(theirs)
    both = precision + recall
    return Score(sum(map(len, right)) / len(true), 2 * precision * recall / both if both else 0.0)


def drain3(texts: Sequence[str]) -> list[int]:
    """The cluster of each line once all were seen, by drain3 with the masks of its own example."""
    from drain3 import TemplateMiner
    from drain3.masking import MaskingInstruction
    from drain3.template_miner_config import TemplateMinerConfig

    config = TemplateMinerConfig()
    config.masking_instructions = [
        MaskingInstruction(f"{_START}{pattern}{_END}", name) for pattern, name in DRAIN_MASKS
    ]
    miner = TemplateMiner(config=config)
    return [miner.add_log_message(text)["cluster_id"] for text in texts]


def read(path: Path) -> tuple[list[str], list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["Content"] for row in rows], [row["EventId"] for row in rows]


def timed(grouping: Grouping, texts: Sequence[str]) -> tuple[Sequence[object], float]:
    """What the grouping says, and the CPU seconds that it took."""
    started = time.process_time()
    found = grouping(texts)
    return found, time.process_time() - started


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def main() -> None:
    parser = argparse.ArgumentParser(description="Grouping accuracy and speed beside drain3.")
    parser.add_argument("--loghub", type=Path, default=LOGHUB, help="folder of *_structured_corrected.csv files")
    folder: Path = parser.parse_args().loghub
    paths = sorted(folder.glob("*structured_corrected.csv"))
    if not paths:
        raise SystemExit(f"{folder}: no *_structured_corrected.csv files; see the head of this script for their source")
    logging.getLogger("drain3").setLevel(logging.WARNING)
    figures: list[Figure] = []
    ours: list[Score] = []
    theirs: list[Score] = []
    lines, our_s, their_s = 0, 0.0, 0.0
    for path in paths:
        texts, true = read(path)
        found, took_s = timed(group, texts)
        drained, drain_s = timed(drain3, texts)
        lines, our_s, their_s = lines + len(texts), our_s + took_s, their_s + drain_s
        ours.append(score(found, true))
        theirs.append(score(drained, true))
        measured = f"GA {ours[-1].ga:.3f}, FGA {ours[-1].fga:.3f}"
        baseline = f"drain3 GA {theirs[-1].ga:.3f}, FGA {theirs[-1].fga:.3f}"
        figures.append(Figure(name=path.name.split("_")[0], measured=measured, baseline=baseline))
    beside = f"drain3 {lines / their_s:,.0f} ({their_s / our_s:.1f} x)"
    figures += [
        at_least("mean GA", mean([s.ga for s in ours]), 0.92, baseline=f"drain3 {mean([s.ga for s in theirs]):.3f}"),
        at_least("mean FGA", mean([s.fga for s in ours]), 0.92, baseline=f"drain3 {mean([s.fga for s in theirs]):.3f}"),
        at_least("speed", lines / our_s, 20_000, unit="lines/s", baseline=beside),
    ]
    publish("grouping", figures)


if __name__ == "__main__":
    main()
