"""Which store a home has: its own SQLite file, or the database that a team shares, and what hooks are told of that."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import Refused
from ratchet.registry import adding
from ratchet.store.address import is_database, masked
from ratchet.store.schema import VERSION
from ratchet.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from ratchet.config import Config
    from ratchet.ports import Store

STORE_NAME = "ratchet.db"


def opened(config: Config) -> Store:
    """The store of these settings, made where missing. Raises StoreError, OSError, and Refused without the
    driver."""
    store = _opened(config)
    if not config.redis_url:
        return store
    from ratchet.store.redis.beside import StoreBesideRedis  # an extra
    from ratchet.store.redis.tiers import RedisTiers

    file = None if config.database_url else config.home / STORE_NAME
    return StoreBesideRedis(store, RedisTiers(config.redis_url, home=config.home, file=file))


def _opened(config: Config) -> Store:
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


def readable(config: Config) -> Store | None:
    """The store of these settings to read from, left as it is; None where it is not there, or of another layout.
    Raises StoreError, UsageError, Refused."""
    if not config.database_url:
        path = config.home / STORE_NAME
        return SqliteStore(path, readonly=True) if path.exists() else None
    _need_driver(config.database_url)
    from ratchet.store.postgres import looked_at

    _, layout, _ = looked_at(config.database_url, "outcomes")
    return opened_at(config.database_url) if layout == VERSION else None


def looked_at(url: str) -> str:
    """Describe a database in words; nothing is changed. Raises StoreError, UsageError, Refused."""
    _need_driver(url)
    from ratchet.store.postgres import looked_at

    server, layout, rows = looked_at(url, "outcomes")
    return f"Postgres {server}, {f'{rows:,} outcomes' if layout else 'no tables yet'}"


def exist(config: Config) -> bool:
    """Tell whether anything was ever recorded or learnt with these settings."""
    return bool(config.database_url) or (config.home / STORE_NAME).exists() or (config.home / "journal").is_dir()


def shown(config: Config) -> str:
    """Name the place of the store, for people."""
    return masked(config.database_url) if config.database_url else str(config.home / STORE_NAME)


def _need_driver(url: str) -> None:
    if importlib.util.find_spec("psycopg") is None:
        raise Refused(f"{masked(url)} needs the driver of Postgres, which is not installed: {adding('postgres')}")
