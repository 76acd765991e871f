"""Evaluations on Dask's and Ray's workers: the decisions of one process, whatever dies in the meantime."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.errors import UsageError
from ratchet.evolving.archive import Archive
from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.bench.ground import executing
from ratchet.evolving.cluster.room import WorkerRoom
from ratchet.evolving.cluster.working import Lacking, WorkerErrand, worked
from ratchet.evolving.job import ExecutorName, Job
from ratchet.testing.evolving import SKILLS, SyntheticMeasure, skills_text, synthetic_agent, synthetic_benchmark

NEEDS = {"dask": "distributed", "ray": "ray"}
WORKERS = 2


@pytest.fixture(scope="module", params=NEEDS)
def name(request: pytest.FixtureRequest) -> ExecutorName:
    if importlib.util.find_spec(NEEDS[request.param]) is None:
        pytest.skip(f"{NEEDS[request.param]} is not installed: pip install 'ratchet-ai[cluster,ray]'")
    found: ExecutorName = request.param
    return found


@pytest.fixture(scope="module")
def executor(name: ExecutorName, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    with executing(name, WORKERS, place=tmp_path_factory.mktemp(name) / "workers") as made:
        yield made


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A job whose version is the folder of a tree, as an archive has it."""
    archive = Archive(tmp_path / "archive")
    tree = archive.add({SKILLS: (0o644, skills_text({"*": 0.5}).encode()), "run.sh": (0o755, b"#!/bin/sh\n")})
    (tmp_path / "cancel").mkdir()
    return Job(
        id="e0",
        run="ev1",
        candidate="c1",
        agent=synthetic_agent(tmp_path / "agent", {"*": 0.5}),
        version=str(archive.folder(tree)),
        settings={},
        task=synthetic_benchmark().tasks[0],
        seed=0,
        scratch=str(tmp_path / "nowhere"),
        cancel=str(tmp_path / "cancel"),
    )


def many(job: Job, count: int) -> list[Job]:
    return [replace(job, id=f"e{seed}", seed=seed) for seed in range(count)]


def plain(made: Evaluation) -> Evaluation:
    return replace(made, at=0.0)


def test_answers_are_those_of_threads(executor: Executor, job: Job) -> None:
    measure = SyntheticMeasure(cost_usd=0.01, unmeasured=0.1)
    jobs = many(job, 60)
    with ThreadPoolExecutor(2) as threads:
        expected = [plain(each) for each in threads.map(measure, jobs)]
    found = [plain(future.result(timeout=120)) for future in [executor.submit(measure, each) for each in jobs]]
    assert found == expected


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(executor: Executor, job: Job, tmp_path: Path) -> None:
    log = tmp_path / "log"
    measure = _Noting(str(tmp_path / "ended"), SyntheticMeasure(seconds=0.05, log=str(log)))
    jobs = [replace(each, run="ev2", id=f"k{each.seed}") for each in many(job, 80)]  # no answer of these is kept yet
    futures = [executor.submit(measure, each) for each in jobs]
    killed = 0
    for many_ended in (1, 15, 30, 45):
        wait(futures[:many_ended], timeout=60)
        killed += _kill_one(tmp_path / "ended")
    made = [future.result(timeout=240) for future in futures]
    assert killed
    assert sorted(each.seed for each in made) == list(range(80))
    ended = Counter(line.split()[1] for line in (tmp_path / "ended").read_text().splitlines())
    # A worker may be killed between the end of a measure and the keeping of its answer: once a kill, at the most.
    assert sum(ended.values()) - len(ended) <= killed


def test_workers_that_die_of_the_first_job_they_are_given_are_replaced(
    executor: Executor, job: Job, tmp_path: Path
) -> None:
    measure = _Deadly(str(tmp_path), SyntheticMeasure())
    jobs = [replace(each, run="ev3", id=f"d{each.seed}") for each in many(job, 4)]
    futures = [executor.submit(measure, each) for each in jobs]
    assert sorted(future.result(timeout=240).seed for future in futures) == list(range(4))


