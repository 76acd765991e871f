"""One evaluation at a worker: with files by their hash, a cancel by its id, and an answer that is kept until the run
is over, so that a job which is sent twice is not paid twice."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ratchet.evolving.archive import Files
from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.cluster.room import WorkerRoom
from ratchet.evolving.job import Job, Measure

_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class WorkerErrand:
    """A job as it travels. `tree` is the id of the version's files, "" where it has none; `place` is a folder that the
    workers share with the driver, "" where they may be on other machines."""

    measure: Measure
    job: Job
    tree: str
    place: str


@dataclass(frozen=True, slots=True)
class Lacking:
    """The answer of a machine that has not the files yet: send the job again, with them."""


def worked(errand: WorkerErrand, files: Files | None, asked: Callable[[], bool] | None = None) -> Evaluation | Lacking:
    """Make the evaluation. `asked` tells whether it was cancelled, where nobody can leave a sign in the room."""
    room, job = WorkerRoom(errand.place), errand.job
    version = room.version(errand.tree, files) if errand.tree else Path()
    if version is None:
        return Lacking()
    kept = room.part("made") / job.id
    if kept.exists():
        found = pickle.loads(kept.read_bytes())  # noqa: S301  (written below, in a folder of this user's own)
        assert isinstance(found, Evaluation)
        return found
    sign = room.part("cancel") / job.id
    there = replace(
        job,
        version=str(version) if errand.tree else "",
        scratch=str(room.part("scratch")),
        cancel=str(room.part("cancel")),
    )
    with _Listening(sign, asked):
        made = errand.measure(there)
    if made.killed != "cancel":
        whole = kept.with_suffix(f".{os.getpid()}")
        whole.write_bytes(pickle.dumps(made))
        whole.rename(kept)
    return made


def cancel(job_id: str, place: str) -> None:
    """Leave the sign that ends an evaluation at this worker, whether it has begun or not."""
    (WorkerRoom(place).part("cancel") / job_id).touch()


class _Listening:
    """Leaves the sign in the room once `asked` says so."""

    def __init__(self, sign: Path, asked: Callable[[], bool] | None) -> None:
        self._sign = sign
        self._asked = asked
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> None:
        if self._asked is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._asked is not None:
            self._thread.join()
        self._sign.unlink(missing_ok=True)

    def _listen(self) -> None:
        assert self._asked is not None
        while not self._over.wait(_LOOK_S):
            if self._asked():
                self._sign.touch()
                return
