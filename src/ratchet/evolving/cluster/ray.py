"""Workers by Ray: those of this machine, or a cluster's that somebody else runs."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import sys
import tempfile
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratchet.errors import BackendError, Conflict, UsageError
from ratchet.evolving.cluster import working
from ratchet.evolving.cluster.pulling import TRIES, JobQueue, pull
from ratchet.registry import adding

if TYPE_CHECKING:
    from ratchet.evolving.archive import Files
    from ratchet.evolving.bench.benchmark import Evaluation
    from ratchet.evolving.cluster.working import Lacking, WorkerErrand

_STORE_BYTES = 134_217_728
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token"}


class CancelBoard:
    """Actor that keeps which evaluations were cancelled: a running task cannot be told otherwise."""

    def __init__(self) -> None:
        self._asked: set[str] = set()

    def ask(self, job_id: str) -> None:
        self._asked.add(job_id)

    def asked(self, job_id: str) -> bool:
        return job_id in self._asked


def at_worker(errand: WorkerErrand, files: Files | None, board: Any) -> Evaluation | Lacking:
    """`working.worked`, with the board asked whether the job was cancelled."""
    import ray

    def asked() -> bool:
        return bool(ray.get(board.asked.remote(errand.job.id)))

    return working.worked(errand, files, asked)


def _importable() -> str:
    """Give workers of this machine the paths that this process imports from, the current folder left out."""
    here = {"", str(Path.cwd())}
    return os.pathsep.join(each for each in sys.path if each not in here and Path(each).is_dir())


class RayCluster:
    """A `Cluster` of Ray. A process has one at a time, as Ray has it. Its own workers of this machine pull their jobs;
    those of an address, which may be anywhere, are sent each as a task. Raises UsageError where it is not installed,
    Conflict where this process uses Ray already, BackendError where nobody answers."""

    def __init__(self, address: str, workers: int) -> None:
        # A person's own words about Ray stay; a local one is closed to the other users of the machine.
        self._environ = {} if address else {**_QUIET, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        before = {name: os.environ.get(name) for name in self._environ}
        os.environ.update(self._environ)
        self._restored = before
        try:
            import ray
        except ImportError as error:
            self._restore()
            raise UsageError(f"the executor ray is not installed: {adding('ray')}") from error
        self._ray = ray
        self._queue: JobQueue | None = None
        # Short: its sockets lie there, and a socket's path has 107 characters.
        self._folder = Path(tempfile.mkdtemp(prefix="ratchet-ray-"))
        try:
            if ray.is_initialized():
                raise Conflict("Ray is in use in this process already: run Ratchet in a process of its own")
            self._begin(address, workers)
        except BaseException as error:
            self.close()
            if isinstance(error, (ConnectionError, RuntimeError, TimeoutError)):
                raise BackendError(f"no Ray answers at {address or 'this machine'}: {error}") from error
            raise

    def _begin(self, address: str, workers: int) -> None:
        ray = self._ray
        (self._folder / "empty").mkdir()
        # Without a folder of its own, workers import from the current one first, which may be a stranger's.
        own: dict[str, Any] = {"working_dir": str(self._folder / "empty")}
        if not address:
            own["env_vars"] = {"PYTHONPATH": _importable()}
        given: dict[str, Any] = {
            "runtime_env": own,
            "log_to_driver": False,
            "logging_level": logging.ERROR,
            "configure_logging": False,
        }
        if address:
            ray.init(address=address, **given)
            self._board = ray.remote(num_cpus=0, max_restarts=-1)(CancelBoard).remote()
            self._run = ray.remote(num_cpus=1, max_retries=TRIES)(at_worker)
        else:
            ray.init(
                address="local",
                num_cpus=workers,
                include_dashboard=False,
                object_store_memory=_STORE_BYTES,
                _temp_dir=str(self._folder),
                **given,
            )
            self._queue = JobQueue(ray.cloudpickle.dumps)
            for _ in range(workers):
                self._pull(self._queue)

    def _pull(self, queue: JobQueue) -> None:
        """Have one more worker pull jobs; Ray starts it anew whenever it dies."""
        faults = self._ray.exceptions

        def ended(done: Future[None]) -> None:
            if self._queue is None:  # this cluster is closed
                return
            error = done.exception()
            if isinstance(error, (faults.WorkerCrashedError, faults.OutOfMemoryError)):
                self._pull(queue)  # it died as often as Ray starts it anew
            else:
                queue.end(f"the cluster is gone: {error}")

        run = self._ray.remote(num_cpus=1, max_retries=TRIES)(pull)
        run.remote(queue.place, queue.key).future().add_done_callback(ended)

    def start(self, errand: WorkerErrand, files: Files | None) -> Future[Evaluation | Lacking]:
        if self._queue is not None:
            return self._queue.start(errand, files)
        outer: Future[Evaluation | Lacking] = Future()
        outer.set_running_or_notify_cancel()
        inner = self._run.remote(errand, files, self._board).future()

        def ended(done: Future[Evaluation | Lacking]) -> None:
            try:
                outer.set_result(done.result())
            except BaseException as error:  # noqa: BLE001  (the caller's: whoever asks the future gets it)
                faults = self._ray.exceptions
                gone = isinstance(error, faults.RaySystemError) and not isinstance(error, faults.RayTaskError)
                outer.set_exception(BrokenExecutor(f"the cluster is gone: {error}") if gone else error)

        inner.add_done_callback(ended)
        return outer

    def cancel(self, job_id: str) -> None:
        with suppress(self._ray.exceptions.RayError):  # a cluster that is gone has ended it already
            self._ray.get(self._board.ask.remote(job_id))

    def close(self) -> None:
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.end("the run is over")
        self._ray.shutdown()
        self._restore()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _restore(self) -> None:
        for name, value in self._restored.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
