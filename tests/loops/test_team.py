"""A team brings each task to the end that it deserves, once, whatever becomes of its workers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from ratchet import Ratchet
from ratchet.errors import Conflict, Refused, UsageError
from ratchet.records import Json
from ratchet.store.paging import rows_of
from ratchet.team import Handed, Orchestrator, TeamBudget, TeamRun, TeamTask, ToolRequest, Worker, call_tools, rows
from ratchet.testing.team import RIGHT, do_one


@pytest.fixture
def ratchet(home: Path) -> Iterator[Ratchet]:
    with Ratchet(home) as held:
        yield held


def run(team: Orchestrator, *tasks: TeamTask, name: str = "r") -> TeamRun:
    return asyncio.run(asyncio.wait_for(team.run(tasks, run=name), 120))


def echo(work: Json) -> Json:
    return work


def deep(times: int) -> Json:
    value: Json = []
    for _ in range(times):
        value = [value]
    return value


# -- order -------------------------------------------------------------------------------------------------------------


def test_a_task_starts_after_those_it_needs_and_gets_what_they_brought(ratchet: Ratchet) -> None:
    def add(work: Json, context: Handed) -> Json:
        return [work, *sorted(str(each) for each in context.results.values())]

    tasks = (
        TeamTask(id="c", work="c", needs=("a", "b")),
        TeamTask(id="b", work="b", needs=("a",)),
        TeamTask(id="a", work="a"),
    )
    done = run(Orchestrator("t", [Worker("w", add, slots=3)], ratchet=ratchet), *tasks)
    assert done.state == "done"
    assert done.results == {"a": ["a"], "b": ["b", "['a']"], "c": ["c", "['a']", "['b', \"['a']\"]"]}


def test_what_needs_a_task_that_failed_is_skipped_and_says_why(ratchet: Ratchet) -> None:
    def fail(work: Json) -> Json:
        if work == "bad":
            raise ValueError("no such order")
        return work

    tasks = (
        TeamTask(id="a", work="bad", attempts=1),
        TeamTask(id="b", work=1, needs=("a",)),
        TeamTask(id="c", work=1, needs=("b",)),
        TeamTask(id="d", work=1),
    )
    done = run(Orchestrator("t", [Worker("w", fail)], ratchet=ratchet), *tasks)
    states = {each.id: each.state for each in done.tasks}
    assert (done.state, states) == ("failed", {"a": "failed", "b": "skipped", "c": "skipped", "d": "done"})
    assert done.failures["c"] == "it needs 'b', which is skipped"


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ((TeamTask(id="a", needs=("b",)),), "which is no task of this run"),
        ((TeamTask(id="a", needs=("b",)), TeamTask(id="b", needs=("a",))), "in a circle"),
        ((TeamTask(id="a"), TeamTask(id="a")), "two tasks are named"),
        ((TeamTask(id="a", skill="cook"),), "the workers declare: none"),
        ((TeamTask(id="a", attempts=0),), "attempts of task 'a' is 0: use a whole number from 1 up"),
        ((TeamTask(id="a", work=deep(200_000)),), "task 'a': its work is not JSON"),
    ],
)
def test_tasks_that_make_no_sense_are_refused_before_anything_starts(
    ratchet: Ratchet, tasks: tuple[TeamTask, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        run(Orchestrator("t", [Worker("w", echo)], ratchet=ratchet), *tasks)


def test_a_worker_needs_one_way_to_work() -> None:
    for given in ({}, {"url": "http://x", "function": echo}, {"mcp": "http://x"}, {"agent": object()}, {"url": "x"}):
        with pytest.raises(UsageError, match=r"worker 'w'|agent is a"):
            Worker("w", **given)
    with pytest.raises(UsageError, match="at the top of a module"):
        Worker("w", lambda work: work, isolated=True)


def test_a_new_home_is_its_owner_s_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "home"
    with Ratchet(folder) as held:
        run(Orchestrator("t", [Worker("w", echo)], ratchet=held), TeamTask(id="a", work=1))
    assert folder.stat().st_mode & 0o777 == 0o700


# -- what fails --------------------------------------------------------------------------------------------------------


def test_a_task_that_failed_goes_to_another_worker_and_each_attempt_is_an_outcome(ratchet: Ratchet) -> None:
    def broken(work: Json) -> Json:
        raise ConnectionRefusedError("the tool's server is down")

    team = Orchestrator("t", [Worker("a", broken), Worker("b", echo)], backoff_s=0.01, ratchet=ratchet)
    done = run(team, TeamTask(id="x", work=1))
    (record,) = done.tasks
    assert [(each.worker, each.ok, each.kind) for each in record.attempts] == [("a", False, "network"), ("b", True, "")]
    outcomes = sorted(ratchet.outcomes(session="r"), key=lambda each: each.started_at)
    assert [(each.agent, each.task, each.ok, each.thread) for each in outcomes] == [
        ("a", "x", False, "x"),
        ("b", "x", True, "x"),
    ]
    assert outcomes[0].failure is not None
    assert (outcomes[0].failure.kind, outcomes[0].source) == ("network", "team")
    assert ratchet.patterns()[0].count == 1


@pytest.mark.parametrize("way", ["raise", "hang", "exit", "flood", "wrong", "kill"])
def test_whatever_a_worker_does_in_a_process_of_its_own_ends_there(ratchet: Ratchet, home: Path, way: str) -> None:
    home.mkdir(exist_ok=True)
    workers = [Worker(name, do_one, isolated=True) for name in "ab"]
    team = Orchestrator("t", workers, judge=lambda _, value: value == RIGHT, backoff_s=0.01, ratchet=ratchet)
    work: Json = {"log": str(home / "log"), "way": way, "times": 1}
    done = run(team, TeamTask(id="x", work=work, timeout_s=2.0 if way == "hang" else 60.0))
    (record,) = done.tasks
    assert (done.state, record.result) == ("done", RIGHT)
    assert [each.worker for each in record.attempts] == ["a", "b"]
    assert (
        record.attempts[0].kind
        == {
            "raise": "empty_response",
            "hang": "timeout",
            "exit": "command_failed",
            "flood": "other",
            "wrong": "wrong_output",
            "kill": "command_failed",
        }[way]
    )


def test_a_coroutine_that_hangs_and_a_function_that_hangs_cost_no_more_than_their_time(ratchet: Ratchet) -> None:
    over = threading.Event()

    async def hangs(work: Json) -> Json:
        await asyncio.sleep(3_600)
        return work

    def waits(work: Json) -> Json:
        over.wait(60)
        return work

    team = Orchestrator("t", [Worker("a", hangs, skills=("a",)), Worker("b", waits, skills=("b",))], ratchet=ratchet)
    tasks = [TeamTask(id=skill, skill=skill, timeout_s=0.1, attempts=1) for skill in "ab"]
    done = run(team, *tasks)
    over.set()
    assert done.failures == {"a": "timed out after 0.1 s", "b": "timed out after 0.1 s"}


def test_a_driver_that_stood_still_takes_no_time_from_the_work(ratchet: Ratchet) -> None:
    async def answers(work: Json) -> Json:
        time.sleep(0.5)  # the whole process: an overloaded machine, one that was asleep
        for _ in range(10):
            await asyncio.sleep(0)
        return work

    done = run(Orchestrator("t", [Worker("w", answers)], ratchet=ratchet), TeamTask(id="a", work=1, timeout_s=0.1))
    (record,) = done.tasks
    assert [(each.ok, each.kind) for each in record.attempts] == [(True, "")]


def test_what_may_have_had_effects_is_not_repeated_where_the_task_says_so(ratchet: Ratchet) -> None:
    met: list[str] = []

    async def fail(work: Json, context: Handed) -> Json:
        met.append(context.task)
        if work == "hang":
            await asyncio.sleep(3_600)
        raise ValueError("rejected")

    tasks = [TeamTask(id=work, work=work, timeout_s=1.0, repeat=False) for work in ("hang", "say")]
    done = run(Orchestrator("t", [Worker("w", fail)], backoff_s=0.01, ratchet=ratchet), *tasks)
    assert (met.count("hang"), met.count("say")) == (1, 3)
    assert "not repeated" in done.failures["hang"]


def test_a_worker_whose_last_ends_were_its_own_fault_rests(ratchet: Ratchet, home: Path) -> None:
    home.mkdir(exist_ok=True)
    sick = Worker("sick", command=["sh", "-c", "kill -9 $PPID"])
    team = Orchestrator("t", [sick, Worker("well", echo)], backoff_s=0.01, ratchet=ratchet)
    done = run(team, *(TeamTask(id=f"t{n}", work=n) for n in range(30)))
    assert done.state == "done"
    assert sum(each.worker == "sick" for record in done.tasks for each in record.attempts) <= 8


def test_a_judge_says_what_is_wrong_and_the_next_attempt_is_told(ratchet: Ratchet) -> None:
    told: list[str] = []

    def guess(work: Json, context: Handed) -> Json:
        told.append(context.last)
        return context.attempt

    async def judge(task: TeamTask, value: Json) -> bool | str:
        return value == 2 or "the total is off by one"

    done = run(Orchestrator("t", [Worker("w", guess)], judge=judge, backoff_s=0.01, ratchet=ratchet), TeamTask(id="x"))
    assert (done.results, told) == ({"x": 2}, ["", "the total is off by one"])
    assert done.tasks[0].attempts[0].kind == "wrong_output"


def test_what_is_known_to_help_is_handed_to_the_next_attempt(home: Path) -> None:
    said: list[str] = []

    def push(work: Json, context: Handed) -> Json:
        said.append(context.known)
        if context.attempt == 1:
            raise RuntimeError("fatal: The current branch main has no upstream branch.")
        return "pushed"

    with Ratchet(home, withheld_share=0.0, proven_withheld_share=0.0) as ratchet:
        ratchet.lessons.add(
            when="fatal: The current branch main has no upstream branch.",
            do="git push -u origin main",
            scope="global",
            state="active",
        )
        run(Orchestrator("t", [Worker("w", push)], backoff_s=0.01, ratchet=ratchet), TeamTask(id="x"))
    assert said[0] == ""
    assert "git push -u origin main" in said[1]


# -- budgets -----------------------------------------------------------------------------------------------------------


def test_money_is_set_aside_before_and_never_exceeded(ratchet: Ratchet) -> None:
    async def pay(work: Json, context: Handed) -> Json:
        await asyncio.sleep(0.01)
        context.spend(cost_usd=0.25, tokens=10)
        return work

    team = Orchestrator("t", [Worker("w", pay, slots=4)], budget=TeamBudget(usd=1.0), ratchet=ratchet)
    done = run(team, *(TeamTask(id=f"t{n}", cost_usd=0.25) for n in range(8)))
    states = [each.state for each in done.tasks]
    assert (done.state, states.count("done"), states.count("over_budget")) == ("over_budget", 4, 4)
    assert (done.cost_usd, done.tokens) == (1.0, 40)
    assert sum(each.cost_usd or 0 for each in ratchet.outcomes(session="r")) == 1.0


def test_the_seconds_of_a_run_end_what_runs(ratchet: Ratchet) -> None:
    async def long(work: Json) -> Json:
        await asyncio.sleep(3_600)
        return work

    team = Orchestrator("t", [Worker("w", long)], budget=TeamBudget(seconds=0.2), ratchet=ratchet)
    began = time.monotonic()
    done = run(team, TeamTask(id="a"), TeamTask(id="b"))
    assert time.monotonic() - began < 60
    assert [each.state for each in done.tasks] == ["over_budget", "over_budget"]


# -- going on ----------------------------------------------------------------------------------------------------------


def test_a_run_that_is_called_again_goes_on_and_does_nothing_twice(ratchet: Ratchet) -> None:
    made: list[str] = []

    def work(given: Json, context: Handed) -> Json:
        made.append(context.task)
        return f"{given} after {sorted(context.results.values(), key=str)}"

    team = Orchestrator("t", [Worker("w", work)], ratchet=ratchet)
    run(team, TeamTask(id="a", work="a"))
    done = run(team, TeamTask(id="a", work="a"), TeamTask(id="b", work="b", needs=("a",)))
    later = run(team, TeamTask(id="c", work="c", needs=("b",)))
    assert made == ["a", "b", "c"]
    assert done.results["b"] == "b after ['a after []']"
    assert later.results["c"] == "c after [\"b after ['a after []']\"]"
    with pytest.raises(UsageError, match="other work"):
        run(team, TeamTask(id="a", work="something else"))
    with pytest.raises(Conflict, match="is of team 't'"):
        run(Orchestrator("u", [Worker("w", work)], ratchet=ratchet), TeamTask(id="a", work="a"))


def test_one_process_drives_a_run(ratchet: Ratchet) -> None:
    team = Orchestrator("t", [Worker("w", lambda work: time.sleep(0.3))], ratchet=ratchet)

    async def twice() -> list[object]:
        tasks = [TeamTask(id="a")]
        both = (team.run(tasks, run="r"), team.run(tasks, run="r"))
        return list(await asyncio.gather(*both, return_exceptions=True))

    first, second = asyncio.run(twice())
    assert isinstance(first, TeamRun)
    assert isinstance(second, Conflict)


def test_a_run_that_another_home_drives_is_only_taken_over_on_request(home: Path) -> None:
    with Ratchet(home) as ratchet:
        store = ratchet._runtime.store
        rows.begin(store, "r", "t", "elsewhere:0123")
        team = Orchestrator("t", [Worker("w", echo)], ratchet=ratchet)
        with pytest.raises(Conflict, match="driven by another home"):
            run(team, TeamTask(id="a", work=1))
        taken = asyncio.run(team.run([TeamTask(id="a", work=1)], run="r", take_over=True))
    assert taken.state == "done"


def test_a_team_inside_a_team_leaves_the_signal_to_both(ratchet: Ratchet) -> None:
    async def lead(work: Json, context: Handed) -> Json:
        inner = Orchestrator("inner", [Worker("w", echo)], ratchet=ratchet)
        done = await inner.run([TeamTask(id="x", work=1)], run=f"inner-{context.task}")
        if context.task == "a":
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(0.1)
        return dict(done.results)

    done = run(Orchestrator("t", [Worker("lead", lead)], ratchet=ratchet), TeamTask(id="a"), TeamTask(id="b"))
    assert (done.state, [each.state for each in done.tasks]) == ("stopped", ["done", "waiting"])


def test_what_is_forgotten_and_what_is_old_goes_with_its_tasks_and_letters(ratchet: Ratchet) -> None:
    def work(given: Json, context: Handed) -> Json:
        context.send("nobody", "a letter")
        return given

    team = Orchestrator("t", [Worker("w", work)], ratchet=ratchet)
    for name in ("r", "old", "kept"):
        run(team, TeamTask(id="a", work="private"), name=name)
    store = ratchet._runtime.store
    rows.change(store, "old", "aged", ended_at=time.time() - 40 * 86_400.0)
    forgotten = ratchet._runtime.sessions.forget("r")
    assert (forgotten.removed["team_tasks"], forgotten.removed["team_mail"], forgotten.left) == (1, 1, {})
    assert ratchet._runtime.retention.compact(30.0).removed["team_tasks"] == 1
    assert {row["run"] for row in store.find("team_tasks").rows} == {"kept"}
    assert {row["run"] for row in store.find("team_mail").rows} == {"kept"}


def test_sigterm_lets_what_runs_end_starts_nothing_more_and_the_next_run_goes_on(ratchet: Ratchet) -> None:
    made: list[str] = []

    async def work(given: Json, context: Handed) -> Json:
        if context.task == "a" and not made:
            os.kill(os.getpid(), signal.SIGTERM)
        made.append(context.task)
        await asyncio.sleep(0.1)
        return given

    team = Orchestrator("t", [Worker("w", work)], ratchet=ratchet)
    tasks = [TeamTask(id=each) for each in "abc"]
    before = signal.getsignal(signal.SIGTERM)
    done = run(team, *tasks)
    assert (done.state, [each.state for each in done.tasks]) == ("stopped", ["done", "waiting", "waiting"])
    assert signal.getsignal(signal.SIGTERM) is before
    assert run(team, *tasks).state == "done"
    assert made == ["a", "b", "c"]


def test_a_run_is_paused_and_cancelled_from_outside(ratchet: Ratchet) -> None:
    store = ratchet._runtime.store
    made: list[str] = []

    async def work(given: Json, context: Handed) -> Json:
        made.append(context.task)
        if context.task == "t0":
            rows.ask(store, "r", "pause")
        await asyncio.sleep(0.05)
        return given

    async def drive() -> TeamRun:
        team = Orchestrator("t", [Worker("w", work)], ratchet=ratchet)
        running = asyncio.create_task(team.run([TeamTask(id=f"t{n}") for n in range(60)], run="r"))
        await asyncio.sleep(2.0)
        count = len(made)
        await asyncio.sleep(1.0)
        assert len(made) == count < 60  # it was paused
        rows.ask(store, "r", "cancel", reason="enough")
        return await running

    done = asyncio.run(asyncio.wait_for(drive(), 60))
    assert done.state == "cancelled"
    assert {each.state for each in done.tasks} == {"done", "cancelled"}
    with pytest.raises(Refused, match="has ended"):
        rows.ask(store, "r", "pause")


def test_a_cancelled_call_ends_its_work_and_leaves_the_run_to_be_gone_on_with(ratchet: Ratchet) -> None:
    ended: list[str] = []

    async def work(given: Json) -> Json:
        try:
            await asyncio.sleep(0.0 if ended else 3_600)
        finally:
            ended.append("ended")
        return given

    team = Orchestrator("t", [Worker("w", work)], ratchet=ratchet)

    async def cancelled() -> None:
        running = asyncio.create_task(team.run([TeamTask(id="a")], run="r"))
        await asyncio.sleep(0.5)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert ended == ["ended"]
    assert run(team, TeamTask(id="a")).state == "done"


# -- letters, secrets --------------------------------------------------------------------------------------------------


def test_a_letter_arrives_with_the_next_attempt_of_whom_it_is_for(ratchet: Ratchet) -> None:
    got: list[Json] = []

    def work(given: Json, context: Handed) -> Json:
        got.extend(context.mail)
        if context.task == "a":
            context.send("b", {"port": 8080})
            context.send("w", "to whoever works next")
        return given

    team = Orchestrator("t", [Worker("w", work)], ratchet=ratchet)
    run(team, TeamTask(id="a"), TeamTask(id="b", needs=("a",)), TeamTask(id="c", needs=("b",)))
    assert got == [{"sender": "w", "body": {"port": 8080}}, {"sender": "w", "body": "to whoever works next"}]
    assert rows.unread(ratchet._runtime.store, "r") == []


def test_no_secret_of_a_task_reaches_the_disk(ratchet: Ratchet, home: Path) -> None:
    key = "sk-ant-api03-" + "Ab1" * 30

    def work(given: Json, context: Handed) -> Json:
        context.send("b", f"key {key}")
        return {"token": key}

    team = Orchestrator(
        "t", [Worker("w", work), Worker("own", do_one, isolated=True, skills=("own",))], ratchet=ratchet
    )
    done = run(team, TeamTask(id="a", work=f"use {key}"), TeamTask(id="b", needs=("a",)))
    ratchet.patterns()
    assert done.tasks[0].masked
    held = [path for path in home.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert held == []
    assert key not in json.dumps([*rows_of(ratchet._runtime.store, "team_tasks", {"run": "r"}, order=("id",))])


# -- who works ---------------------------------------------------------------------------------------------------------


def test_a_command_reads_its_work_and_says_its_result(ratchet: Ratchet) -> None:
    workers = [
        Worker("upper", command=["tr", "a-z", "A-Z"], skills=("upper",)),
        Worker(
            "json", command=["sh", "-c", "cat >/dev/null; echo '{\"task\": \"'$RATCHET_TASK'\"}'"], skills=("json",)
        ),
        Worker("fails", command=["sh", "-c", "echo no such order >&2; exit 4"], skills=("fails",)),
    ]
    tasks = [TeamTask(id=each, work="hello", skill=each, attempts=1) for each in ("upper", "json", "fails")]
    done = run(Orchestrator("t", workers, ratchet=ratchet), *tasks)
    assert done.results == {"upper": "HELLO", "json": {"task": "json"}}
    assert done.failures == {"fails": "Exit code 4\nno such order"}
    assert [each.failure and each.failure.exit_code for each in ratchet.outcomes(ok=False)] == [4]


def a_set(work: Json) -> set[str]:
    return {"no JSON"}


def test_what_cannot_be_handed_on_is_said_so_in_every_kind_of_worker(ratchet: Ratchet) -> None:
    workers = [
        Worker("here", a_set, skills=("here",)),
        Worker("own", a_set, skills=("own",), isolated=True),
    ]
    tasks = [TeamTask(id=each, skill=each, attempts=1) for each in ("here", "own")]
    done = run(Orchestrator("t", workers, ratchet=ratchet), *tasks)
    failed = {each.id: each.attempts[-1].kind for each in done.tasks if each.state == "failed"}
    assert failed == {"here": "malformed_output", "own": "malformed_output"}
    assert done.failures["own"] == done.failures["here"]


@pytest.mark.parametrize("words", [["sh", "-c", "wc -c < $RATCHET_CONTEXT_FILE"], ["true"]])
def test_a_command_reads_a_large_context_as_a_file_or_leaves_it(ratchet: Ratchet, words: list[str]) -> None:
    workers = [
        Worker("long", lambda work: "x" * 300_000, skills=("long",)),
        Worker("command", command=words, skills=("command",)),
    ]
    tasks = [TeamTask(id="long", skill="long"), TeamTask(id="c", skill="command", needs=("long",), attempts=1)]
    done = run(Orchestrator("t", workers, ratchet=ratchet), *tasks)
    assert done.state == "done", done.failures
    told = {"results": {"long": "x" * 300_000}, "mail": [], "last": ""}
    assert done.results["c"] == ("" if words == ["true"] else len(json.dumps(told)))


class _Service(BaseHTTPRequestHandler):
    keys: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.keys.append(self.headers["Idempotency-Key"])
        status = 503 if len(self.keys) == 1 else 200
        answer = (
            {"answer": {"got": asked["work"]}, "cost_usd": 0.5, "tokens": 7} if status == 200 else {"detail": "busy"}
        )
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *said: object) -> None:
        return


def test_an_endpoint_is_asked_again_under_the_same_key(ratchet: Ratchet) -> None:
    _Service.keys.clear()
    server = HTTPServer(("127.0.0.1", 0), _Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    worker = Worker("service", url=f"http://127.0.0.1:{server.server_port}/work")
    done = run(Orchestrator("t", [worker], backoff_s=0.01, ratchet=ratchet), TeamTask(id="a", work=[1]))
    server.shutdown()
    server.server_close()
    (record,) = done.tasks
    assert (record.result, record.cost_usd, record.tokens) == ({"got": [1]}, 0.5, 7)
    assert [each.kind for each in record.attempts] == ["overloaded", ""]
    assert _Service.keys == ["r/a", "r/a"]


def test_a_tool_of_an_mcp_server_works_too(ratchet: Ratchet, home: Path) -> None:
    ratchet.lessons.add(when="fatal: no upstream branch", do="git push -u origin main", scope="global", state="active")
    server = [sys.executable, "-P", "-m", "ratchet", "--home", str(home), "mcp"]
    worker = Worker("memory", mcp=server, tool="search_memory")
    tasks = [
        TeamTask(id="found", work={"query": "fatal: no upstream branch"}, timeout_s=60),
        TeamTask(id="bad", work={"no": "query"}, attempts=1, timeout_s=60),
    ]
    done = run(Orchestrator("t", [worker], ratchet=ratchet), *tasks)
    assert "git push -u origin main" in json.dumps(done.results["found"])
    assert "query" in done.failures["bad"]


def test_a_framework_s_agent_is_asked_in_words_and_its_tokens_count(ratchet: Ratchet) -> None:
    models = pytest.importorskip("pydantic_ai.models.function", reason="needs the extra `model`")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart

    asked: list[str] = []

    def answer(messages: list[object], info: object) -> ModelResponse:
        asked.append(str(messages[-1].parts[-1].content))  # type: ignore[attr-defined]
        return ModelResponse(parts=[TextPart("a plan")])

    agent = Agent(models.FunctionModel(answer))
    workers = [Worker("first", echo, skills=("first",)), Worker("planner", agent=agent, skills=("plan",))]
    tasks = [
        TeamTask(id="a", work="facts", skill="first"),
        TeamTask(id="b", work="Plan it", skill="plan", needs=("a",)),
    ]
    done = run(Orchestrator("t", workers, ratchet=ratchet), *tasks)
    assert done.failures == {}
    assert done.results["b"] == "a plan"
    assert done.tokens > 0
    assert asked[0].startswith("Plan it\n\nResults of the tasks that this one needs:\n<ratchet-data-")
    assert '{"a": "facts"}' in asked[0]


def test_a_slow_worker_that_is_free_is_passed_over_for_a_quick_one_that_is_nearly(ratchet: Ratchet) -> None:
    async def quick(work: Json) -> Json:
        await asyncio.sleep(0.005)
        return work

    async def slow(work: Json) -> Json:
        await asyncio.sleep(0.5)
        return work

    team = Orchestrator("t", [Worker("slow", slow), Worker("quick", quick)], ratchet=ratchet)
    done = run(team, *(TeamTask(id=f"t{n}") for n in range(100)))
    by = [each.worker for each in done.tasks]
    assert by.count("slow") <= 5


# -- tools side by side ------------------------------------------------------------------------------------------------


def test_a_turn_s_tools_are_called_side_by_side_and_answer_in_order(ratchet: Ratchet) -> None:
    both = threading.Barrier(2, timeout=30)

    def wait(name: str) -> str:
        both.wait()
        return name

    async def fail() -> None:
        raise FileNotFoundError("no file /srv/report.csv")

    calls = [
        ToolRequest(id="1", name="wait", arguments={"name": "x"}),
        ToolRequest(id="2", name="fail"),
        ToolRequest(id="3", name="wait", arguments={"name": "y"}),
    ]
    results = asyncio.run(call_tools(calls, {"wait": wait, "fail": fail}, attempts=1, ratchet=ratchet))
    assert [(each.id, each.value) for each in results] == [("1", "x"), ("2", None), ("3", "y")]
    assert "no file /srv/report.csv" in results[1].error
    with pytest.raises(UsageError, match="no tool 'cook' here; there are: fail"):
        asyncio.run(call_tools([ToolRequest(id="1", name="cook")], {"fail": fail}, ratchet=ratchet))
