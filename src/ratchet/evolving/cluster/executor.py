"""The `Executor` that a run of evaluations is given: it sends jobs to a cluster and hands the answers back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar, cast

from ratchet.evolving.archive import Files, read_files
from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.cluster import working
from ratchet.evolving.cluster.working import Lacking, WorkerErrand
from ratchet.evolving.job import Job, Measure

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
_LOOK_S, _AGAIN_S = 0.1, 2.0


class Cluster(Protocol):
    """Workers that run `working.worked`. One that dies is replaced, and what it had begun is begun anew; only where the
    whole cluster is gone does a future end with BrokenExecutor."""

    def start(self, errand: WorkerErrand, files: Files | None) -> Future[Evaluation | Lacking]: ...

    def cancel(self, job_id: str) -> None:
        """End an evaluation at a worker that shares no folder with the driver."""

    def close(self) -> None: ...


class ClusterExecutor(Executor):
    """Takes `submit(measure, job)` only. A file of a job's id in `job.cancel` ends it, on whatever machine it is."""

    def __init__(self, cluster: Cluster, place: str) -> None:
        self._cluster = cluster
        self._place = place
        self._lock = threading.Lock()
        self._under_way: dict[str, Path] = {}
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._watching, name="ratchet-cluster", daemon=True)
        self._watch.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        (job,) = args
        assert isinstance(job, Job)
        assert not kwargs
        outer: Future[T] = Future()
        outer.set_running_or_notify_cancel()  # from here on it is cancelled by its id
        version = Path(job.version)
        errand = WorkerErrand(cast(Measure, fn), job, version.name if job.version else "", self._place)
        with self._lock:
            self._under_way[job.id] = Path(job.cancel, job.id)

        def ended(inner: Future[Evaluation | Lacking]) -> None:
            try:
                made = inner.result()
                if isinstance(made, Lacking):
                    self._cluster.start(errand, read_files(version)).add_done_callback(ended)
                    return
            except BaseException as error:  # noqa: BLE001  (it is the caller's: whoever asks the future gets it)
                self._forget(job.id)
                outer.set_exception(error)
                return
            self._forget(job.id)
            outer.set_result(cast(T, made))

        self._cluster.start(errand, None).add_done_callback(ended)
        return outer

    def _forget(self, job_id: str) -> None:
        with self._lock:
            self._under_way.pop(job_id, None)

    def _watching(self) -> None:
        """Pass cancels on: the driver leaves a file, which a worker elsewhere does not see. Said again until it has
        ended, since a worker that is being replaced hears nothing."""
        said: dict[str, float] = {}
        while not self._over.wait(_LOOK_S):
            with self._lock:
                asked = [job_id for job_id, sign in self._under_way.items() if sign.exists()]
            for job_id in asked:
                if time.monotonic() - said.get(job_id, -_AGAIN_S) >= _AGAIN_S:
                    said[job_id] = time.monotonic()
                    self._cancel(job_id)

    def _cancel(self, job_id: str) -> None:
        try:
            if self._place:
                working.cancel(job_id, self._place)
            else:
                self._cluster.cancel(job_id)
        except Exception:
            log.exception("cancel.failed", extra={"evaluation": job_id})  # it is said again

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        del wait, cancel_futures  # what is still under way here ends with its worker
        self._over.set()
        self._watch.join()
        self._cluster.close()
