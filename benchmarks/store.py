"""The store: draining a journal into it, and asking it for patterns and health at a million outcomes.

    python benchmarks/store.py [--size 1000000] [--peer-size 50000] [--history DIR]

Figures are CPU time of this process or of a fresh one (memory: its peak). `--history` keeps the synthesised history for
the next run. The peer is rsi-loop 0.1.0, measured at a smaller history, since it reads all of it at every cycle.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from figures import Figure, at_least, at_most, publish
from history import AGENTS, DAYS, STARTED_AT, batches, outcomes
from ratchet.failures.patterns.ingest import ingest
from ratchet.recording.drain import drain
from ratchet.recording.journal import Journal
from ratchet.recording.recorder import Recorder
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore

DRAINED = 40_000  # outcomes a drain: some thirteen batches
ROUNDS = 3
SHARES = (0.0, 0.1, 0.3)  # of failures
MILLION = 1_000_000


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# -- draining ------------------------------------------------------------------------------------------------------


def rows_to_drain(failing: float, started_at: float, seed: int) -> list[Row]:
    days = DAYS * DRAINED / MILLION  # as dense in time as the history of a million
    return list(outcomes(DRAINED, failing=failing, seed=seed, days=days, started_at=started_at))


def recorded(rows: list[Row], home: Path) -> None:
    """Write the rows down as an agent's `record` does: ids in order of time, no step, no session."""
    recorder = Recorder(str(home))
    for row in rows:
        failure = row.get("failure")
        recorder.record(
            str(row["agent"]),
            task=str(row["task"]),
            ok=bool(row["ok"]),
            error=str(failure["message"]) if isinstance(failure, dict) else None,
            duration_s=float(str(row["duration_s"])),
            tokens=int(str(row["tokens"])),
            started_at=float(str(row["started_at"])),
        )
    recorder.close()


def journalled(rows: list[Row], home: Path) -> None:
    """Write the rows down as hooks do: tool calls of sessions, with ids that are hashes."""
    journal = Journal(str(home))
    for row in rows:
        journal.append({"r": "outcome", **row})
    journal.close()


