"""The store that a test gets for a folder: a SQLite file in it, or Postgres where the whole run is on that."""

from __future__ import annotations

import os
from pathlib import Path

from ratchet.ports import Store
from ratchet.store.sqlite import SqliteStore


def open_store(folder: Path) -> Store:
    """Open the store of a home. With RATCHET_DATABASE_URL set (as tests/conftest.py does for each test of a run with
    RATCHET_TEST_STORE=postgres) it is that database."""
    url = os.environ.get("RATCHET_DATABASE_URL")
    if not url:
        return SqliteStore(folder / "ratchet.db")
    folder.mkdir(parents=True, exist_ok=True)
    from ratchet.store.postgres import PostgresStore

    return PostgresStore(url)