def test_an_evaluation_is_ended_by_its_id_wherever_it_runs(executor: Executor, job: Job) -> None:
    one = replace(job, id="long")
    future = executor.submit(SyntheticMeasure(seconds=120), one)
    time.sleep(1)
    Path(one.cancel, one.id).touch()
    assert future.result(timeout=60).killed == "cancel"


def test_a_fault_of_a_measure_is_its_own(executor: Executor, job: Job) -> None:
    for fault in (ZeroDivisionError, FileNotFoundError):
        with pytest.raises(fault):
            executor.submit(_Faulty(fault), replace(job, id=fault.__name__)).result(timeout=120)


def test_a_worker_gets_files_once_and_only_those_of_their_tree(job: Job, tmp_path: Path) -> None:
    tree, place = Path(job.version).name, str(tmp_path / "room")
    errand = WorkerErrand(SyntheticMeasure(), job, tree, place)
    assert isinstance(worked(errand, None), Lacking)
    files = {SKILLS: (0o644, skills_text({"*": 0.5}).encode())}
    with pytest.raises(Exception, match="other files"):
        worked(errand, files)
    files["run.sh"] = (0o755, b"#!/bin/sh\n")
    assert isinstance(worked(errand, files), Evaluation)
    laid = WorkerRoom(place).version(tree, None)
    assert laid is not None
    assert os.access(laid / "run.sh", os.X_OK)


def test_a_job_that_is_sent_twice_is_made_once(job: Job, tmp_path: Path) -> None:
    log = tmp_path / "log"
    errand = WorkerErrand(SyntheticMeasure(log=str(log)), replace(job, version=""), "", str(tmp_path / "room"))
    skills = tmp_path / "version"
    skills.mkdir()
    (skills / SKILLS).write_text(skills_text({"*": 1.0}))
    errand = replace(errand, measure=_At(str(skills), SyntheticMeasure(log=str(log))))
    assert worked(errand, None) == worked(errand, None)
    assert len(log.read_text().splitlines()) == 1


def test_an_address_of_another_kind_is_an_error_that_names_its_own(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="no address of dask; those begin with tcp"),
        executing("dask", 1, cluster="ray://host:1", place=tmp_path),
    ):
        pass


class _Noting:
    """Writes down each evaluation that ended, with the process that made it."""

    def __init__(self, place: str, measure: SyntheticMeasure) -> None:
        self._place, self._measure = place, measure

    def __call__(self, job: Job, /) -> Evaluation:
        with Path(self._place).open("a") as file:
            file.write("")
        Path(f"{self._place}.{os.getpid()}.pid").touch()
        made = self._measure(job)
        with Path(self._place).open("a") as file:
            file.write(f"{os.getpid()} {job.id}\n")
        return made


class _Deadly:
    """Kills the process of the first try of each job."""

    def __init__(self, folder: str, measure: SyntheticMeasure) -> None:
        self._folder, self._measure = folder, measure

    def __call__(self, job: Job, /) -> Evaluation:
        tried = Path(self._folder, f"{job.id}.tried")
        if not tried.exists():
            tried.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self._measure(job)


class _At:
    """Measures files that lie somewhere else."""

    def __init__(self, version: str, measure: SyntheticMeasure) -> None:
        self._version, self._measure = version, measure

    def __call__(self, job: Job, /) -> Evaluation:
        return self._measure(replace(job, version=self._version))


class _Faulty:
    """Raises what it was made with."""

    def __init__(self, fault: type[Exception]) -> None:
        self._fault = fault

    def __call__(self, job: Job, /) -> Evaluation:
        raise self._fault(job.id)


def _kill_one(place: Path) -> int:
    """Kill one of the workers that have shown themselves; how many were."""
    for sign in sorted(place.parent.glob(f"{place.name}.*.pid")):
        pid = int(sign.name.split(".")[-2])
        sign.unlink()
        assert pid != os.getpid()
        assert threading.current_thread() is threading.main_thread()
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        return 1
    return 0
