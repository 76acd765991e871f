"""A bench run whose driver is killed -9 again and again: nothing is paid twice, nothing is left running."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from ratchet.errors import Refused
from ratchet.evolving.bench.benchmark import Benchmark, BenchTask, Evaluation
from ratchet.evolving.bench.shelf import BenchShelf
from ratchet.runtime import Runtime
from ratchet.sandbox.choice import Sandboxes

TASKS = 8
MARK = "1.2345"  # seconds that an agent sleeps, by which its processes are known


@pytest.mark.parametrize("executor", ["threads", "processes", "dask", "ray"])
def test_a_driver_that_is_killed_pays_for_nothing_twice_and_leaves_no_process(tmp_path: Path, executor: str) -> None:
    needs = {"dask": "distributed", "ray": "ray"}.get(executor)
    if needs is not None and find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed: pip install 'ratchet-ai[cluster,ray]'")
    try:
        Sandboxes(tmp_path).chosen()
    except Refused as error:
        pytest.skip(f"needs a sandbox: {error}")
    home = tmp_path / "home"
    task = BenchTask(id="", kind="code", split="gate", instruction="wait", scorer="command", spec={"command": ["true"]})
    tasks = tuple(_named(task, f"t{n}") for n in range(TASKS))
    BenchShelf(home).keep(Benchmark(name="waiting", title="Waiting", tasks=tasks))
    dice = random.Random(executor)
    words = ["run", "--agent", f"sleep {MARK}", "--bench", "waiting", "--parallel", "2", "--executor", executor]
    held: list[Evaluation] = []
    killed: list[int] = []
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-m", "ratchet", "bench", *words],
            env={**os.environ, "RATCHET_HOME": str(home)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
            start_new_session=True,
        )
        run = _begun(home, process)
        time.sleep(dice.uniform(0.5, 4))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        killed.append(process.pid)
        _nothing_runs(home)
        known = {each.task: each for each in held}
        held = _evaluations(home, run)
        assert all(each == known.get(each.task, each) for each in held)
        assert known.keys() <= {each.task for each in held}
        words = ["run", "--resume", run, "--budget-usd", "50"]
        if len(held) == TASKS:
            break
    subprocess.run(
        [sys.executable, "-m", "ratchet", "bench", *words],
        env={**os.environ, "RATCHET_HOME": str(home)},
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    ended = _evaluations(home, run)
    assert sorted(each.task for each in ended) == [f"t{n}" for n in range(TASKS)]
    assert all(each.result == "passed" for each in ended)
    assert list((home / "bench" / "places").iterdir()) == []
    # Ray's own two agents answer nobody from the first second on, and go when their last report has waited a minute.
    _nothing_runs(home, *killed, within_s=120)


def _named(task: BenchTask, id_: str) -> BenchTask:
    from dataclasses import replace

    return replace(task, id=id_)


def _begun(home: Path, process: subprocess.Popen[bytes]) -> str:
    """The run's id, once it is written."""
    for _ in range(600):
        if (home / "ratchet.db").exists():
            with Runtime.open(home=home) as runtime:
                found = runtime.benchmarks.history()
            if found:
                return found[0].id
        assert process.poll() in (None, 0, 5), process.poll()
        time.sleep(0.05)
    pytest.fail("no run was begun within 30 s")


def _evaluations(home: Path, run: str) -> list[Evaluation]:
    with Runtime.open(home=home) as runtime:
        return runtime.benchmarks.evaluations(run)


def _nothing_runs(home: Path, *sessions: int, within_s: float = 10) -> None:
    """Wait until no process works for the home or is left of these sessions: a worker sees late that it is alone."""
    left: list[str] = []
    for _ in range(int(within_s / 0.05)):
        left = [
            line.strip() for line, of in _processes() if of in sessions or f"sleep {MARK}" in line or str(home) in line
        ]
        if not left:
            return
        time.sleep(0.05)
    pytest.fail(f"still running: {json.dumps(left)}")


def _processes() -> list[tuple[str, int]]:
    """Command line and session of every process that is not dead already."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, session = (each / "stat").read_bytes().rpartition(b")")[2].split()[:4]
            line = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except (OSError, ValueError):
            continue
        if state not in (b"Z", b"X"):
            found.append((line, int(session)))
    return found
