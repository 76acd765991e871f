"""Live streams of a real server: ids, resumption, heartbeats, many listeners, and an end that comes in time."""

from __future__ import annotations

import asyncio
import errno
import json
import signal
import socket
import threading
import time
from asyncio.subprocess import Process
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from ratchet.cli.app import cli
from ratchet.errors import StoreError, UsageError
from ratchet.ports import Store
from ratchet.records import Row
from ratchet.runtime import Runtime
from ratchet.serving.api import access, drainer
from ratchet.serving.api.app import create
from ratchet.serving.api.feed import Feed
from ratchet.serving.api.server import bound
from ratchet.serving.api.serving import Served, Serving
from ratchet.store.timeline import Timeline as StoredTimeline
from ratchet.store.timeline import note
from ratchet.testing.stores import open_store
from support.postgres_server import Databases
from support.serving import Server, refused, serving

WAITS_S = 60.0
LESSON = {"when": "fatal: the remote end hung up unexpectedly", "do": "git gc"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("streams") / "home", "--workers", "0") as held:
        yield held


def listen(server: Server, headers: dict[str, str] | None = None, path: str = "/v1/events/sse") -> socket.socket:
    """An open stream, its headers read."""
    host, port = server.url.removeprefix("http://").split(":")
    place = socket.create_connection((host, int(port)), timeout=WAITS_S)
    more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    place.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n{more}\r\n".encode())
    seen = b""
    while b"\r\n\r\n" not in seen:
        seen += place.recv(1)
    assert b" 200 " in seen.split(b"\r\n")[0] + b" "
    return place


def until(place: socket.socket, wanted: str) -> str:
    """What the stream says until it says this."""
    seen, give_up = "", time.monotonic() + WAITS_S
    while wanted not in seen:
        assert time.monotonic() < give_up, f"it never came: {seen}"
        part = place.recv(65_536).decode()
        assert part, f"the stream ended: {seen}"
        seen += part
    return seen


def test_a_change_reaches_every_listener_with_its_id(server: Server) -> None:
    places = [listen(server) for _ in range(20)]
    made = httpx.post(f"{server.url}/v1/lessons", json=LESSON | {"do": "git gc --auto"}).json()
    for place in places:
        told = until(place, made["id"])
        assert "event: lesson" in told
        assert "\nid: " in told.replace("\r", "")
        place.close()


def test_outcomes_that_arrive_are_told_by_their_number(server: Server) -> None:
    place = listen(server)
    httpx.post(f"{server.url}/v1/outcomes", json=[{"agent": "a"}] * 3)
    assert '"count":3' in until(place, "stored")
    place.close()


def test_who_comes_back_gets_what_was_missed_and_nothing_twice(server: Server) -> None:
    place = listen(server)
    first = httpx.post(f"{server.url}/v1/lessons", json=LESSON | {"do": "one"}).json()["id"]
    told = until(place, first)
    last = [line for line in told.replace("\r", "").splitlines() if line.startswith("id: ")][-1].removeprefix("id: ")
    place.close()
    missed = [httpx.post(f"{server.url}/v1/lessons", json=LESSON | {"do": f"more {n}"}).json()["id"] for n in range(3)]
    back = listen(server, {"Last-Event-ID": last})
    told = until(back, missed[-1])
    assert [told.count(f'"{each}"') for each in missed] == [1, 1, 1]
    assert f'"{first}"' not in told
    back.close()


def test_who_comes_back_gets_what_happened_while_nobody_listened() -> None:
    async def run() -> object:
        timeline = Timeline()
        feed = Feed(timeline, poll_s=0.01)
        async with feed.listen() as listener:
            timeline.add("seen")
            await listener.queue.get()
        await asyncio.sleep(0.1)  # the feed rests while nobody listens
        timeline.add("missed")
        async with feed.listen():
            remembered = feed.recent_after("seen")
            feed.close()
        return remembered

    # Not remembered: the stream asks the store, which has all of it.
    assert asyncio.run(run()) is None


