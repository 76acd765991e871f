"""What `learn` and `backtest` cost, and whether a coincidence is ever taken for a fix.

    python benchmarks/learn.py [--history DIR] [--worlds 500]

DIR holds histories of a coding agent (the published figures: entireio/cli, MIT, 93 sessions of January 2026); without
it, the history that ships is written down often enough. Costs are CPU time per MB of histories beside `json.loads` of
the same lines in the same run, each the least of three rounds. Peak memory is a process's own, at the data and at ten
times as much of it (the same sessions under other names). Worlds are generated histories in which nothing is to be
learnt (`tests/support/coincidences.py`); the baseline takes the command after an error line for its fix, where two
sessions agree.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from figures import Figure, at_most, publish

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support.coincidences import coincidental, false_lessons  # noqa: E402

SHIPPED = ROOT / "src" / "ratchet" / "demo" / "history"
ROUNDS = 3
TIMES = 10  # as much data, for the peak of memory
GENERATED_MB = 20
_PEAK = """
import resource, sys
from pathlib import Path
from ratchet.runtime import Runtime
with Runtime.open(home=Path(sys.argv[1])) as runtime:
    runtime.learn(sys.argv[2:])
    runtime.lessons.backtest()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--history", type=Path)
    parser.add_argument("--worlds", type=int, default=500)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ratchet-bench-") as folder:
        files = sorted(asked.history.rglob("*.jsonl")) if asked.history else _generated(Path(folder) / "generated")
        publish("learn", [*_costs(files, Path(folder)), *_memory(files, Path(folder)), *_worlds(asked.worlds)])


# -- cost -----------------------------------------------------------------------------------------------------------


def _costs(files: Sequence[Path], folder: Path) -> list[Figure]:
    from ratchet.runtime import Runtime

    size_mb = sum(path.stat().st_size for path in files) / 1e6
    best: dict[str, float] = defaultdict(lambda: float("inf"))

    def timed(name: str, work: Callable[[], object]) -> None:
        started = time.process_time()
        work()
        best[name] = min(best[name], (time.process_time() - started) * 1_000 / size_mb)

    for number in range(ROUNDS):
        timed("json", lambda: [_parsed(path) for path in files])
        with Runtime.open(home=folder / f"home{number}") as runtime:
            timed("learn", lambda: runtime.learn(files))
            timed("backtest", lambda: runtime.lessons.backtest())
    beside = f"json.loads {best['json']:.2f} ms/MB of {size_mb:.0f} MB"
    return [
        at_most("learn without its backtest, CPU per MB", best["learn"], 15, unit="ms", baseline=beside),
        at_most("learn with its backtest", best["learn"] + best["backtest"], 20, unit="ms", baseline=beside),
        at_most("backtest of what was learnt", best["backtest"], 5, unit="ms", baseline=beside),
        Figure(name="learn against json.loads", measured=f"{best['learn'] / best['json']:.1f} x", baseline=beside),
    ]


def _parsed(path: Path) -> int:
    read = 0
    with path.open("rb") as lines:
        for line in lines:
            try:
                json.loads(line)
                read += 1
            except ValueError:  # two lines of the real ones hold joined objects
                continue
    return read


# -- memory ---------------------------------------------------------------------------------------------------------


def _memory(files: Sequence[Path], folder: Path) -> list[Figure]:
    once = _peak(files, folder / "once")
    more = folder / "more"
    more.mkdir()
    sample = sorted(files, key=lambda path: -path.stat().st_size)[: max(1, len(files) // TIMES)]
    few = _peak(sample, folder / "few")
    many = [_renamed(path, more / f"{number}-{path.name}", number) for number in range(TIMES) for path in sample]
    tenfold = _peak(many, folder / "tenfold")
    return [
        Figure(name="peak memory of learn and backtest", measured=f"{once / 1024:.0f} MB"),
        at_most("the same at ten times the data", tenfold / few, 1.5, baseline=f"{few / 1024:.0f} MB"),
    ]


def _peak(files: Sequence[Path], home: Path) -> int:
    command = [sys.executable, "-c", _PEAK, str(home), *map(str, files)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)


def _renamed(path: Path, copy: Path, number: int) -> Path:
    """A copy whose sessions and calls bear other names."""
    text = path.read_bytes()
    text = re.sub(rb'("sessionId":"|"tool_use_id":"toolu_|"id":"toolu_)', rb"\g<1>" + f"{number}x".encode(), text)
    copy.write_bytes(text)
    return copy


def _generated(folder: Path) -> list[Path]:
    """The history that ships, under other names, until there is enough of it."""
    folder.mkdir()
    found: list[Path] = []
    size = 0
    while size < GENERATED_MB * 1e6:
        for path in sorted(SHIPPED.rglob("*.jsonl")):
            found.append(_renamed(path, folder / f"{len(found)}-{path.name}", len(found)))
            size += found[-1].stat().st_size
    return found


# -- coincidences ---------------------------------------------------------------------------------------------------


def _worlds(count: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        wrong = sum(bool(false_lessons(Path(folder) / str(seed), seed)) for seed in range(count))
    paired = sum(_paired(seed) for seed in range(count))
    beside = f"{100 * paired / count:.1f} % by the command that follows"
    return [at_most(f"worlds of {count} with a false lesson", 100 * wrong / count, 5, unit="%", baseline=beside)]


def _paired(seed: int) -> bool:
    """The baseline: whether two sessions of a world run the same command after the same error line."""
    met: dict[tuple[str, str], set[int]] = defaultdict(set)
    for number, calls in enumerate(coincidental(seed)):
        steps = [(str(row["step"]["input"]), row.get("failure")) for row in calls if row["task"] == "Bash"]  # type: ignore[index, call-overload]
        for (_, failure), (then, _) in zip(steps, steps[1:], strict=False):
            if isinstance(failure, dict):
                met[re.sub(r"\d+", "#", str(failure["message"]).split("\n")[0]), then].add(number)
    return any(len(sessions) > 1 for sessions in met.values())


if __name__ == "__main__":
    main()
