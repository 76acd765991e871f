"""Connections to Postgres: how they are opened, whose they are, and what their errors mean to a person."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeAlias, TypeVar
from weakref import ref

import psycopg
from psycopg import Pipeline
from psycopg import errors as refusals
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import IntDumper

from ratchet.errors import StoreError, UsageError
from ratchet.store.address import SCHEMES, masked, without_secrets

T = TypeVar("T")
Connection: TypeAlias = "psycopg.Connection[tuple[object, ...]]"

CONNECT_TIMEOUT_S = 5
WAIT_TIMEOUT_S = 30
"""How long a writer waits for another one; a batch takes milliseconds."""
STATEMENT_TIMEOUT_S = 120
IDLE_TIMEOUT_S = 120
"""How long a transaction may stand still: a process that was frozen in one must not hold up all others for ever."""
OLDEST = 13_00_00  # version 13: the oldest that sorts incrementally, which a page by time relies on

_OPTIONS = (
    f"-c lock_timeout={WAIT_TIMEOUT_S}s -c statement_timeout={STATEMENT_TIMEOUT_S}s "
    f"-c idle_in_transaction_session_timeout={IDLE_TIMEOUT_S}s"
)
_DEFAULTS: dict[str, str | int] = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "application_name": "ratchet",
    # A peer that vanished without a word is noticed within half a minute, not after the system's two hours.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

_inherited: list[Connection] = []
"""Connections of a parent process: a child must neither use nor close them."""


class HeldConnection:
    """One thread's connection. Closed when the thread ends or the store is closed, whichever comes first."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.pid = os.getpid()
        self.depth = 0
        self.wrote = False  # since the transaction began
        self.waiting: list[tuple[str, Sequence[object]]] = []  # statements of which nobody asks the answer

    def send(self, *last: str) -> None:
        """Run what waits, and then `last`, in one journey where the driver can: each of its own costs both sides as
        much as the work of a small batch."""
        if not self.waiting:
            for text in last:
                self.connection.execute(text)
            return
        sent, self.waiting = [*self.waiting, *((text, ()) for text in last)], []
        with self.connection.pipeline() if Pipeline.is_supported() else nullcontext():
            for text, values in sent:
                self.connection.execute(text, values)

    def close(self) -> None:
        if self.pid == os.getpid():
            self.connection.close()
        else:
            _inherited.append(self.connection)

    __del__ = close


