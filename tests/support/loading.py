"""Load on a real server: clients that write all the while, streams that are open, and waiting for what has to come."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

import httpx

from support.serving import Server

WAITS_S = 120.0
BATCH = 20


def until(happened: Callable[[], bool], what: str, within_s: float = WAITS_S) -> None:
    give_up = time.monotonic() + within_s
    while not happened():
        assert time.monotonic() < give_up, f"it never came: {what}"
        time.sleep(0.1)


class Writers:
    """Clients that send batches until they are told to stop, and send again what was not accepted."""

    def __init__(self, url: Callable[[], str], count: int = 2) -> None:
        self._url = url
        self._ended = threading.Event()
        self.accepted: list[str] = []
        self.answers: Counter[int] = Counter()
        self.without_retry_after = 0
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(count)]

    def __enter__(self) -> Self:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for each in self._threads:
            each.join(WAITS_S)

    def _write(self, place: int) -> None:
        sent = 0
        with httpx.Client(timeout=30) as http:
            while not self._ended.is_set():
                names = [f"w{place}-{sent}-{n}" for n in range(BATCH)]
                rows = [outcome(name) for name in names]
                try:
                    answer = http.post(f"{self._url()}/v1/outcomes", json=rows)
                except httpx.TransportError:  # the server is gone for now
                    time.sleep(0.05)
                    continue
                self.answers[answer.status_code] += 1
                if answer.status_code == 202:
                    self.accepted += names
                    sent += 1
                else:
                    self.without_retry_after += "retry-after" not in answer.headers
                    time.sleep(0.05)
                time.sleep(0.01)


def outcome(name: str) -> dict[str, object]:
    ok = not name.endswith("7")
    return {"id": name, "agent": "a", "task": name, "ok": ok, **({} if ok else {"error": "ValueError: no such row"})}


@contextmanager
def listening(server: Server, path: str = "/v1/events/sse") -> Iterator[Callable[[], str]]:
    """An open stream, and what it has said so far."""
    host, port = server.url.removeprefix("http://").split(":")
    said: list[bytes] = []

    def read() -> None:
        while part := place.recv(65_536):
            said.append(part)

    with socket.create_connection((host, int(port))) as place:
        place.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        reader = threading.Thread(target=read)
        reader.start()
        until(lambda: bool(said), "a stream that begins")
        yield lambda: b"".join(said).decode()
        with suppress(OSError):  # the server may be gone
            place.shutdown(socket.SHUT_RDWR)
        reader.join(WAITS_S)
