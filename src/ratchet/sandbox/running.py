"""Hands jobs to the keeper and waits for what becomes of them. Safe to call from many threads."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import ratchet
from ratchet.errors import SandboxError
from ratchet.sandbox import plan
from ratchet.sandbox.command import Ran

if TYPE_CHECKING:
    from ratchet.sandbox.plan import Plan

_PACKAGES = str(Path(ratchet.__file__).parent.parent)
# -I -S: neither the environment, the working directory nor anybody's site packages has a say in what it imports.
_COMMAND = "import sys; sys.path.insert(0, sys.argv[1]); from ratchet.sandbox.keeper import main; main()"
_ASK_CANCELLED_S = 0.1
_LAST_WORD_S = 20.0  # what a keeper may need to end its jobs
_CLEAN_UP_S = 60.0  # how much longer than its wall limit a job may take to be set up and cleared away


class Keeper:
    """The keeper of this process, started by its first job and again after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def submit(self, channel: socket.socket, stdin: int) -> None:
        """Raises SandboxError where no keeper can be started."""
        descriptors = [channel.fileno()] if stdin < 0 else [channel.fileno(), stdin]
        if self._owner not in (0, os.getpid()):
            self._lock = threading.Lock()  # the parent's may have been held by a thread that did not come along
        with self._lock:
            for last in (False, True):
                try:
                    socket.send_fds(self._running(), [b"j"], descriptors)
                except OSError as error:  # somebody killed it
                    self._forget()
                    if last:
                        raise SandboxError(f"the sandbox's keeper does not start: {error}") from error
                else:
                    return

    def _running(self) -> socket.socket:
        if self._control is not None and self._owner == os.getpid():
            return self._control
        self._forget()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            process = subprocess.Popen(  # noqa: S603  (our own code, no shell)
                [sys.executable, "-I", "-S", "-c", _COMMAND, _PACKAGES, str(os.getpid())],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                cwd="/",
                env={"LC_ALL": "C.UTF-8"},
                start_new_session=True,
            )
        if self._owner != os.getpid():
            atexit.register(self.close)
        self._control, self._process, self._owner = ours, process, os.getpid()
        return ours

    def _forget(self) -> None:
        control, self._control = self._control, None
        process, self._process = self._process, None
        if control is not None:
            control.close()  # the keeper's sign to end; after a fork this closes only our copy
        if process is None:
            return
        if self._owner != os.getpid():
            process.returncode = 0  # the parent's child: it is not ours to wait for
            return
        try:
            process.wait(timeout=_LAST_WORD_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End the keeper, and with it every job. The next job starts another one."""
        with self._lock:
            self._forget()


KEEPER = Keeper()


def run(
    made: Plan,
    stdin: bytes | int,
    *,
    isolation: str,
    cancelled: Callable[[], bool] | None,
    paused: Callable[[], bool] | None,
    on_output: Callable[[str, bytes], None] | None,
) -> Ran:
    """Run a plan to its end. Raises SandboxError."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, _readable(stdin) as source:
        with theirs:
            KEEPER.submit(theirs, source)
        with contextlib.suppress(ConnectionError):
            ours.sendall(plan.framed(plan.PLAN, made.dumped()))
        return _collected(ours, made, isolation, _Words(ours, cancelled, paused), on_output)


@contextlib.contextmanager
def _readable(stdin: bytes | int) -> Iterator[int]:
    """A descriptor to read the input from, -1 for none."""
    if isinstance(stdin, int):
        yield stdin
    elif not stdin:
        yield -1
    else:
        with tempfile.TemporaryFile() as file:
            file.write(stdin)
            file.seek(0)
            yield file.fileno()


class _Words:
    """Tells a job's supervisor to end it, to let it stand still, and to let it go on."""

    def __init__(
        self, channel: socket.socket, cancelled: Callable[[], bool] | None, paused: Callable[[], bool] | None
    ) -> None:
        self._channel = channel
        self._cancelled = cancelled
        self._paused = paused
        self._said = b""
        self._since_s = 0.0
        self._paused_s = 0.0

    @property
    def paused_s(self) -> float:
        """Seconds that it has stood still so far."""
        return self._paused_s + (time.monotonic() - self._since_s if self._said == plan.PAUSE else 0.0)

    def say(self) -> None:
        if self._said == plan.CANCEL:
            return
        if self._cancelled is not None and self._cancelled():
            self._send(plan.CANCEL)
        elif self._paused is not None and self._paused() != (self._said == plan.PAUSE):
            self._send(plan.GO_ON if self._said == plan.PAUSE else plan.PAUSE)

    def _send(self, word: bytes) -> None:
        self._paused_s, self._since_s = self.paused_s, time.monotonic()
        self._said = word
        with contextlib.suppress(ConnectionError):
            self._channel.sendall(word)


def _collected(
    channel: socket.socket,
    made: Plan,
    isolation: str,
    words: _Words,
    on_output: Callable[[str, bytes], None] | None,
) -> Ran:
    said = {plan.STDOUT: bytearray(), plan.STDERR: bytearray()}
    deadline = time.monotonic() + made.limits.wall_s + _CLEAN_UP_S
    while True:
        ready = select.select([channel], [], [], _ASK_CANCELLED_S)[0]
        words.say()
        if time.monotonic() > deadline + words.paused_s:
            raise SandboxError("the sandbox does not answer; what was running ends with this process")
        if not ready:
            continue
        frame = plan.received(channel)
        if frame is None:
            raise SandboxError("the sandbox's supervisor was killed; its processes died with it")
        letter, body = frame
        if letter == plan.BROKEN:
            raise SandboxError(body.decode("utf-8", "surrogateescape"))
        if letter == plan.RESULT:
            return replace(_ran(json.loads(body), said, isolation), unused=tuple(made.unused))
        said[letter] += body
        if on_output is not None:
            on_output("stdout" if letter == plan.STDOUT else "stderr", body)


def _ran(result: dict[str, object], said: dict[bytes, bytearray], isolation: str) -> Ran:
    removed, refused = result.pop("removed"), result.pop("refused")
    assert isinstance(removed, list)
    assert isinstance(refused, list)
    streams = {"stdout": bytes(said[plan.STDOUT]), "stderr": bytes(said[plan.STDERR])}
    return Ran(**result, **streams, isolation=isolation, removed=tuple(removed), refused=tuple(refused))  # type: ignore[arg-type]
