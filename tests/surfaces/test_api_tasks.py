"""Tasks over HTTP: queued, run in the sandbox by lease, followed, taken back, and never run twice."""

from __future__ import annotations

import json
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from starlette.testclient import TestClient

from ratchet.errors import NotFound
from ratchet.healing.book import EpisodeBook, HealMeans, HealRequest
from ratchet.healing.episode import Episode, Task
from ratchet.healing.queue import rows as queueing
from ratchet.healing.queue.rows import Work
from ratchet.runtime import Runtime
from ratchet.serving.workers import TaskWorkers
from support.api_client import bearer, client, runtime_of
from support.serving import serving

ENDS_S = 90.0
UNDER_WAY = ("queued", "running")
MENDS = "command:python mend.py"
TASKS = 40


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose check fails for a wrong operator, and a program that mends it, as a coding agent would."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "basket.py").write_text("def total(prices):\n    return sum(prices) - 1\n")
    (folder / "check.py").write_text("from basket import total\n\nassert total([1, 2]) == 3, total([1, 2])\n")
    mend = "import pathlib\n\nhere = pathlib.Path('basket.py')\nhere.write_text(here.read_text().replace(' - 1', ''))\n"
    (folder / "mend.py").write_text(mend)
    return folder


@pytest.fixture
def working(home: Path) -> Iterator[TestClient]:
    with client(home, workers=1) as held:
        yield held


def asked(project: Path, **more: Any) -> dict[str, Any]:
    usual = {"instruction": "mend it", "check": "python check.py", "dir": str(project), "solver": MENDS}
    return {**usual, **more}


def until_ended(held: TestClient | httpx.Client, task_id: str) -> dict[str, Any]:
    give_up = time.monotonic() + ENDS_S
    while time.monotonic() < give_up:
        found: dict[str, Any] = held.get(f"/v1/tasks/{task_id}").json()
        if found["status"] not in UNDER_WAY:
            return found
        time.sleep(0.1)
    raise AssertionError(f"task {task_id} did not end: {found}")


def test_a_task_is_healed_in_a_copy_and_tells_its_story(working: TestClient, project: Path) -> None:
    before = (project / "basket.py").read_text()
    answer = working.post("/v1/tasks", json=asked(project))
    assert answer.status_code == 202
    task_id = answer.json()["id"]
    assert answer.headers["location"] == f"/v1/tasks/{task_id}"
    found = until_ended(working, task_id)
    assert found["status"] == "passed", found
    assert "+    return sum(prices)" in found["result"]["diff"]
    assert (project / "basket.py").read_text() == before

    told = working.get(f"/v1/tasks/{task_id}/timeline").json()
    assert [each["colour"] for each in told["nodes"]][-1] == "green"
    assert told["nodes"][-1]["diff"]
    verbs = [(each["noun"], each["verb"]) for each in told["events"]]
    assert verbs[0] == ("task", "queued")
    assert ("episode", "started") in verbs
    assert verbs[-1] == ("task", "ended")

    points = working.get(f"/v1/tasks/{task_id}/checkpoints").json()
    assert points[0]["attempt"] == 0
    assert points[-1]["paths"] == ["basket.py"]
    breaker = working.get(f"/v1/tasks/{task_id}/circuit-breaker").json()
    assert breaker["state"] == "closed"
    assert [each["id"] for each in working.get("/v1/tasks?status=passed").json()["items"]] == [task_id]


def test_a_task_that_ended_is_taken_back_and_goes_on(working: TestClient, project: Path) -> None:
    task_id = working.post("/v1/tasks", json=asked(project)).json()["id"]
    until_ended(working, task_id)
    back = working.post(f"/v1/tasks/{task_id}/checkpoints/0/restore")
    assert back.status_code == 200
    assert back.json()["status"] == "cancelled"
    assert back.json()["result"]["attempts"] == []
    again = working.post(f"/v1/tasks/{task_id}/retry")
    assert again.status_code == 202
    found = until_ended(working, task_id)
    assert found["status"] == "passed"
    assert found["episode"] == back.json()["episode"]


def test_checkpoints_that_there_are_not_cannot_be_restored(working: TestClient, project: Path) -> None:
    task_id = working.post("/v1/tasks", json=asked(project)).json()["id"]
    until_ended(working, task_id)
    for name in ("99", "x", "-1", "1e3", "٣"):
        assert working.post(f"/v1/tasks/{task_id}/checkpoints/{name}/restore").status_code == 404, name


