"""Have every worker of Dask pull jobs, also one that takes a dead one's place. Imported where Dask is."""

from __future__ import annotations

import threading
import time

import distributed

from ratchet.evolving.cluster.pulling import pull

_LOOK_S = 0.1


class PullingWorkers(distributed.WorkerPlugin):  # type: ignore[misc]  # Dask is not typed
    """Starts a thread in each worker that makes the jobs of a queue."""

    def __init__(self, place: str, key: bytes) -> None:
        self._place, self._key = place, key

    def setup(self, worker: distributed.Worker) -> None:
        """Begin; Dask calls it in each worker, whenever that starts."""
        threading.Thread(target=self._pull, args=(worker,), name="ratchet-pull", daemon=True).start()

    def _pull(self, worker: distributed.Worker) -> None:
        # A worker that dies of a job while it starts is not replaced.
        while worker.status != distributed.Status.running:
            time.sleep(_LOOK_S)
        time.sleep(_LOOK_S)  # until its nanny has heard of it
        pull(self._place, self._key)
