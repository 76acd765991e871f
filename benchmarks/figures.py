"""How every benchmark prints and keeps its figures: measured, baseline of the same run, goal, and whether it holds."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One published figure. `holds` is None where it is shown for orientation only."""

    name: str
    measured: str
    goal: str = ""
    baseline: str = ""
    holds: bool | None = None


def at_most(name: str, value: float, limit: float, *, unit: str = "x", baseline: str = "") -> Figure:
    return Figure(
        name=name,
        measured=f"{value:.3g} {unit}",
        goal=f"<= {limit:g}",
        baseline=baseline,
        holds=value <= limit,
    )


def at_least(name: str, value: float, limit: float, *, unit: str = "", baseline: str = "") -> Figure:
    shown = f"{value:,.0f}" if value >= 1000 else f"{value:.3f}"
    return Figure(
        name=name,
        measured=f"{shown} {unit}".strip(),
        goal=f">= {limit:,g}",
        baseline=baseline,
        holds=value >= limit,
    )


def publish(benchmark: str, figures: Sequence[Figure]) -> int:
    """Print the table, write it as JSON, and return how many goals were missed (the script's exit code stays 0: a noisy
    machine must not fail a build)."""
    rows = [("figure", "measured", "goal", "baseline of the same run", "holds")]
    said = {True: "yes", False: "NO", None: ""}
    rows += [(f.name, f.measured, f.goal, f.baseline, said[f.holds]) for f in figures]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    print(f"\n{benchmark}")
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    RESULTS.mkdir(exist_ok=True)
    record = {
        "benchmark": benchmark,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "figures": [asdict(f) for f in figures],
    }
    (RESULTS / f"{benchmark}.json").write_text(json.dumps(record, indent=1) + "\n")
    return sum(f.holds is False for f in figures)


def cpu_us(function: Callable[[], object], calls: int, *, rounds: int = 5) -> float:
    """CPU microseconds a call, the best of several rounds (the least disturbed one)."""
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time_ns()
        for _ in range(calls):
            function()
        best = min(best, (time.process_time_ns() - started) / calls / 1000)
    return best
