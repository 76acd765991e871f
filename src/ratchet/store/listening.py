"""Hears that somebody wrote, on Postgres by LISTEN and on SQLite by a look at the file's version."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ratchet.errors import StoreError

if TYPE_CHECKING:
    from ratchet.store.postgres_connections import Connection, Connections

CHANNEL = "ratchet"
LOOK_S = 0.05
"""How often a SQLite file is looked at; a look reads one number of shared memory (3 us)."""


class Listening:
    """`ports.Changes` of a Postgres database: every transaction that wrote is told when it commits."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._connection: Connection | None = self._listened()

    def wait(self, timeout_s: float) -> bool:
        """Tell whether anybody wrote since the last call; waits for it at most `timeout_s`. A connection that was lost
        may have missed some, so the call that opens it again says yes. Raises StoreError while the database is down."""
        if self._connection is None or self._connection.closed:
            self._connection = self._listened()
            return True
        try:
            with self._connections.translated():
                return bool(list(self._connection.notifies(timeout=max(timeout_s, 0.0), stop_after=1)))
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _listened(self) -> Connection:
        connection = self._connections.connect()
        with self._connections.translated():
            connection.execute(f"LISTEN {CHANNEL}")
        return connection


class Polling:
    """`ports.Changes` of a SQLite file. `translated` turns its errors into the store's."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connection = connect()
        self._version = self._look()

    def wait(self, timeout_s: float) -> bool:
        """Tell whether anybody wrote since the last call; waits for it at most `timeout_s`."""
        give_up = time.monotonic() + timeout_s
        while True:
            found = self._look()
            if found != self._version:
                self._version = found
                return True
            left = give_up - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(LOOK_S, left))

    def close(self) -> None:
        self._connection.close()

    def _look(self) -> int:
        # Changes when any other connection wrote, and this one never does (sqlite.org/pragma.html#pragma_data_version).
        try:
            return int(self._connection.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be watched ({error}); open it again") from error
