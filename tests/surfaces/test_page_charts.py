"""What the charts of pages draw: a session over its time, money by model."""

from __future__ import annotations

import re

import pytest

from ratchet.cli.demo import HISTORY
from ratchet.improving.settings.knob import Range
from ratchet.improving.settings.versions import StoredSettings
from ratchet.runtime import Runtime
from ratchet.sessions import moments

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from ratchet.serving.api.ui.rendering import marked

HTML = {"accept": "text/html"}
DAY_S = 86_400.0
NOON = 1_767_960_000.0  # 2026-01-09 12:00 UTC


def chart(page: str, title: str) -> str:
    return page.partition(f">{title}</h2>")[2].partition("</section>")[0]


def test_a_session_is_drawn_over_its_time_and_a_column_leads_to_its_steps(runtime: Runtime, client: TestClient) -> None:
    runtime.learn([HISTORY / "a-monday.jsonl"])
    (session,) = runtime.sessions.list().items
    drawn = chart(client.get(f"/ui/sessions/{session.id}", headers=HTML).text, "Steps over time")
    told = re.findall(r"<title>[^<:]+:\d\d: ([^<]+)</title>", drawn)
    counted = {
        word: sum(int(n) for each in told for n in re.findall(rf"{word} (\d+)", each)) for word in ("failed", "worked")
    }
    assert counted == {"failed": session.failures, "worked": session.calls - session.failures - session.excused}
    leads = re.findall(r'<a href="(/ui/sessions/[^"]+)"', drawn)
    failed = {each.id for each in runtime.outcomes(ok=False)}
    assert sum(each.partition("at=")[2] in failed for each in leads) == sum("failed" in each for each in told)
    assert client.get(leads[0], headers=HTML).status_code == 200


def test_a_pause_takes_little_of_a_session_s_chart(runtime: Runtime, client: TestClient) -> None:
    for n in range(40):
        runtime.record("a", session="s", ok=bool(n % 4), started_at=NOON + 60 * n + (3 * DAY_S if n > 19 else 0))
    drawn = chart(client.get("/ui/sessions/s", headers=HTML).text, "Steps over time")
    assert "pauses are drawn as 10 minutes at most" in drawn
    assert len(re.findall(r"<title>[^<]*(?:worked|failed) \d", drawn)) > 30
    ticks = re.findall(r"<text[^>]*>([^<]+)</text>", drawn)
    assert {"9 Jan", "12 Jan"} <= set(ticks)
    assert len(set(ticks)) == len(ticks) == 5, "a day is named once, then the hours in it"


def test_a_legend_names_what_its_chart_shows(runtime: Runtime, client: TestClient) -> None:
    for n in range(40):
        runtime.record("a", session="s", ok=bool(n % 4), started_at=NOON + 60 * n)
    drawn = chart(client.get("/ui/sessions/s", headers=HTML).text, "Steps over time")
    assert re.findall(r"</svg>([a-z, ]+)</li>", drawn) == ["failed", "worked"]


def test_each_step_is_told_and_of_a_long_session_its_hours(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime.learn([HISTORY])
    session = max(runtime.sessions.list().items, key=lambda each: each.calls)
    each = runtime.sessions.moments(session)
    assert len({one.step for one in each}) == len(each) == session.calls
    monkeypatch.setattr(moments, "_EACH", 0)
    hours = runtime.sessions.moments(session)
    assert sum(one.count for one in hours) == session.calls
    assert {one.at % 3600 for one in hours} == {0}
    assert sum(one.count for one in hours if one.ended == "bad") == sum(one.ended == "bad" for one in each)


def test_a_session_of_few_steps_has_no_chart(runtime: Runtime, client: TestClient) -> None:
    runtime.record("a", session="s", ok=True)
    assert "Steps over time" not in client.get("/ui/sessions/s", headers=HTML).text


def test_what_worked_is_folded_in_a_session_and_open_on_its_own_page(runtime: Runtime, client: TestClient) -> None:
    runtime.learn([HISTORY / "a-monday.jsonl"])
    (session,) = runtime.sessions.list().items
    page = client.get(f"/ui/sessions/{session.id}", headers=HTML).text
    assert '<details class="more-words"><summary>Result' in page
    assert '<details class="more-words" open><summary>Result' not in page
    step = next(each for each in runtime.sessions.show(session.id).steps if each.outcome.ok and each.result)
    told = client.get(f"/ui/outcomes/{step.outcome.id}", headers=HTML).text
    assert '<details class="more-words" open><summary>Result' in told


def test_a_session_says_which_tools_took_its_time_and_money(runtime: Runtime, client: TestClient) -> None:
    runtime.learn([HISTORY])
    session = max(runtime.sessions.list().items, key=lambda each: each.calls)
    spent = runtime.sessions.costs_in(session.id)
    assert spent.total.calls == session.calls
    assert spent.total.tokens.total == session.tokens.total
    told = chart(client.get(f"/ui/sessions/{session.id}", headers=HTML).text, "Where time and money went")
    named = [each.name for each in spent.rows if each.name]
    assert named
    assert all(f'<th scope="row">{name}</th>' in told for name in named[:3])


def test_money_is_drawn_by_model_of_each_day_and_of_weeks_where_days_are_many(
    runtime: Runtime, client: TestClient
) -> None:
    for model, at, usd in (("large", 0, 3.0), ("small", 0, 1.25), ("large", 2, 0.5)):
        runtime.record("a", model=model, session="s", ok=True, started_at=NOON + at * DAY_S, cost_usd=usd)
    runtime.drain()
    assert runtime.sessions.costs_daily() == {
        "2026-01-09": {"large": 3.0, "small": 1.25},
        "2026-01-11": {"large": 0.5},
    }
    page = client.get("/ui/cost?range=all", headers=HTML).text
    drawn = chart(page, "Cost of each day")
    assert "<title>2026-01-09: large 3.00, small 1.25</title>" in drawn
    assert "<title>2026-01-10: no USD</title>" in drawn
    assert drawn.index("</svg>large") < drawn.index("</svg>small")
    runtime.record("a", model="m", session="t", ok=True, started_at=NOON - 200 * DAY_S, cost_usd=1.0)
    runtime.drain()
    drawn = chart(client.get("/ui/cost?range=all", headers=HTML).text, "Cost of each week")
    assert "<title>week from 2026-01-05: large 3.50, small 1.25</title>" in drawn


def test_words_that_were_found_are_marked_in_code_and_beside_it() -> None:
    assert marked("call `go test` & test", ["test"]) == (
        "call <code>go <mark>test</mark></code> &amp; <mark>test</mark>"
    )


def test_a_trial_that_goes_on_says_in_the_list_how_it_stands(runtime: Runtime, client: TestClient) -> None:
    StoredSettings(runtime.store, "support", knobs={"max_retries": Range(0, 10, default=0)}).declare()
    trial = runtime.trials.open("settings:support", {"max_retries": 3}, reason="it retries too little")
    assert "No run has told yet how it went." in client.get("/ui/trials", headers=HTML).text
    runtime.trials.stop(trial.id)
    assert "No run has told yet how it went." not in client.get("/ui/trials", headers=HTML).text
