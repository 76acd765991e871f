"""Faults under a real `ratchet serve`: a database that is stopped, kill -9, a full disk, and an end in time. What was
accepted is stored once, each task ends once, nothing is left running, and all goes on by itself."""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

from ratchet.healing.queue import rows as queueing
from ratchet.healing.queue.rows import Work
from ratchet.runtime import Runtime
from ratchet.store.paging import rows_of
from support.loading import BATCH, WAITS_S, Writers, listening, outcome, until
from support.postgres_server import Databases, PostgresServer, programs
from support.processes import running_with
from support.serving import Server, serving


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose check fails for a wrong operator, and a program that takes a moment to mend it."""
    folder = tmp_path / f"shop-{os.urandom(4).hex()}"
    folder.mkdir()
    (folder / "basket.py").write_text("def total(prices):\n    return sum(prices) - 1\n")
    (folder / "check.py").write_text("from basket import total\n\nassert total([1, 2]) == 3, total([1, 2])\n")
    mend = "import pathlib, time\n\ntime.sleep(0.3)\nhere = pathlib.Path('basket.py')\n"
    (folder / "mend.py").write_text(f"{mend}here.write_text(here.read_text().replace(' - 1', ''))\n")
    return folder


def work(project: Path, **more: Any) -> Work:
    # The folder's name in all command lines tells whose a process is that was left running.
    check = ("python", "check.py", project.name)
    usual: dict[str, Any] = {"folder": str(project), "check": check, "solver": f"command:python mend.py {project.name}"}
    return Work(**{**usual, **more})


def stored(runtime: Runtime) -> Counter[str]:
    """How often each outcome's task is in the store: tasks are named after what was sent."""
    runtime.drain()
    rows = runtime.store.sum_by("outcomes", ("task",), ("count:*",))
    return Counter({str(row["task"]): int(str(row["count:*"])) for row in rows})


def counted(runtime: Runtime) -> int:
    """Outcomes by the tallies, which must agree with the rows."""
    (row,) = runtime.store.sum_by("activity", (), ("calls",))
    return int(str(row["calls"]))


def kept_once(runtime: Runtime, accepted: list[str]) -> None:
    held = stored(runtime)
    assert not [name for name in accepted if not held[name]], "accepted, and lost"
    assert not [name for name, times in held.items() if times > 1], "stored twice"
    assert counted(runtime) == held.total()


# -- the database stops ------------------------------------------------------------------------------------------------


