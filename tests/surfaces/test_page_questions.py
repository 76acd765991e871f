"""Pages that offer what to do: questions for recall, what is to be decided, runs with their gain, a day's sessions."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.evolving import rows as evolutions
from ratchet.evolving.bench.benchmark import Agent
from ratchet.evolving.candidate import Candidate, Evolution, EvolutionReport
from ratchet.improving.settings.knob import Range
from ratchet.improving.settings.versions import StoredSettings
from ratchet.ports import Fix, Problem
from ratchet.runtime import Runtime

pytest.importorskip("fastapi")

from click.testing import CliRunner
from starlette.testclient import TestClient

from ratchet.cli.app import cli
from surfaces.test_pages import HOSTILE, HTML, browser

PUSH = "fatal: The current branch topic has no upstream branch."
LIMIT = "429 Too Many Requests: rate limit reached, try again in 2s"


@pytest.fixture
def runtime(home: Path) -> Iterator[Runtime]:
    with Runtime.open(home=home) as opened:
        yield opened


def told(client: TestClient, address: str) -> str:
    """What a person reads on a page."""
    page = client.get(address, headers=HTML)
    assert page.status_code == 200, page.text[:500]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.text.partition("<main")[2])).split())


def failed(runtime: Runtime, error: str, times: int, *, agent: str = "coder", ago_s: float = 60.0) -> None:
    now = time.time()
    for number in range(times):
        session = f"{agent}-{number}"
        runtime.record(agent, task="Bash", session=session, error=error, started_at=now - ago_s - number)
    runtime.drain()


def test_recall_begins_with_what_failed_here_and_a_click_answers_it(runtime: Runtime) -> None:
    failed(runtime, PUSH, 3, ago_s=7_200)
    failed(runtime, HOSTILE, 1)
    runtime.lessons.add(when=PUSH, do="git push --set-upstream origin topic", scope="global", state="active")
    client = browser(runtime)
    page = client.get("/ui/recall", headers=HTML).text
    assert "<script>alert" not in page
    last, common = page.partition("What keeps failing here")[::2]
    assert "3 failures in 3 sessions · 1 lesson" in common
    offered = re.findall(r'href="(/ui/recall\?step=[^"]+)"', last)
    assert len(offered) == 2, "each of the last failures once, however often it came"
    answers = [told(client, html.unescape(each)) for each in offered]
    assert "Nothing known is surely about this" in answers[0]
    assert "No lesson" not in answers[0]
    assert "Failed like this before" in answers[0]
    assert "git push --set-upstream origin topic" in answers[1]
    for said in ("Found because a failure with the same signature", "How sure not tried yet", "Where in every project"):
        assert said in answers[1], said
    assert "3 failures in 3 sessions" in answers[1].partition("Failed like this before")[2]
    step = runtime.sessions.outcomes(ok=False).items[-1]
    assert f'href="/ui/recall?step={step.id}"' in client.get(f"/ui/outcomes/{step.id}", headers=HTML).text
    assert client.get("/ui/recall", params={"step": "nobody"}, headers=HTML).status_code == 404


def test_the_answer_shows_when_its_advice_was_seen_last(runtime: Runtime) -> None:
    now = time.time()
    for number in range(2):
        for at, (command, error) in enumerate([("git push", PUSH), ("git push --set-upstream origin topic", "")]):
            runtime.record(
                "coder",
                task="Bash",
                session=f"s{number}",
                started_at=now - 3_600 * (2 - number) + at,
                step={"tool": "Bash", "head": "git push", "input": command},
                **({"error": error} if error else {"ok": True}),
            )
    runtime.drain()
    assert runtime.lessons.list(), "nothing was mined of it"
    page = told(browser(runtime), f"/ui/recall?text={PUSH}")
    seen = page.partition("Seen last")[2]
    assert re.search(r"in s1 it failed: git push then this worked: git push --set-upstream origin topic", seen), seen


def problem(pattern: str, count: int, *, kind: str = "rate_limit") -> Problem:
    knobs = {"max_retries": Range(0, 10, default=1).described()}
    return Problem(
        agent="support",
        pattern=pattern,
        kind=kind,
        template=LIMIT,
        count=count,
        calls=50,
        window_s=86_400.0,
        values={"max_retries": 1},
        knobs=knobs,
    )


def test_proposals_show_the_old_value_why_and_first_what_is_to_be_decided(runtime: Runtime) -> None:
    failed(runtime, LIMIT, 4, agent="support")
    stored = StoredSettings(runtime.store, "support", knobs={"max_retries": Range(0, 10, default=1)})
    stored.declare()
    pattern = runtime.patterns()[0].id
    book = runtime.proposals
    change = book.add(problem(pattern, 8), Fix(title="retry more often", fix="retry_logic", new={"max_retries": 3}))
    advice = book.add(problem("p-other", 40), Fix(title="ask for more quota", fix="advice"))
    over = book.add(problem("p-over", 90), Fix(title="wait a day", fix="advice"))
    assert change is not None
    assert over is not None
    assert advice is not None
    book.reject(over.id)
    client = browser(runtime)
    page = told(client, "/ui/proposals")
    places = [page.index(each) for each in ("retry more often", "ask for more quota", "wait a day")]
    assert places == sorted(places), "a change before advice, and what is decided last, whatever failed most"
    assert "2 proposals wait for your decision, 1 decided" in page
    assert "max_retries 1 → becomes 3 live setting of support" in page
    assert "8 of 50 steps of support within 1 d failed so: … Too Many Requests" in page
    assert client.get(f"/v1/proposals/{change.id}").json()["old"] == {"max_retries": 1}
    assert "max_retries 1 -> 3" in CliRunner().invoke(cli, ["--home", str(runtime.home), "proposals", "list"]).output
    stored.change({"max_retries": 2}, who="kim")
    assert [each["old"] for each in client.get("/v1/proposals").json()["items"] if each["new"]] == [{"max_retries": 2}]
    trial = book.approve(change.id).trial
    stored_at_trial = client.get(f"/v1/proposals/{change.id}").json()
    assert (stored_at_trial["old"], stored_at_trial["trial"]) == ({"max_retries": 2}, trial)
    page = told(client, "/ui/proposals")
    assert "1 proposal waits for your decision, 1 on trial, 1 decided" in page
    assert page.index("ask for more quota") < page.index("retry more often") < page.index("wait a day")


def evolved(runtime: Runtime, run: str, report: EvolutionReport | None, *kept: Candidate) -> None:
    made = Evolution(
        id=run,
        state="ended",
        agent=Agent(how="command", target=HOSTILE, folder="/srv/solver"),
        benchmark="quick",
        benchmark_hash="b",
        proposer="settings",
        proposals=5,
        usd=10.0,
        seconds=1.0,
        runs=176,
        cost_usd=0.42,
        report=report,
    )
    evolutions.begin(runtime.store, made, Candidate(run=run, n=0, id="v0", state="baseline"))
    for each in kept:
        evolutions.add(runtime.store, each)


def test_runs_of_evolve_show_their_gain_with_its_interval_and_what_was_kept(runtime: Runtime) -> None:
    report = EvolutionReport(baseline=0.14, winner=0.43, gain=0.29, low=0.05, high=0.5)
    tried = [
        Candidate(run="ev1", n=1, id="v1", state="reverted"),
        Candidate(run="ev1", n=2, id="v2", state="kept", pairs=40, mean=0.2, hypothesis="ask twice", diff="-a\n+b\n"),
        Candidate(run="ev1", n=3, id="v2", state="kept", pairs=60, retry_of=2, hypothesis=HOSTILE, diff="-b\n+c\n"),
    ]
    evolved(runtime, "ev1", report, *tried)
    evolved(runtime, "ev2", None, Candidate(run="ev2", n=1, id="v1", state="reverted"))
    client = browser(runtime)
    page = told(client, "/ui/evolve")
    assert "<script>alert" not in client.get("/ui/evolve", headers=HTML).text
    for said in (
        *(
            "solver on quick",
            "+29.0 points 95 %: +5.0 to +50.0",
            "14 % before, 43 % after",
            "2 of 2 by 60 pairs",
            "176",
        ),
        *("0.42 USD of 10.00 USD", "-b +c", "ratchet evolve apply ev1", "nothing kept 0 of 1"),
    ):
        assert said in page, (said, page)
    items = {each["id"]: each for each in client.get("/v1/evolve").json()["items"]}
    assert (items["ev1"]["tried"], items["ev1"]["kept"], items["ev1"]["last"]["n"]) == (2, 2, 3)
    assert (items["ev2"]["tried"], items["ev2"]["kept"], items["ev2"]["last"]) == (1, 0, None)
    shown = told(client, "/ui/evolve/ev1")
    assert "Gain +29.0 points 95 %: +5.0 to +50.0 Proposals 2 of 5 Kept 2 Evaluations 176" in shown
    listed = CliRunner().invoke(cli, ["--home", str(runtime.home), "evolve", "list"]).output
    assert "95 %: +5.0 to +50.0; 2 of 2 proposals kept, 176 evaluations, 0.42 USD" in " ".join(listed.split())


def test_a_report_without_a_case_says_what_it_waits_for(runtime: Runtime) -> None:
    client = browser(runtime)
    assert "Nothing was learnt yet" in told(client, "/ui/report")
    runtime.lessons.add(when=PUSH, do="git push --set-upstream origin topic", scope="global")
    assert "No lesson is active: 1 candidate waits for your approval" in told(client, "/ui/report")
    runtime.lessons.add(when=LIMIT, do="wait two seconds", scope="global", state="active")
    page = told(client, "/ui/report")
    assert "1 active lesson is ready to be told; 1 more waits for your approval" in page
    assert "ratchet install claude-code" in page
    assert "drawn at random, are told no lesson" in page


def test_the_sessions_of_a_day_are_one_click_from_its_cost_however_many_came_since(runtime: Runtime) -> None:
    noon, day_s = 1_764_590_400.0, 86_400.0  # 2025-12-01, 12:00 UTC
    for number, day in enumerate((0, 1, 1, *range(2, 60))):
        at = noon + day * day_s
        runtime.record("coder", task="Bash", session=f"s{number}", ok=True, started_at=at, cost_usd=0.5, model="m")
    runtime.drain()
    client = browser(runtime)
    cost = client.get("/ui/cost?by=day&range=all", headers=HTML).text
    address = html.unescape(re.findall(r'href="(/ui/sessions\?since=2025-12-02[^"]+)"', cost)[0])
    page = client.get(address, headers=HTML).text
    assert re.findall(r'href="/ui/sessions/(s\d+)"', page) == ["s1", "s2"]
    assert "More sessions" not in page
    assert "No session fits" in client.get("/ui/sessions?until=2025-01-01", headers=HTML).text
    assert client.get("/ui/sessions?since=yesterday", headers=HTML).status_code == 422
