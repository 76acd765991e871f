"""What recording costs the host, each figure beside a bare write of the same fields in the same run.

    python benchmarks/hot_path.py [--size 1000000] [--peer-size 20000] [--history DIR]

CPU time, the best of rounds that alternate between what is measured and its baseline. The baseline is
`os.write(fd, json.dumps(record))` with the fields that `record` was given. `--history` keeps the synthesised history
for the next run (benchmarks/store.py uses the same). The peers read their whole history at a failing call or at every
cycle, so they are measured at a smaller one.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from figures import Figure, at_most, publish
from history import AGENTS, DAYS, STARTED_AT, batches, outcomes
from ratchet.client import Ratchet
from ratchet.failures.patterns.health import health
from ratchet.failures.patterns.ingest import ingest
from ratchet.failures.patterns.patterns import patterns
from ratchet.failures.redaction.text import redact
from ratchet.recording.drain import drain
from ratchet.recording.journal import segments
from ratchet.records import Fields, Row
from ratchet.store.sqlite import SqliteStore

ROUNDS = 9
MILLION = 1_000_000
RECORDED = 20_000  # outcomes that are recorded, drained and analysed on top of the history

WORDS = "summarize the quarterly report for the board and list what changed since the last one".split()  # noqa: SIM905
ERROR = """Traceback (most recent call last):
  File "/srv/app/agents/support.py", line 214, in answer
    result = await self.client.lookup(order_id, timeout=self.timeout_s)
  File "/srv/app/agents/client.py", line 88, in lookup
    raise OrderServiceError(f"lookup failed: {response.status} {response.reason}")
agents.client.OrderServiceError: lookup failed: 503 Service Unavailable (request 7f3c9a52, upstream
orders-7c9d4b5f6-x2x8k:8443, retry after 2s) while answering ticket 18842 for customer 93114 in eu-west"""


def cpu_us(function: Callable[[], object], calls: int) -> float:
    started = time.process_time_ns()
    for _ in range(calls):
        function()
    return (time.process_time_ns() - started) / calls / 1000


def best_us(functions: list[Callable[[], object]], calls: int, *, rounds: int = ROUNDS) -> list[float]:
    """CPU microseconds a call of each, taken in turns, so that a busy moment falls on all of them."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for position, function in enumerate(functions):
            best[position] = min(best[position], cpu_us(function, calls))
    return best


class Bare:
    """The least that could be done: the given fields, an id, a time, dumped and written."""

    def __init__(self, folder: Path) -> None:
        self.fd = os.open(folder / "bare.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.row: dict[str, object] = {
            "r": "outcome",
            "id": "01a21f4c-820f-72cf-94f1-86fffb6373c8",
            "agent": "support",
            "ok": True,
            "started_at": 1_790_000_000.123456,
            "source": "python",
        }

    def write(self, fields: Fields) -> int:
        return os.write(self.fd, json.dumps({**self.row, **fields}).encode())


def tasks() -> Callable[[], str]:
    """A text of some forty characters, another one each time."""
    numbers = itertools.count()
    return lambda: f"{' '.join(WORDS[: 6 + next(numbers) % 3])} {next(numbers)}"


def success(task: str) -> Fields:
    return {
        "task": task,
        "duration_s": 1.25,
        "cost_usd": 0.002,
        "tokens": 1200,
        "model": "gpt-5-mini",
        "session": "0192f0c1-aaaa-7bbb-8ccc-0123456789ab",
    }


def failure(task: str, error: str) -> Fields:
    return {**success(task), "ok": False, "error": error}


# -- record -----------------------------------------------------------------------------------------------------------


def record_figures(ratchet: Ratchet, bare: Bare) -> list[Figure]:
    task = tasks()
    error = ERROR[:500].ljust(500, ".")
    alone, written, recorded, failed_alone, failed = best_us(
        [
            lambda: success(task()),
            lambda: bare.write(success(task())),
            lambda: ratchet.record("support", **success(task())),
            lambda: bare.write(failure(task(), error)),
            lambda: ratchet.record("support", **failure(task(), error)),
        ],
        3000,
    )
    written, recorded, failed_alone, failed = (each - alone for each in (written, recorded, failed_alone, failed))
    return [
        at_most("record of a success", recorded / written, 3, baseline=f"bare write {written:.1f} us"),
        Figure(name="record of a success, us", measured=f"{recorded:.1f}"),
        at_most(
            "record of a failure with 500 characters", failed / failed_alone, 15, baseline=f"bare {failed_alone:.1f} us"
        ),
        Figure(name="record of a failure with 500 characters, us", measured=f"{failed:.1f}"),
    ]


