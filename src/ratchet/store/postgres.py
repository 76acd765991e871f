"""The store of a team: Postgres, for any number of machines that write at once.

As in SQLite, transactions that write come one after the other: each begins by waiting for one lock of the database
(`postgres_layout.BEGIN`), so that it sees the newest state, and nothing in it can fail because of another writer.
Readers never wait. Large batches travel as COPY; only one that meets a known key is looked through first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from typing import Any

import psycopg

from ratchet.errors import StoreError
from ratchet.ports import Changes, Where
from ratchet.records import Json, Row
from ratchet.store import postgres_batches as batches
from ratchet.store import postgres_terms, sql
from ratchet.store import rows as codec
from ratchet.store.declaring import Table
from ratchet.store.listening import CHANNEL, Listening
from ratchet.store.migrations import moved_on
from ratchet.store.postgres_connections import OLDEST, Connection, Connections, HeldConnection
from ratchet.store.postgres_layout import ASK_LAYOUT, BEGIN, layout_of, migrate
from ratchet.store.postgres_values import asked, fitted, fitted_where, values_of
from ratchet.store.schema import TABLES, VERSION, table_of
from ratchet.store.sql import POSTGRES
from ratchet.store.sql_store import SqlStore

_BATCH_ROWS = 16  # fewer are quicker one by one than by COPY with its savepoint
_REFUSED = (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError, UnicodeEncodeError, OverflowError)


class PostgresStore(SqlStore):
    """`ports.Store` in the Postgres database of `url`, for any number of threads, processes and machines.

    Each thread has its own connection, and a forked child opens its own; one that was lost is opened again. Messages
    name the database without its password. Raises UsageError for an address that cannot be read, StoreError when the
    database cannot be reached, is another program's or a newer Ratchet's; nothing is then changed.
    """

    dialect = POSTGRES

    def __init__(self, url: str) -> None:
        self._known = False
        self._connections = Connections(url, self._opened)
        self.shown = self._connections.shown
        self._connections.held()

    def __repr__(self) -> str:
        return f"PostgresStore({self.shown!r})"

    # -- verbs ---------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Generator[None]:
        """All or nothing, one writer at a time. Nested use joins the outer one: only what leaves the outermost undoes
        anything. Raises StoreError when the database is down, or another writer holds it for more than 30 s."""
        held = self._connections.held()
        if held.depth:
            held.depth += 1
            try:
                yield
            finally:
                held.depth -= 1
            return
        held, layout = self._connections.begin(f"{BEGIN}; {ASK_LAYOUT}")
        held.depth, held.wrote = 1, False
        try:
            if layout != VERSION:
                raise moved_on(self.shown, layout, VERSION)
            yield
            with self._connections.translated():
                held.send(*((f"NOTIFY {CHANNEL}",) if held.wrote else ()), "COMMIT")
        except BaseException:
            # The error that led here is the one to report; a lost connection leaves nothing committed either.
            with suppress(psycopg.Error):
                held.connection.execute("ROLLBACK")
            raise
        finally:
            held.depth, held.waiting = 0, []

    @contextmanager
    def _writing(self) -> Generator[Connection]:
        with self._changing() as held:
            yield held.connection

    @contextmanager
    def _changing(self, *, waits: bool = False) -> Generator[HeldConnection]:
        """This thread's connection in a transaction; what waits was sent before, unless this `waits` itself."""
        with self.transaction(), self._connections.translated():
            held = self._connections.held()
            if not waits:
                held.send()
            yield held
            held.wrote = True

    def _insert_new(self, table: Table, rows: Sequence[Row]) -> list[int]:
        with self._changing() as held:
            connection = held.connection
            if len(rows) < _BATCH_ROWS:
                return [at for at, row in enumerate(rows) if _insert(connection, table, row)]
            if _attempt(held, lambda: _copy(connection, table, rows)):
                return list(range(len(rows)))
            return _insert_unknown(connection, table, rows)

    def _add(self, table: Table, rows: Sequence[Row]) -> None:
        texts = batches.texts_of(table, rows) if len(rows) > 1 else None
        one = sql.upsert(table, POSTGRES)
        with self._changing(waits=True) as held:
            if texts is not None:
                held.waiting.append((batches.upsert(table), texts))
            else:
                held.waiting += [(one, fitted(table, row)) for row in rows]

    def swap(self, table: str, key: str | tuple[str, ...], revision: int, row: Row) -> bool:
        """Compare-and-set of a whole row: fields that `row` lacks are gone afterwards, its key is `key`."""
        declared = table_of(table)
        whole = codec.swapped(declared, key, revision, row)
        with self._writing() as connection:
            if revision == 0:
                return _insert(connection, declared, whole)
            statement = sql.update_at_revision(declared, POSTGRES)
            values = [*fitted(declared, whole), *_asked_key(declared, key), revision]
            return connection.execute(statement, values).rowcount == 1

    def swap_many(self, table: str, rows: Sequence[Row]) -> int:
        """`swap` for many rows, sent together."""
        declared = table_of(table)
        if not declared.swappable:
            return sum(self.swap(table, codec.key_of(declared, row), codec.revision_of(row), row) for row in rows)
        new = [fitted(declared, {**row, "revision": 1}) for row in rows if not codec.revision_of(row)]
        known = [row for row in rows if codec.revision_of(row)]
        written = 0
        with self._writing() as connection, connection.cursor() as cursor:
            if new:
                cursor.executemany(sql.insert(declared, POSTGRES), new)
                written += cursor.rowcount
            texts = batches.texts_of(declared, known) if known else None
            if texts is not None:
                written += connection.execute(batches.swap(declared), texts).rowcount
            elif known:
                cursor.executemany(sql.update_at_revision(declared, POSTGRES), _swaps(declared, known))
                written += cursor.rowcount
        return written

    def compact(self) -> None:
        """Let the server reuse the space, without a lock that anybody would wait for; it gives back what lies at the
        end of its files."""
        with self._connections.translated(), closing(self._connections.connect()) as connection:
            connection.execute("SET statement_timeout = 0")
            for table in TABLES:
                connection.execute(f'VACUUM (ANALYZE) "{table}"')

    def changes(self) -> Changes:
        """Tells when anybody writes, by LISTEN on a connection of its own."""
        return Listening(self._connections)

    def close(self) -> None:
        """Close the connections of all threads. Safe to call twice; any later use raises StoreError."""
        self._connections.close()

    # -- the rest ------------------------------------------------------------------------------------------------

    def _read(self, text: str, values: Sequence[Json]) -> list[Any]:
        return self._connections.ask(text, values)

    def _weighed(self, table: Table, weights: Mapping[str, float], where: Where | None, limit: int) -> list[Any]:
        return self._read(*postgres_terms.weigh(table, weights, where, limit))

    def _having(
        self, table: Table, words: Sequence[str], without: Sequence[str], where: Where | None, limit: int
    ) -> tuple[str, list[Json]]:
        return postgres_terms.having(table, words, without, where, limit)

    def _fitted_where(self, table: Table, where: Where | None) -> Where | None:
        return fitted_where(table, where)

    def _fitted_key(self, table: Table, key: str | tuple[str, ...]) -> list[Json]:
        return _asked_key(table, key)

    def _fitted_after(self, table: Table, order: Sequence[tuple[str, bool]], after: Sequence[Json]) -> list[Json]:
        return [asked(table, table.by_name[name], value) for (name, _), value in zip(order, after, strict=True)]

    def _sums(self, found: list[Any]) -> Iterator[list[Any]]:
        return ([*map(_plain, held)] for held in found)

    def _opened(self, connection: Connection) -> None:
        """Look once at a database before it is used."""
        if self._known:
            return
        if connection.info.server_version < OLDEST:
            raise StoreError(
                f"{self._connections.shown} is Postgres {connection.info.server_version // 10_000}: use 13 up"
            )
        if connection.info.parameter_status("server_encoding") != "UTF8":
            raise StoreError(f"{self._connections.shown} is not in UTF8: make it with `createdb --encoding=UTF8`")
        migrate(connection, self._connections.shown)
        self._known = True


