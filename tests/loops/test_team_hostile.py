"""A worker whose words are meant to harm ends its own attempt, and neither the run nor its budget."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ratchet import Ratchet, ids
from ratchet.errors import UsageError
from ratchet.records import Json
from ratchet.team import Handed, Orchestrator, Supervisor, TeamBudget, TeamRun, TeamTask, Worker
from ratchet.team.hands.process import reply_from
from ratchet.team.purse import TeamPurse


@pytest.fixture
def ratchet(home: Path) -> Iterator[Ratchet]:
    with Ratchet(home) as held:
        yield held


def run(team: Orchestrator, *tasks: TeamTask) -> TeamRun:
    return asyncio.run(asyncio.wait_for(team.run(tasks, run="r"), 120))


def echo(work: Json) -> Json:
    return work


def spend(work: Json, context: Handed) -> Json:
    context.spend(cost_usd=float(str(work)))
    return "done"


# -- budgets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("amount", ["nan", "-5", "inf"])
@pytest.mark.parametrize("isolated", [False, True])
def test_an_amount_that_is_none_is_refused_and_the_budget_holds(ratchet: Ratchet, amount: str, isolated: bool) -> None:
    team = Orchestrator(
        "t", [Worker("w", spend, isolated=isolated)], budget=TeamBudget(usd=1.0), parallel=1, ratchet=ratchet
    )
    tasks = [TeamTask(id="a", work=amount, attempts=1)]
    tasks += [TeamTask(id=f"b{n}", work="0.5", cost_usd=0.5, needs=(f"b{n - 1}",) if n else ()) for n in range(4)]
    done = run(team, *tasks)
    assert "cost_usd is" in done.failures["a"]
    assert [each.state for each in done.tasks] == ["failed", "done", "done", "over_budget", "skipped"]
    assert done.cost_usd == 1.0


@pytest.mark.parametrize("name", ["usd", "tokens", "seconds"])
@pytest.mark.parametrize("limit", [float("nan"), -1, -0.5, "1", True])
def test_a_limit_that_is_none_is_refused_and_no_run_goes_without(name: str, limit: object) -> None:
    with pytest.raises(UsageError, match=f"the budget's {name} is"):
        TeamBudget(**{name: limit})  # type: ignore[arg-type]


ODD_NUMBERS: dict[str, Callable[[Any, Ratchet], object]] = {
    "parallel": lambda n, ratchet: Orchestrator("t", [Worker("w", echo)], parallel=n, ratchet=ratchet),
    "slots": lambda n, _: Worker("w", echo, slots=n),
    "rounds": lambda n, ratchet: Supervisor("t", [Worker("w", echo)], plan=lambda _: (), rounds=n, ratchet=ratchet),
    "backoff_s": lambda n, ratchet: Orchestrator("t", [Worker("w", echo)], backoff_s=n, ratchet=ratchet),
    "most_wait_s": lambda n, ratchet: Orchestrator("t", [Worker("w", echo)], most_wait_s=n, ratchet=ratchet),
    "grace_s": lambda n, ratchet: Orchestrator("t", [Worker("w", echo)], grace_s=n, ratchet=ratchet),
    "attempts": lambda n, ratchet: run(team(ratchet), TeamTask(id="a", attempts=n)),
    "timeout_s": lambda n, ratchet: run(team(ratchet), TeamTask(id="a", timeout_s=n)),
    "cost_usd": lambda n, ratchet: run(team(ratchet), TeamTask(id="a", cost_usd=n)),
    "tokens": lambda n, ratchet: run(team(ratchet), TeamTask(id="a", tokens=n)),
}


def team(ratchet: Ratchet) -> Orchestrator:
    return Orchestrator("t", [Worker("w", echo)], ratchet=ratchet)


@pytest.mark.parametrize("name", ODD_NUMBERS)
@pytest.mark.parametrize("number", [float("nan"), -1, "2", None, True])
def test_a_number_of_a_team_that_is_none_is_refused_at_once(ratchet: Ratchet, name: str, number: object) -> None:
    if name == "parallel" and number is None:
        return  # as many as have a place
    with pytest.raises(UsageError, match=name):
        ODD_NUMBERS[name](number, ratchet)


@pytest.mark.parametrize("task", [TeamTask(id="a", needs="bc"), TeamTask(id="a", work={1: 1, None: 2})])  # type: ignore[arg-type,dict-item]
def test_a_task_of_an_odd_type_is_refused(ratchet: Ratchet, task: TeamTask) -> None:
    with pytest.raises(UsageError, match="task 'a'"):
        run(team(ratchet), task, TeamTask(id="b"), TeamTask(id="c"))


@pytest.mark.parametrize("usd", [float("nan"), -5.0, float("inf")])
def test_a_purse_counts_what_was_set_aside_where_it_is_told_no_amount(usd: float) -> None:
    purse = TeamPurse(TeamBudget(usd=1.0), ())
    task = TeamTask(id="a", cost_usd=0.75)
    purse.hold(task, 1)
    purse.settle(task, 1, usd, -3)
    assert purse.refuses(task) == "it may cost 0.7500 USD and 0.2500 of 1 are left"


# -- answers -----------------------------------------------------------------------------------------------------------


class _Hostile(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, bytes]] = {
        "endless": b'{"answer": 1, "tokens": 1e999}',
        "below": b'{"answer": 1, "cost_usd": -1}',
        "deep": b"[" * 200_000 + b"]" * 200_000,
        "deepish": b"[" * 900 + b"]" * 900,
        "half": b'["\\ud800"]',
        "number": b"1" * 5_000,
    }

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answers[asked["task"]])

    def log_message(self, *said: object) -> None:
        return


@pytest.fixture
def service() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Hostile)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/work"
    server.shutdown()
    server.server_close()
    thread.join()


def test_no_answer_of_an_endpoint_ends_a_run(ratchet: Ratchet, service: str) -> None:
    workers = [Worker("service", url=service, skills=("ask",)), Worker("echo", echo, skills=("echo",))]
    tasks = [TeamTask(id=each, skill="ask", attempts=1) for each in _Hostile.answers]
    done = run(Orchestrator("t", workers, ratchet=ratchet), *tasks, TeamTask(id="other", work=1, skill="echo"))
    assert done.results["other"] == 1
    assert {"endless", "below", "deep", "number"} <= done.failures.keys()
    assert "tokens is inf" in done.failures["endless"]


@pytest.mark.parametrize(
    "left",
    [
        {"letters": [[]], "value": 1},
        {"letters": [1, ["b"], ["a", "b", "c"]], "value": 1},
        {"flood": float("nan")},
        {"flood": float("inf")},
        {"value": 1, "tokens": float("inf")},
        {"error": "x", "exit_code": 1 << 90},
    ],
)
def test_whatever_a_process_wrote_down_is_a_reply(left: dict[str, Json]) -> None:
    reply = reply_from(left)
    assert reply.letters == ()
    assert (reply.tokens, reply.exit_code) == (0, None)


class _Mute(Exception):  # noqa: N818  (what a library may bring)
    def __str__(self) -> str:
        raise RuntimeError("no words")


class _Halt(StopIteration):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def mute(work: Json) -> Json:
    raise _Mute


def halt(work: Json) -> Json:
    raise _Halt


def interrupt(work: Json) -> Json:
    raise KeyboardInterrupt


def cancel(work: Json) -> Json:
    raise asyncio.CancelledError


async def cancel_async(work: Json) -> Json:
    raise asyncio.CancelledError


@pytest.mark.parametrize("function", [mute, halt, interrupt, cancel, cancel_async])
@pytest.mark.parametrize("isolated", [False, True])
def test_whatever_a_worker_raises_is_a_failed_attempt(ratchet: Ratchet, function: object, isolated: bool) -> None:
    assert callable(function)
    workers = [Worker("bad", function, skills=("bad",), isolated=isolated), Worker("echo", echo, skills=("echo",))]
    tasks = [TeamTask(id="a", skill="bad", attempts=2), TeamTask(id="b", work=1, skill="echo")]
    done = run(Orchestrator("t", workers, backoff_s=0.01, ratchet=ratchet), *tasks)
    record = done.tasks[0]
    assert (record.state, len(record.attempts), done.results) == ("failed", 2, {"b": 1})
    assert record.reason


def test_a_letter_that_is_no_json_fails_the_attempt_that_sends_it(ratchet: Ratchet) -> None:
    def send(work: Json, context: Handed) -> Json:
        context.send("w", object())  # type: ignore[arg-type]
        return work

    done = run(Orchestrator("t", [Worker("w", send)], ratchet=ratchet), TeamTask(id="a", attempts=1))
    assert "a letter to 'w' is not JSON" in done.failures["a"]


def test_a_result_that_is_too_deep_to_keep_fails_its_task_alone(ratchet: Ratchet) -> None:
    def deep(work: Json) -> Json:
        value: Json = []
        for _ in range(int(str(work))):
            value = [value]
        return value

    tasks = [TeamTask(id=str(depth), work=depth, attempts=1) for depth in (10, 400, 900, 5_000, 200_000)]
    done = run(Orchestrator("t", [Worker("w", deep)], ratchet=ratchet), *tasks, TeamTask(id="last", work=1))
    assert done.tasks[-1].state == "done"
    assert done.tasks[0].state == "done"


# -- what outlives its driver ------------------------------------------------------------------------------------------


def test_a_file_is_adopted_only_of_a_worker_that_leaves_one(ratchet: Ratchet, home: Path) -> None:
    """Work inside the driver leaves no file: one that lies there is somebody else's word."""
    forged = threading.Event()

    async def hang(work: Json) -> Json:
        if forged.is_set():
            return "its own"
        await asyncio.sleep(3_600)
        return None

    team = Orchestrator("t", [Worker("w", hang)], ratchet=ratchet, grace_s=0.0)

    async def killed() -> None:
        """Ends in the middle of an attempt; its row then says what it said before, as after `kill -9`."""
        going = asyncio.create_task(team.run([TeamTask(id="a")], run="r"))
        store = ratchet._runtime.store
        while not (held := store.get("team_tasks", ("r", "a"))) or held["state"] != "running":
            await asyncio.sleep(0.01)
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)
        now = store.get("team_tasks", ("r", "a"))
        assert now is not None
        revision = int(str(now["revision"]))
        assert store.swap("team_tasks", ("r", "a"), revision, {**held, "revision": revision + 1})

    asyncio.run(killed())
    (place,) = (each for each in (home / "team").iterdir() if each.is_dir())
    (place / f"{ids.hex_of('a')[:24]}.1").write_text(json.dumps({"value": "forged"}))
    forged.set()
    assert run(team, TeamTask(id="a")).results == {"a": "its own"}


