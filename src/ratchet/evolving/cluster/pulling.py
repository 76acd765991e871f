"""Jobs that workers of this machine pull over a socket. An engine starts the workers and replaces those that die; it is
asked nothing for a single job, which cost the driver more CPU than all else that it does."""

from __future__ import annotations

import os
import pickle
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from ratchet import files
from ratchet.errors import BackendError
from ratchet.evolving.cluster import working

if TYPE_CHECKING:
    from ratchet.evolving.archive import Files
    from ratchet.evolving.bench.benchmark import Evaluation
    from ratchet.evolving.cluster.working import Lacking, WorkerErrand

TRIES = 20
"""Deaths of workers that one evaluation may see before it is thought to be their cause."""
_FOLDER = "ratchet-jobs-"  # short: a socket's path has 107 characters
_BACKLOG = 64  # workers that connect at once


@dataclass(slots=True)
class _PulledJob:
    """A job as bytes, and how many workers died of it so far."""

    data: bytes
    future: Future[Evaluation | Lacking]
    deaths: int = 0


class JobQueue:
    """Gives each worker that connects one job after the other. What a worker had begun when it died is the next one's.

    `place` and `key` are what a worker needs (`pull`); `dumps` makes bytes of a job, also of a measure that is no name
    of a module.
    """

    def __init__(self, dumps: Callable[[object], bytes]) -> None:
        self._dumps = dumps
        _sweep()
        self._folder, self._living = _own_folder()
        self.place, self.key = str(self._folder / "socket"), secrets.token_bytes(32)
        self._listener = Listener(self.place, "AF_UNIX", backlog=_BACKLOG, authkey=self.key)
        self._waiting: SimpleQueue[_PulledJob | None] = SimpleQueue()
        self._gone = ""
        self._ending = threading.Lock()  # what is queued while this ends would wait for ever
        threading.Thread(target=self._listening, name="ratchet-jobs", daemon=True).start()

    def start(self, errand: WorkerErrand, files: Files | None) -> Future[Evaluation | Lacking]:
        """Queue a job; it ends with BrokenExecutor once the workers are gone."""
        sent = _PulledJob(self._dumps((errand, files)), Future())
        sent.future.set_running_or_notify_cancel()
        self._queue(sent)
        return sent.future

    def end(self, why: str) -> None:
        """Take and give no more: workers that wait are dismissed, and what waits is broken."""
        with self._ending:
            self._gone = why
            living, self._living = self._living, -1
            while (sent := self._next()) is not None:
                sent.future.set_exception(BrokenExecutor(why))
            self._waiting.put(None)
        with suppress(OSError, EOFError, AuthenticationError):  # the thread that listens hears of it
            Client(self.place, "AF_UNIX", authkey=self.key).close()
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        if living >= 0:  # else it has ended before
            os.close(living)

    def _next(self) -> _PulledJob | None:
        try:
            return self._waiting.get_nowait()
        except Empty:
            return None

    def _queue(self, sent: _PulledJob) -> None:
        with self._ending:
            if self._gone:
                sent.future.set_exception(BrokenExecutor(self._gone))
            else:
                self._waiting.put(sent)

    def _listening(self) -> None:
        while not self._gone:
            try:
                worker = self._listener.accept()
            except (OSError, EOFError, AuthenticationError):  # killed while it came in, or this queue has ended
                continue
            threading.Thread(target=self._giving, args=(worker,), name="ratchet-job", daemon=True).start()

    def _giving(self, worker: Connection) -> None:
        """Give one worker jobs until it dies, or nobody asks for more."""
        with worker:
            while (sent := self._waiting.get()) is not None:
                try:
                    worker.send_bytes(sent.data)
                    answer = worker.recv_bytes()
                except (OSError, EOFError):
                    self._again(sent)
                    return
                _end(sent.future, answer)
        self._waiting.put(None)  # to the next one that waits

    def _again(self, sent: _PulledJob) -> None:
        sent.deaths += 1
        if sent.deaths > TRIES:
            sent.future.set_exception(BackendError(f"{sent.deaths} workers died of it"))
        else:
            self._queue(sent)


def _sweep() -> None:
    """Remove the folders of this user's processes that were killed before they could."""
    for left in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with suppress(OSError):  # gone meanwhile, another user's, or no folder
            held = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(held).st_uid == os.getuid() and files.lock(held):
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(held)


def _own_folder() -> tuple[Path, int]:
    """Make a folder, locked by the descriptor for as long as this process lives."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_FOLDER))
        with suppress(FileNotFoundError):
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            if files.lock(held) is not False and folder.exists():
                return folder, held
            os.close(held)  # another process swept it away before it was locked


def _end(future: Future[Evaluation | Lacking], answer: bytes) -> None:
    try:
        made, fault = pickle.loads(answer)  # noqa: S301  (of our own worker, which proved that it has the key)
    except Exception as error:  # noqa: BLE001  (a fault that can be written and not be read: the caller's all the same)
        made, fault = None, error
    if fault is None:
        future.set_result(made)
    else:
        future.set_exception(fault)


def pull(place: str, key: bytes) -> None:
    """Make the jobs of a queue, one after the other, until it has ended."""
    try:
        queue = Client(place, "AF_UNIX", authkey=key)
        with queue:
            while True:
                queue.send_bytes(_answer(queue.recv_bytes()))
    except (OSError, EOFError, AuthenticationError):
        return  # it is over, or its process is gone


def _answer(job: bytes) -> bytes:
    """Make one job; what its measure raised is the answer, too."""
    try:
        errand, files = pickle.loads(job)  # noqa: S301  (of our own driver, which proved that it has the key)
        return pickle.dumps((working.worked(errand, files), None))
    except BaseException as error:  # noqa: BLE001  (the driver's: whoever asks the future gets it)
        try:
            return pickle.dumps((None, error))
        except Exception:  # noqa: BLE001  (any fault may refuse to be written down)
            return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))