def test_who_was_away_for_long_gets_all_that_was_missed(home: Path) -> None:
    with Runtime.open(home=home) as runtime:
        now = time.time()
        names = [f"e{n:05}" for n in range(6_000)]
        rows: list[Row] = [
            {"id": each, "noun": "log", "record": "log", "verb": "seen", "at": now - 9_000 + n}
            for n, each in enumerate(names)
        ]
        runtime.store.insert_new("events", rows)
        assert [row["id"] for row in runtime.timeline.after(names[0])] == names[1:]


def test_a_stream_of_one_noun_tells_of_no_other(server: Server) -> None:
    place = listen(server, path="/v1/events/sse?noun=trial&noun=lesson")
    httpx.post(f"{server.url}/v1/outcomes", json={"agent": "a"})
    made = httpx.post(f"{server.url}/v1/lessons", json=LESSON | {"do": "only this"}).json()["id"]
    assert "event: outcome" not in until(place, made)
    place.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_in_time_with_open_streams_and_ends_them_in_order(home: Path, number: int) -> None:
    with serving(home) as server:
        places = [listen(server) for _ in range(10)]
        assert server.end(number) < 10
        assert server.process.returncode == 0
        for place in places:
            rest = b""
            while part := place.recv(65_536):
                rest += part
            assert rest.endswith(b"0\r\n\r\n"), "cut off instead of ended"
            place.close()


def test_a_server_says_where_it_is_where_its_tokens_are_and_how_to_stop_it(home: Path) -> None:
    with serving(home, "--token", "t0ken-by-hand") as server:
        assert server.url in server.said
        assert str(home) in server.said
        assert "Authorization: Bearer" in server.said
        assert f"kill {server.pid}" in server.said
        assert "t0ken-by-hand" not in server.said
        assert httpx.get(f"{server.url}/health").status_code == 401
        assert httpx.get(f"{server.url}/health", headers={"Authorization": "Bearer t0ken-by-hand"}).status_code == 200


def test_a_server_for_others_does_not_start_without_a_token(home: Path) -> None:
    done = refused(home, "--host", "::")
    assert done.returncode == 5
    assert "ratchet token add" in done.stderr


@pytest.mark.parametrize("host", ["999.1.1.1", "192.0.2.7", "a" * 70 + ".example"])
def test_a_host_that_is_not_this_machine_s_is_said(host: str) -> None:
    with pytest.raises(UsageError, match="--host"):
        bound(host, 0)


@pytest.mark.parametrize("token", ["", "  ", "schlüssel"])
def test_a_token_that_shuts_nobody_out_or_everybody_is_refused(home: Path, token: str) -> None:
    with pytest.raises(UsageError, match="--token"):
        cli.main(["--home", str(home), "serve", "--token", token], standalone_mode=False)