def test_an_ended_task_that_is_retried_runs_a_new_episode(working: TestClient, project: Path) -> None:
    task_id = working.post("/v1/tasks", json=asked(project)).json()["id"]
    first = until_ended(working, task_id)["episode"]
    assert working.post(f"/v1/tasks/{task_id}/retry").status_code == 202
    assert until_ended(working, task_id)["episode"] != first


def test_a_task_that_waits_is_cancelled_at_once(home: Path, project: Path) -> None:
    with client(home, workers=0) as held:
        task_id = held.post("/v1/tasks", json=asked(project)).json()["id"]
        assert held.post(f"/v1/tasks/{task_id}/retry").status_code == 409
        assert held.post(f"/v1/tasks/{task_id}/checkpoints/0/restore").status_code == 409
        assert held.post(f"/v1/tasks/{task_id}/cancel").json()["status"] == "cancelled"
        assert held.post(f"/v1/tasks/{task_id}/cancel").status_code == 409
        assert held.get(f"/v1/tasks/{task_id}/checkpoints").json() == []
        assert held.get(f"/v1/tasks/{task_id}/circuit-breaker").json()["count"] == 0
        back = held.post(f"/v1/tasks/{task_id}/checkpoints/0/restore")
        assert (back.status_code, "before it began" in back.json()["detail"]) == (404, True)


def test_a_task_that_runs_is_cancelled_within_seconds(working: TestClient, project: Path) -> None:
    (project / "check.py").write_text("import time\n\ntime.sleep(60)\n")
    task_id = working.post("/v1/tasks", json=asked(project)).json()["id"]
    until_running(working, task_id)
    began = time.monotonic()
    assert working.post(f"/v1/tasks/{task_id}/cancel").status_code == 202
    assert until_ended(working, task_id)["status"] == "cancelled"
    assert time.monotonic() - began < 30


def until_running(held: TestClient | httpx.Client, task_id: str) -> None:
    give_up = time.monotonic() + ENDS_S
    while held.get(f"/v1/tasks/{task_id}").json()["result"] is None:
        assert time.monotonic() < give_up, "it never began"
        time.sleep(0.05)


