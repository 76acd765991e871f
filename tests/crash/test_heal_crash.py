"""kill -9 at any point of an episode; another process goes on: nothing is repeated, orphaned, overspent or changed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.errors import Refused
from ratchet.healing.rows import attempts, episode
from ratchet.runtime import Runtime
from ratchet.sandbox.choice import Sandboxes
from support.processes import running_with

WRONG = "def add(a, b):\n    return a - b\n"
ATTEMPTS = 4
"""The last of them is right."""

# Runs or resumes the only episode of a home. Its solver notes each attempt that it begins in a file outside.
PROGRAM = """
import sys, json, pathlib
from ratchet.healing.book import HealMeans, HealRequest
from ratchet.healing.episode import Budget
from ratchet.sandbox.command import Command
from ratchet.runtime import Runtime
from ratchet.healing.job import Solved
home, project, log = map(pathlib.Path, sys.argv[1:4])
class Solver:
    name = "scripted"
    def solve(self, job):
        n = len(job.tried) + 1
        with log.open("a") as file:
            file.write(json.dumps({"n": n}) + "\\n")
        paid = job.purse.reserve(0.05)
        script = "sleep 0.05; sleep 0.05 #marker-%s" % home.name
        job.sandbox.run(Command(argv=("sh", "-c", script), view=job.workspace.view()))
        right = n == FOUR
        text = job.workspace.read("calc.py").decode().replace("a - b", "a + b" if right else "a * %d0" % n)
        job.workspace.write("calc.py", text.encode())
        job.purse.settle(paid, 0.05)
        return Solved(status="proposed", fix="attempt %d" % n)
with Runtime.open(home=home) as runtime:
    book, means = runtime.episodes, HealMeans(solver=Solver(), check_s=20)
    found = book.list()
    if found:
        if found[0].status == "running":
            book.resume(found[0].id, means)
    else:
        check = ("python", "-c", "import sys; sys.path.insert(0, '.'); import calc; assert calc.add(1, 2) == 3")
        book.run(HealRequest(check=check, folder=project, budget=Budget(usd=1000.0)), means)
""".replace("FOUR", str(ATTEMPTS))


def started(home: Path, project: Path, log: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(home), str(project), str(log)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finished(home: Path) -> set[int]:
    """Attempts whose end is written."""
    if not (home / "ratchet.db").exists():
        return set()
    with Runtime.open(home=home) as runtime:
        found = runtime.episodes.list()
        if not found:
            return set()
        return {each.n for each in attempts(runtime.store, found[0].id) if each.status not in ("running", "cancelled")}


def begun(log: Path) -> list[int]:
    return [json.loads(line)["n"] for line in log.read_text().splitlines()] if log.exists() else []


def gone(mark: str) -> bool:
    deadline = time.monotonic() + 20
    while running_with(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def killed_until_it_ends(folder: Path, dice: random.Random) -> int:
    """One episode, killed at random points until a process of it comes to its end; how often that was."""
    home, project, log = folder / f"home-{dice.getrandbits(48):012x}", folder / "project", folder / "log"
    project.mkdir(parents=True)
    (project / "calc.py").write_text(WRONG)
    kills = 0
    while True:
        before, seen = finished(home), len(begun(log))
        process = started(home, project, log)
        try:
            # Later and later, so that it comes to its end.
            process.wait(timeout=dice.uniform(0.3, 1.0 + 0.1 * kills))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        _, said = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), said.decode()
        assert gone(f"marker-{home.name}"), running_with(home.name)
        assert not before & set(begun(log)[seen:]), "a finished attempt was made again"
        assert (project / "calc.py").read_text() == WRONG
        assert [each.name for each in project.iterdir()] == ["calc.py"]
        if process.returncode == 0:
            break
        kills += 1
    with Runtime.open(home=home) as runtime:
        (found,) = runtime.episodes.list()
        ended = episode(runtime.store, found.id)
    assert ended.status == "passed"
    assert [each.n for each in ended.attempts] == [*range(1, ATTEMPTS + 1)]
    # Every attempt that was begun may have cost its full price, and none more.
    assert 0.05 * ATTEMPTS - 1e-9 <= ended.cost_usd <= 0.05 * len(begun(log)) + 1e-9
    return kills


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    try:
        Sandboxes(tmp_path).chosen()
    except Refused as error:
        pytest.skip(str(error))
    return tmp_path  # type: ignore[return-value]


def test_an_episode_killed_at_random_points_ends_as_if_it_never_was(folder: Path) -> None:
    dice = random.Random(7)
    kills = [killed_until_it_ends(folder / str(number), dice) for number in range(2)]
    assert sum(kills) >= 2


@pytest.mark.soak
def test_a_hundred_kills(folder: Path) -> None:
    dice = random.Random(1)
    kills = number = 0
    while kills < 100:
        number += 1
        kills += killed_until_it_ends(folder / str(number), dice)
