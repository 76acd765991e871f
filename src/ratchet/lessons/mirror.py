"""The lessons of a shared store, kept beside the hooks of one home."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet import files
from ratchet.lessons import exposure
from ratchet.lessons.finding import CALIBRATED
from ratchet.store.paging import rows_of
from ratchet.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from ratchet.config import Config
    from ratchet.ports import Store
    from ratchet.records import Json, Row

_BATCH_ROWS = 500
_MIRRORED = "lessons.mirrored"
_SIGHTING = ("id", "lesson_id", "project", "group", "text", "forms")  # of the evidence, what `sighted` asks for


class Mirror:
    """The lessons of a shared database as a small SQLite file in the home, which hooks read in their few milliseconds.

    A hook has neither the driver nor the time to reach a server, and must answer while that is down.
    """

    def __init__(self, config: Config) -> None:
        self._shared = bool(config.database_url)
        self._home = str(config.home)
        self._lock = threading.Lock()
        self._asked_at = -inf

    def refresh(self, store: Store, *, every_s: float = 0.0) -> None:
        """Write the file anew if the lessons have changed; remove it where the home has a store of its own. Costs two
        small questions when nothing changed, asked at most every `every_s` seconds. Raises StoreError, OSError."""
        path = Path(exposure.mirror_path(self._home))
        if not self._shared:
            if path.exists():  # on a disk that is read-only, to remove nothing fails as well
                path.unlink(missing_ok=True)
            return
        if time.monotonic() < self._asked_at + every_s:
            return
        self._asked_at = time.monotonic()
        state = _state(store)
        mark = path.with_name(_MIRRORED)
        with self._lock:
            if path.exists() and mark.exists() and mark.read_text() == state:
                return
            exposure.hook_folder(self._home)
            scratch = path.with_name(f"{path.name}.{os.getpid()}")
            scratch.unlink(missing_ok=True)
            _write(store, scratch)
            scratch.replace(path)
            files.replace(mark, state.encode(), mode=0o600)


def _state(store: Store) -> str:
    """Different whenever an active lesson, or what it is found by, is."""
    lessons = store.sum_by("lessons", (), ("count:*", "revision", "max:updated_at"), {"state": "active"})
    signatures = store.sum_by("signatures", (), ("count:*", "revision"))
    return repr((lessons, signatures, (store.get("meta", CALIBRATED) or {}).get("revision")))


def _write(store: Store, path: Path) -> None:
    copy = SqliteStore(path)
    try:
        patterns: set[Json] = set()
        for batch in _batches(rows_of(store, "lessons", {"state": "active"}, order=("id",))):
            copy.insert_new("lessons", batch)
            named = [row["id"] for row in batch if row.get("keys")]
            if named:
                copy.insert_new("answers", store.find("answers", {"lesson_id": ("in", named)}).rows)
            ran = store.find("resolutions", {"lesson_id": ("in", [row["id"] for row in batch])}).rows
            copy.insert_new("resolutions", [{name: row.get(name) for name in _SIGHTING} for row in ran])
            patterns.update(row["pattern"] for row in batch if row.get("pattern"))
        known: Json = sorted(patterns, key=str)
        if patterns:
            for batch in _batches(rows_of(store, "signatures", {"pattern": ("in", known)}, order=("signature",))):
                copy.insert_new("signatures", batch)
        calibrated = store.get("meta", CALIBRATED)
        if calibrated is not None:
            copy.insert_new("meta", [calibrated])
    finally:
        copy.close()
    # One file without a log beside it can be replaced under its readers.
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) >= _BATCH_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch
