"""Who may do what: every route, every scope, every way to get in from outside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from starlette.testclient import TestClient

from ratchet.errors import StoreError
from ratchet.runtime import Runtime
from ratchet.serving.api.access import COOKIE, is_open
from ratchet.serving.api.app import create
from ratchet.serving.api.description import scopes
from ratchet.serving.api.origins import is_loopback, name_of
from ratchet.store.tokens import SCOPES, TokenBook
from support.api_client import bearer, client, runtime_of

READ, WRITE, RUN, SEES = ("read",), ("write",), ("run",), ("read", "run")
ROUTES: dict[tuple[str, str], tuple[str, ...]] = {
    ("POST", "/v1/outcomes"): WRITE,
    ("POST", "/v1/traces"): WRITE,
    ("POST", "/v1/logs"): WRITE,
    ("POST", "/v1/metrics"): WRITE,
    ("POST", "/observe"): WRITE,
    ("GET", "/health"): READ,
    ("GET", "/patterns"): READ,
    ("GET", "/v1/search"): READ,
    ("GET", "/v1/costs"): READ,
    ("GET", "/v1/ways"): READ,
    ("GET", "/v1/handoff"): READ,
    ("GET", "/v1/digest"): READ,
    ("GET", "/v1/sessions"): READ,
    ("GET", "/v1/sessions/{session_id}"): READ,
    ("GET", "/v1/teams/runs"): READ,
    ("GET", "/v1/teams/runs/{run_id}"): READ,
    ("GET", "/v1/outcomes"): READ,
    ("GET", "/v1/outcomes/{outcome_id}"): READ,
    ("GET", "/v1/health"): READ,
    ("GET", "/v1/patterns"): READ,
    ("GET", "/v1/patterns/{pattern_id}"): READ,
    ("GET", "/v1/patterns/by/{what}"): READ,
    ("POST", "/v1/patterns/{pattern_id}/split"): WRITE,
    ("POST", "/v1/patterns/{pattern_id}/triage"): WRITE,
    ("GET", "/v1/backtest"): READ,
    ("GET", "/v1/report"): READ,
    ("POST", "/v1/backtest"): WRITE,
    ("GET", "/v1/lessons"): READ,
    ("POST", "/v1/lessons"): WRITE,
    ("GET", "/v1/lessons/words"): READ,
    ("GET", "/v1/lessons/cures"): READ,
    ("GET", "/v1/lessons/{lesson_id}/cures"): READ,
    ("POST", "/v1/lessons/{lesson_id}/cures"): RUN,
    ("POST", "/v1/lessons/{lesson_id}/cures/undo"): RUN,
    ("GET", "/v1/lessons/distill"): READ,
    ("POST", "/v1/lessons/distill"): RUN,
    ("GET", "/v1/lessons/{lesson_id}"): READ,
    ("POST", "/v1/lessons/{lesson_id}/approve"): WRITE,
    ("POST", "/v1/lessons/{lesson_id}/retire"): WRITE,
    ("POST", "/v1/lessons/{lesson_id}/quarantine"): WRITE,
    ("POST", "/v1/lessons/{lesson_id}/undo"): WRITE,
    ("GET", "/v1/skills"): READ,
    ("GET", "/v1/skills/{skill}"): READ,
    ("POST", "/v1/skills/{skill}/approve"): WRITE,
    ("POST", "/v1/skills/{skill}/retire"): RUN,
    ("POST", "/v1/memories/search"): READ,
    ("POST", "/v1/memories/predict"): READ,
    ("GET", "/v1/facts"): READ,
    ("GET", "/v1/memories/stats"): READ,
    ("GET", "/v1/memories/export"): READ,
    ("POST", "/v1/memories/import"): WRITE,
    ("GET", "/v1/trials"): READ,
    ("POST", "/v1/trials"): WRITE,
    ("GET", "/v1/trials/{trial_id}"): READ,
    ("POST", "/v1/trials/{trial_id}/stop"): WRITE,
    ("GET", "/v1/proposals"): READ,
    ("GET", "/v1/proposals/{proposal_id}"): READ,
    ("POST", "/v1/proposals/{proposal_id}/approve"): WRITE,
    ("POST", "/v1/proposals/{proposal_id}/reject"): WRITE,
    ("GET", "/v1/settings"): READ,
    ("GET", "/v1/settings/{agent}"): READ,
    ("PUT", "/v1/settings/{agent}"): WRITE,
    ("GET", "/v1/settings/{agent}/history"): READ,
    ("GET", "/v1/tasks"): SEES,
    ("POST", "/v1/tasks"): RUN,
    ("POST", "/v1/tasks/ab-comparison"): RUN,
    ("GET", "/v1/tasks/{task_id}"): SEES,
    ("GET", "/v1/tasks/{task_id}/timeline"): SEES,
    ("GET", "/v1/tasks/{task_id}/sse"): SEES,
    ("GET", "/v1/tasks/{task_id}/checkpoints"): SEES,
    ("POST", "/v1/tasks/{task_id}/checkpoints/{checkpoint_id}/restore"): RUN,
    ("GET", "/v1/tasks/{task_id}/circuit-breaker"): SEES,
    ("POST", "/v1/tasks/{task_id}/cancel"): RUN,
    ("POST", "/v1/tasks/{task_id}/retry"): RUN,
    ("POST", "/v1/tasks/{task_id}/resume"): RUN,
    ("GET", "/v1/bench"): READ,
    ("GET", "/v1/bench/runs"): READ,
    ("GET", "/v1/bench/compare"): READ,
    ("GET", "/v1/bench/runs/{run_id}"): READ,
    ("GET", "/v1/bench/runs/{run_id}/evaluations"): READ,
    ("GET", "/v1/bench/{name}"): READ,
    ("GET", "/v1/evolve"): READ,
    ("GET", "/v1/evolve/{run_id}"): READ,
    ("GET", "/v1/evolve/{run_id}/tree"): READ,
    ("GET", "/v1/evolve/{run_id}/evaluations"): READ,
    ("GET", "/v1/events/sse"): READ,
    ("GET", "/metrics"): READ,
}
"""Every route of the document and the scopes of which one opens it: a new route is added here, on purpose."""


def documented(app: object) -> set[tuple[str, str]]:
    paths = app.openapi()["paths"]  # type: ignore[attr-defined]
    methods = ("get", "post", "put", "delete", "patch")
    return {(method.upper(), path) for path, held in paths.items() for method in held if method in methods}


def test_the_document_has_exactly_the_routes_that_are_pinned_each_with_its_scope(home: Path) -> None:
    app = create(Runtime.open(home=home))
    assert documented(app) == set(ROUTES)
    for (method, path), wanted in ROUTES.items():
        assert app.openapi()["paths"][path][method.lower()]["x-scopes"] == [*wanted], path


def test_no_route_is_without_a_scope_unless_it_is_open_to_everybody(home: Path) -> None:
    app = create(Runtime.open(home=home))
    known = scopes(app)
    for context in iter_route_contexts(app.routes):
        for method in getattr(context, "methods", None) or ():
            if method != "HEAD":
                path = str(context.path_format)
                # Each tool of /mcp has a scope of its own (tests/surfaces/test_mcp.py); who has any token may log out.
                known_elsewhere = path in ("/mcp", "/ui/logout")
                assert known_elsewhere or (method, path) in known or is_open(path), f"{method} {path} asks for no scope"


@pytest.fixture
def guarded(home: Path) -> Iterator[TestClient]:
    """A server with a token; its streams end at once."""
    with client(home) as held:
        held.app.state.served.feed.close()  # type: ignore[attr-defined]
        runtime_of(held).tokens.add("other", ["read"])
        yield held


@pytest.fixture(scope="module")
def every_route(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server with a token that is asked for each route in turn, at any pace; its streams end at once."""
    folder = tmp_path_factory.mktemp("routes")
    with pytest.MonkeyPatch.context() as patch, client(folder / "home", requests_per_s=0.0) as held:
        patch.setenv("HOME", str(folder))
        held.app.state.served.feed.close()  # type: ignore[attr-defined]
        runtime_of(held).tokens.add("other", ["read"])
        yield held


