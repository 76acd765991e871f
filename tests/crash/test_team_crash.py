"""kill -9 of a team's driver at any moment: another process goes on, no task is lost, and none is paid for twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

TASKS = 60

# Drives the only run of a home. Each worker is a process of its own, which notes in a file outside that it begins, and
# that its work is done.
PROGRAM = """
import asyncio, sys
from ratchet import Ratchet
from ratchet.team import Orchestrator, TeamTask, Worker
from ratchet.testing.team import do_one

async def main(folder):
    with Ratchet(folder + "/home") as ratchet:
        workers = [Worker(f"w{n}", do_one, isolated=True) for n in range(3)]
        team = Orchestrator("t", workers, ratchet=ratchet)
        work = {"log": folder + "/log", "takes_s": 0.02}
        tasks = [TeamTask(id=f"t{n}", work=work, needs=(f"t{n - 7}",) if n >= 7 else ()) for n in range(TASKS)]
        run = await team.run(tasks, run="r")
    open(folder + "/end", "w").write(f"{run.state} {len(run.results)}")

if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
""".replace("TASKS", str(TASKS))


def started(folder: Path) -> subprocess.Popen[bytes]:
    program = folder / "drive.py"
    program.write_text(PROGRAM)
    return subprocess.Popen([sys.executable, "-P", str(program), str(folder)], stderr=subprocess.PIPE)


def lines(folder: Path) -> list[str]:
    log = folder / "log"
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize("kills", [6, pytest.param(40, marks=pytest.mark.soak)])
def test_a_driver_is_killed_again_and_again(tmp_path: Path, kills: int) -> None:
    chance = random.Random(kills)
    for _ in range(kills):
        before = len(lines(tmp_path))
        running = started(tmp_path)
        until = before + chance.randrange(1, max(2, 2 * TASKS // kills))
        while running.poll() is None and len(lines(tmp_path)) < until:
            time.sleep(chance.uniform(0.0, 0.005))
        running.send_signal(signal.SIGKILL)
        running.communicate()
    last = started(tmp_path)
    _, said = last.communicate(timeout=120)
    assert (tmp_path / "end").read_text() == f"done {TASKS}", said.decode()
    counted = Counter(tuple(line.split()[::2]) for line in lines(tmp_path))
    assert {count for (_, what), count in counted.items() if what == "paid"} == {1}
    assert {count for (_, what), count in counted.items() if what == "began"} == {1}
    assert len(counted) == 2 * TASKS


def test_nothing_of_a_killed_driver_is_left_running(tmp_path: Path) -> None:
    mark = f"36{random.randrange(10**6):06}.{os.getpid()}"  # seconds that nobody else sleeps
    program = tmp_path / "drive.py"
    program.write_text(
        "import asyncio\n"
        "from ratchet import Ratchet\n"
        "from ratchet.team import Orchestrator, TeamTask, Worker\n"
        f"work = Worker('w', command=['sh', '-c', 'exec sleep {mark}'])\n"
        f"team = Orchestrator('t', [work], ratchet=Ratchet({str(tmp_path / 'home')!r}))\n"
        "asyncio.run(team.run([TeamTask(id='a', timeout_s=3.0)], run='r'))\n"
    )
    running = subprocess.Popen([sys.executable, "-P", str(program)])
    wait_for(lambda: sleeping(mark) > 0)
    running.send_signal(signal.SIGKILL)
    running.wait()
    wait_for(lambda: sleeping(mark) == 0)


def sleeping(mark: str) -> int:
    """Count the processes that sleep so long."""
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return sum(line.startswith(f"sleep {mark}") for line in found.splitlines())


def wait_for(holds: object, seconds: float = 30.0) -> None:
    assert callable(holds)
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)
