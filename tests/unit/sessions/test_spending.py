"""Cost is everything that was used; waste is the part that failures, the same failure again, and loops took."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.errors import UsageError
from ratchet.lessons.mining.spending import spending
from ratchet.records import Row, number_in, whole_in
from ratchet.runtime import Runtime
from support.sessions import call, session, shell
from support.shop import SHOP, history


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime.open(home=tmp_path / "home", model_prices="claude-opus-4=1000000/0") as opened:
        opened.learn([history(tmp_path / "history.jsonl")])
        yield opened


def test_every_answer_counts_once_whatever_it_is_summed_up_by(runtime: Runtime) -> None:
    whole = runtime.sessions.list().items[0].tokens.total
    for by in ("model", "project", "agent", "tool", "pattern", "session", "day"):
        found = runtime.sessions.costs(by=by)
        assert found.total.tokens.total == sum(row.tokens.total for row in found.rows) == whole == 551


def test_an_answer_that_no_call_follows_belongs_to_no_tool(runtime: Runtime) -> None:
    by_tool = {row.name: row.tokens.given for row in runtime.sessions.costs(by="tool").rows}
    assert by_tool == {"Bash": 300, "Edit": 200, "": 50}


def test_money_and_waste_are_two_figures(runtime: Runtime) -> None:
    found = runtime.sessions.costs()
    assert found.total.cost_usd == pytest.approx(550.0)
    assert found.total.wasted_usd == pytest.approx(200.0)
    assert [(each.name, each.wasted_calls) for each in found.waste] == [("failure", 1), ("retry", 1)]


def test_costs_are_those_of_a_time_and_a_project(runtime: Runtime) -> None:
    assert runtime.sessions.costs(project=SHOP).total.calls == 5
    assert runtime.sessions.costs(project="/elsewhere").total.calls == 0
    assert runtime.sessions.costs(since=1_900_000_000.0).total.calls == 0
    assert runtime.sessions.costs(until=1_700_000_000.0).total.calls == 0
    with pytest.raises(UsageError, match="no cost by 'moon'"):
        runtime.sessions.costs(by="moon")  # type: ignore[arg-type]


def test_runs_that_were_recorded_count_with_what_they_say(runtime: Runtime) -> None:
    runtime.record("bot", task="plan", ok=True, session="s1", tokens=10, cost_usd=0.5, model="m")
    runtime.record("bot", task="act", error="refused", tokens=5, model="m")
    by = {row.name: row for row in runtime.sessions.costs(by="agent").rows}
    assert (by["bot"].tokens.unsplit, by["bot"].cost_usd, by["bot"].unpriced) == (15, 0.5, 5)
    assert by["bot"].wasted_calls == 1


def wasted(rows: list[Row]) -> dict[str, tuple[int, float]]:
    found: dict[str, tuple[int, float]] = {}
    for row in spending(rows, []):
        calls, took = found.get(str(row["waste"]), (0, 0.0))
        found[str(row["waste"])] = (calls + whole_in(row, "calls"), took + number_in(row, "wasted_s"))
    return found


def test_seconds_of_calls_at_the_same_time_count_once() -> None:
    calls = [
        shell("a", "boom", started_at=100.0, duration_s=10.0),
        shell("b", "boom", started_at=105.0, duration_s=10.0),
    ]
    assert wasted(session(calls)) == {"failure": (2, 15.0)}


def test_the_time_in_which_a_person_was_asked_is_no_waste() -> None:
    asked = call("ExitPlanMode", {"plan": "x"}, "boom", duration_s=500.0)
    assert wasted(session([asked])) == {"failure": (1, 1.0)}


def test_the_same_call_failing_again_is_a_retry_until_it_works() -> None:
    rows = session([shell("a", "boom"), shell("a", "boom"), shell("a"), shell("a", "boom")])
    assert wasted(rows) == {"": (1, 0.0), "failure": (2, 2.0), "retry": (1, 1.0)}


def test_a_refusal_and_a_cascade_are_no_waste() -> None:
    rows = session([shell("a", "no", kind="user_denied"), shell("b", "sibling", kind="cascade")])
    assert wasted(rows) == {"": (2, 0.0)}


def test_time_is_that_of_the_tools_and_counts_once() -> None:
    task = call("Task", {"prompt": "look"}, started_at=100.0, duration_s=60.0)
    rows = session([task, shell("a", started_at=110.0, duration_s=20.0), shell("b", started_at=120.0, duration_s=20.0)])
    took = {str(row["tool"]): number_in(row, "duration_s") for row in spending(rows, [])}
    assert took == {"Task": 30.0, "Bash": 30.0}
    left = call("Bash", {"command": "sleep"}, started_at=100.0, duration_s=50_000.0)
    asked = call("ExitPlanMode", {"plan": "x"}, started_at=100.0, duration_s=900.0)
    assert [number_in(row, "duration_s") for row in spending(session([left]), [])] == [600.0]
    assert [number_in(row, "duration_s") for row in spending(session([asked]), [])] == [1.0]