def ask(held: TestClient, method: str, path: str, headers: dict[str, str]) -> int:
    filled = path.replace("{", "").replace("}", "")
    body: dict[str, str] | None = None if method == "GET" else {}
    return held.request(method, filled, headers=headers, json=body).status_code


@pytest.mark.parametrize(("method", "path"), sorted(ROUTES), ids=lambda part: str(part))
def test_a_route_opens_for_its_scope_and_for_no_other(every_route: TestClient, method: str, path: str) -> None:
    assert ask(every_route, method, path, {}) == 401
    assert ask(every_route, method, path, bearer("rt_wrong")) == 401
    assert ask(every_route, method, path, {"Authorization": "Basic eDp5"}) == 401
    book = runtime_of(every_route).tokens
    for scope in SCOPES:
        secret = book.add(scope, [scope])
        status = ask(every_route, method, path, bearer(secret))
        if scope in ROUTES[method, path]:
            assert status not in (401, 403, 500), f"{scope}: {status}"
        else:
            assert status == 403, f"{scope}: {status}"
        book.revoke(scope)
        assert ask(every_route, method, path, bearer(secret)) == 401


def test_two_tokens_are_none_whichever_comes_first(guarded: TestClient) -> None:
    known = f"Bearer {runtime_of(guarded).tokens.add('known', ['read'])}"
    assert guarded.get("/v1/health", headers={"Authorization": known}).status_code == 200
    for given in ([known, "Bearer rt_wrong"], ["Bearer rt_wrong", known]):
        headers = httpx.Headers([("Authorization", each) for each in given])
        assert guarded.get("/v1/health", headers=headers).status_code == 401


