"""The default store: one SQLite file, no server. Long, since what makes, opens and guards that file is read together.

Measured on 2 cores: 638,000 batched rows a CPU second. A transaction that begins deferred and reads before it writes
failed "database is locked" in 706 of 2,000 cases in spite of a 30 s timeout; hence every one begins immediate.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

from ratchet.errors import StoreError, UsageError
from ratchet.ids import uuid7
from ratchet.store import rows as codec
from ratchet.store import search, sql
from ratchet.store.listening import Polling
from ratchet.store.migrations import check, migrate, need_layout
from ratchet.store.schema import TABLES, table_of
from ratchet.store.sql_store import SqlStore

if TYPE_CHECKING:
    from ratchet.ports import Changes, Where
    from ratchet.records import Json, Row
    from ratchet.store.declaring import Table

BUSY_TIMEOUT_S = 30.0
"""How long a writer waits for another one; a drain's batch takes milliseconds."""

_CACHE_KIB = 16_384  # the id index of a million rows is written at random places: SQLite's 2 MB would thrash
_CHECKPOINT_PAGES = 4_000
_PARAMETERS = 999  # of one statement: SQLite's oldest limit
_ORDERED = 4  # times as many rows as a search is to give are put in order first

_inherited: list[sqlite3.Connection] = []
"""Connections of a parent process: a child must neither use nor close them (sqlite.org/howtocorrupt.html, 2.6)."""


