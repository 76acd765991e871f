"""A real `ratchet serve` for tests: started, waited for, and ended however the test goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STARTS_S = 60.0  # a machine that does much else


@dataclass
class Server:
    """One server process. `said` is what it printed when it was up."""

    process: subprocess.Popen[str]
    url: str
    said: str

    @property
    def pid(self) -> int:
        return self.process.pid

    def end(self, number: int = signal.SIGTERM, *, within_s: float = 30.0) -> float:
        """Send a signal; return how many seconds it took to end."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(within_s)
        return time.monotonic() - began


@contextmanager
def serving(home: Path, *options: str, environ: dict[str, str] | None = None) -> Iterator[Server]:
    """A server over `home` on a free port of this machine."""
    command = [sys.executable, "-m", "ratchet", "--home", str(home), "serve", "--port", "0", *options]
    env = {**os.environ, "PYTHONUNBUFFERED": "1", **(environ or {})}
    home.parent.mkdir(parents=True, exist_ok=True)
    log = home.parent / f"serve-{time.monotonic_ns()}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env)
    try:
        said = _until_up(process, log)
        yield Server(process=process, url=_url(said), said=said)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def _until_up(process: subprocess.Popen[str], log: Path) -> str:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if line.strip().startswith("stop"):
            return "".join(lines)
    raise AssertionError(f"ratchet serve did not start: {''.join(lines)}{log.read_text()}")


def _url(said: str) -> str:
    return next(word for word in said.split() if word.startswith("http://"))


def refused(home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What a server says that does not start."""
    command: Sequence[str] = [sys.executable, "-m", "ratchet", "--home", str(home), "serve", "--port", "0", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=STARTS_S, check=False)
