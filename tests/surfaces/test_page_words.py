"""How pages word what is known: templates, advice, and what no record tells."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest

from ratchet.cli.demo import HISTORY
from ratchet.runtime import Runtime

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

HTML = {"accept": "text/html"}


def test_a_template_reads_without_its_placeholders_and_advice_with_its_commands_as_code(
    runtime: Runtime, client: TestClient
) -> None:
    runtime.record("a", error="429 Too Many Requests: rate limit reached, try again in 2s")
    lesson = runtime.lessons.add(when="429 Too Many Requests", do="run `make slow` & <b>wait</b> <num>", scope="global")
    listed = client.get("/ui/patterns", headers=HTML).text
    assert '<i class="hole" title="num">…</i> Too Many Requests' in listed
    assert "&lt;num&gt; Too Many Requests: rate limit reached" in listed  # where it is no text of the page: in a name
    said = client.get(f"/ui/lessons/{lesson.id}", headers=HTML).text
    assert "run <code>make slow</code> &amp; &lt;b&gt;wait&lt;/b&gt; &lt;num&gt;" in said
    assert "<b>wait" not in said


def test_a_session_whose_records_name_no_tokens_has_no_price(runtime: Runtime, client: TestClient) -> None:
    runtime.record("a", session="s-1", ok=True)
    runtime.record("a", session="s-2", ok=True, tokens=900, cost_usd=0.5)
    listed = client.get("/ui/sessions", headers=HTML).text
    assert listed.count("0.00 USD") == 0
    assert "0.50 USD" in listed


def test_a_long_text_is_cut_at_the_end_of_a_word(runtime: Runtime, client: TestClient) -> None:
    words = "connection refused by the server behind the gateway that nobody had restarted " * 3
    runtime.record("a", error=words)
    runtime.record("a", error="disk " + "x" * 300)
    said = re.findall(r'class="said"[^>]*>(.*?)…</a>', client.get("/ui/patterns", headers=HTML).text)
    assert sorted(len(each) for each in said) == [145, 149]
    assert [words.startswith(f"{each} ") for each in sorted(said, key=len)] == [True, False]


def test_a_backtest_names_its_sessions_and_steps_as_other_pages_do(runtime: Runtime, client: TestClient) -> None:
    runtime.learn([HISTORY])
    assert client.post("/v1/backtest").status_code == 200
    page = client.get("/ui/backtest", headers=HTML).text
    named = dict(re.findall(r'<a href="/ui/sessions/([^"]+)">([^<]+)</a> ·', page))
    titles = {each.id: each.title for each in runtime.sessions.list().items}
    assert named
    assert [each for each, said in named.items() if said.removesuffix("…") not in titles[unquote(each)]] == []
    assert '<li class="card"><p><code>{' not in page


def test_a_list_of_patterns_says_how_it_is_ordered(runtime: Runtime, client: TestClient) -> None:
    runtime.record("a", error="disk is full")
    assert "worst first" in client.get("/ui/patterns", headers=HTML).text
    assert "worst first" not in client.get("/ui/patterns?sort=-count", headers=HTML).text
    first = client.get("/?range=all", headers=HTML).text
    assert "worst first" in first
    assert "most sessions first" not in first


def test_failures_of_one_step_in_one_session_stand_once_with_their_number(runtime: Runtime, client: TestClient) -> None:
    for _ in range(3):
        runtime.record("a", task="draft reply", session="s-1", error="disk is full")
    (pattern,) = runtime.patterns()
    page = client.get(f"/ui/patterns/{pattern.id}", headers=HTML).text
    assert page.count(">draft reply</a>") == 1
    assert "3 times" in page