class _Held:
    """One thread's connection. Closed when the thread ends or the store is closed, whichever comes first."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *, readonly: bool) -> None:
        self.connection = connection
        self.readonly = readonly
        about = path.stat()
        self.file = (about.st_dev, about.st_ino)
        self.pid = os.getpid()
        self.depth = 0

    def close(self) -> None:
        if self.pid == os.getpid():
            self.connection.close()
        else:
            _inherited.append(self.connection)

    __del__ = close


class SqliteStore(SqlStore):
    """`ports.Store` in one file, for any number of threads and processes.

    The file is created with mode 0600, its folder with 0700. Each thread has its own connection, and a forked child
    opens its own. With `readonly` (or a file that may not be written, or a full disk) reads work and writes raise
    StoreError.
    Raises StoreError when the path cannot be opened, is no store, or is a newer Ratchet's; nothing is then changed.
    """

    dialect = sql.SQLITE

    def __init__(self, path: str | os.PathLike[str], *, readonly: bool = False) -> None:
        self.path = Path(path)
        self._local = threading.local()
        self._open: list[ref[_Held]] = []  # without a lock, since one that is held at a fork stays locked in the child
        self._closed = False
        self._full_bytes: int | None = None  # free on the disk when it was found full
        with self._translated():
            self._asked_readonly = readonly or not _writable(self.path)
        try:
            self._held()
        except StoreError:
            if not self.readonly:
                raise
            self._held()  # as it stands on a full disk

    @property
    def readonly(self) -> bool:
        """Tell whether nothing can be written: as it was opened, or while its disk has no more room than when a write
        found it full."""
        if self._full_bytes is not None:
            from ratchet.store.sqlite_faults import ROOM_BYTES, free_bytes

            if free_bytes(self.path) > self._full_bytes + ROOM_BYTES:
                self._full_bytes = None
        return self._asked_readonly or self._full_bytes is not None

    # -- verbs ---------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Generator[None]:
        """All or nothing, immediate. Nested use joins the outer one: only what leaves the outermost undoes anything.

        Raises StoreError when the store is read-only.
        """
        held = self._held()
        if held.depth:
            held.depth += 1
            try:
                yield
            finally:
                held.depth -= 1
            return
        if self.readonly:
            if self._full_bytes is not None:
                from ratchet.store.sqlite_faults import FULL

                raise StoreError(f"{self.path}: {FULL}")
            raise StoreError(
                f"{self.path} is read-only: nothing was written; give write access to the file and its folder"
            )
        run = held.connection.execute
        with self._translated():
            self._need_file(held)
            if held.connection.in_transaction:  # an interrupt came between BEGIN and the line below it
                run("ROLLBACK")
            run("BEGIN IMMEDIATE")
        held.depth = 1
        try:
            with self._translated():
                need_layout(held.connection, str(self.path))
            yield
            with self._translated():
                run("COMMIT")
        except BaseException:
            if held.connection.in_transaction:
                # The error that led here is the one to report; a failing rollback leaves nothing committed either.
                with suppress(sqlite3.Error):
                    run("ROLLBACK")
            raise
        finally:
            held.depth = 0

    def _insert_new(self, table: Table, rows: Sequence[Row]) -> list[int]:
        with self._writing() as run:
            before = run.execute(f'SELECT COALESCE(MAX(rowid_), 0) FROM "{table.name}"').fetchone()[0]
            if self._write_many(table, rows) == len(rows):
                return list(range(len(rows)))
            found = run.execute(f'SELECT {sql.quoted(table.key)} FROM "{table.name}" WHERE rowid_ > ?', (before,))
            fresh = set(found.fetchall())
        return _first_positions(table, rows, fresh)

    def _add(self, table: Table, rows: Sequence[Row]) -> None:
        with self._writing():
            self._write_many(table, rows, adding=True)

    def _weighed(self, table: Table, weights: Mapping[str, float], where: Where | None, limit: int) -> list[Any]:
        few = _ORDERED * max(limit, 1)  # to put all in order takes a quarter of a search, and nearly all meet `where`
        found = self._read(*search.weigh(table, weights, where, limit, ordered=few))
        return found if len(found) >= limit else self._read(*search.weigh(table, weights, where, limit))

    def _having(
        self, table: Table, words: Sequence[str], without: Sequence[str], where: Where | None, limit: int
    ) -> tuple[str, list[Json]]:
        return search.having(table, words, without, where, limit)

    def swap(self, table: str, key: str | tuple[str, ...], revision: int, row: Row) -> bool:
        """Compare-and-set of a whole row: fields that `row` lacks are gone afterwards, its key is `key`."""
        declared = table_of(table)
        whole = codec.swapped(declared, key, revision, row)
        with self._writing() as run:
            if revision == 0:
                return self._write_many(declared, [whole]) == 1
            plain = codec.storable(declared, codec.values_of(declared, whole))
            named = codec.key_values(declared, key)
            return run.execute(sql.update_at_revision(declared), [*plain, *named, revision]).rowcount == 1

    def swap_many(self, table: str, rows: Sequence[Row]) -> int:
        """`swap` for many rows in one transaction; those that are new are one batch."""
        declared = table_of(table)
        named = [(codec.key_of(declared, row), codec.revision_of(row), row) for row in rows]
        new = [codec.swapped(declared, key, 0, row) for key, revision, row in named if not revision]
        with self._writing():
            done = self._write_many(declared, new) if new else 0
            return done + sum(self.swap(table, key, revision, row) for key, revision, row in named if revision)

    def compact(self) -> None:
        with self._translated():
            for text in (*search.optimized(TABLES.values()), "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                self._held().connection.execute(text)

    def changes(self) -> Changes:
        """Tells when anybody writes to the file."""
        with self._translated():
            return Polling(lambda: _connect_readonly(self.path))

    def close(self) -> None:
        """Close the connections of all threads. Safe to call twice; any later use raises StoreError."""
        self._closed = True
        for reference in self._open:
            held = reference()
            if held is not None:
                held.close()

    # -- connections ---------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self.transaction(), self._translated():
            yield self._held().connection

    def _held(self) -> _Held:
        """This thread's connection, opened by its first use in this process."""
        if self._closed:
            raise StoreError(f"the store {self.path} is closed; open a new one")
        held: _Held | None = getattr(self._local, "held", None)
        if held is None or held.pid != os.getpid() or (held.readonly and not self.readonly):
            with self._translated():
                readonly = self.readonly
                connection = _connect(self.path, readonly=readonly)
                held = self._local.held = _Held(connection, self.path, readonly=readonly)
            self._open = [*(known for known in self._open if known() is not None), ref(held)]
        return held

    def _need_file(self, held: _Held) -> None:
        """Raise StoreError when the file is no longer the opened one: SQLite would write where nobody reads."""
        try:
            about = os.stat(self.path)  # noqa: PTH116  (on each transaction)
        except FileNotFoundError:
            about = None
        if about is None or (about.st_dev, about.st_ino) != held.file:
            what = "removed" if about is None else "replaced"
            raise StoreError(
                f"{self.path} was {what} while it was in use: nothing was written; restart this process to go on with "
                "what is there now"
            )

    def _read(self, text: str, values: Sequence[Json]) -> list[Any]:
        """All rows that a query finds. A value that SQLite refuses is looked for as it would have been stored."""
        with self._translated():
            run = self._held().connection.execute
            try:
                return run(text, values).fetchall()
            except (UnicodeEncodeError, OverflowError):
                return run(text, [codec.plain(value) for value in values]).fetchall()

    def _write_many(self, table: Table, rows: Sequence[Row], *, adding: bool = False) -> int:
        """Insert rows, or add them; the number of rows changed. A batch that SQLite refuses for a value is cleaned."""
        connection = self._held().connection
        text = sql.upsert(table) if adding else sql.insert(table)
        connection.execute("SAVEPOINT batch")
        try:
            if table.terms or table.words:
                changed = _insert_together(connection, table, rows)
            else:  # one row at a time: a batch's values never live at once, half the collector's work of a batch
                changed = connection.executemany(text, map(partial(codec.values_of, table), rows)).rowcount
        except (UnicodeEncodeError, OverflowError, sqlite3.InterfaceError, sqlite3.ProgrammingError):
            connection.execute("ROLLBACK TO batch")
            clean = [codec.storable(table, codec.values_of(table, row)) for row in rows]
            changed = connection.executemany(text, clean).rowcount
        connection.execute("RELEASE batch")
        return changed

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise UsageError(f"this row cannot be stored in {self.path}: {error}; give the missing field") from error
        except (sqlite3.Error, OSError) as error:
            from ratchet.store.sqlite_faults import explained, found_full

            free = found_full(self.path, error)
            self._full_bytes = self._full_bytes if free is None else free
            raise explained(self.path, error) from error


