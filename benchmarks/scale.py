"""The store at size: what people ask of it, at ten times as many outcomes; and retention while somebody asks.

    python benchmarks/scale.py [--sizes 100000,1000000] [--history DIR]

Each question runs in a process of its own, three times; figures are CPU time. The histories span the same 90 days up to
now, so a larger one is denser: more calls and sessions of the same 20 agents and 500 causes. `--history` keeps them for
the next run, but for what retention removes. 10,000,000 take 25 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from figures import Figure, at_most, publish
from history import DAYS, batches, outcomes
from ratchet.failures.patterns.ingest import ingest
from ratchet.runtime import Runtime
from ratchet.store.sqlite import SqliteStore

ROUNDS = 3
LIMIT = 1.5
KEPT_DAYS = 60.0
QUESTIONS: dict[str, Callable[[Runtime], object]] = {
    "patterns": lambda runtime: runtime.patterns(limit=50),
    "health": lambda runtime: runtime.health(),
    "overview": lambda runtime: runtime.overview(),
    "sessions": lambda runtime: runtime.sessions.list(limit=50),
}


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100000,1000000")
    parser.add_argument("--history", type=Path)
    parser.add_argument("--answer", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--asking", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.answer:
        answer(given.answer[0], Path(given.answer[1]))
        return
    if given.asking:
        keep_asking(Path(given.asking[0]), Path(given.asking[1]))
        return
    small, large = map(int, given.sizes.split(","))
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        homes = {size: (given.history or Path(folder)) / str(size) for size in (small, large)}
        figures = [made for size, home in homes.items() if (made := synthesised(home, size))]
        figures += [asked(name, homes, small, large) for name in QUESTIONS]
        figures += retained(homes[large], large)
    publish("scale", figures)


def synthesised(home: Path, size: int) -> Figure | None:
    path = home / "ratchet.db"
    if path.exists():
        return None
    home.mkdir(parents=True)
    store = SqliteStore(path)
    started = cpu_s()
    for batch in batches(outcomes(size, started_at=time.time() - DAYS * 86_400)):
        ingest(store, batch)
    used = cpu_s() - started
    store.close()
    return Figure(
        name=f"a history of {size:,}", measured=f"{size / used:,.0f} a CPU second; {path.stat().st_size / 1e9:.2f} GB"
    )


def asked(name: str, homes: dict[int, Path], small: int, large: int) -> Figure:
    """One question at both sizes, in turn, the best of each: the other users of the machine disturb both alike."""
    taken: dict[int, list[float]] = {size: [] for size in homes}
    for _ in range(ROUNDS):
        for size, home in homes.items():
            command = [sys.executable, __file__, "--answer", name, str(home)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            taken[size].append(json.loads(done.stdout)["cpu_ms"])
    few, many = min(taken[small]), min(taken[large])
    return at_most(f"{name} at {large:,}, CPU", many / few, LIMIT, baseline=f"{few:.0f} ms at {small:,}; {many:.0f} ms")


def answer(name: str, home: Path) -> None:
    with Runtime.open(home=home) as runtime:
        QUESTIONS["health"](runtime)  # opens the store
        started = cpu_s()
        QUESTIONS[name](runtime)
        print(json.dumps({"cpu_ms": (cpu_s() - started) * 1000}))


def retained(home: Path, size: int) -> list[Figure]:
    """Retention and compaction by policy, while another process asks for patterns as a server's page does."""
    stop, told = home / "stop", home / "told"
    asking = subprocess.Popen([sys.executable, __file__, "--asking", str(home), str(stop)], stdout=subprocess.PIPE)
    try:
        while not told.exists():
            time.sleep(0.2)
        began, used = time.time(), cpu_s()
        with Runtime.open(home=home, retention_days=KEPT_DAYS) as runtime:
            done = runtime.retention.compact(whole=True)
        ended, used = time.time(), cpu_s() - used
    finally:
        stop.touch()
        said, _ = asking.communicate(timeout=120)
        stop.unlink()
        told.unlink()
    answers: list[tuple[float, float, int]] = json.loads(said)
    before = [took for at, took, _ in answers if at + took < began]
    during = [took for at, took, _ in answers if at + took >= began and at <= ended]
    wrong = sum(found != answers[0][2] for _, _, found in answers)
    removed = sum(done.removed.values())
    return [
        Figure(name=f"retention of {KEPT_DAYS:.0f} days at {size:,}, with compaction, while somebody asks",
               measured=f"{removed:,} rows in {ended - began:.0f} s, {used:.0f} s of CPU"),
        Figure(name="answers meanwhile that failed, or told of other patterns", measured=f"{wrong}", goal="0",
               baseline=f"{len(during)} answers", holds=wrong == 0 and len(during) > 0),
        Figure(name="longest answer meanwhile", measured=f"{max(during, default=0) * 1000:.0f} ms",
               baseline=f"median {statistics.median(during or [0]) * 1000:.0f} ms; "
               f"before: median {statistics.median(before) * 1000:.0f}, longest {max(before) * 1000:.0f} ms"),
    ]  # fmt: skip


def keep_asking(home: Path, stop: Path) -> None:
    """Ask for patterns until told to stop; print when, how long, and how many."""
    answers = []
    with Runtime.open(home=home) as runtime:
        while not stop.exists():
            at = time.time()
            found = len(runtime.patterns(limit=50))
            answers.append((at, time.time() - at, found))
            if len(answers) == 10:
                (home / "told").touch()
            time.sleep(0.1)
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
