"""A thousand evaluations on two local workers of Dask and of Ray, while workers and the driver are killed with -9.

usage: python benchmarks/clusters.py [--evaluations N] [--only dask|ray]

The driver is a process of its own (this file with --drive), which writes to a store as a bench run does; it is killed
and resumed. An evaluation burns CPU for 40 ms. Beside it: the same evaluations in one process, for decisions and time.

Speed is measured in runs of their own, in which nothing is killed, from the end of the first evaluation to that of the
last: neither the start of a cluster nor what was killed counts. Twice: with evaluations of 40 ms, beside the engine
alone on the same work (`--bare`, without Ratchet: no store, no files, no budget), which is what it can give at most;
and with 250 ms: the smallest real one (an agent of one `print` and a code check, both in a sandbox) took 0.5 s of CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from figures import Figure, at_least, publish
from ratchet.evolving import rows as evolutions
from ratchet.evolving.archive import Archive
from ratchet.evolving.bench.benchmark import Agent, BenchTask, Evaluation
from ratchet.evolving.bench.ground import executing
from ratchet.evolving.candidate import Candidate
from ratchet.evolving.job import ExecutorName, Job
from ratchet.evolving.race.evaluator import Each, Evaluator, EvaluatorMeans, WantedEvaluation
from ratchet.healing.episode import Budget
from ratchet.healing.purse import EpisodePurse
from ratchet.runtime import Runtime
from ratchet.store.paging import rows_of
from ratchet.testing.evolving import SKILLS, SyntheticMeasure, skills_text

RUN, WORKERS, USD = "ev-clusters", 2, 0.001
SHORT_S, LONG_S = 0.04, 0.25
DRIVERS = 3
"""Drivers killed, evenly over the evaluations."""


@dataclass(frozen=True)
class Burning:
    """A synthetic evaluation that takes CPU time, and notes its worker when it ends."""

    log: str
    seconds: float

    def __call__(self, job: Job, /) -> Evaluation:
        Path(f"{self.log}.{os.getpid()}.pid").touch()
        burn(self.seconds)
        made = SyntheticMeasure(cost_usd=USD)(job)
        with Path(self.log).open("a", encoding="utf-8") as file:
            file.write(f"{job.seed}\n")
        return made


def burn(seconds: float) -> float:
    """Take CPU time; when it ended."""
    ended = time.process_time() + seconds
    while time.process_time() < ended:  # asked seldom: two processes that only ask the system wait for each other
        sum(range(20_000))
    return time.time()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--only", choices=["dask", "ray"])
    parser.add_argument("--drive", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--bare", choices=["dask", "ray"], help=argparse.SUPPRESS)
    parser.add_argument("--burn", type=float, default=SHORT_S, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        drive(given.drive[0], Path(given.drive[1]), given.evaluations, given.burn)
        return
    if given.bare:
        print(bare_s(given.bare, given.evaluations, given.burn))
        return
    names = [name for name in ("dask", "ray") if given.only in (None, name)]
    with tempfile.TemporaryDirectory(prefix="bench-") as made:
        folder, figures = Path(made), []
        for burn_s, count in ((SHORT_S, given.evaluations), (LONG_S, given.evaluations // 5)):
            plain_s = timed("threads", folder / f"one-{burn_s}", count, burn_s)
            figures += [speed(name, folder / f"{name}-calm-{burn_s}", count, burn_s, plain_s) for name in names]
        expected = answers(folder / f"one-{SHORT_S}")
        for name in names:
            figures += under_kills(name, folder / name, given.evaluations, expected)
    publish("clusters", figures)


def speed(name: str, home: Path, count: int, burn_s: float, plain_s: float) -> Figure:
    """How much faster workers are than one process, beside the engine alone."""
    calm_s = timed(name, home, count, burn_s)
    words = [sys.executable, __file__, "--bare", name, "--burn", str(burn_s), "--evaluations", str(count)]
    bare = float(subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[-1])
    return at_least(
        f"{name}: {WORKERS} workers against one process, {count:,} evaluations of {1000 * burn_s:.0f} ms",
        plain_s / calm_s,
        1.8,
        unit="x",
        baseline=f"{name} alone {plain_s / bare:.2f} x; one process {plain_s:.0f} s; "
        f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores",
    )


def under_kills(name: str, home: Path, count: int, expected: list[Evaluation]) -> list[Figure]:
    workers, drivers = killed(name, home, count)
    found = answers(home)
    more = ended(home) - len(set((home / "ended").read_text().split()))
    rows = len(found)
    paid = settled(home)
    what = f"{workers} workers and {drivers} drivers killed with -9"
    return [
        Figure(
            name=f"{name}: evaluations lost, of {count:,}",
            measured=f"{count - rows}",
            goal="0",
            baseline=what,
            holds=rows == count,
        ),
        Figure(
            name=f"{name}: evaluations paid twice",
            measured=f"{paid - rows}",
            goal="0",
            baseline=what,
            holds=paid == rows,
        ),
        Figure(
            name=f"{name}: run again though they had ended (a driver was killed before their row)",
            measured=f"{more}",
            baseline=f"{drivers} drivers x {WORKERS} workers = {drivers * WORKERS} at most",
        ),
        Figure(
            name=f"{name}: answers that differ from one process",
            measured=f"{differing(expected, found)}",
            goal="0",
            holds=differing(expected, found) == 0,
        ),
    ]


def timed(name: str, home: Path, count: int, burn_s: float) -> float:
    """Seconds from the first evaluation's end to the last one's, without the start of the cluster."""
    words = [sys.executable, __file__, "--drive", name, str(home), "--evaluations", str(count), "--burn", str(burn_s)]
    subprocess.run(words, check=True)
    with Runtime.open(home=home) as runtime:
        times = [each.at for each in evolutions.evaluations(runtime.store, RUN)]
    return max(times) - min(times)


def bare_s(name: str, count: int, burn_s: float) -> float:
    """`timed` of the engine itself: as many tasks under way as there are workers."""
    ends: list[float] = []
    with bare(name) as submit:
        flights = {submit(burn, burn_s) for _ in range(WORKERS)}
        while flights:
            done, flights = wait(flights, return_when=FIRST_COMPLETED)
            ends += [each.result() for each in done]
            left = count - len(ends) - len(flights)
            flights |= {submit(burn, burn_s) for _ in range(min(left, len(done)))}
    return max(ends) - min(ends)


@contextmanager
def bare(name: str) -> Iterator[Callable[..., Future[float]]]:
    """Workers of an engine as its own pages start them, with the keys that Ratchet's have, too."""
    if name == "dask":
        import distributed

        keys = distributed.Security.temporary()
        with (
            distributed.LocalCluster(
                n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, security=keys
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client.get_executor(pure=False).submit
        return
    # Read as it is imported; a token of one's own would be left in the home folder.
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    import ray

    ray.init(address="local", num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
    try:
        yield lambda function, *given: ray.remote(num_cpus=1)(function).remote(*given).future()
    finally:
        ray.shutdown()


def killed(name: str, home: Path, count: int) -> tuple[int, int]:
    """Run it to its end, killing workers and drivers on the way; how many of each."""
    dice = random.Random(name)
    workers = drivers = 0
    while True:
        driver = subprocess.Popen([sys.executable, __file__, "--drive", name, home, "--evaluations", str(count)])
        while driver.poll() is None and (drivers >= DRIVERS or ended(home) < count * (drivers + 1) // (DRIVERS + 1)):
            time.sleep(dice.uniform(1, 5))
            if workers < 24:
                workers += kill_one(home, driver.pid)
        if driver.poll() is not None:
            assert driver.returncode == 0, driver.returncode
            return workers, drivers
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        drivers += 1


def ended(home: Path) -> int:
    log = home / "ended"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def kill_one(home: Path, driver: int) -> int:
    for sign in sorted(home.glob("ended.*.pid"), key=lambda each: each.stat().st_mtime, reverse=True):
        pid = int(sign.name.split(".")[-2])
        sign.unlink()
        try:
            line = Path("/proc", str(pid), "cmdline").read_bytes()
            if pid != driver and (b"ray::" in line or b"spawn_main" in line):
                os.kill(pid, signal.SIGKILL)
                return 1
        except (OSError, ProcessLookupError):
            continue
    return 0


def drive(name: ExecutorName, home: Path, count: int, burn_s: float) -> None:
    """One driver: goes on where the last one was killed."""
    with Runtime.open(home=home) as runtime:
        archive = Archive(home / "archive")
        tree = archive.add({SKILLS: (0o644, skills_text({"*": 0.5}).encode())})
        version = Candidate(id="c1", run=RUN, n=0, state="baseline", tree=tree)
        task = BenchTask(id="t", kind="code", split="gate", instruction="burn", scorer="command")
        purse = EpisodePurse(runtime.store, RUN, Budget(usd=1000.0, seconds=86_400.0))
        with executing(name, WORKERS if name != "threads" else 1, place=home / "workers") as executor:
            means = EvaluatorMeans(
                measure=Burning(str(home / "ended"), burn_s),
                executor=executor,
                parallel=WORKERS if name != "threads" else 1,
                versions=archive.folder,
                scratch=home / "scratch",
                cancel=home / "cancel",
            )
            agent = Agent(how="command", argv=("true",), folder=str(home))
            evaluator = Evaluator(runtime.store, RUN, agent, purse, 1000.0, means)
            assert evaluator.work(Each(WantedEvaluation(version, task, seed) for seed in range(count)))


def answers(home: Path) -> list[Evaluation]:
    with Runtime.open(home=home) as runtime:
        return sorted(evolutions.evaluations(runtime.store, RUN), key=lambda each: each.seed)


def settled(home: Path) -> int:
    """Count the evaluations that were paid for, by the purse's own rows."""
    with Runtime.open(home=home) as runtime:
        return sum(
            bool(row.get("settled")) for row in rows_of(runtime.store, "charges", {"episode": RUN}, order=("id",))
        )


def differing(expected: list[Evaluation], found: list[Evaluation]) -> int:
    pairs = zip(expected, found, strict=False)
    return sum(replace(one, at=0.0) != replace(other, at=0.0) for one, other in pairs)


if __name__ == "__main__":
    # By its name: a class of `__main__` would travel as code with every job, which no measure of a run does.
    import clusters

    print(json.dumps({"load": os.getloadavg()}))
    clusters.main()
