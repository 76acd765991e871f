"""Proof that nothing moved under a race but what the race itself wrote: hashes taken before and after.

The sandbox keeps an agent away from all of it, and each evaluation names what its agent tried; this shows that nothing
came through. The names of what moved are for people.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ratchet.evolving.bench.benchmark import Benchmark
from ratchet.ports import Store
from ratchet.records import number_in, whole_in
from ratchet.store.paging import rows_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """Seal of what must stay as it was: the benchmark with its graders, and what was learnt."""

    benchmark: str
    memory: Mapping[tuple[str, int], str]


class Seals:
    """Takes the seals of one run. `intact` says whether the folder of a tree still holds that tree; `written` how many
    evaluations of each version the driver itself wrote, and the sum of their scores."""

    def __init__(
        self,
        store: Store,
        run: str,
        benchmark: Benchmark,
        intact: Callable[[str], bool],
        written: Callable[[], Mapping[str, tuple[int, float]]],
    ) -> None:
        self._store = store
        self._run = run
        self._benchmark = benchmark
        self._intact = intact
        self._written = written

    def take(self) -> Sealed:
        return Sealed(benchmark=replace(self._benchmark).hash, memory=memory(self._store))

    def broken(self, before: Sealed, trees: Sequence[str]) -> tuple[str, ...]:
        """Name what is no longer as it was, beyond what the driver wrote itself; nothing where all holds."""
        found = []
        if replace(self._benchmark).hash != before.benchmark:  # a copy: the hash is worked out anew
            found.append("the benchmark")
        found += [f"the files of version {tree[:12]}" for tree in trees if tree and not self._intact(tree)]
        if not _agree(self._log(), self._written()):
            found.append("the log of evaluations")
        if rewritten(before.memory, memory(self._store)):
            found.append("what was learnt")
        return tuple(found)

    def _log(self) -> dict[str, tuple[int, float]]:
        rows = self._store.sum_by("evaluations", ["candidate"], ["count:*", "score"], {"run": self._run})
        return {str(row["candidate"]): (whole_in(row, "count:*"), number_in(row, "score")) for row in rows}


def memory(store: Store) -> dict[tuple[str, int], str]:
    """A hash of each lesson by its revision."""
    found = {}
    for row in rows_of(store, "lessons", {}, order=("id",)):
        text = json.dumps(row, sort_keys=True, default=str)
        found[str(row["id"]), whole_in(row, "revision")] = hashlib.sha256(text.encode()).hexdigest()
    return found


def rewritten(before: Mapping[tuple[str, int], str], now: Mapping[tuple[str, int], str]) -> bool:
    """Tell whether a lesson is gone, or says something else. People and other processes may add one or move one on:
    then it has another revision."""
    ids = {id_ for id_, _ in now}
    return any(id_ not in ids or now.get((id_, n), was) != was for (id_, n), was in before.items())


def _agree(one: Mapping[str, tuple[int, float]], other: Mapping[str, tuple[int, float]]) -> bool:
    """The same counts, and sums that differ by no more than the order of adding."""
    return {name: said[0] for name, said in one.items()} == {name: said[0] for name, said in other.items()} and all(
        abs(total - other[name][1]) <= 1e-6 for name, (_, total) in one.items()
    )