def _insert(connection: Connection, table: Table, row: Row) -> bool:
    return connection.execute(sql.insert(table, POSTGRES), fitted(table, row)).rowcount == 1


def _attempt(held: HeldConnection, work: Callable[[], None]) -> bool:
    """Tell whether `work` succeeded; what it did is undone if the database refused any of it."""
    savepoint = "batch" if held.wrote else "begun"
    if held.wrote:
        held.connection.execute("SAVEPOINT batch")
    try:
        work()
    except _REFUSED:
        held.connection.execute(f"ROLLBACK TO SAVEPOINT {savepoint}")
        return False
    return True


def _copy(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    lines = batches.lines_of(table, rows)
    if lines is None:
        _copy_values(connection, table, [values_of(table, row) for row in rows])
        return
    with connection.cursor() as cursor, cursor.copy(batches.copy(table)) as copy:
        copy.write(lines)


def _copy_values(connection: Connection, table: Table, rows: Sequence[Sequence[Json]]) -> None:
    statement = f'COPY "{table.name}" ({sql.quoted(codec.column_names(table))}) FROM STDIN'
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _insert_unknown(connection: Connection, table: Table, rows: Sequence[Row]) -> list[int]:
    """Insert a batch that holds a known key or a value to be fitted; return the positions of what was unknown. Nobody
    else writes meanwhile, so what is unknown when it is asked for is unknown when it is inserted."""
    places = [codec.column_names(table).index(name) for name in table.key]
    keys = [tuple(values[at] for at in places) for values in (fitted(table, row) for row in rows)]
    arrays = ", ".join(f"%s::{batches.ARRAYS[table.by_name[name].type]}" for name in table.key)
    named = sql.quoted(table.key)
    text = f'SELECT {named} FROM "{table.name}" JOIN unnest({arrays}) AS asked ({named}) USING ({named})'
    known = set(connection.execute(text, [list(column) for column in zip(*keys, strict=True)]).fetchall())
    fresh = []
    for position, key in enumerate(keys):
        if key not in known:
            known.add(key)
            fresh.append(position)
    if fresh:
        _copy_values(connection, table, [fitted(table, rows[position]) for position in fresh])
    return fresh


def _swaps(table: Table, rows: Sequence[Row]) -> list[list[Json]]:
    """The parameters of `sql.update_at_revision` for each row."""
    return [
        [*fitted(table, {**row, "revision": before + 1}), *_asked_key(table, codec.key_of(table, row)), before]
        for row, before in ((row, codec.revision_of(row)) for row in rows)
    ]


def _asked_key(table: Table, key: str | tuple[str, ...]) -> list[Json]:
    named = zip(table.key, codec.key_values(table, key), strict=True)
    return [asked(table, table.by_name[name], value) for name, value in named]


def _plain(value: Any) -> Any:
    """Sums of whole numbers come as decimals."""
    return int(value) if isinstance(value, Decimal) else value


def looked_at(url: str, table: str) -> tuple[str, int, int]:
    """(the server's version, the layout's version or 0, the rows of a table) of a database, which is left as it is.
    Raises StoreError, UsageError."""
    connections = Connections(url)
    with connections.translated(), closing(connections.connect()) as connection:
        layout = layout_of(connection, connections.shown)
        row = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone() if layout else None
        return str(connection.info.parameter_status("server_version")), layout, int(str(row[0])) if row else 0
