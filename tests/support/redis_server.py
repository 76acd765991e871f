"""A Redis with vector search for tests: one of its own, which may be killed and come back with nothing."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

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
