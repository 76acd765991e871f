"""A Redis with vector search for tests: one of its own, which may be killed and come back with nothing."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / ".redis"
START_TIMEOUT_S = 30.0


def need_redis() -> None:
    """Skip loudly where `scripts/redis.sh` brought no Redis with vector search, or its client is not installed."""
    pytest.importorskip("redisvl", reason="REDIS MISSING: pip install 'ratchet-ai[redis]'")
    if not (PLACE / "bin" / "redis-server").exists():
        pytest.skip("REDIS MISSING: no Redis with vector search here; `scripts/redis.sh` brings it")


class SearchRedis:
    """A server on a free port of this machine, started when made; it writes nothing to disk unless `kept`."""

    def __init__(self, *, search: bool = True, kept: bool = False) -> None:
        self._search = search
        self._kept = kept
        self._folder = Path(tempfile.mkdtemp(prefix="ratchet-redis-"))
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, again after `kill`; return once it answers. Raises TimeoutError."""
        command = [str(PLACE / "bin" / "redis-server"), "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        command += ["--dir", str(self._folder), "--appendonly", "yes" if self._kept else "no"]
        if self._search:
            command += ["--loadmodule", str(PLACE / "lib" / "redisearch.so")]
        environ = {"PATH": os.environ.get("PATH", ""), "LD_LIBRARY_PATH": str(PLACE / "lib"), "LC_ALL": "C"}
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, env=environ, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        give_up = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < give_up and self._process.poll() is None:
            if self._answers():
                return
            time.sleep(0.02)
        raise TimeoutError(f"Redis did not start: {(self._folder / 'log').read_text()[-2000:]}")

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False

    def kill(self) -> None:
        """End it as `kill -9` does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(30)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _drip(peer: socket.socket) -> None:
    peer.sendall(b"$100000\r\n")
    while True:
        peer.sendall(b"a")
        time.sleep(0.2)


def _flood(peer: socket.socket) -> None:
    peer.sendall(b"$2000000000\r\n")
    while True:
        peer.sendall(b"a" * 1_048_576)


class LyingRedis:
    """A server that answers whatever it is asked with one lie. `connections` counts those that it was asked on."""

    LIES: ClassVar[Mapping[str, Callable[[socket.socket], object]]] = {
        "silence": lambda peer: time.sleep(60),
        "a byte now and then": _drip,
        "an answer without end": _flood,
        "a list without end": lambda peer: peer.sendall(b"*2000000000\r\n"),
        "lists in lists": lambda peer: peer.sendall(b"*1\r\n" * 200_000),
        "noise": lambda peer: peer.sendall(b"\xf6\x8b\x1b[2J\xe9\r\n"),
        "numbers": lambda peer: peer.sendall(b":1\r\n" * 20),
        "no number": lambda peer: peer.sendall(b":one\r\n" * 20),
        "bytes": lambda peer: peer.sendall(b"$2\r\n\xff\xfe\r\n" * 20),
        "yes to all": lambda peer: peer.sendall(b"+OK\r\n" * 20),
        "nothing": lambda peer: peer.sendall(b"$-1\r\n" * 20),
        "an error": lambda peer: peer.sendall((b"-ERR \x1b[2J" + b"x" * 100_000 + b"\r\n") * 20),
        "the end": lambda peer: peer.close(),
    }

    def __init__(self, lie: str) -> None:
        self._lie = self.LIES[lie]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._answer, args=(peer,), daemon=True).start()

    def _answer(self, peer: socket.socket) -> None:
        with peer, suppress(OSError):
            while peer.recv(65_536):
                self._lie(peer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
