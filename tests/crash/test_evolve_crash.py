"""kill -9 of the driver at any point of an evolve run; another process goes on: no finished evaluation is paid for
twice, at most those under way are lost, nothing is left running, and what is decided is what would have been."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from ratchet.evolving import rows as evolutions
from ratchet.evolving.candidate import Candidate
from ratchet.runtime import Runtime

PARALLEL = 2

# Runs or resumes the only run of a home. Each evaluation is a process of its own that waits a moment, after it noted in
# a file outside that it begins.
PROGRAM = """
import json, pathlib, subprocess, sys
from ratchet.evolving.request import EvolveAsked, EvolveMeans
from ratchet.sandbox.command import Command, View
from ratchet.runtime import Runtime
from ratchet.sandbox.plain import Plain
from ratchet.testing.evolving import ScriptedProposer, SyntheticMeasure, skills_text, synthetic_agent
from ratchet.testing.evolving import synthetic_benchmark, SKILLS

class Measure:
    def __init__(self, home, log):
        self.home, self.coin = home, SyntheticMeasure(log=log, cost_usd=0.001)
    def __call__(self, job):
        script = "sleep 0.004 #marker-" + self.home
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            sandbox = Plain()
            sandbox.run(Command(argv=("sh", "-c", script), view=View(folder=pathlib.Path(folder))))
        return self.coin(job)

if __name__ == "__main__":
    home, folder, log, executor = sys.argv[1:5]
    script = [{SKILLS: skills_text({"*": p})} for p in (0.2, 0.8, 0.801, 0.3, 0.99, 0.1)]
    bench = synthetic_benchmark(gate=6)
    with Runtime.open(home=home) as runtime:
        means = EvolveMeans(
            proposer=ScriptedProposer(script), measure=Measure(pathlib.Path(home).name, log), unsafe=True,
            benchmark=bench, executor=executor,
        )
        book = runtime.evolutions
        found = book.list()
        if found:
            if found[0].state == "killed":
                book.resume(found[0].id, means)
        else:
            agent = synthetic_agent(pathlib.Path(folder), {"*": 0.5})
            asked = EvolveAsked(
                agent=agent, benchmark=bench, proposer="scripted", proposals=6, parallel=PARALLEL, batch=2, cap=60,
                usd=1000.0,
            )
            book.run(asked, means)
