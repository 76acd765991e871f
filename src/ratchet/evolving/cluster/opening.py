"""Which workers a run gets: those of this machine, or of the cluster that `cluster` (RATCHET_CLUSTER) names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ratchet.errors import UsageError
from ratchet.evolving.cluster.executor import Cluster, ClusterExecutor

ClusterName = Literal["dask", "ray"]
_ADDRESSES = {"dask": ("tcp://", "tls://", "ucx://", "ws://", "wss://"), "ray": ("ray://", "auto")}


@contextmanager
def clustered(name: ClusterName, parallel: int, address: str, place: Path) -> Iterator[ClusterExecutor]:
    """An executor on so many workers of this machine, with their files in `place`; or on those of an address.

    Raises UsageError for an address of another kind of cluster, BackendError where nobody answers.
    """
    if address and not address.startswith(_ADDRESSES[name]):
        raise UsageError(
            f"{address} (cluster, RATCHET_CLUSTER) is no address of {name}; those begin with "
            f"{', '.join(_ADDRESSES[name])}"
        )
    made = ClusterExecutor(_cluster(name, parallel, address, place), "" if address else str(place))
    try:
        yield made
    finally:
        made.shutdown()


def _cluster(name: ClusterName, parallel: int, address: str, place: Path) -> Cluster:
    if name == "dask":
        from ratchet.evolving.cluster.dask import DaskCluster

        place.mkdir(parents=True, exist_ok=True, mode=0o711)
        return DaskCluster(address, parallel, str(place))
    from ratchet.evolving.cluster.ray import RayCluster

    return RayCluster(address, parallel)
