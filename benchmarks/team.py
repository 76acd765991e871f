"""Does a team lose a task, do one twice, or cost much? 1,000 tasks on 8 workers; 200 of them fail in seven ways.

Three parts: what a task costs over a bare `asyncio.TaskGroup` in the same run; how each of the failing ones ends; and a
driver that is killed with -9 at `--kills` random moments of a run, each time followed by another that goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from figures import Figure, at_most, publish
from ratchet import Ratchet
from ratchet.records import Json
from ratchet.team import Orchestrator, TeamRun, TeamTask, Worker
from ratchet.testing.team import RIGHT, WAYS, do_one

WORKERS, EVERY = 8, 5
TAKES_S = 0.002


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        asyncio.run(drive(Path(given.drive), given.tasks))
        return
    figures = [*overhead(given.tasks), *failing(given.tasks), *killed(given.tasks, given.kills)]
    publish("team", figures)


# -- what a task costs -------------------------------------------------------------------------------------------------


async def nap(work: object) -> object:
    await asyncio.sleep(TAKES_S)
    return work


def overhead(tasks: int) -> list[Figure]:
    bare_s = min(asyncio.run(bare(tasks)) for _ in range(3))
    team_s = min(asyncio.run(teamed(tasks, Worker("nap", nap, slots=WORKERS))) for _ in range(3))
    own = [Worker(f"w{n}", do_one, isolated=True) for n in range(WORKERS)]
    own_s = asyncio.run(teamed(tasks, *own, log=True))
    per_bare = f"bare TaskGroup: {1000 * bare_s / tasks:.2f} ms a task"
    return [
        at_most("a task over a bare TaskGroup", 1000 * (team_s - bare_s) / tasks, 2, unit="ms", baseline=per_bare),
        Figure(
            name="... in processes of their own, their start included",
            measured=f"{1000 * (own_s - bare_s) / tasks:.2f} ms",
            baseline=per_bare,
        ),
    ]


async def bare(tasks: int) -> float:
    places = asyncio.Semaphore(WORKERS)

    async def one(number: int) -> object:
        async with places:
            return await nap(number)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(tasks):
            group.create_task(one(number))
    return time.perf_counter() - began


async def teamed(tasks: int, *workers: Worker, log: bool = False) -> float:
    with tempfile.TemporaryDirectory() as home, Ratchet(home) as ratchet:
        path = f"{home}/log"
        asked = [TeamTask(id=f"t{n}", work={"log": path, "takes_s": TAKES_S} if log else n) for n in range(tasks)]
        team = Orchestrator("bench", workers, ratchet=ratchet)
        warm = [TeamTask(id=f"warm{n}", work={"log": path} if log else n) for n in range(WORKERS)]
        await team.run(warm)
        began = time.perf_counter()
        run = await team.run(asked)
        spent = time.perf_counter() - began
        assert run.state == "done", run.reason
        return spent


# -- what fails --------------------------------------------------------------------------------------------------------


def ways(tasks: int) -> dict[str, tuple[str, int]]:
    """Task -> how it fails, and at how many of its attempts: every second one at all of them."""
    bad = range(0, tasks, EVERY)
    return {f"t{n}": (WAYS[at % len(WAYS)], 1 if at % 2 else 99) for at, n in enumerate(bad)}


def asked(tasks: int, log: Path) -> list[TeamTask]:
    failing = ways(tasks)
    found = []
    for n in range(tasks):
        way, times = failing.get(f"t{n}", ("", 0))
        work: Json = {"log": str(log), "takes_s": TAKES_S, "way": way, "times": times}
        needs = (f"t{n - 1}",) if n % EVERY == 3 else ()  # after one that is well
        found.append(TeamTask(id=f"t{n}", work=work, needs=needs, timeout_s=1.0))
    return found


async def team_run(home: Path, tasks: int, log: Path) -> TeamRun:
    workers = [Worker(f"w{n}", do_one, isolated=True) for n in range(WORKERS)]
    with Ratchet(home) as ratchet:
        team = Orchestrator("bench", workers, judge=lambda _, value: value == RIGHT, backoff_s=0.05, ratchet=ratchet)
        return await team.run(asked(tasks, log), run="bench")


def failing(tasks: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        began = time.perf_counter()
        run = asyncio.run(team_run(Path(folder) / "home", tasks, log))
        spent = time.perf_counter() - began
        # What a signal stopped waits for the next run, and is not lost.
        assert run.state != "stopped", f"the run was stopped ({run.reason}): measure it again, and let it end"
        states = Counter(each.state for each in run.tasks)
        lost = tasks - sum(states.values()) + states["waiting"] + states["running"]
        bad = {task for task, (way, times) in ways(tasks).items() if way != "slow" and times > 1}
        wrong = {each.id for each in run.tasks if (each.state == "failed") != (each.id in bad)}
        twice = [task for task, count in paid(log).items() if count > 1 and task not in ways(tasks)]
        return [
            at_most("tasks lost", lost, 0, unit=f"of {tasks:,}"),
            at_most("tasks that ended otherwise than they should", len(wrong), 0, unit=f"of {tasks:,}"),
            at_most("tasks done twice", len(twice), 0, unit=f"of {states['done']:,} done"),
            Figure(name=f"a run with {len(ways(tasks))} failing of {tasks:,}", measured=f"{spent:.1f} s"),
        ]


def paid(log: Path) -> Counter[str]:
    """Task -> how often its work was done to its end."""
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter(line.split()[0] for line in lines if line.endswith(" paid"))


# -- kill -9 -----------------------------------------------------------------------------------------------------------


async def drive(folder: Path, tasks: int) -> None:
    workers = [Worker(f"w{n}", do_one, isolated=True) for n in range(WORKERS)]
    with Ratchet(folder / "home") as ratchet:
        team = Orchestrator("bench", workers, ratchet=ratchet)
        work: Json = {"log": str(folder / "log"), "takes_s": 0.01}
        run = await team.run([TeamTask(id=f"t{n}", work=work) for n in range(tasks)], run="bench")
    (folder / "end").write_text(f"{run.state} {len(run.results)}")


def killed(tasks: int, kills: int) -> list[Figure]:
    chance = random.Random(19)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(kills):
            lines = count(folder / "log")
            running = start(folder, tasks)
            until = lines + 1 + chance.randrange(max(2, 2 * tasks // kills))
            while running.poll() is None and count(folder / "log") < until:
                time.sleep(chance.uniform(0.0, 0.004))
            running.send_signal(signal.SIGKILL)
            assert running.wait() == -signal.SIGKILL, "the run was over before it could be killed"
        start(folder, tasks).wait()
        state, done = (folder / "end").read_text().split()
        times = paid(folder / "log")
    again = sum(count > 1 for count in times.values())
    return [
        at_most(f"tasks lost over {kills} kills of the driver", tasks - int(done), 0, unit=f"of {tasks:,} ({state})"),
        at_most("tasks paid twice", again, 0, unit=f"of {len(times):,}"),
    ]


def start(folder: Path, tasks: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-P", __file__, "--drive", str(folder), "--tasks", str(tasks)]
    here = str(Path(__file__).parent)
    return subprocess.Popen(words, env={**os.environ, "PYTHONPATH": here}, stderr=subprocess.DEVNULL)


def count(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


if __name__ == "__main__":
    main()
