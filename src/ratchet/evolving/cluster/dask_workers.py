"""Have every worker of Dask pull jobs, also one that takes a dead one's place. Imported where Dask is."""

from __future__ import annotations

import threading

import distributed

from ratchet.evolving.cluster.pulling import pull


class PullingWorkers(distributed.WorkerPlugin):  # type: ignore[misc]  # Dask is not typed
    """Starts a thread in each worker that makes the jobs of a queue."""

    def __init__(self, place: str, key: bytes) -> None:
        self._given = place, key

    def setup(self, worker: distributed.Worker) -> None:
        """Begin; Dask calls it in each worker, whenever that starts."""
        del worker
        threading.Thread(target=pull, args=self._given, name="ratchet-pull", daemon=True).start()
