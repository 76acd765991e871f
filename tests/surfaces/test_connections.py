"""Sockets that say nothing, or half of something, cost their sender's places and nobody else's."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest
import uvicorn

pytest.importorskip("fastapi")

from ratchet.serving.api.connections import Room, Seldom

MANY = 300  # sockets, of which the server keeps a part
WHOLE = b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n"
ENDS_S = 60.0  # a guard against a hang, not a measure


async def app(scope: dict[str, object], receive: object, send: object) -> None:
    """Read the whole body, then answer with its length."""
    size = 0
    while True:
        message = await receive()  # type: ignore[operator]
        if message["type"] == "http.disconnect":
            return
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    body = str(size).encode()
    if scope["path"] != "/x":
        await unended(receive, send, b"." if scope["path"] == "/listen" else b"." * 9_000_000)
        return
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": body})  # type: ignore[operator]


async def unended(receive: object, send: object, body: bytes) -> None:
    """Begin an answer that ends with its listener."""
    await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": body, "more_body": True})  # type: ignore[operator]
    while (await receive())["type"] != "http.disconnect":  # type: ignore[operator]
        continue


@contextmanager
def serving(room: Room) -> Iterator[tuple[str, int]]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1_000)
    config = uvicorn.Config(app, http=room.protocol(), lifespan="off", log_config=None, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server._serve([listener])), daemon=True)
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        server.should_exit = server.force_exit = True
        thread.join(ENDS_S)
        listener.close()


def opened(place: tuple[str, int], said: bytes = b"") -> socket.socket:
    one = socket.create_connection(place, timeout=ENDS_S)
    one.sendall(said)
    return one


def heard(one: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    found = b""
    try:
        while data := one.recv(65_536):
            found += data
    except ConnectionResetError:
        pass
    return found


def asked(place: tuple[str, int]) -> bytes:
    with closing(opened(place, WHOLE)) as one:
        return one.recv(65_536)


@pytest.mark.parametrize(
    "half", [b"", b"GET", WHOLE[:-2], b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1"]
)
def test_hundreds_of_idle_or_half_sent_requests_do_not_keep_others_out(half: bytes) -> None:
    with serving(Room(40, head_s=600, body_s=600)) as place:
        crowd = [opened(place, half) for _ in range(MANY)]
        assert asked(place).startswith(b"HTTP/1.1 200")
        for each in crowd:
            each.close()


@pytest.mark.parametrize(
    ("half", "answer"),
    [
        (b"", b""),
        (b"GET /x HT", b"HTTP/1.1 408"),
        (WHOLE + b"GET", b"HTTP/1.1 200"),
        (b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1", b""),
        (b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b""),
    ],
)
def test_what_does_not_arrive_in_time_is_closed(half: bytes, answer: bytes) -> None:
    with serving(Room(head_s=0.2, body_s=0.2)) as place, closing(opened(place, half)) as one:
        assert heard(one).startswith(answer)


def test_a_body_that_comes_slowly_but_comes_is_taken_whole() -> None:
    size = 400_000
    with serving(Room(head_s=60, body_s=0.3)) as place:
        head = f"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n".encode()
        with closing(opened(place, head)) as one:
            for _ in range(10):
                one.sendall(b"x" * (size // 10))
                threading.Event().wait(0.05)
            assert heard(one).endswith(str(size).encode())


def test_many_requests_over_one_connection_are_no_idle_one() -> None:
    with serving(Room(head_s=600)) as place, closing(opened(place)) as one:
        for _ in range(50):
            one.sendall(WHOLE)
            found = b""
            while not found.endswith(b"\r\n\r\n0"):
                found += one.recv(65_536)
            assert found.startswith(b"HTTP/1.1 200")


def test_places_come_back() -> None:
    room = Room(8, head_s=600)
    with serving(room) as place:
        for _ in range(100):
            assert asked(place).startswith(b"HTTP/1.1 200")


def test_a_line_is_logged_once_a_minute_with_how_many_were_not() -> None:
    now = [0.0]
    seldom = Seldom(60.0, clock=lambda: now[0])

    def told(text: str, error: Exception | None = None) -> str:
        raised = (type(error), error, None) if error else None
        record = logging.LogRecord("asyncio", logging.ERROR, "", 0, text, (), raised)
        return record.getMessage() if seldom.filter(record) else ""

    refused = "socket.accept() out of system resource\nsocket: <socket {}>"
    said = [told(refused.format(n), OSError(24, "Too many open files")) for n in range(5_000)]
    assert [bool(each) for each in said] == [True] + [False] * 4_999
    assert told("Invalid HTTP request received.")
    assert told("Exception in ASGI application", ValueError("a"))
    assert told("Exception in ASGI application", ValueError("b"))
    now[0] = 61
    assert told(refused.format(1), OSError(24, "Too many open files")).endswith("(4,999 more were not logged)")


def test_any_number_of_different_lines_is_forgotten_again() -> None:
    seldom = Seldom()
    for n in range(5_000):
        record = logging.LogRecord("asyncio", logging.ERROR, "", 0, f"line {n}", (), None)
        assert seldom.filter(record)
    assert len(seldom._last) <= 256


@pytest.mark.parametrize("path", [b"/listen", b"/unread"])
def test_listeners_and_unread_answers_do_not_keep_others_out(path: bytes) -> None:
    room = Room(8)
    with serving(room) as place, ExitStack() as closes:
        asks = WHOLE.replace(b"/x", path)
        listeners = [closes.enter_context(closing(opened(place, asks))) for _ in range(room.each)]
        for one in listeners:
            assert one.recv(10).startswith(b"HTTP/1.1 2")
        assert asked(place).startswith(b"HTTP/1.1 200")
        for one in listeners[1:]:
            one.setblocking(False)
            with pytest.raises(BlockingIOError):  # open still, and silent
                heard(one)
        heard(listeners[0])