def test_an_unknown_path_tells_nothing_to_who_has_no_token(guarded: TestClient) -> None:
    assert guarded.get("/v1/nothing").status_code == 401
    assert guarded.post("/mcp/anything").status_code == 401


def test_the_description_is_open_to_everybody(guarded: TestClient) -> None:
    assert guarded.get("/openapi.json").status_code == 200
    page = guarded.get("/docs")
    assert page.status_code == 200
    assert "/v1/outcomes" in page.text
    assert "<script" not in page.text


def test_the_description_is_made_once_however_often_it_is_asked_for(
    guarded: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = {path: guarded.get(path).content for path in ("/openapi.json", "/docs")}
    monkeypatch.setattr(guarded.app, "openapi", lambda: pytest.fail("made anew"))
    for path, content in first.items():
        assert guarded.get(path).content == content
    assert json.loads(first["/openapi.json"])["openapi"].startswith("3.")


def test_a_refusal_says_what_to_do_and_names_the_scheme(guarded: TestClient) -> None:
    answer = guarded.get("/v1/health")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "ratchet token add" in answer.json()["remedy"]


def test_a_browser_may_keep_its_token_in_a_cookie(guarded: TestClient) -> None:
    secret = runtime_of(guarded).tokens.add("page", ["read"])
    assert guarded.get("/v1/health", headers={"Cookie": f"{COOKIE}={secret}"}).status_code == 200
    assert guarded.get("/v1/health", headers={"Cookie": f"{COOKIE}=rt_other"}).status_code == 401


def test_a_token_of_the_command_line_has_every_scope_and_shuts_out_all_others(home: Path) -> None:
    with client(home, token="given-by-hand") as held:
        assert held.get("/health").status_code == 401
        assert held.get("/health", headers=bearer("given-by-hand")).status_code == 200
        assert held.post("/observe", json={"task": "t"}, headers=bearer("given-by-hand")).status_code == 201
        assert held.get("/v1/tasks", headers=bearer("given-by-hand")).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_who_revokes_the_last_token_opens_nothing(home: Path, host: str) -> None:
    with client(home, host=host) as held:
        secret = runtime_of(held).tokens.add("a", ["read"])
        assert held.get("/v1/health", headers=bearer(secret)).status_code == 200
        runtime_of(held).tokens.revoke("a")
        for headers in ({}, bearer(secret)):
            for method, path in (("GET", "/v1/health"), ("POST", "/v1/tasks"), ("POST", "/mcp"), ("GET", "/")):
                assert held.request(method, path, headers=headers).status_code == 401, path


def test_without_any_token_this_machine_may_do_everything(home: Path) -> None:
    with client(home) as held:
        assert held.get("/health").status_code == 200
        assert held.post("/observe", json={"task": "t"}).status_code == 201


def test_tokens_are_kept_as_hashes_only(home: Path) -> None:
    with Runtime.open(home=home) as runtime:
        secret = runtime.tokens.add("ci", ["write"])
        assert secret not in str(runtime.tokens.list())
    for path in home.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path


HOSTS = (
    "evil.example",
    "evil.example:8484",
    "127.0.0.1.evil.example",
    "192.168.0.7:8484",
    "localhost.evil.example",
    "",
)


@pytest.mark.parametrize("host", HOSTS)
def test_a_name_that_was_rebound_to_this_machine_is_refused(home: Path, host: str) -> None:
    with client(home) as held:
        for path in ("/v1/health", "/openapi.json", "/nothing"):
            answer = held.get(path, headers={"Host": host})
            assert answer.status_code == 421, path
            assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8484", "LOCALHOST", "127.0.0.1", "[::1]:8484", "127.0.0.1:99"]
)
def test_this_machine_s_own_names_are_served(home: Path, host: str) -> None:
    with client(home) as held:
        assert held.get("/v1/health", headers={"Host": host}).status_code == 200