def _insert_together(connection: sqlite3.Connection, table: Table, rows: Sequence[Row]) -> int:
    """Insert rows that a full-text index is kept of, many by one statement: before each statement the index is written
    out as it stands, which for each row took most of the time. The number of rows inserted."""
    most = _PARAMETERS // len(codec.column_names(table))
    changed = at = 0
    while at < len(rows):
        count = 1 << (min(most, len(rows) - at).bit_length() - 1)  # few lengths: their statements stay prepared
        values = chain.from_iterable(codec.values_of(table, row) for row in rows[at : at + count])
        changed += connection.execute(sql.insert(table, rows=count), [*values]).rowcount
        at += count
    return changed


def _first_positions(table: Table, rows: Sequence[Row], fresh: set[tuple[Json, ...]]) -> list[int]:
    positions = []
    for position, row in enumerate(rows):
        key = tuple(row.get(name) for name in table.key)
        if key in fresh:
            fresh.remove(key)
            positions.append(position)
    return positions


def _writable(path: Path) -> bool:
    return not path.exists() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _connect(path: Path, *, readonly: bool) -> sqlite3.Connection:
    if path.exists() and not path.is_file():  # SQLite would wait for the other end of a pipe
        raise StoreError(f"{path} is no regular file; remove it or choose another home (--home or RATCHET_HOME)")
    if readonly:
        return _connect_readonly(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        _make(Path(os.path.realpath(path)))
    elif not path.stat().st_size and not _has_log(path):
        raise StoreError(
            f"{path} is empty, which no store ever is: something has emptied it; put a copy back in its place, or "
            "remove it to begin anew"
        )
    if path.stat().st_mode & 0o077:
        with suppress(PermissionError):  # another user's file, whose mode is theirs to choose
            path.chmod(0o600)
    return _opened(path)


def _make(path: Path) -> None:
    """Make a store beside its place and put it there whole, so that no crash leaves an empty one; of two that are made
    at once, one stays."""
    fresh = path.with_name(f".{path.name}.{uuid7()}")
    # Created here and not by SQLite, whose default mode would let others read; its companion files copy the mode.
    file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "wb") as held:
            held.write(_empty())
            held.flush()
            os.fsync(file)
        try:
            os.link(fresh, path)
        except FileExistsError:
            return
        except OSError:  # a disk without links
            if not path.exists():
                fresh.rename(path)
    finally:
        fresh.unlink(missing_ok=True)


@cache  # to lay out some 60 tables takes ten times as long as to write them down
def _empty() -> bytes:
    """The file of a store in which nothing is."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, ":memory:")
        laid_out = bytearray(connection.serialize())
    laid_out[18:20] = b"\2\2"  # written and read with a log (WAL): https://sqlite.org/fileformat.html, 1.3.3
    return bytes(laid_out)


def _has_log(path: Path) -> bool:
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        connection.execute("PRAGMA temp_store = MEMORY")
        migrate(connection, str(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switching a fresh file to WAL does not wait for a lock, so two first starts at once need a second try."""
    give_up = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


def _connect_readonly(path: Path) -> sqlite3.Connection:
    """Open without writing. In a folder that may not be written SQLite cannot share memory with a writer; the file is
    then read as it stands, which is right as long as no write-ahead log lies beside it."""
    where = path.absolute().as_uri()
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        connection = sqlite3.connect(
            f"{where}?{mode}", uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            check(connection, str(path))
        except sqlite3.OperationalError:
            connection.close()
            if "immutable" in mode or _has_log(path):
                raise
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise AssertionError("the second mode either returns or raises")