def test_what_makes_no_sense_is_refused_before_it_is_queued(working: TestClient, project: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    wrong = (
        {"dir": "relative"},
        {"dir": str(empty), "check": None, "instruction": ""},
        {"plan": [{"do": "x", "check": "false"}]},  # beside a check
        {"check": None, "instruction": "", "plan": [{"do": "x", "check": "false"}]},
        {"check": None, "plan": [{"do": "x"}] * 13},
        {"solver": "os:system"},
        {"solver": "no-such-solver"},
        {"check": ""},
        {"check": "'"},
        {"attempts": 0},
        {"budget_s": -1},
        {"unknown": 1},
    )
    for each in wrong:
        answer = working.post("/v1/tasks", json=asked(project) | each)
        assert answer.status_code == 422, each
        assert answer.json()["remedy"]
    (tmp_path / "round").symlink_to(tmp_path / "round")
    for nowhere in (str(tmp_path / "nowhere"), str(tmp_path / "round"), "/" + "x" * 3_000):
        for path in ("/v1/tasks", "/v1/tasks/ab-comparison"):
            answer = working.post(path, json={"dir": nowhere, "check": "true"})
            assert (answer.status_code, answer.json()["type"]) == (404, "urn:ratchet:problem:not-found"), nowhere[:20]
    assert working.get("/v1/tasks").json()["items"] == []


def test_a_whole_number_is_whole_however_it_is_written(home: Path, project: Path) -> None:
    with client(home, workers=0) as held:
        body = f'{{"dir": "{project}", "check": "true", "attempts": 3.0, "seed": 1e1}}'
        answer = held.post("/v1/tasks", content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["attempts"]) == (202, 3)
        assert held.post("/v1/tasks", json={"dir": str(project), "check": "true", "attempts": 3.5}).status_code == 422


def test_no_task_gets_to_see_what_ratchet_keeps(working: TestClient, project: Path, tmp_path: Path, home: Path) -> None:
    working.post("/v1/outcomes", json={"agent": "a", "ok": True})
    link = tmp_path / "link"
    link.symlink_to(home)
    for folder in (home, home / "journal", link, link / "journal", Path("/")):
        answer = working.post("/v1/tasks", json=asked(project, dir=str(folder)))
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:ratchet:problem:refused"), folder
    for check in ("ls a\0b", ["ls", "a\0b"]):
        answer = working.post("/v1/tasks", json=asked(project, check=check))
        assert answer.status_code == 422
        assert "NUL" in answer.json()["detail"]
    answer = working.post("/v1/tasks", json=asked(project, dir=f"{project}\0"))
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:ratchet:problem:invalid")
    assert working.get("/v1/tasks").json()["items"] == []


def test_a_task_without_a_check_takes_the_project_s_own(working: TestClient, project: Path) -> None:
    (project / "test_basket.py").write_text(
        "from basket import total\n\n\ndef test_total():\n    assert total([5]) == 5\n"
    )
    found = working.post("/v1/tasks", json={"dir": str(project), "solver": MENDS}).json()
    assert found["check"][-2:] == ["pytest", "-q"]
    assert until_ended(working, found["id"])["status"] == "passed"


def test_a_folder_named_through_a_link_is_the_one_that_was_checked(home: Path, project: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    with client(home, roots=(project,)) as held:
        made = held.post("/v1/tasks", json={"dir": str(link), "check": ["true"]})
        assert made.status_code in (200, 201, 202), made.text
        assert str(link) not in made.text
        assert str(project.resolve()) in made.text


def test_tasks_start_below_the_roots_only(home: Path, project: Path, tmp_path: Path) -> None:
    with client(home, roots=(project,)) as held:
        assert held.post("/v1/tasks", json=asked(project)).status_code == 202
        assert held.post("/v1/tasks", json=asked(tmp_path)).status_code == 422
        assert held.post("/v1/tasks", json=asked(project / "..")).status_code == 422


def test_the_instruction_is_never_run(working: TestClient, project: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = f"touch {mark}; $(touch {mark}) `touch {mark}`"
    task_id = working.post("/v1/tasks", json=asked(project, instruction=text)).json()["id"]
    until_ended(working, task_id)
    assert not mark.exists()


def test_a_check_runs_in_the_sandbox_only(working: TestClient, project: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    task_id = working.post("/v1/tasks", json=asked(project, check=f"touch {mark}; false")).json()["id"]
    until_ended(working, task_id)
    assert not mark.exists()


def test_secrets_of_a_project_are_in_no_answer(working: TestClient, project: Path) -> None:
    secret = "sk-proj-" + "aB3" * 16
    (project / "basket.py").write_text(f'KEY = "{secret}"\n\ndef total(prices):\n    return sum(prices) - 1\n')
    task_id = working.post("/v1/tasks", json=asked(project, instruction=f"use {secret}")).json()["id"]
    until_ended(working, task_id)
    for path in ("", "/timeline", "/checkpoints", "/circuit-breaker"):
        assert secret not in working.get(f"/v1/tasks/{task_id}{path}").text, path
    assert secret not in working.get("/v1/tasks").text


def test_an_episode_of_the_command_line_is_a_task_too(working: TestClient, project: Path) -> None:
    from ratchet.healing.book import HealRequest

    held = runtime_of(working).episodes.run(HealRequest(check=("python", "check.py"), folder=project, solver=MENDS))
    assert working.get(f"/v1/tasks/{held.id}").json()["status"] == "passed"
    assert working.get(f"/v1/tasks/{held.id}/timeline").json()["nodes"]
    assert working.post(f"/v1/tasks/{held.id}/checkpoints/0/restore").status_code == 200


def test_memory_is_compared_fairly_and_leaves_nothing_behind(
    working: TestClient, project: Path, tmp_path: Path
) -> None:
    tasks = tmp_path / "tasks"
    shutil.copytree(project, tasks / "one")
    shutil.copytree(project, tasks / "two")
    body = {"dir": str(tasks), "check": "python check.py", "solver": MENDS, "attempts": 2}
    answer = working.post("/v1/tasks/ab-comparison", json=body)
    assert answer.status_code == 202
    found = until_ended(working, answer.json()["id"])
    assert found["status"] == "done", found
    arms = found["comparison"]["arms"]
    assert {name: arm["runs"] for name, arm in arms.items()} == {"none": 2, "shuffled": 2, "memory": 2}
    assert len(found["comparison"]["ratios"]) == 3
    assert runtime_of(working).lessons.list() == []
    back = working.post(f"/v1/tasks/{found['id']}/checkpoints/0/restore")
    assert (back.status_code, "is a comparison" in back.json()["detail"]) == (404, True)


def test_a_stream_tells_a_task_from_its_beginning_and_ends_with_it(home: Path, project: Path) -> None:
    with serving(home, "--workers", "1") as server, httpx.Client(base_url=server.url, timeout=ENDS_S) as held:
        task_id = held.post("/v1/tasks", json=asked(project)).json()["id"]
        told = events_of(held, f"/v1/tasks/{task_id}/sse")
        names = [(each["event"], json.loads(each["data"]).get("verb")) for each in told if "data" in each]
        assert names[0] == ("task", "queued")
        assert ("attempt", "passed") in names
        assert ("task", "ended") in names
        assert names[-1][0] == "end"
        ids = [each["id"] for each in told if "id" in each and each.get("event") != "end"]  # whose id is the last one's
        assert len(ids) == len(set(ids))
        # Who comes back gets what was missed, and what has ended ends at once.
        rest = events_of(held, f"/v1/tasks/{task_id}/sse", {"Last-Event-ID": ids[2]})
        assert [each["id"] for each in rest if "id" in each and each.get("event") != "end"] == ids[3:]


def events_of(held: httpx.Client, path: str, headers: dict[str, str] | None = None) -> list[dict[str, str]]:
    """The events of a stream, to its end."""
    found: list[dict[str, str]] = [{}]
    with held.stream("GET", path, headers=headers or {}) as stream:
        assert stream.status_code == 200
        for line in stream.iter_lines():
            name, _, value = line.partition(": ")
            if not line:
                found.append({})
            elif name:
                found[-1][name] = value
    return [each for each in found if each]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_another_server_goes_on_with_the_task_of_one_that_ended(home: Path, project: Path, number: int) -> None:
    """By kill -9 once its lease ends, and at once when it was asked to end."""
    waits = "import time\nfrom basket import total\n\ntime.sleep(2)\nassert total([5]) == 5\n"
    (project / "check.py").write_text(waits)
    with serving(home, "--workers", "1") as one, httpx.Client(base_url=one.url, timeout=ENDS_S) as held:
        task_id = held.post("/v1/tasks", json=asked(project)).json()["id"]
        until_running(held, task_id)
        one.end(number)
    with serving(home, "--workers", "1") as two, httpx.Client(base_url=two.url, timeout=ENDS_S) as held:
        found = until_ended(held, task_id)
        assert found["status"] == "passed", found
        assert len(held.get(f"/v1/tasks/{task_id}/timeline").json()["nodes"]) == 1
    with Runtime.open(home=home) as runtime:
        assert [each.id for each in runtime.episodes.list()] == [found["episode"]]


def test_each_task_is_claimed_once_however_many_want_it(home: Path, tmp_path: Path) -> None:
    with Runtime.open(home=home) as runtime:
        store = runtime.store
        ids = {queueing.add(store, Work(folder=str(tmp_path), check=("true",))).id for _ in range(40)}
        claimed: list[str] = []

        def work(server: str) -> None:
            while (task := queueing.claim(store, server)) is not None:
                claimed.append(task.id)
                queueing.end(store, task, "passed")

        threads = [threading.Thread(target=work, args=(f"s{n}",)) for n in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert sorted(claimed) == sorted(ids)


def test_a_lease_that_ended_hands_the_task_and_its_episode_on(home: Path, tmp_path: Path) -> None:
    with Runtime.open(home=home) as runtime:
        store = runtime.store
        task = queueing.add(store, Work(folder=str(tmp_path), check=("true",)))
        one = queueing.claim(store, "one", lease_s=0.05)
        assert one is not None
        time.sleep(0.1)
        two = queueing.claim(store, "two")
        assert two is not None
        assert two.episode == one.episode
        assert queueing.renew(store, one) is None
        assert not queueing.end(store, one, "failed")
        assert queueing.end(store, two, "passed")
        assert queueing.show(store, task.id).state == "passed"


class Endless:
    """Stands for the episodes of a home: one that goes on until it is asked to end."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def show(self, episode_id: str) -> Episode:
        raise NotFound(episode_id)

    def run(self, asked: HealRequest, means: HealMeans, *, episode_id: str) -> Episode:
        while not means.cancelled():
            time.sleep(0.01)
        self.ended.set()
        task = Task(id="t", check=asked.check, folder=str(asked.folder))
        return Episode(id=episode_id, task=task, number=1, status="cancelled", budget=asked.budget)


def test_a_server_that_cannot_renew_a_lease_ends_the_task_by_itself(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that does not answer holds up who renews for minutes; by then another server has begun."""
    hangs = threading.Event()

    def hang(*_: object, **__: object) -> None:
        hangs.wait(ENDS_S)

    monkeypatch.setattr(queueing, "renew", hang)
    with Runtime.open(home=home) as runtime:
        task = queueing.add(runtime.store, Work(folder=str(tmp_path), check=("true",)))
        book = Endless()
        workers = TaskWorkers(lambda: runtime.store, lambda: cast("EpisodeBook", book), 1, lease_s=0.5)
        assert book.ended.wait(ENDS_S / 2)
        hangs.set()
        workers.stop()
        assert queueing.show(runtime.store, task.id).under_way, "for who claims it next"


def test_a_task_that_kills_its_servers_is_given_up(home: Path, tmp_path: Path) -> None:
    with Runtime.open(home=home) as runtime:
        task = queueing.add(runtime.store, Work(folder=str(tmp_path), check=("true",)))
        for _ in range(queueing.MOST_CLAIMS):
            assert queueing.claim(runtime.store, "one", lease_s=-1.0) is not None
        assert queueing.claim(runtime.store, "one") is None
        found = queueing.show(runtime.store, task.id)
        assert found.state == "error"
        assert "retry" in found.reason


class Unreadable(Endless):
    """Stands for the episodes of a home whose machine fails."""

    def run(self, asked: HealRequest, means: HealMeans, *, episode_id: str) -> Episode:
        raise OSError(5, "Input/output error", str(asked.folder))


def test_a_task_that_its_machine_fails_is_given_up_with_the_reason(home: Path, tmp_path: Path) -> None:
    with Runtime.open(home=home) as runtime:
        task = queueing.add(runtime.store, Work(folder=str(tmp_path), check=("true",)))
        for _ in range(queueing.MOST_CLAIMS - 1):
            assert queueing.claim(runtime.store, "one", lease_s=-1.0) is not None
        workers = TaskWorkers(lambda: runtime.store, lambda: cast("EpisodeBook", Unreadable()), 1)
        give_up = time.monotonic() + ENDS_S
        while queueing.show(runtime.store, task.id).under_way and time.monotonic() < give_up:
            time.sleep(0.05)
        workers.stop()
        found = queueing.show(runtime.store, task.id)
        assert found.state == "error"
        assert "Input/output error" in found.reason


def test_starting_a_task_needs_the_scope_run_and_so_does_no_other_thing(home: Path, project: Path) -> None:
    with client(home) as held:
        book = runtime_of(held).tokens
        run = bearer(book.add("runner", ["run"]))
        task_id = held.post("/v1/tasks", json=asked(project), headers=run).json()["id"]
        found = held.get(f"/v1/tasks/{task_id}", headers=run).json()
        assert found["by"] == "runner"
        assert held.get("/v1/patterns", headers=run).status_code == 403


@pytest.mark.soak
def test_two_servers_of_one_store_run_each_task_once_though_they_are_killed(home: Path, project: Path) -> None:
    """A server is killed -9 now and then, at any moment, and started again."""
    dice = random.Random(7)
    with Runtime.open(home=home) as runtime:
        ids = [
            runtime.tasks.add(
                Work(folder=str(project), check=("python", "check.py"), solver=MENDS, instruction=str(n))
            ).id
            for n in range(TASKS)
        ]
        with serving(home, "--workers", "2"):
            while (runtime.tasks.counts().get("passed") or 0) < TASKS:
                with serving(home, "--workers", "2") as other:
                    time.sleep(dice.uniform(0.5, 8))
                    other.end(signal.SIGKILL)
        tasks, _ = runtime.tasks.page()
        assert {each.id for each in tasks} == set(ids)
        held = runtime.episodes.list()
        assert len({each.episode for each in tasks}) == TASKS == len(held)
        assert all(each.status == "passed" and len(each.attempts) == 1 for each in held)