ORIGINS = ("http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1.evil.example", "file://", "")


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_page_of_another_site_can_neither_write_nor_read(home: Path, origin: str) -> None:
    with client(home) as held:
        for method, path in (
            ("POST", "/v1/outcomes"),
            ("GET", "/v1/health"),
            ("PUT", "/v1/settings/a"),
            ("POST", "/observe"),
        ):
            answer = held.request(method, path, headers={"Origin": origin}, json={"agent": "a"})
            assert answer.status_code == 403, path
        assert runtime_of(held).health().agents == {}


def test_a_form_of_another_site_is_refused_by_what_the_browser_says_of_it(home: Path) -> None:
    with client(home) as held:
        across = {"Sec-Fetch-Site": "cross-site"}
        assert held.post("/observe", headers={**across, "Sec-Fetch-Mode": "navigate"}, json={}).status_code == 403
        assert held.get("/v1/health", headers={**across, "Sec-Fetch-Mode": "no-cors"}).status_code == 403
        followed = {**across, "Sec-Fetch-Mode": "navigate"}
        assert held.get("/v1/health", headers=followed).status_code == 200


def test_our_own_page_and_sites_that_were_named_may_ask(home: Path) -> None:
    with client(home, origins=("https://ops.example",)) as held:
        for origin in ("http://127.0.0.1:8484", "https://127.0.0.1:8484", "https://ops.example"):
            assert held.get("/v1/health", headers={"Origin": origin}).status_code == 200, origin
        assert held.get("/v1/health", headers={"Origin": "http://localhost:8484"}).status_code == 403


def test_a_page_of_a_site_that_was_named_gets_to_read_its_answer_and_no_other_page_does(home: Path) -> None:
    ours = {"Origin": "https://ops.example"}
    asks = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization, content-type"}
    with client(home, origins=("https://OPS.example/",), token="t") as held:
        before = held.options("/v1/settings/a", headers={**ours, **asks})  # a browser asks this without any token
        assert (before.status_code, before.content) == (204, b"")
        assert before.headers["access-control-allow-origin"] == "https://ops.example"
        assert "PUT" in before.headers["access-control-allow-methods"]
        assert "authorization" in before.headers["access-control-allow-headers"].lower()
        for token, status in (("t", 200), ("wrong", 401)):
            answer = held.get("/v1/patterns", headers={**ours, **bearer(token)})
            assert answer.status_code == status
            assert answer.headers["access-control-allow-origin"] == "https://ops.example"
            assert "Origin" in answer.headers["vary"]
        assert held.options("/v1/health", headers={"Origin": "https://evil.example", **asks}).status_code == 403
        for other in ({}, {"Origin": "http://127.0.0.1:8484"}):
            assert (
                "access-control-allow-origin" not in held.get("/v1/patterns", headers={**other, **bearer("t")}).headers
            )


def test_elsewhere_than_on_loopback_addresses_count_and_unknown_names_do_not(home: Path) -> None:
    with client(home, host="0.0.0.0", token="t", hosts=("box.lan",)) as held:
        for host, wanted in (("10.0.0.5:8484", 200), ("box.lan", 200), ("evil.example", 421), ("[fe80::1]", 200)):
            assert held.get("/v1/health", headers={"Host": host, **bearer("t")}).status_code == wanted, host


