"""Each noun over HTTP does what its operation does, and says what went wrong as a problem with a remedy."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from ratchet import Choice, Ratchet
from ratchet.errors import StoreError
from ratchet.recording.surrogates import mended
from support.api_client import client, runtime_of

SECRET = "sk-proj-" + "aB3" * 16
ERROR = "fatal: the remote end hung up unexpectedly"


@pytest.fixture
def held(home: Path) -> Iterator[TestClient]:
    with client(home) as app:
        yield app


def test_one_outcome_and_many_are_taken_and_the_same_again_adds_nothing(held: TestClient) -> None:
    one = {"id": "run-1", "agent": "a", "task": "t", "ok": False, "error": ERROR, "session": "s"}
    first = held.post("/v1/outcomes", json=one)
    assert first.status_code == 202
    again = held.post("/v1/outcomes", json=[one, {"agent": "b", "ok": True}, one])
    assert again.json()["accepted"] == 3
    assert again.json()["ids"][0] == again.json()["ids"][2] == first.json()["ids"][0]
    assert len(list(runtime_of(held).outcomes())) == 2


def test_an_outcome_says_everything_that_record_takes(held: TestClient) -> None:
    told = {
        "agent": "a",
        "score": 0.25,
        "status": 429,
        "exit_code": None,
        "error": "too many requests",
        "started_at": 1_700_000_000,
        "duration_s": 3,
        "tokens": 12.0,
        "step": {"tool": "Bash", "input": {"command": "git push"}},
        "context": {"ticket": 7},
        "nonsense": 1,
    }
    assert held.post("/v1/outcomes", json=told).status_code == 202
    (kept,) = runtime_of(held).outcomes()
    assert (kept.score, kept.duration_s, kept.started_at) == (0.25, 3.0, 1_700_000_000.0)
    assert kept.tokens == 12
    assert kept.failure is not None
    assert kept.failure.kind == "rate_limit"
    assert kept.context["invalid"] == ["nonsense"]


WRONG = tuple(
    b'{"agent": %s}' % rest
    for rest in (
        b'""',
        b"3",
        b'"a", "ok": "yes"',
        b'"a", "duration_s": -1',
        b'"a", "score": NaN',
        b'"a", "tokens": 1e400',
    )
)
NONSENSE = (b"", b"{", b"[", b"null", b'"x"', b"3", b"[3]", b"{}", b"\xff\xfe", b"[" * 5_000, *WRONG)


@pytest.mark.parametrize("body", NONSENSE)
def test_a_body_that_makes_no_sense_is_refused_whole(held: TestClient, body: bytes) -> None:
    answer = held.post("/v1/outcomes", content=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["remedy"]
    assert held.get("/v1/health").json()["agents"] == {}


def test_a_wrong_outcome_of_a_batch_is_named_by_its_place(held: TestClient) -> None:
    answer = held.post("/v1/outcomes", json=[{"agent": "a"}, {"agent": "a", "tokens": "many"}, {"ok": True}])
    assert [each["where"] for each in answer.json()["errors"]] == ["1.tokens", "2.agent"]


def test_secrets_are_in_no_answer_and_not_on_disk(held: TestClient, home: Path) -> None:
    held.post("/v1/outcomes", json={"agent": SECRET, "task": SECRET, "error": f"bad key {SECRET}", "session": SECRET})
    held.post("/v1/lessons", json={"when": f"auth failed for {SECRET}", "do": f"export KEY={SECRET}"})
    wrong = held.post("/v1/outcomes", json={"agent": "a", "tokens": SECRET})
    nowhere = held.get(f"/v1/patterns/{SECRET}")
    answers = [wrong.text, nowhere.text, held.get(f"/{SECRET}").text]
    paths = ("/patterns", "/health", "/v1/patterns", "/v1/lessons", "/v1/health", "/v1/memories/export", "/metrics")
    answers += [held.get(path).text for path in paths]
    answers.append(held.post("/v1/memories/search", json={"query": f"auth failed for {SECRET}"}).text)
    assert all(SECRET not in each for each in answers)
    assert all(SECRET.encode() not in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_a_setting_that_is_a_secret_is_in_no_answer_and_stays_in_force(held: TestClient, home: Path) -> None:
    with Ratchet(home=home) as process:
        live = process.settings("a", key=Choice(SECRET, "none"))
        live.current()
        answers = [
            held.put("/v1/settings/a", json={"values": {"key": "none"}, "why": SECRET}),
            held.post("/v1/trials", json={"target": "settings:a", "new": {"key": SECRET}, "reason": SECRET}),
        ]
        trial = answers[-1].json()["id"]
        answers += [held.get(f"/v1/trials/{trial}"), held.get("/v1/trials")]
        answers += [held.post(f"/v1/trials/{trial}/stop", json={}), held.put("/v1/settings/a", json={"unset": ["key"]})]
        answers += [held.get(path) for path in ("/v1/settings", "/v1/settings/a", "/v1/settings/a/history")]
        for each in answers:
            assert each.status_code in (200, 201), each.text
            assert SECRET not in each.text
        assert runtime_of(held).settings.show("a").knobs[0].value == SECRET


def test_a_judgement_that_cannot_be_used_is_no_success(held: TestClient) -> None:
    for body in ({"ok": None}, {"ok": None, "error": None, "score": None}, {"score": 0.2}):
        assert held.post("/v1/outcomes", json={"agent": "a", **body}).status_code == 202
        assert held.post("/v1/outcomes", json=[{"agent": "a", **body}] * 2).status_code == 202
    for wrong in ({"score": False}, {"score": 1.5}, {"quality": 0}):
        assert held.post("/v1/outcomes", json={"agent": "a", **wrong}).status_code == 422
    assert held.post("/observe", json={"agent": "a", "success": None}).status_code == 201
    assert held.post("/observe", json={"agent": "b"}).status_code == 201
    assert {(each.agent, each.ok) for each in runtime_of(held).outcomes()} == {("a", False), ("b", True)}


def test_the_webhook_forms_are_those_that_others_have(held: TestClient) -> None:
    assert held.get("/health").json()["health_score"] == 1.0
    good = held.post("/observe", json={"task": "code_gen", "success": True, "quality": 4})
    assert good.status_code == 201
    assert good.json()["issues"] == []
    bad = held.post("/observe", json={"task_type": "chat", "success": False, "error_message": "429 Too Many Requests"})
    assert bad.json()["issues"] == ["rate_limit"]
    told = held.get("/patterns").json()
    assert told["patterns"][0]["kind"] == "rate_limit"
    assert 0 <= told["health_score"] < 1
    plain = held.post("/observe", content=b'{"task": "x", "success": true}', headers={"Content-Type": "text/plain"})
    assert plain.status_code == 201


def test_patterns_come_in_pages_that_neither_skip_nor_repeat(held: TestClient) -> None:
    words = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf")
    held.post("/v1/outcomes", json=[{"agent": "a", "ok": False, "error": f"{w}Error: {w} is broken"} for w in words])
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = held.get("/v1/patterns", params={"limit": 3, **({"cursor": cursor} if cursor else {})}).json()
        seen += [each["id"] for each in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
        held.post("/v1/outcomes", json={"agent": "b", "ok": True})
    assert len(seen) == len(set(seen)) == page["total"] == len(words)


@pytest.mark.parametrize("cursor", ["x", "%00", "AAAA", "=====", "٣", "MSBub25l" * 200, "wrIgcDE"])
def test_a_cursor_that_is_none_is_refused_or_harmless(held: TestClient, cursor: str) -> None:
    assert held.get("/v1/patterns", params={"cursor": cursor}).status_code in (200, 422)


def test_what_a_client_has_already_is_not_sent_again(held: TestClient) -> None:
    held.post("/v1/outcomes", json={"agent": "a", "ok": False, "error": ERROR})
    first = held.get("/v1/patterns")
    again = held.get("/v1/patterns", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    held.post("/v1/outcomes", json={"agent": "a", "ok": False, "error": ERROR})
    assert held.get("/v1/patterns", headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_a_lesson_is_written_approved_recalled_retired(held: TestClient) -> None:
    made = held.post("/v1/lessons", json={"when": ERROR, "do": "git config http.postBuffer 524288000"})
    assert made.status_code == 201
    lesson = made.json()
    assert (lesson["state"], lesson["scope"]) == ("candidate", "global")
    where = made.headers["location"]
    assert held.post(f"{where}/approve").json()["state"] == "active"
    found = held.post("/v1/memories/search", json={"query": ERROR}).json()
    assert found["lessons"][0]["text"] == "git config http.postBuffer 524288000"
    assert held.get("/v1/memories/stats").json()["by_state"]["active"] == 1
    assert held.post(f"{where}/quarantine", json={"reason": "it is not so"}).json()["reason"] == "it is not so"
    assert held.post(f"{where}/quarantine", json={}).status_code == 422
    assert held.post(f"{where}/retire").json()["state"] == "retired"
    assert held.get("/v1/lessons?state=retired").json()["total"] == 1


def test_advice_that_switches_a_check_off_is_never_active(held: TestClient) -> None:
    made = held.post("/v1/lessons", json={"when": ERROR, "do": "git push --no-verify"}).json()
    assert made["state"] == "quarantined"
    assert held.post(f"/v1/lessons/{made['id']}/approve").status_code == 409


def test_a_memory_moves_to_another_home_as_candidates_only(held: TestClient, tmp_path: Path) -> None:
    made = held.post("/v1/lessons", json={"when": ERROR, "do": "git gc"}).json()
    held.post(f"/v1/lessons/{made['id']}/approve")
    lines = held.get("/v1/memories/export").content
    for body, kind in ((lines, "application/x-ndjson"), (json.dumps([json.loads(lines)]), "application/json")):
        with client(tmp_path / kind.replace("/", "-")) as other:
            taken = other.post("/v1/memories/import", content=body, headers={"Content-Type": kind})
            assert taken.json() == {"imported": 1, "known": 0, "rejected": []}
            (lesson,) = other.get("/v1/lessons").json()["items"]
            assert lesson["state"] == "candidate"
            again = other.post("/v1/memories/import", content=body, headers={"Content-Type": kind})
            assert again.json()["known"] == 1


def test_a_bad_line_of_an_import_costs_itself(held: TestClient) -> None:
    good = json.dumps({"when": ERROR, "do": "git gc"})
    found = held.post("/v1/memories/import", content=f"nonsense\n{good}\n[]\n").json()
    assert found["imported"] == 1
    assert [each["line"] for each in found["rejected"]] == [1, 3]


def test_settings_change_for_who_has_seen_them(held: TestClient, home: Path) -> None:
    with Ratchet(home=home) as ratchet:
        ratchet.settings("a", model=Choice("x", "y")).current()
    for wrong, said in (
        ({"model": "y"}, "body.model: no such key; the body's keys are values, unset, why"),
        (["y"], "; the body's keys are values, unset, why"),
    ):
        refused = held.put("/v1/settings/a", json=wrong)
        assert (refused.status_code, refused.json()["detail"].endswith(said)) == (422, True), refused.json()
    seen = held.get("/v1/settings/a")
    tag = {"If-Match": seen.headers["etag"]}
    done = held.put("/v1/settings/a", json={"values": {"model": "y"}, "why": "cheaper"}, headers=tag)
    assert done.json()["version"] == 1
    assert held.put("/v1/settings/a", json={"values": {"model": "x"}}, headers=tag).status_code == 412
    assert held.put("/v1/settings/a", json={"values": {"model": "z"}}).status_code == 422
    assert held.put("/v1/settings/b", json={"values": {}}).status_code == 404
    (version,) = held.get("/v1/settings/a/history").json()
    assert (version["why"], version["who"]) == ("cheaper", "api:anybody")


@pytest.mark.parametrize("agent", ["team/agent", "a b", "ü?#%", "history"])
def test_settings_are_reached_whatever_their_agent_is_called(held: TestClient, home: Path, agent: str) -> None:
    with Ratchet(home=home) as process:
        process.settings(agent, model=Choice("large", "small")).current()
        for path in (quote(agent, safe=""), *([agent] if agent == "team/agent" else [])):
            assert held.get(f"/v1/settings/{path}").json()["agent"] == agent
            assert held.put(f"/v1/settings/{path}", json={"values": {"model": "small"}}).status_code == 200
            assert held.get(f"/v1/settings/{path}/history").json()[0]["values"] == {"model": "small"}


def test_a_trial_is_opened_looked_at_and_stopped(held: TestClient, home: Path) -> None:
    with Ratchet(home=home) as ratchet:
        ratchet.settings("a", model=Choice("x", "y")).current()
    made = held.post("/v1/trials", json={"target": "settings:a", "new": {"model": "y"}})
    assert made.status_code == 201
    where = made.headers["location"]
    assert held.post("/v1/trials", json={"target": "settings:a", "new": {"model": "y"}}).status_code == 409
    assert held.get(where).json()["arms"]["new"]["units"] == 0
    assert held.post(f"{where}/stop", json={"reason": "enough"}).json()["reason"]
    assert held.post(f"{where}/stop").status_code == 409
    assert held.get("/v1/trials?state=undecided").json()["total"] == 1


NOUNS = ("patterns", "lessons", "trials", "proposals", "tasks", "evolve", "bench", "settings")


@pytest.mark.parametrize("path", [f"/v1/{noun}/x" for noun in NOUNS])
def test_what_is_not_there_is_said_with_where_to_look(held: TestClient, path: str) -> None:
    answer = held.get(path)
    assert answer.status_code == 404
    told = answer.json()
    assert told["instance"] == path
    assert told["remedy"]
    assert told["type"].startswith("urn:ratchet:problem:")


def test_a_method_that_a_path_does_not_have_is_said_with_those_that_it_has(held: TestClient) -> None:
    answer = held.delete("/v1/patterns")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert held.delete("/v1/settings/a").headers["allow"] == "GET, HEAD, PUT"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/health",
        "/patterns",
        "/v1/patterns",
        "/metrics",
        "/docs",
        "/openapi.json",
        "/ui/live",
        "/ui/static/app.css",
    ],
)
def test_head_tells_what_get_would_and_sends_nothing(held: TestClient, path: str) -> None:
    whole, head = held.get(path), held.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert head.headers.get("etag") == whole.headers.get("etag")
    assert path.startswith("/ui/") or int(head.headers["content-length"]) > 0


def test_head_is_counted_as_head_and_refused_where_there_is_no_get_or_no_end(held: TestClient) -> None:
    assert held.head("/v1/patterns").status_code == 200
    assert 'requests_total{method="HEAD",route="/v1/patterns",status="200"} 1' in held.get("/metrics").text
    assert held.head("/v1/patterns/none").status_code == 404
    for path, allowed in (("/v1/memories/search", "POST"), ("/v1/events/sse", "GET"), ("/v1/tasks/none/sse", "GET")):
        answer = held.head(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize("project", ["x" * 900, "/" + "y" * 300, "nul\0inside"])
def test_a_project_that_cannot_be_looked_at_is_no_fault_of_ours(held: TestClient, project: str) -> None:
    answer = held.post("/v1/memories/search", json={"query": ERROR, "project": project})
    assert answer.status_code in (200, 422)


def test_outcomes_are_taken_while_the_store_is_down_and_reads_say_so(
    held: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.post("/v1/outcomes", json={"agent": "a"})
    runtime = runtime_of(held)

    def down(*_: object, **__: object) -> object:
        raise StoreError("the database is stopped")

    for name in ("get", "find", "sum_by", "transaction"):
        monkeypatch.setattr(runtime.store, name, down)
    assert held.post("/v1/outcomes", json={"agent": "b"}).status_code == 202
    answer = held.get("/v1/patterns")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert "ratchet_store_up 0" in held.get("/metrics").text
    monkeypatch.undo()
    assert set(held.get("/v1/health").json()["agents"]) == {"a", "b"}


def test_a_journal_that_cannot_be_written_is_no_success(held: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_of(held).recorder, "extend", lambda _lines, _records: False)
    answer = held.post("/v1/outcomes", json={"agent": "a"})
    assert answer.status_code == 503
    assert "again" in answer.json()["remedy"]


def test_a_fault_of_ours_tells_nothing_of_itself(held: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> object:
        raise RuntimeError(f"secret inside {SECRET}")

    monkeypatch.setattr(type(runtime_of(held)), "pattern_list", broken)
    answer = held.get("/v1/patterns")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/outcomes", r'[{"agent": "a", "ok": false, "error": "cut \ud83d"}, {"agent": "b"}]', 202),
        ("/v1/outcomes", r'{"agent": "a", "context": {"\udc00": "\ud83d\ud83d"}}', 202),
        ("/observe", r'{"task": "t", "error": "\ud83d cut"}', 201),
        ("/v1/memories/search", r'{"query": "fatal: cut \uDE00"}', 200),
        ("/v1/memories/import", r'[{"when": "a pipe burst here \ud83d", "do": "mend it"}]', 200),
        ("/v1/lessons", r'{"when": "a pipe burst there \ud83d", "do": "mend it"}', 201),
    ],
)
def test_half_a_letter_costs_that_letter_and_not_the_body(held: TestClient, path: str, body: str, status: int) -> None:
    json_ = {"Content-Type": "application/json"}
    assert held.post(path, content=body, headers=json_).status_code == status

    def parts() -> Iterator[bytes]:  # however the body comes
        for letter in body.encode():
            yield bytes([letter])

    assert held.post(path, content=parts(), headers=json_).status_code == status


@given(st.text(st.sampled_from('a\\"\n\U0001f600\ud83d\ude00')))
def test_half_letters_and_nothing_else_are_replaced(text: str) -> None:
    told = json.dumps(text)
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert json.loads(mended(told.encode())).encode("utf-16", "surrogatepass").decode("utf-16", "replace") == whole
    if whole == text:
        assert mended(told.encode()) == told.encode()


@pytest.mark.parametrize("path", ["/v1/outcomes", "/observe", "/v1/memories/import", "/v1/memories/search"])
def test_a_packed_body_is_refused_with_the_remedy_where_nobody_unpacks_it(held: TestClient, path: str) -> None:
    packed = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = held.post(path, content=gzip.compress(b'{"agent": "a"}'), headers=packed)
    assert (answer.status_code, answer.headers["accept-encoding"]) == (415, "identity")
    assert "Content-Encoding" in answer.json()["remedy"]
    assert held.post("/v1/traces", content=gzip.compress(b"{}"), headers=packed).status_code == 200
    plain = {"Content-Encoding": "identity"}
    assert held.post("/v1/outcomes", json={"agent": "a"}, headers=plain).status_code == 202


def test_metrics_are_in_prometheus_form(held: TestClient) -> None:
    held.post("/v1/outcomes", json=[{"agent": "a"}, {"agent": 'b"\n'}])
    held.get("/v1/health")
    answer = held.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    assert all(line.rpartition(" ")[0] and float(line.rpartition(" ")[2]) is not None for line in lines)
    assert "ratchet_outcomes_taken_total 2" in lines
    assert 'ratchet_http_requests_total{method="POST",route="/v1/outcomes",status="202"} 1' in lines


def test_methods_that_were_made_up_are_counted_as_one(held: TestClient) -> None:
    for number in range(5):
        held.request(f"MADE{number}", "/v1/health")
    told = held.get("/metrics").text
    assert 'method="other"' in told
    assert "MADE" not in told


def test_lessons_are_those_that_count_in_a_folder(held: TestClient) -> None:
    for folder in ("/w/shop", "/w/bar"):
        asked = {"when": f"{ERROR} in {folder[3:]}", "do": f"git fetch --depth 1 {folder[3:]}", "project": folder}
        assert held.post("/v1/lessons", json=asked).status_code == 201
    (lesson,) = held.get("/v1/lessons", params={"project": "/w/shop"}).json()["items"]
    assert lesson["text"].endswith("shop")
    assert len(held.get("/v1/lessons").json()["items"]) == 2
    assert held.get("/v1/lessons/words", params={"project": "/w/shop"}).json()["items"] == []
    assert held.get("/v1/lessons", params={"project": "a\0b"}).status_code == 422
