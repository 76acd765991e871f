"""Workers by Dask distributed: those of this machine, or a scheduler's that somebody else runs."""

from __future__ import annotations

import logging
import uuid
from concurrent.futures import BrokenExecutor, Future
from typing import TYPE_CHECKING

from ratchet.errors import BackendError, UsageError
from ratchet.evolving.cluster import working
from ratchet.evolving.cluster.pulling import TRIES, JobQueue
from ratchet.registry import adding

if TYPE_CHECKING:
    import distributed

    from ratchet.evolving.archive import Files
    from ratchet.evolving.bench.benchmark import Evaluation
    from ratchet.evolving.cluster.working import Lacking, WorkerErrand

_CONNECT_S = 30
_QUIET = {
    "distributed.worker.profile.enabled": False,  # nobody asks for it, and each worker looks a hundred times a second
    "distributed.admin.tick.interval": "500ms",
    "distributed.worker.memory.monitor-interval": "500ms",
}


class DaskCluster:
    """A `Cluster` of Dask distributed. Its own workers of this machine pull their jobs; those of an address, which may
    be anywhere, are sent each as a task.

    Raises UsageError where it is not installed, BackendError where nobody answers."""

    def __init__(self, address: str, workers: int, place: str) -> None:
        try:
            import dask
            import distributed
        except ImportError as error:
            raise UsageError(f"the executor dask is not installed: {adding('cluster')}") from error
        self._local: distributed.LocalCluster | None = None
        self._queue: JobQueue | None = None
        # For this process only, and only what it starts.
        dask.config.set({"distributed.scheduler.allowed-failures": TRIES, **_QUIET})
        try:
            if address:
                self._client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
            else:
                self._local = distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address=None,
                    local_directory=place,
                    # Whoever reaches a scheduler runs code in its workers: without keys, everybody on this machine.
                    security=distributed.Security.temporary(),
                    silence_logs=logging.CRITICAL,
                )
                self._client = distributed.Client(self._local, set_as_default=False)
                self._queue = self._pulled()
        except (OSError, TimeoutError) as error:
            raise BackendError(f"no Dask scheduler answers at {address or 'this machine'}: {error}") from error

    def _pulled(self) -> JobQueue:
        import cloudpickle

        from ratchet.evolving.cluster.dask_workers import PullingWorkers

        queue = JobQueue(cloudpickle.dumps)
        self._client.register_plugin(PullingWorkers(queue.place, queue.key))
        return queue

    def start(self, errand: WorkerErrand, files: Files | None) -> Future[Evaluation | Lacking]:
        if self._queue is not None:
            return self._queue.start(errand, files)
        outer: Future[Evaluation | Lacking] = Future()
        outer.set_running_or_notify_cancel()
        key = f"ratchet-{errand.job.id}-{uuid.uuid4().hex[:8]}"
        inner = self._client.submit(working.worked, errand, files, key=key, pure=False)

        def ended(done: distributed.Future) -> None:
            try:  # an answer whose worker has died in the meantime is waited for once more
                outer.set_result(done.result())
            except BaseException as error:  # noqa: BLE001  (the caller's: whoever asks the future gets it)
                own = done.status == "error"  # else what failed is the way to it
                outer.set_exception(error if own else BrokenExecutor(f"the scheduler is gone: {error}"))

        inner.add_done_callback(ended)
        return outer

    def cancel(self, job_id: str) -> None:
        self._client.run(working.cancel, job_id, "", on_error="ignore")

    def close(self) -> None:
        if self._queue is not None:
            self._queue.end("the run is over")
        self._client.close()
        if self._local is not None:
            self._local.close()