@pytest.mark.parametrize("mark", ["evil.example@", "a:b@", "#", "?", "/", "\\", " ", "%2f", ","])
def test_a_host_header_is_a_name_and_a_port(mark: str) -> None:
    assert name_of("[::1]:8484") == "::1"
    assert name_of("LOCALHOST.:8484") == name_of("localhost") == "localhost"
    assert name_of(f"127.0.0.1{mark}evil.example") == name_of(f"{mark}127.0.0.1") == ""


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("127.9.9.9", True),
        ("0.0.0.0", False),
        ("::", False),
        ("box.lan", False),
        ("10.0.0.1", False),
    ],
)
def test_only_loopback_is_loopback(host: str, wanted: bool) -> None:
    assert is_loopback(host) is wanted


def test_two_host_headers_are_none(home: Path) -> None:
    with client(home) as held:
        answer = held.get("/v1/health", headers=[("Host", "127.0.0.1"), ("Host", "evil.example")])
        assert answer.status_code == 421


def test_a_body_over_the_limit_is_refused_whether_or_not_its_length_is_told(home: Path) -> None:
    with client(home, body_bytes=1_000) as held:
        assert held.post("/v1/outcomes", content=b"[" + b" " * 2_000 + b"]").status_code == 413
        answer = held.post("/v1/outcomes", content=iter([b"[", b" " * 2_000, b"]"]))
        assert answer.status_code == 413
        assert "smaller" in answer.json()["remedy"]
        assert held.post("/v1/outcomes", json={"agent": "a"}).status_code == 202


def test_who_asks_too_often_is_told_when_to_come_back(home: Path) -> None:
    with client(home, requests_per_s=2.0) as held:
        answers = [held.get("/v1/health") for _ in range(8)]
        slow = [each for each in answers if each.status_code == 429]
        assert [each.status_code for each in answers[:4]] == [200] * 4
        assert slow
        assert int(slow[0].headers["retry-after"]) >= 1


def test_who_tries_out_tokens_is_slowed_down_and_holds_up_nobody_who_has_one(home: Path) -> None:
    with client(home, token="t", requests_per_s=2.0) as held:
        tries = [held.get("/v1/health", headers=bearer(f"guess{n}")).status_code for n in range(6)]
        assert (tries[0], tries[-1]) == (401, 429)
        assert held.get("/v1/health", headers=bearer("t")).status_code == 200


def test_callers_with_tokens_of_their_own_do_not_share_a_pace(home: Path) -> None:
    with client(home, requests_per_s=1.0) as held:
        book = runtime_of(held).tokens
        one, two = bearer(book.add("one", ["read"])), bearer(book.add("two", ["read"]))
        while held.get("/v1/health", headers=one).status_code == 200:
            pass
        assert held.get("/v1/health", headers=two).status_code == 200


def test_tokens_last_seen_count_while_the_store_is_down_and_nobody_is_let_in_before(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> object:
        raise StoreError("the database is stopped")

    with client(home) as held:
        runtime = runtime_of(held)
        secret = runtime.tokens.add("ci", ["write"])
        monkeypatch.setattr(TokenBook, "counting", down)
        assert held.post("/v1/outcomes", json={"agent": "a"}, headers=bearer(secret)).status_code == 503
        monkeypatch.undo()
        assert held.post("/v1/outcomes", json={"agent": "a"}, headers=bearer(secret)).status_code == 202
        monkeypatch.setattr(TokenBook, "counting", down)
        assert held.post("/v1/outcomes", json={"agent": "a"}, headers=bearer(secret)).status_code == 202
        assert held.post("/v1/outcomes", json={"agent": "a"}, headers=bearer("rt_wrong")).status_code == 401


def test_what_curl_calls_a_form_is_json_but_not_from_a_browser(home: Path) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with client(home) as held:
        body = '{"query": "fatal: the remote end hung up"}'
        assert held.post("/v1/memories/search", content=body, headers=form).status_code == 200
        ours = {**form, "Origin": "http://127.0.0.1:8484"}
        assert held.post("/v1/memories/search", content=body, headers=ours).status_code == 422


def test_what_curl_sends_is_counted_by_its_route(home: Path) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with client(home) as held:
        held.post("/v1/outcomes", content='{"agent": "a"}', headers=form)
        assert 'requests_total{method="POST",route="/v1/outcomes",status="202"} 1' in held.get("/metrics").text