class Recording:
    """A program that calls `record` all the while, in the same home."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._record)
        self.accepted: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(WAITS_S)

    def _record(self) -> None:
        while not self._ended.wait(0.01):
            name = f"own-{len(self.accepted)}"
            assert self._runtime.record("a", task=name, ok=True)
            self.accepted.append(name)


def outage(server: Server, writers: Writers, recording: Recording, database: PostgresServer, *, kill: bool) -> None:
    """Stop the database under load; see what is said and that writers go on; start it, and see that all goes on."""
    database.kill() if kill else database.stop()
    until(lambda: httpx.get(f"{server.url}/health").status_code == 503, "a health that says that the database is down")
    said = httpx.get(f"{server.url}/health")
    assert said.headers["retry-after"]
    assert said.headers["content-type"] == "application/problem+json"
    assert "nothing is lost" in said.json()["detail"]
    page = httpx.get(server.url, headers={"Accept": "text/html"})
    assert page.status_code == 503
    assert "nothing is lost" in page.text
    assert "ratchet_store_up 0" in httpx.get(f"{server.url}/metrics").text
    http, own = len(writers.accepted), len(recording.accepted)
    until(lambda: len(writers.accepted) > http + 5 * BATCH, "batches taken while it is down")
    until(lambda: len(recording.accepted) > own, "records kept while it is down")
    database.start()
    until(lambda: httpx.get(f"{server.url}/health").status_code == 200, "a health that is read again")
    assert httpx.get(server.url, headers={"Accept": "text/html"}).status_code == 200


@pytest.fixture
def database() -> Iterator[PostgresServer]:
    if programs() is None:
        pytest.skip("needs a Postgres that may be stopped: pip install pgserver")
    with PostgresServer() as held:
        yield held


def outages(home: Path, database: PostgresServer, rounds: int) -> None:
    # What is committed must outlive a kill, which the quick server of tests does not promise by itself.
    url = f"{database.url()}?options=-csynchronous_commit%3Don"
    with (
        Runtime.open(home=home, database_url=url) as runtime,
        serving(home, "--workers", "0", environ={"RATCHET_DATABASE_URL": url}) as server,
    ):
        with Writers(lambda: server.url) as writers, Recording(runtime) as recording, listening(server) as heard:
            for n in range(rounds):
                outage(server, writers, recording, database, kill=n % 2 == 1)
            until(lambda: '"verb":"up"' in heard(), "a stream that says that the database is back")
        assert '"verb":"down"' in heard()
        assert set(writers.answers) <= {202, 503}
        assert not writers.without_retry_after
        assert server.end() < 10
        kept_once(runtime, [*writers.accepted, *recording.accepted])


def test_a_database_that_stops_under_load_loses_nothing_and_all_recovers_by_itself(
    home: Path, database: PostgresServer
) -> None:
    outages(home, database, 2)


@pytest.mark.soak
def test_a_database_that_stops_again_and_again_loses_nothing(home: Path, database: PostgresServer) -> None:
    outages(home, database, 20)


# -- the server is killed ----------------------------------------------------------------------------------------------


def kills(home: Path, project: Path, times: int, tasks: int, seed: int) -> None:
    """Kill a server at random moments while it runs tasks and takes batches; then let one end what is left."""
    dice = random.Random(seed)
    where = "http://127.0.0.1:9"
    with Runtime.open(home=home) as runtime:
        ids = [runtime.tasks.add(work(project, seed=n)).id for n in range(tasks)]
        with Writers(lambda: where) as writers:
            for _ in range(times):
                with serving(home, "--workers", "2") as server:
                    where = server.url
                    time.sleep(dice.uniform(0.0, 5.0))
                    server.end(signal.SIGKILL)
                until(lambda: not running_with(project.name), "an end of all that the killed server had started", 30)
        with serving(home, "--workers", "2") as server:
            for task_id in ids:
                ends(runtime, task_id)
            assert server.end() < 10
        assert not running_with(project.name)
        kept_once(runtime, writers.accepted)
        ended_once(runtime, ids)


def ends(runtime: Runtime, task_id: str) -> None:
    """Wait for a task. One that was under way at too many kills is given up, and goes on when a person says so."""
    until(lambda: not runtime.tasks.show(task_id).task.under_way, "the end of a task", 300)  # type: ignore[union-attr]
    found = runtime.tasks.show(task_id).task
    assert found is not None
    if found.state == "error" and found.claims == queueing.MOST_CLAIMS:
        runtime.tasks.retry(task_id)
        ends(runtime, task_id)


def ended_once(runtime: Runtime, ids: list[str]) -> None:
    """Each task has one episode, which passed, by one attempt that was finished once."""
    assert {each.id for each in runtime.tasks.page()[0]} == set(ids)
    assert len(runtime.episodes.list()) == len(ids)
    for task_id in ids:
        detail = runtime.tasks.show(task_id)
        assert detail.held.status == "passed"
        told = Counter((row["noun"], row["verb"]) for row in runtime.tasks.events(detail))
        assert told["task", "ended"] == 1, told
        assert told["attempt", "passed"] == 1, told
        assert [each.status for each in detail.held.attempts] == ["passed"]


def test_kill_9_of_a_server_ends_each_task_once_and_keeps_what_was_accepted(home: Path, project: Path) -> None:
    kills(home, project, times=4, tasks=4, seed=1)


@pytest.mark.soak
def test_fifty_kills_end_each_task_once_and_keep_what_was_accepted(home: Path, project: Path) -> None:
    kills(home, project, times=50, tasks=40, seed=2)


# -- the disk is full --------------------------------------------------------------------------------------------------


def limit_files(server: Server, size_bytes: int) -> None:
    """No file of a server and of the process beside it may grow beyond this: stands for a disk that is full."""
    beside = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    for pid in (server.pid, *map(int, beside)):
        _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size_bytes, most))


@pytest.mark.sqlite
@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are Linux's")
def test_a_full_disk_is_said_nothing_accepted_is_lost_and_all_goes_on_with_space(home: Path) -> None:
    with Runtime.open(home=home) as runtime, serving(home, "--workers", "0") as server:
        with Writers(lambda: server.url, count=1) as writers:
            until(lambda: writers.answers[202] > 3, "batches taken")
            limit_files(server, 30_000)
            until(lambda: writers.answers[503] > 3, "batches refused")
            refused = httpx.post(f"{server.url}/v1/outcomes", json=[outcome("late-1")])
            assert refused.status_code == 503
            assert "disk is full" in refused.json()["detail"]
            assert "send the same request again" in refused.json()["remedy"]
            lesson = httpx.post(f"{server.url}/v1/lessons", json={"when": "fatal: no space", "do": "git gc"})
            assert lesson.status_code == 503
            assert lesson.headers["content-type"] == "application/problem+json"
            held = len(writers.accepted)
            limit_files(server, resource.RLIM_INFINITY)
            until(lambda: len(writers.accepted) > held + 3 * BATCH, "batches taken again")
        lesson = httpx.post(f"{server.url}/v1/lessons", json={"when": "fatal: no space", "do": "git gc"})
        assert lesson.status_code == 201
        assert httpx.get(f"{server.url}/health").status_code == 200
        assert not writers.without_retry_after
        assert set(writers.answers) == {202, 503}
        server.end()
        kept_once(runtime, writers.accepted)
        assert [each.id for each in runtime.lessons.list()] == [lesson.json()["id"]]


# -- two servers, one Postgres -----------------------------------------------------------------------------------------


def shared_queue(folder: Path, url: str, project: Path, tasks: int) -> None:
    """Two machines run the tasks of one database; one of them is killed midway, and its leases end."""
    (project / "check.py").write_text("")  # passes as it is: the queue is looked at, not the work
    environ = {"RATCHET_DATABASE_URL": url}
    options = ("--workers", "3")
    with Runtime.open(home=folder / "c" / "home", database_url=url) as runtime:
        ids = {runtime.tasks.add(work(project, seed=n)).id for n in range(tasks)}
        with serving(folder / "a" / "home", *options, environ=environ) as one:
            with serving(folder / "b" / "home", *options, environ=environ) as other:
                until(lambda: runtime.tasks.counts().get("already_passing", 0) >= tasks // 3, "a third of the tasks")
                other.end(signal.SIGKILL)
            until(lambda: runtime.tasks.counts() == {"already_passing": tasks}, "all tasks", 10 * WAITS_S)
            assert one.end() < 10
        found = [each for page in pages(runtime) for each in page]
        assert {each.id for each in found} == ids
        assert len({each.episode for each in found}) == tasks == len(runtime.episodes.list())
        events = rows_of(runtime.store, "events", {"noun": "task"}, order=("at", "id"))
        assert Counter(row["record"] for row in events if row["verb"] == "ended") == Counter(ids), "each ended once"


def pages(runtime: Runtime) -> Iterator[list[queueing.QueuedTask]]:
    found, cursor = runtime.tasks.page(limit=100)
    yield found
    while cursor:
        found, cursor = runtime.tasks.page(limit=100, cursor=cursor)
        yield found


def test_two_servers_on_one_postgres_run_each_task_once(tmp_path: Path, postgres: Databases, project: Path) -> None:
    url = postgres.fresh()
    shared_queue(tmp_path, url, project, 12)
    postgres.give_back(url)


@pytest.mark.soak
def test_two_servers_on_one_postgres_run_400_tasks_once(tmp_path: Path, postgres: Databases, project: Path) -> None:
    url = postgres.fresh()
    shared_queue(tmp_path, url, project, 400)
    postgres.give_back(url)


# -- asked to end ------------------------------------------------------------------------------------------------------


def ended_in_time(home: Path, project: Path, environ: dict[str, str]) -> None:
    (project / "check.py").write_text("import time\n\ntime.sleep(300)\n")
    with Runtime.open(home=home, database_url=environ.get("RATCHET_DATABASE_URL")) as runtime:
        task_id = runtime.tasks.add(work(project)).id
        with serving(home, "--workers", "1", environ=environ) as server:
            until(lambda: runtime.tasks.show(task_id).episode is not None, "a task that runs")
            paths = ["/v1/events/sse"] * 5 + [f"/v1/tasks/{task_id}/sse"]
            with ExitStack() as streams:
                heard = [streams.enter_context(listening(server, path)) for path in paths]
                assert server.end() < 10
                assert server.process.returncode == 0
                until(lambda: all(each().endswith("0\r\n\r\n") for each in heard), "streams ended in order", 10)
        task = runtime.tasks.show(task_id).task
        assert task is not None
        assert (task.state, task.server, task.claims) == ("queued", "", 0), "another server goes on at once"
        assert not running_with(project.name)


def test_a_server_ends_in_time_with_open_streams_and_a_running_task(home: Path, project: Path) -> None:
    ended_in_time(home, project, {})


def test_so_does_one_on_postgres(home: Path, project: Path, postgres: Databases) -> None:
    url = postgres.fresh()
    ended_in_time(home, project, {"RATCHET_DATABASE_URL": url})
    postgres.give_back(url)
