"""Which store a home has: its own SQLite file, or the database that a team shares, and what hooks are told of that."""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from math import inf
from pathlib import Path

from ratchet import exposure
from ratchet.config import Config
from ratchet.errors import Refused
from ratchet.paging import rows_of
from ratchet.ports import Store
from ratchet.records import Json, Row
from ratchet.store.address import is_database, masked
from ratchet.store.sqlite import SqliteStore

STORE_NAME = "ratchet.db"
EXTRA = "install the driver: pip install 'ratchet-ai[postgres]'"
_BATCH_ROWS = 500
_MIRRORED = "lessons.mirrored"


def opened(config: Config) -> Store:
    """The store of these settings, made where missing. Raises StoreError, OSError, and Refused without the
    driver."""
    if not config.database_url:
        return SqliteStore(config.home / STORE_NAME)
    config.home.mkdir(mode=0o700, parents=True, exist_ok=True)  # as SQLite's: what else is kept there is private, too
    return opened_at(config.database_url)


def opened_at(place: str) -> Store:
    """The store at a database's address, or in a file. Raises StoreError, UsageError, Refused without the driver."""
    if not is_database(place):
        return SqliteStore(Path(place).expanduser())
    _need_driver(place)
    from ratchet.store.postgres import PostgresStore  # an extra

    return PostgresStore(place)


def looked_at(url: str) -> str:
    """What is in a database, in words; nothing is changed. Raises StoreError, UsageError, Refused."""
    _need_driver(url)
    from ratchet.store.postgres import looked_at

    server, layout, rows = looked_at(url, "outcomes")
    return f"Postgres {server}, {f'{rows:,} outcomes' if layout else 'no tables yet'}"


def exist(config: Config) -> bool:
    """Whether anything was ever recorded or learnt with these settings."""
    return bool(config.database_url) or (config.home / STORE_NAME).exists() or (config.home / "journal").is_dir()


def shown(config: Config) -> str:
    """Where the store is, for people."""
    return masked(config.database_url) if config.database_url else str(config.home / STORE_NAME)


def _need_driver(url: str) -> None:
    if importlib.util.find_spec("psycopg") is None:
        raise Refused(f"{masked(url)} needs the driver of Postgres, which is not installed; {EXTRA}")


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
            exposure.write_small(str(mark), state)


def _state(store: Store) -> str:
    """Different whenever an active lesson, or what it is found by, is."""
    lessons = store.sum_by("lessons", (), ("count:*", "revision", "max:updated_at"), {"state": "active"})
    signatures = store.sum_by("signatures", (), ("count:*", "revision"))
    return repr((lessons, signatures))


def _write(store: Store, path: Path) -> None:
    copy = SqliteStore(path)
    try:
        patterns: set[Json] = set()
        for batch in _batches(rows_of(store, "lessons", {"state": "active"}, order=("id",))):
            copy.insert_new("lessons", batch)
            patterns.update(row["pattern"] for row in batch if row.get("pattern"))
        named: Json = sorted(patterns, key=str)
        if patterns:
            for batch in _batches(rows_of(store, "signatures", {"pattern": ("in", named)}, order=("signature",))):
                copy.insert_new("signatures", batch)
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