def drained_per_cpu_s(store: SqliteStore, rows: list[Row], write: Callable[[list[Row], Path], None]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        write(rows, Path(folder))
        started = cpu_s()
        moved = drain(store, folder, ingest, time.time()).outcomes
        used = cpu_s() - started
    assert moved == len(rows), f"{moved} of {len(rows)} arrived"
    return moved / used


def bare_per_cpu_s(rows: list[Row], folder: Path) -> float:
    """The least that could be done: the line parsed, and its text inserted under its id. No column, tally or kind."""
    lines = [json.dumps(row) for row in rows]
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE rows (id TEXT PRIMARY KEY, body TEXT)")
    started = cpu_s()
    for start in range(0, len(lines), 3000):
        connection.execute("BEGIN IMMEDIATE")
        parsed = ((json.loads(line)["id"], line) for line in lines[start : start + 3000])
        connection.executemany("INSERT INTO rows VALUES (?, ?) ON CONFLICT (id) DO NOTHING", parsed)
        connection.execute("COMMIT")
    used = cpu_s() - started
    connection.close()
    (folder / "bare.db").unlink()
    return len(rows) / used


def drain_figures(history: Path, size: int) -> list[Figure]:
    end = STARTED_AT + DAYS * 86_400
    best: dict[str, float] = {}

    def keep(name: str, value: float) -> None:
        best[name] = max(best.get(name, 0.0), value)

    large = SqliteStore(history)
    for number in range(ROUNDS):
        for share in SHARES:
            rows = rows_to_drain(share, end, seed=1000 + number)
            with tempfile.TemporaryDirectory() as folder:
                store = SqliteStore(Path(folder) / "ratchet.db")
                keep(f"{share}", drained_per_cpu_s(store, rows, recorded))
                keep(f"{share} calls", drained_per_cpu_s(store, rows, journalled))
                store.close()
                keep(f"{share} bare", bare_per_cpu_s(rows, Path(folder)))
            if share == 0.1:
                keep("large", drained_per_cpu_s(large, rows, recorded))
    large.close()
    figures: list[Figure] = []
    for share in SHARES:
        name, beside = f"drained per CPU second, {share:.0%} failures", f"parse, insert: {best[f'{share} bare']:,.0f}"
        if share == 0.1:
            figures.append(at_least(name, best["0.1"], 50_000, baseline=beside))
        else:
            figures.append(Figure(name=name, measured=f"{best[f'{share}']:,.0f}", baseline=beside))
        calls = f"{best[f'{share} calls']:,.0f}"
        figures.append(
            Figure(name=f"  as tool calls of sessions, {share:.0%} failures", measured=calls, baseline=beside)
        )
    slower = at_most(
        f"slower for each outcome on {size:,} of history, 10% failures",
        best["0.1"] / best["large"],
        1.25,
        baseline=f"{1e6 / best['0.1']:.1f} us on an empty store",
    )
    return [*figures, slower]


# -- asking --------------------------------------------------------------------------------------------------------


def ask_patterns(path: Path) -> int:
    from ratchet.failures.patterns.health import health
    from ratchet.failures.patterns.patterns import patterns

    store = SqliteStore(path)
    found = len(patterns(store, now=time.time()))
    health(store)
    store.close()
    return found


def ask_correlations(path: Path) -> int:
    from ratchet.failures.patterns.correlation import correlations

    store = SqliteStore(path)
    found = len(correlations(store))
    store.close()
    return found


def scan_all(path: Path) -> int:
    """What analysis without tallies would do: read every failure and every agent's outcomes, and count."""
    connection = sqlite3.connect(path)
    counts: Counter[str] = Counter()
    agents: Counter[str] = Counter()
    for agent, ok, body in connection.execute("SELECT agent, ok, body FROM outcomes ORDER BY started_at"):
        agents[agent] += ok
        if not ok:
            counts[json.loads(body)["failure"]["signature"]] += 1
    connection.close()
    return len(counts)


def ask_peer(folder: Path) -> int:
    from rsi_loop import RSILoop
    from rsi_loop.types import Config

    loop = RSILoop(Config(data_dir=str(folder), analysis_window_days=100_000, auto_fix_enabled=False))
    loop.health_score()
    return len(loop.run_cycle())


QUESTIONS = {"patterns": ask_patterns, "correlations": ask_correlations, "scan": scan_all, "peer": ask_peer}


def answer(question: str, path: Path) -> None:
    """Run in a process of its own: CPU of the question alone, and the peak of its memory."""
    started = cpu_s()
    found = QUESTIONS[question](path)
    print(json.dumps({"found": found, "cpu_ms": (cpu_s() - started) * 1000, "peak_mb": peak_mb()}))


def peak_mb() -> float:
    """Peak memory of this process. Linux hands `ru_maxrss` down from the parent, so it is asked for in another way."""
    status = Path("/proc/self/status")
    if status.exists():
        kib = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(kib.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def asked(question: str, path: Path, *, rounds: int = ROUNDS) -> dict[str, float]:
    answers: list[dict[str, float]] = []
    for _ in range(rounds):
        command = [sys.executable, __file__, "--answer", question, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        answers.append(json.loads(done.stdout))
    return min(answers, key=lambda each: each["cpu_ms"])


def history_of_peer(folder: Path, size: int) -> None:
    with (folder / "outcomes.jsonl").open("w") as file:
        for row in outcomes(size):
            failure = row.get("failure")
            line = {
                "id": str(row["id"])[:9],
                "ts": datetime.fromtimestamp(float(str(row["started_at"])), UTC).isoformat(),
                "source": row["agent"],
                "task_type": row["task"],
                "success": row["ok"],
                "issues": [] if row["ok"] else ["tool_error"],
                "error_message": failure["message"] if isinstance(failure, dict) else "",
            }
            file.write(json.dumps(line) + "\n")


def asking_figures(history: Path, size: int, peer_size: int) -> list[Figure]:
    ours, scan = asked("patterns", history), asked("scan", history)
    together = asked("correlations", history)
    with tempfile.TemporaryDirectory() as folder:
        history_of_peer(Path(folder), peer_size)
        peer = asked("peer", Path(folder), rounds=1)
    scale = size / peer_size
    peer_said = f"rsi-loop at {peer_size:,}: {peer['cpu_ms']:,.0f} ms, {peer['peak_mb']:.0f} MB"
    baseline = f"full scan {scan['cpu_ms']:,.0f} ms, {scan['peak_mb']:.0f} MB; {peer_said}"
    return [
        at_most(f"patterns and health at {size:,}, CPU", ours["cpu_ms"], 300, unit="ms", baseline=baseline),
        at_most(f"patterns and health at {size:,}, memory", ours["peak_mb"], 150, unit="MB", baseline=baseline),
        Figure(
            name="times less CPU than rsi-loop for each outcome of history",
            measured=f"{peer['cpu_ms'] * scale / ours['cpu_ms']:,.0f} x",
            baseline=peer_said,
        ),
        Figure(
            name=f"correlations at {size:,}, CPU and memory",
            measured=f"{together['cpu_ms']:.0f} ms, {together['peak_mb']:.0f} MB",
            baseline=f"full scan {scan['cpu_ms']:,.0f} ms",
        ),
    ]


def synthesise(path: Path, size: int) -> Figure:
    store = SqliteStore(path)
    used = 0.0
    for batch in batches(outcomes(size)):
        started = cpu_s()
        ingest(store, batch)
        used += cpu_s() - started
    store.close()
    return Figure(
        name=f"ingested per CPU second, 15 % failures, {AGENTS} agents, to {size:,}",
        measured=f"{size / used:,.0f}" if used else "",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=MILLION)
    parser.add_argument("--peer-size", type=int, default=50_000)
    parser.add_argument("--history", type=Path)
    parser.add_argument("--answer", nargs=2, metavar=("QUESTION", "PATH"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.answer:
        answer(given.answer[0], Path(given.answer[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = (given.history or Path(folder)) / "ratchet.db"
        figures = [] if path.exists() else [synthesise(path, given.size)]
        figures += asking_figures(path, given.size, given.peer_size)
        # Last, since they add to the history.
        figures += drain_figures(path, given.size)
    publish("store", figures)


if __name__ == "__main__":
    main()