""".replace("PARALLEL", str(PARALLEL))

Key = tuple[str, str, int]


class Driver:
    """One run that is killed again and again."""

    def __init__(self, folder: Path, executor: str) -> None:
        folder.mkdir(parents=True)
        self.program = folder / "drive.py"
        self.program.write_text(PROGRAM)
        self.home = folder / f"home-{os.urandom(6).hex()}"
        self.folder, self.log, self.executor = folder / "agent", folder / "log", executor

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, *map(str, (self.program, self.home, self.folder, self.log)), self.executor, *more]
        environ = {**os.environ, "MARK": self.home.name}
        return subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=environ
        )

    def begun(self) -> list[Key]:
        """Evaluations that were begun, in order."""
        if not self.log.exists():
            return []
        lines = self.log.read_text().splitlines()
        return [(each[0], each[1], each[2]) for each in map(json.loads, lines)]

    def finished(self) -> set[Key]:
        """Evaluations that are written."""
        if not (self.home / "ratchet.db").exists():
            return set()
        with Runtime.open(home=self.home) as runtime:
            return {
                (each.candidate, each.task, each.seed)
                for run in runtime.evolutions.list()
                for each in runtime.evolutions.evaluations(run.id)
            }

    def decisions(self) -> list[tuple[object, ...]]:
        with Runtime.open(home=self.home) as runtime:
            (run,) = runtime.evolutions.list()
            assert run.state == "ended"
            return [decision(each) for each in evolutions.candidates(runtime.store, run.id)]

    def survivors(self) -> list[str]:
        """Command lines of processes of this run: workers by what they inherited, agents by their script."""
        found = []
        for each in Path("/proc").iterdir():
            if each.name.isdecimal() and int(each.name) != os.getpid():
                try:
                    line = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                    environ = (each / "environ").read_bytes()
                except OSError:
                    continue
                if self.home.name in line or self.home.name.encode() in environ:
                    found.append(line)
        return found

    def gone(self) -> bool:
        deadline = time.monotonic() + 20
        while self.survivors():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def decision(each: Candidate) -> tuple[object, ...]:
    return each.n, each.id, each.state, each.batch, each.level, each.pairs, each.mean, each.e_value, each.retry_of


def killed_until_it_ends(driver: Driver, dice: random.Random, most: int) -> int:
    """Kill a run at random points, at most so often; how often that was."""
    kills = 0
    while True:
        before, seen = driver.finished(), len(driver.begun())
        process = driver.start()
        try:
            process.wait(timeout=dice.uniform(0.3, 1.2 + 0.1 * kills) if kills < most else 300)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        _, said = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), said.decode()
        assert driver.gone(), driver.survivors()
        again = Counter(driver.begun()[seen:])
        assert not before & set(again), "a finished evaluation was made again"
        assert max(again.values(), default=1) == 1
        lost = set(driver.begun()) - driver.finished()
        assert len(lost) <= PARALLEL * (kills + 1)
        if process.returncode == 0:
            return kills
        kills += 1


def uninterrupted(folder: Path) -> list[tuple[object, ...]]:
    driver = Driver(folder, "threads")
    process = driver.start()
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()
    return driver.decisions()


def test_a_run_killed_at_random_points_decides_what_it_would_have_decided(tmp_path: Path) -> None:
    expected = uninterrupted(tmp_path / "whole")
    assert {"kept", "reverted"} <= {each[2] for each in expected}
    for executor, most in (("threads", 5), ("processes", 2)):
        driver = Driver(tmp_path / executor, executor)
        assert killed_until_it_ends(driver, random.Random(3), most) >= 1
        assert driver.decisions() == expected
        counts = Counter(driver.begun())
        with Runtime.open(home=driver.home) as runtime:
            (run,) = runtime.evolutions.list()
        # What was begun and not seen to its end counts in full, and nothing counts twice.
        assert 0.001 * run.runs - 1e-9 <= run.cost_usd
        assert run.runs <= len(counts)


# As the command does it: the first Ctrl-C begins nothing new, the second stops what is under way.
INTERRUPTED = """
import sys
from pathlib import Path
from ratchet.cli.stopping import draining
from ratchet.evolving.request import EvolveAsked, EvolveMeans
from ratchet.runtime import Runtime
from ratchet.testing.evolving import ScriptedProposer, SyntheticMeasure, synthetic_agent, synthetic_benchmark

if __name__ == "__main__":
    home, folder, log, executor, seconds = sys.argv[1:6]
    with Runtime.open(home=home) as runtime, draining() as asked_to_stop:
        measure = SyntheticMeasure(log=log, seconds=float(seconds))
        means = EvolveMeans(
            proposer=ScriptedProposer([{}]), measure=measure, unsafe=True, executor=executor,
            stopping=asked_to_stop.is_set,
        )
        agent = synthetic_agent(Path(folder), {"*": 0.5})
        asked = EvolveAsked(agent=agent, benchmark=synthetic_benchmark(), proposer="scripted", parallel=2)
        print(runtime.evolutions.run(asked, means).state)
"""


@pytest.mark.parametrize("executor", ["threads", "processes"])
@pytest.mark.parametrize(("seconds", "interrupts"), [(6.0, 1), (600.0, 2)])
def test_ctrl_c_once_lets_evaluations_end_and_twice_ends_them(
    tmp_path: Path, executor: str, seconds: float, interrupts: int
) -> None:
    driver = Driver(tmp_path / "run", executor)
    driver.program.write_text(INTERRUPTED)
    process = driver.start(str(seconds))
    begun = 3 if interrupts == 1 else 1  # the first runs alone, until its price is known; then two at once
    deadline = time.monotonic() + 60
    while len(driver.begun()) < begun and time.monotonic() < deadline:
        time.sleep(0.05)
    for _ in range(interrupts):
        os.killpg(process.pid, signal.SIGINT)  # a terminal tells every process
        time.sleep(0.3)
    out, said = process.communicate(timeout=60)
    assert driver.gone(), driver.survivors()
    assert len(driver.begun()) == begun
    if interrupts == 1:
        assert out.decode().strip() == "cancelled", said.decode()
        assert len(driver.finished()) == begun
    else:
        assert process.returncode != 0
        assert driver.finished() == set()


@pytest.mark.soak
def test_fifty_kills(tmp_path: Path) -> None:
    expected = uninterrupted(tmp_path / "whole")
    dice = random.Random(1)
    kills = number = 0
    while kills < 50:
        number += 1
        driver = Driver(tmp_path / str(number), "processes" if number % 4 == 0 else "threads")
        kills += killed_until_it_ends(driver, dice, 20)
        assert driver.decisions() == expected