class Connections:
    """The connections of one store: one for each thread of each process, opened when first used and again when lost."""

    def __init__(self, url: str, opened: Callable[[Connection], None] | None = None) -> None:
        self.url = url
        self.shown = masked(url)
        self._given = _read(url)
        self._opened = opened
        self._local = threading.local()
        self._open: list[
            ref[HeldConnection]
        ] = []  # without a lock, since one that is held at a fork stays locked in the child
        self._closed = False

    def held(self) -> HeldConnection:
        """This thread's connection. Raises StoreError when the database cannot be reached."""
        if self._closed:
            raise StoreError(f"the store {self.shown} is closed; open a new one")
        held: HeldConnection | None = getattr(self._local, "held", None)
        lost = held is not None and held.depth == 0 and held.connection.closed
        if held is None or lost or held.pid != os.getpid():
            held = self._local.held = HeldConnection(self.connect())
            self._open = [*(known for known in self._open if known() is not None), ref(held)]
        return held

    def connect(self) -> Connection:
        """A connection of its own for the caller, who closes it. Raises StoreError."""
        with self.translated():
            connection = psycopg.connect(**self._given, autocommit=True)  # type: ignore[arg-type]
            try:
                connection.adapters.register_dumper(bool, _Bit)
                if self._opened is not None:
                    self._opened(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    def ask(self, text: str, values: Sequence[object]) -> list[Any]:
        """All rows that a query finds. A connection that was lost since it was last used is opened anew, unless a
        transaction was lost with it."""
        with self.translated():
            return self._again(lambda held: _answered(held, text, values))

    def begin(self, text: str) -> tuple[HeldConnection, int]:
        """This thread's connection with a transaction begun on it, and the number that the last statement asked for."""

        def begin(held: HeldConnection) -> tuple[HeldConnection, int]:
            if held.connection.info.transaction_status != TransactionStatus.IDLE:
                held.connection.execute("ROLLBACK")  # an interrupt came between BEGIN and what follows it
            try:
                cursor = held.connection.execute(text)
            except psycopg.Error:
                if not held.connection.closed:
                    held.connection.execute("ROLLBACK")  # or this thread could not even read
                raise
            while cursor.nextset():
                pass
            row = cursor.fetchone()
            return held, int(str(row[0])) if row and row[0] is not None else 0

        with self.translated():
            return self._again(begin)

    def _again(self, work: Callable[[HeldConnection], T]) -> T:
        held = self.held()
        try:
            return work(held)
        except psycopg.OperationalError as error:
            gone = held.connection.closed or isinstance(error, refusals.AdminShutdown | refusals.CrashShutdown)
            if held.depth or not gone:
                raise
            held.connection.close()
        return work(self.held())

    def close(self) -> None:
        self._closed = True
        for reference in self._open:
            held = reference()
            if held is not None:
                held.close()

    @contextmanager
    def translated(self) -> Generator[None]:
        """Errors of the driver as ours, said without the password."""
        try:
            yield
        except psycopg.Error as error:
            said = " ".join(without_secrets(str(error), self.url).split())
            raise _explained(self.shown, error, said) from _stripped(error, said)


def _answered(held: HeldConnection, text: str, values: Sequence[object]) -> list[Any]:
    held.send()  # or the answer would not know of it
    return held.connection.execute(text, values).fetchall()


class _Bit(IntDumper):
    """A switch is kept as 0 or 1, which can be summed and compared as in SQLite."""

    def dump(self, obj: object) -> bytes:
        return b"1" if obj else b"0"


def _read(url: str) -> dict[str, object]:
    """Read what the driver is told. Raises UsageError, which quotes nothing: a misread address may hold the password in
    any of its parts."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        given = {}
    if not given or url.partition("://")[0] not in SCHEMES:
        raise UsageError(
            "database_url is no address of a Postgres database; write postgresql://USER:PASSWORD@HOST/DATABASE, "
            "with special characters of the password percent-encoded"
        ) from None
    options = f"{_OPTIONS} {given.get('options') or ''}".rstrip()
    return {**_DEFAULTS, **given, "options": options, "client_encoding": "utf8"}


def _stripped(error: psycopg.Error, said: str) -> psycopg.Error | None:
    """The cause to chain, unless printing it would tell what was taken out."""
    return error if said == " ".join(str(error).split()) else None


_JOURNAL = "nothing is lost: what is recorded waits in the journal and is stored once it replies"
_REMEDIES: tuple[tuple[type[psycopg.Error], str], ...] = (
    (refusals.InvalidPassword, "it refused the password: correct the address, or ~/.pgpass"),
    (refusals.InvalidAuthorizationSpecification, "it refused the user: correct the address, or pg_hba.conf"),
    (refusals.InvalidCatalogName, "there is no such database: make it with `createdb`"),
    (refusals.InvalidSchemaName, "there is no such schema: make it with CREATE SCHEMA, or correct the address"),
    (refusals.InsufficientPrivilege, "the user may not do that: GRANT CREATE, USAGE ON SCHEMA public TO that user"),
    (refusals.TooManyConnections, "it takes no more connections: raise max_connections, or end some clients"),
    (refusals.ReadOnlySqlTransaction, "it is a read-only standby: give the address of the primary"),
    (refusals.DiskFull, f"its disk is full: free some space; {_JOURNAL}"),
    (refusals.LockNotAvailable, "another writer has held it for too long: wait or end that process, then try again"),
    (refusals.QueryCanceled, "the question took too long: narrow it, or raise statement_timeout in the address"),
    (refusals.CannotConnectNow, f"it is starting or stopping: try again in a moment; {_JOURNAL}"),
    (refusals.AdminShutdown, f"it was stopped while it was asked: try again in a moment; {_JOURNAL}"),
    (refusals.CrashShutdown, f"it broke down while it was asked: look at its log; {_JOURNAL}"),
    (refusals.IdleInTransactionSessionTimeout, "this process stood still for too long: nothing was written; try again"),
    (refusals.UndefinedTable, "its tables are gone: restore them, or `ratchet migrate` into an empty database"),
    (refusals.TransactionRollback, "another writer was in the way: nothing was written; try again"),
)
"""What the server says -> what to tell a person."""

_SAID = (
    ("password authentication failed", "it refused the password: correct the address, or ~/.pgpass"),
    ("no password supplied", "it wants a password: put one into the address, or into ~/.pgpass"),
    ("no pg_hba.conf entry", "it refuses this machine or user: see its pg_hba.conf"),
    ("does not exist", "it has no such database or user: make it with `createdb`, or correct the address"),
    ("too many clients", "it takes no more connections: raise max_connections, or end some clients"),
    ("starting up", f"it is starting: try again in a moment; {_JOURNAL}"),
    ("shutting down", f"it is stopping: try again in a moment; {_JOURNAL}"),
)
"""While a connection is made the driver says by text alone what went wrong."""


def _explained(shown: str, error: psycopg.Error, said: str) -> StoreError | UsageError:
    """Say what went wrong and what to do about it, for a person."""
    if isinstance(error, psycopg.IntegrityError | psycopg.DataError | refusals.ProgramLimitExceeded):
        return UsageError(f"this row cannot be stored in {shown}: {said}; give a value that the column takes")
    for sign, remedy in _REMEDIES:
        if isinstance(error, sign):
            return StoreError(f"{shown}: {remedy} ({said})")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        for words, remedy in _SAID:
            if words in said:
                return StoreError(f"{shown}: {remedy} ({said})")
        return StoreError(f"{shown}: the database is down or cannot be reached: start it; {_JOURNAL} ({said})")
    return StoreError(f"{shown}: the database failed ({said}); see `ratchet doctor`")