def test_a_port_that_is_taken_is_said(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = refused(home, "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "--port" in done.stderr


def test_the_log_is_json_where_it_is_asked_for_and_hides_secrets(home: Path) -> None:
    secret = "sk-proj-" + "aB3" * 16
    with serving(home, "--log", "json", "--log-level", "info") as server:
        httpx.get(f"{server.url}/v1/patterns/{secret}?key={secret}")
        server.end()
    (log,) = home.parent.glob("serve-*.log")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [each["home"] for each in lines if each["event"] == "home.missing"] == [str(home)]
    asked = next(each for each in lines if each["event"] == "request.served")
    assert (asked["status"], asked["method"]) == (404, "GET")
    assert secret not in log.read_text()


class Timeline:
    """Events that a feed reads; down while `why` is set."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.why = ""

    def add(self, name: str, at: float | None = None) -> None:
        self.rows.append({"id": name, "at": time.time() if at is None else at, "noun": "lesson", "verb": "added"})

    def __call__(self, since: float) -> list[Row]:
        if self.why:
            raise StoreError(self.why)
        return [row for row in self.rows if float(str(row["at"])) >= since]


def test_an_event_whose_transaction_ended_late_is_told_all_the_same() -> None:
    async def run() -> list[str]:
        timeline = Timeline()
        timeline.add("before")
        feed = Feed(timeline, poll_s=0.01)
        async with feed.listen() as listener:
            timeline.add("new")
            got = [await listener.queue.get()]
            timeline.add("late", time.time() - 20)
            got.append(await listener.queue.get())
            feed.close()
            got.append(await listener.queue.get())
        return ["end" if each is None else str(each["id"]) for each in got]

    assert asyncio.run(run()) == ["new", "late", "end"]


def test_two_who_come_at_once_both_hear_what_happens_meanwhile() -> None:
    timeline, came = Timeline(), threading.Event()
    looks = 0

    def read(since: float) -> list[Row]:
        nonlocal looks
        looks += 1
        found = timeline(since)
        if looks == 1:
            timeline.add("meanwhile")
            came.wait(WAITS_S)
        return found

    async def run() -> list[object]:
        feed = Feed(read, poll_s=0.01)

        async def come() -> object:
            async with feed.listen() as listener:
                event = await asyncio.wait_for(listener.queue.get(), 10)
                return event and event["id"]

        both = [asyncio.create_task(come()) for _ in range(2)]
        while feed.listening < 2:
            await asyncio.sleep(0.01)
        came.set()
        heard = [await each for each in both]
        feed.close()
        return heard

    assert asyncio.run(run()) == ["meanwhile", "meanwhile"]


def test_a_feed_says_when_the_store_is_down_and_when_it_is_back() -> None:
    async def run() -> list[object]:
        timeline = Timeline()
        feed = Feed(timeline, poll_s=0.01)
        async with feed.listen() as listener:
            timeline.why = "stopped"
            down = await listener.queue.get()
            timeline.why = ""
            up = await listener.queue.get()
            timeline.add("new")
            new = await listener.queue.get()
            feed.close()
        assert down is not None
        assert up is not None
        assert new is not None
        return [down["verb"], up["verb"], new["id"]]

    assert asyncio.run(run()) == ["down", "up", "new"]


def test_what_another_process_writes_is_heard_and_not_waited_for(tmp_path: Path) -> None:
    """The feed would look by itself after an hour only: on SQLite the file tells, on Postgres a notice."""

    async def run(ours: Store, theirs: Store) -> list[object]:
        feed = Feed(StoredTimeline(lambda: ours).since, changes=ours.changes, poll_s=3_600)
        async with feed.listen() as listener:
            for n in range(3):
                note(theirs, "lesson", f"l{n}", "added", time.time())
                event = await asyncio.wait_for(listener.queue.get(), WAITS_S)
                assert event is not None
                heard.append(event["record"])
            feed.close()
        return heard

    heard: list[object] = []
    ours, theirs = open_store(tmp_path), open_store(tmp_path)
    try:
        assert asyncio.run(run(ours, theirs)) == ["l0", "l1", "l2"]
    finally:
        ours.close()
        theirs.close()


def test_a_page_of_one_server_shows_at_once_what_another_wrote(tmp_path: Path, postgres: Databases) -> None:
    """Two machines, each with a home of its own, on one Postgres."""
    url = postgres.fresh()
    environ = {"RATCHET_DATABASE_URL": url}
    with (
        serving(tmp_path / "a" / "home", "--workers", "0", environ=environ) as one,
        serving(tmp_path / "b" / "home", "--workers", "0", environ=environ) as two,
    ):
        place = listen(one)
        made = httpx.post(f"{two.url}/v1/lessons", json=LESSON).json()["id"]
        assert "event: lesson" in until(place, made)
        place.close()
    postgres.give_back(url)


def test_a_listener_that_falls_behind_is_cut_off_and_holds_up_nobody() -> None:
    async def run() -> tuple[int, object]:
        feed = Feed(Timeline(), poll_s=60)
        async with feed.listen() as slow:
            for n in range(5_000):
                feed.tell({"noun": "outcome", "count": n})
            kept = slow.queue.qsize()
            last = None
            while not slow.queue.empty():
                last = slow.queue.get_nowait()
            feed.close()
        return kept, last

    kept, last = asyncio.run(run())
    assert kept <= 1_000
    assert last is None


def test_a_silent_stream_says_that_it_lives(home: Path) -> None:
    async def run(app: FastAPI) -> bytes:
        gone = asyncio.Event()
        said: list[bytes] = []

        async def receive() -> Message:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            said.append(message.get("body", b""))
            if b"".join(said).count(b": alive") >= 3:
                gone.set()

        headers = [(b"host", b"127.0.0.1:8484")]
        scope = {"type": "http", "method": "GET", "path": "/v1/events/sse", "headers": headers, "query_string": b""}
        await asyncio.wait_for(app(scope, receive, send), WAITS_S)
        return b"".join(said)

    with Runtime.open(home=home) as runtime:
        assert asyncio.run(run(create(runtime, Serving(heartbeat_s=0.05)))).count(b": alive") >= 3


def test_the_process_that_drains_is_started_again_where_the_machine_would_not_at_first(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, asked = drainer._started, 0

    async def refused_once(held: Served) -> Process:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        return await start(held)

    async def run(held: Served) -> None:
        async with drainer.beside(held):
            give_up = time.monotonic() + WAITS_S
            while not held.runtime.store.sum_by("outcomes", (), ("count:*",))[0]["count:*"]:
                assert time.monotonic() < give_up, "nothing was moved"
                await asyncio.sleep(0.05)

    monkeypatch.setattr(drainer, "_started", refused_once)
    with Runtime.open(home=home) as runtime:
        runtime.record("a", ok=True)
        asyncio.run(run(create(runtime, Serving(drain_s=0.05)).state.served))
    assert asked == 2


@pytest.mark.parametrize("end", ["revoked", "of another scope", "asked for by now"])
def test_a_stream_ends_with_its_token_before_it_tells_anything_more(
    home: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Whoever a token was taken from hears nothing more on a stream that is open."""
    monkeypatch.setattr(access, "LOOK_S", 0.0)
    told: list[bytes] = []

    async def run(runtime: Runtime, headers: list[tuple[bytes, bytes]]) -> None:
        asked = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Message:
            if not asked:
                await asyncio.Event().wait()
            return asked.pop()

        async def send(message: Message) -> None:
            told.append(message.get("body", b""))
            if len(told) == 1:  # it has begun
                await asyncio.to_thread(ending, runtime)

        scope = {"type": "http", "method": "GET", "path": "/v1/events/sse", "query_string": b""}
        app = create(runtime, Serving(heartbeat_s=0.05))
        await asyncio.wait_for(app({**scope, "headers": headers}, receive, send), WAITS_S)

    def ending(runtime: Runtime) -> None:
        if end == "revoked":
            runtime.tokens.revoke("a")
        elif end == "of another scope":
            store = runtime.store
            held = store.get("access_tokens", "a") or {}
            assert store.swap("access_tokens", "a", 1, {**held, "scopes": ["write"]})
        else:
            runtime.tokens.add("b", ["read"])
        runtime.lessons.add(when=LESSON["when"], do=LESSON["do"])

    with Runtime.open(home=home) as runtime:
        headers = [(b"host", b"127.0.0.1:8484")]
        if end != "asked for by now":
            headers.append((b"authorization", b"Bearer " + runtime.tokens.add("a", ["read"]).encode()))
        asyncio.run(run(runtime, headers))
    assert {*told} <= {b"", b": alive\r\n\r\n"}, "it told nothing, and ended"