def adversarial() -> dict[str, str]:
    """Texts made to be slow: long runs without an end, openings without a close, names without a value."""
    # fmt: off
    units = (
        "a", "a@", "a.", "x@a.", "=", "password=", "password=abc ", "password=\"", "'password': '", "secret is ",
        "token", "token=", "key: ", "api key ", "sk-", "eyJ", "eyJaaaaaaaa.", "://", "://a:", "http://a:b@", "4111 ",
        "4 4 ", "1", "--", "--token ", "a-", "authorization: ", "bearer ", "cookie: ", "cookie: a=b ", "mysql -pabc ",
        "\\", "\\\"", "\"", "ghp_", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "session", "is ",
        "pass ", "curl -u a:", "é", "%40", "AKIA", "deadbeef", "key=aB3", "a=b&", "{", "[[", "x\n", " ",
    )
    # fmt: on
    texts = {unit: (unit * (4000 // len(unit) + 1))[:4000] for unit in units}
    texts["a run, then @"] = "a" * 3999 + "@"
    texts["10 MB of words"] = "word " * 2_000_000
    texts["10 MB of one word"] = "a" * 10_000_000
    texts["10 MB of lines"] = "error: x\n" * 1_100_000
    return texts


def adversarial_figures(ratchet: Ratchet, bare: Bare) -> list[Figure]:
    worst, name, us = 0.0, "", 0.0
    for unit, text in adversarial().items():
        calls, rounds = (2, 2) if len(text) > 10_000 else (10, 4)
        given = failure("t", text)
        written, recorded = best_us(
            [lambda given=given: bare.write(given), lambda given=given: ratchet.record("support", **given)],  # type: ignore[misc]
            calls,
            rounds=rounds,
        )
        if recorded / written > worst:
            worst, name, us = recorded / written, unit, recorded
    long = "password=" * 120_000
    redact(long[:9000])
    tenth, whole = cpu_us(lambda: redact(long[: len(long) // 10]), 1), cpu_us(lambda: redact(long), 1)
    return [
        at_most(
            f"record, worst of {len(adversarial())} adversarial texts",
            worst,
            100,
            baseline=f"bare write of the same; the worst is {name[:20]!r}, {us:.0f} us",
        ),
        at_most("redact a text ten times as long", whole / tenth, 15, baseline=f"a tenth of it {tenth / 1000:.0f} ms"),
    ]


# -- watch ------------------------------------------------------------------------------------------------------------


def watch_figures(ratchet: Ratchet, bare: Bare) -> list[Figure]:
    def answer(question: str) -> str:
        return question

    fields = success("t")
    watched = ratchet.watch("support", fields=fields)(answer)
    written, called, recorded, both = best_us(
        [
            lambda: bare.write(fields),
            lambda: answer("why"),
            lambda: ratchet.record("support", **fields),
            lambda: watched("why"),
        ],
        3000,
    )
    added = both - recorded - called
    return [
        at_most("watch adds to record", added / written, 2, baseline=f"bare write {written:.1f} us"),
        Figure(name="watch adds to record, us", measured=f"{added:.1f}"),
    ]


# -- the whole way ----------------------------------------------------------------------------------------------------


def whole_way_us(store: SqliteStore, home: Path, seed: int, size: int) -> tuple[float, float]:
    """CPU an outcome, 10 % of them failures: recorded, drained and analysed (classified, signed, grouped, tallied), and
    of bare writes of the same fields."""
    days = DAYS * RECORDED / max(size, RECORDED)
    rows = list(outcomes(RECORDED, failing=0.1, seed=seed, days=days, started_at=STARTED_AT + (DAYS + seed) * 86_400))
    given = [(str(row["agent"]), _fields(row)) for row in rows]
    bare = Bare(home)
    started = time.process_time()
    for _, fields in given:
        bare.write(fields)
    written = time.process_time() - started
    ratchet = Ratchet(home)
    started = time.process_time()
    for agent, fields in given:
        ratchet.record(agent, **fields)
    moved = drain(store, str(home), ingest, time.time()).outcomes
    used = time.process_time() - started
    assert moved == RECORDED, f"{moved} of {RECORDED} arrived"
    ratchet.close()
    drain(store, str(home), ingest, time.time())
    assert not segments(str(home))
    return used / RECORDED * 1e6, written / RECORDED * 1e6


def _fields(row: Row) -> Fields:
    fields: Fields = {
        "task": str(row["task"]),
        "ok": row["ok"] is True,
        "started_at": float(str(row["started_at"])),
        "duration_s": float(str(row["duration_s"])),
        "tokens": int(str(row["tokens"])),
        "session": str(row["session"]),
        "project": str(row["project"]),
    }
    failure = row.get("failure")
    if isinstance(failure, dict):
        fields["error"] = str(failure["message"])
    return fields


def whole_way_figures(history: Path, size: int) -> list[Figure]:
    store = SqliteStore(history / "ratchet.db")
    results = [whole_way_us(store, history, seed, size) for seed in range(101, 104)]
    store.close()
    used, written = min(used for used, _ in results), min(written for _, written in results)
    return [
        at_most(
            f"record, drain and analyse an outcome at {size:,}",
            used / written,
            10,
            baseline=f"bare write {written:.1f} us",
        ),
        Figure(name=f"record, drain and analyse an outcome at {size:,}, us", measured=f"{used:.1f}"),
    ]


def synthesise(history: Path, size: int) -> None:
    history.mkdir(parents=True, exist_ok=True)
    if not (history / "ratchet.db").exists():
        store = SqliteStore(history / "ratchet.db")
        for batch in batches(outcomes(size)):
            ingest(store, batch)
        store.close()


# -- peers ------------------------------------------------------------------------------------------------------------


def fails() -> int:
    raise TimeoutError("timed out")


def ours_us(folder: Path, size: int) -> tuple[float, float]:
    """A failing watched call of ours, and a cycle: what was recorded drained, patterns and health told."""
    synthesise(folder, size)
    store = SqliteStore(folder / "ratchet.db")
    ratchet = Ratchet(folder)
    watched = ratchet.watch("agent-1")(fails)

    def call() -> None:
        with contextlib.suppress(TimeoutError):
            watched()

    def cycle() -> None:
        drain(store, str(folder), ingest, time.time())
        patterns(store, now=time.time())
        health(store)

    used = min(cpu_us(call, 200) for _ in range(3)), min(cpu_us(cycle, 1) for _ in range(3))
    ratchet.close()
    store.close()
    return used


def rsi_loop_us(folder: Path, size: int) -> tuple[float, float]:
    """A failing call recorded by rsi-loop, and its cycle."""
    from rsi_loop import RSILoop
    from rsi_loop.types import Config

    loop = RSILoop(Config(data_dir=str(folder), auto_fix_enabled=False))
    for number in range(size):
        error = "" if number % 7 else f"could not open /srv/{number}"
        loop.observer.record_simple(f"task-{number % 40}", success=number % 7 != 0, error=error)

    def call() -> None:
        loop.observer.record_simple("t", success=False, error="timed out")

    def cycle() -> None:
        loop.run_cycle()
        loop.health_score()

    return min(cpu_us(call, 50) for _ in range(3)), cpu_us(cycle, 1)


def self_improving_loop_us(folder: Path, size: int) -> tuple[float, float]:
    """A failing call through self-improving-loop, which decides at each whether to improve: call and cycle are one."""
    from self_improving_loop import SelfImprovingLoop

    with contextlib.redirect_stdout(io.StringIO()):
        loop = SelfImprovingLoop(data_dir=str(folder))
        for number in range(size):
            loop._record_trace(f"agent-{number % AGENTS}", "t", number % 7 != 0, 0.1, None, None)
        used = cpu_us(lambda: loop.execute_with_improvement("agent-1", "t", fails), 2)
        return used, used


def peer_figures(size: int) -> list[Figure]:
    measure = {"ratchet": ours_us, "rsi-loop 0.1.0": rsi_loop_us, "self-improving-loop 0.1.3": self_improving_loop_us}
    used: dict[tuple[str, int], tuple[float, float]] = {}
    for name, function in measure.items():
        for count in (size // 5, size):
            with tempfile.TemporaryDirectory() as folder, contextlib.suppress(ImportError):  # without the extra `bench`
                used[name, count] = function(Path(folder), count)
    figures: list[Figure] = []
    for position, what in enumerate(("a failing call", "a cycle")):
        for (name, count), both in used.items():
            if position and both[0] == both[1]:
                continue  # its call is its cycle
            ratio = both[position] / used["ratchet", count][position]
            figures.append(
                Figure(
                    name=f"{what} at {count:,} of history, {name}",
                    measured=f"{both[position]:,.0f} us",
                    baseline="" if name == "ratchet" else f"{ratio:,.1f} x ratchet",
                )
            )
    grew = used["ratchet", size][0] / used["ratchet", size // 5][0]
    figures.append(at_most("a call at five times the history, ratchet", grew, 1.25, baseline=f"{size // 5:,} outcomes"))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=MILLION)
    parser.add_argument("--peer-size", type=int, default=20_000)
    parser.add_argument("--history", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = Bare(folder)
        ratchet = Ratchet(folder / "home")
        figures = record_figures(ratchet, bare)
        figures += watch_figures(ratchet, bare)
        figures += adversarial_figures(ratchet, bare)
        ratchet.close()
        figures += peer_figures(given.peer_size)
        history = given.history or folder / "history"
        synthesise(history, given.size)
        figures += whole_way_figures(history, given.size)
    publish("hot_path", figures)


if __name__ == "__main__":
    main()