# -- processes ---------------------------------------------------------------------------------------------------------


def leave_a_daemon(work: Json) -> Json:
    """Start a program in a session of its own whose parent ends at once; return its process, or hang, or die."""
    start = "import subprocess as s; print(s.Popen(['sleep', '600'], start_new_session=True, stdout=-3, stderr=-3).pid)"
    left = subprocess.run([sys.executable, "-c", start], capture_output=True, check=True).stdout.decode().strip()
    assert isinstance(work, dict)
    Path(str(work["note"])).write_text(left)
    if work["then"] == "die":
        os._exit(3)
    if work["then"] == "hang":
        time.sleep(600)
    return left


def crew_of_its_own(work: Json) -> Json:
    """A team inside of a worker, whose own worker leaves a program behind."""
    assert isinstance(work, dict)
    with Ratchet(Path(str(work["home"]))) as held:
        team = Orchestrator("inner", [Worker("w", leave_a_daemon, isolated=True)], ratchet=held)
        asyncio.run(team.run([TeamTask(id="t", work=work, attempts=1)], run="inner"))
    return None


def runs(pid: str) -> bool:
    """A dead one that nobody has asked after still has a place, and no command line."""
    try:
        return Path("/proc", pid, "cmdline").read_bytes() != b""
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux tells the environment of a process")
@pytest.mark.parametrize("then", ["return", "die", "hang", "inner"])
def test_what_left_its_session_and_its_parent_ends_with_the_worker(ratchet: Ratchet, tmp_path: Path, then: str) -> None:
    note = tmp_path / "note"
    work: Json = {"note": str(note), "then": "hang" if then == "inner" else then, "home": str(tmp_path / "inner")}
    function = crew_of_its_own if then == "inner" else leave_a_daemon
    team = Orchestrator("t", [Worker("w", function, isolated=True)], ratchet=ratchet)

    async def until_it_is_left() -> None:
        running = asyncio.create_task(team.run([TeamTask(id="a", work=work, attempts=1)]))
        while not running.done() and not (note.exists() and note.read_text()):
            await asyncio.sleep(0.05)
        if then in ("hang", "inner"):
            running.cancel()
        await asyncio.wait((running,))

    asyncio.run(asyncio.wait_for(until_it_is_left(), 120))
    assert not runs(note.read_text())


@pytest.mark.parametrize("name", ["", "a\nb", "\x00", "\ud800", "\u202etxt.exe", "a" * 1_000])
def test_a_name_that_cannot_be_shown_on_one_line_is_refused_whosever_it_is(ratchet: Ratchet, name: str) -> None:
    """Each is kept, listed in a terminal and drawn on pages."""
    worker = Worker("w", str)
    with pytest.raises(UsageError, match="printable characters"):
        Orchestrator(name, [worker], ratchet=ratchet)
    with pytest.raises(UsageError, match="printable characters"):
        Worker(name, str)
    with pytest.raises(UsageError, match="printable characters"):
        Worker("w", str, skills=[name])
    for task in (TeamTask(id=name, work=1), *([TeamTask(id="t", work=1, skill=name)] if name else [])):
        with pytest.raises(UsageError, match="printable characters"):
            run(Orchestrator("t", [worker], ratchet=ratchet), task)
