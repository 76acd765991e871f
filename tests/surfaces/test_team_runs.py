"""A team's run on the pages, over HTTP and among the sessions: its tasks, workers, letters, budget and end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from ratchet import Ratchet
from ratchet.failures.redaction.text import kept_how, redact_json
from ratchet.team import Handed, Orchestrator, TeamBudget, TeamRun, TeamTask, Worker
from support.api_client import client, runtime_of

HTML = {"accept": "text/html"}
TOKEN = "ghp_" + "a1B2" * 9


def work(asked: str, context: Handed) -> object:
    context.send("sum", f"<b>{asked}</b> is done")
    if asked == "bad":
        raise ValueError("the search service is down")
    return {"long": "x" * 30_000, "secret": {"token": TOKEN}, "sum": len(context.results)}[asked]


def run_of(home: Path) -> TeamRun:
    tasks = [TeamTask(id=each, work=each) for each in ("long", "secret")]
    tasks += [TeamTask(id="bad", work="bad", attempts=2), TeamTask(id="sum", work="sum", needs=("long",))]
    with Ratchet(home) as ratchet:
        team = Orchestrator("shop", [Worker("adder", work)], budget=TeamBudget(usd=1.0), backoff_s=0.0, ratchet=ratchet)
        return asyncio.run(team.run(tasks, run="run-1"))


@pytest.fixture
def held(home: Path) -> Iterator[TestClient]:
    assert run_of(home).state == "failed"
    with client(home) as app:
        yield app


def test_a_run_is_told_whole_over_http(held: TestClient) -> None:
    (listed,) = held.get("/v1/teams/runs").json()["items"]
    assert (listed["id"], listed["team"], listed["state"]) == ("run-1", "shop", "failed")
    assert (listed["tasks"], listed["states"], listed["budget"]) == (4, {"done": 3, "failed": 1}, {"usd": 1.0})
    whole = held.get("/v1/teams/runs/run-1").json()
    assert whole["run"] == listed
    tasks = {each["id"]: each for each in whole["tasks"]}
    assert {name: (each["masked"], each["clipped"]) for name, each in tasks.items()} == {
        "long": (False, True), "secret": (True, False), "bad": (False, False), "sum": (False, False),
    }  # fmt: skip
    assert len(tasks["bad"]["attempts"]) == 2
    assert "search service is down" in tasks["bad"]["attempts"][0]["reason"]
    assert tasks["sum"]["result"] == "1"
    (worker,) = whole["workers"]
    assert (worker["name"], worker["attempts"], worker["failed"]) == ("adder", 5, 2)
    assert {each["to"] for each in whole["letters"]} == {"sum"}
    assert TOKEN not in held.get("/v1/teams/runs/run-1").text
    assert held.get("/v1/teams/runs?team=other").json()["items"] == []
    assert held.get("/v1/teams/runs/none").status_code == 404


def test_a_run_is_on_the_pages_and_says_what_is_not_all_there(held: TestClient) -> None:
    assert '<a href="/ui/teams/run-1">' in held.get("/ui/teams", headers=HTML).text
    page = held.get("/ui/teams/run-1", headers=HTML).text
    for told in ("its result was too long: only a part is kept", "a secret was taken out", "search service is down"):
        assert told in page
    assert "&lt;b&gt;long&lt;/b&gt; is done" in page
    assert TOKEN not in page


def test_among_the_sessions_a_run_has_a_title_and_is_live_only_while_it_runs(held: TestClient) -> None:
    runtime = runtime_of(held)
    (found,) = runtime.sessions.list().items
    assert (found.id, found.title, found.live) == ("run-1", "Team shop", False)
    row = runtime.store.get("team_runs", "run-1") or {}
    runtime.store.swap("team_runs", "run-1", int(str(row["revision"])), {**row, "state": "running"})
    assert runtime.sessions.list().items[0].live
    assert runtime.sessions.show("run-1").summary.title == "Team shop"


@pytest.mark.parametrize(
    ("whole", "masked", "clipped"),
    [
        ({"a": [1, "b", None]}, False, False),
        ({"password": "hunter22"}, True, False),
        ([f"key {TOKEN}"], True, False),
        (["x" * 30_000], False, True),
        ([[*range(2_000)]], False, True),
        ({"deep": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1}}}}}}}}}, False, True),
        ([TOKEN, "x" * 30_000], True, True),
    ],
)
def test_what_is_kept_of_a_result_is_told_apart(whole: object, masked: bool, clipped: bool) -> None:
    assert kept_how(whole, redact_json(whole)) == (masked, clipped)
