"""From an older layout of the database to the present one, in a single transaction.

`migration_steps.PLAN` says what each version changed that declarations alone do not: tables, columns, indexes and word
indexes that are declared and missing are added by themselves. A version is never taken back: an older Ratchet refuses a
newer store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ratchet.errors import StoreError
from ratchet.store import search
from ratchet.store.schema import TABLES, VERSION
from ratchet.store.sql import quoted

if TYPE_CHECKING:
    from ratchet.store.declaring import Column, Table
    from ratchet.store.migration_steps import Migrating, Step

APPLICATION_ID = 0x52746368  # "Rtch": tells a store of ours from any other SQLite file

_SQL_TYPES = {"text": "TEXT", "int": "INTEGER", "real": "REAL", "bool": "INTEGER"}


def migrate(
    connection: sqlite3.Connection,
    path: str,
    *,
    tables: Iterable[Table] = TABLES.values(),
    version: int = VERSION,
    plan: Mapping[int, Step] | None = None,
) -> None:
    """Bring the database at `path` to `version`: all or nothing, and nothing when it is there already.

    Raises StoreError when the file is another program's or was written by a newer Ratchet.
    """
    if _found(connection, path, version) == version:
        return
    from ratchet.store.migration_steps import PLAN, take_steps

    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again: another process may have migrated while this one waited for the lock.
        found = _found(connection, path, version)
        if found < version:
            for table in tables:
                _lay_out(connection, table)
            take_steps(_migrating(connection), found, version, PLAN if plan is None else plan)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _migrating(connection: sqlite3.Connection) -> Migrating:
    from ratchet.store.migration_steps import Migrating

    def drop_words(table: str) -> None:
        for end in ("in", "out", "new"):
            connection.execute(f'DROP TRIGGER IF EXISTS "{table}_words_{end}"')
        connection.execute(f'DROP TABLE IF EXISTS "{table}_words"')

    def key_anew(table: Table) -> None:
        names = quoted([column.name for column in table.columns])
        connection.execute(f'ALTER TABLE "{table.name}" RENAME TO "{table.name}_before"')
        for index in table.indexes:
            connection.execute(f'DROP INDEX IF EXISTS "{index.name_on(table)}"')
        _lay_out(connection, table)
        connection.execute(f'INSERT INTO "{table.name}" ({names}) SELECT {names} FROM "{table.name}_before"')
        connection.execute(f'DROP TABLE "{table.name}_before"')

    return Migrating(
        connection=connection,
        mark="?",
        field=lambda name: f"json_extract(body, '$.{name}')",
        drop_words=drop_words,
        key_anew=key_anew,
    )


def check(connection: sqlite3.Connection, path: str, *, version: int = VERSION) -> None:
    """Raise StoreError unless the database can be read as it stands: for a store that may not be changed."""
    found = _found(connection, path, version)
    if found < version:
        raise StoreError(
            f"{path} has the layout of an older Ratchet ({found}, this one reads {version}) and is read-only here; "
            "give write access to the file and its folder once, so that it is brought up to date"
        )


def need_layout(connection: sqlite3.Connection, path: str, *, version: int = VERSION) -> None:
    """Raise StoreError when the database has another layout by now. Call it in each transaction that writes: code that
    does not know a layout leaves out what it keeps, and nobody would notice."""
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found != version:
        raise moved_on(path, found, version)


def moved_on(shown: str, found: int, version: int) -> StoreError:
    """Make the error of a process whose store was brought to another layout while it was open."""
    return StoreError(
        f"{shown} was brought to layout {found} while this process was open, which knows {version}: nothing was "
        "written; restart it with the Ratchet that is installed now (what it recorded waits in the journal)"
    )


def _found(connection: sqlite3.Connection, path: str, version: int) -> int:
    """The version of the database (0: empty)."""
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    if not ours and connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
        raise StoreError(f"{path} is a database of another program; choose another home (--home or RATCHET_HOME)")
    if found > version:
        raise StoreError(
            f"{path} was written by a newer Ratchet (layout {found}, this one knows {version}); "
            "upgrade with: pip install --upgrade ratchet-ai"
        )
    return found


def _lay_out(connection: sqlite3.Connection, table: Table) -> None:
    """Create what is declared and missing of one table."""
    held = {row[1] for row in connection.execute(f'PRAGMA table_info("{table.name}")')}
    if not held:
        connection.execute(_create(table))
    else:
        for column in table.columns:
            if column.name not in held:
                connection.execute(f'ALTER TABLE "{table.name}" ADD COLUMN {_declared(column)}')
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    for index in table.indexes:
        name = index.name_on(table)
        if name not in names:
            columns = quoted(index.columns)
            only = f' WHERE "{index.where}" IS NOT NULL' if index.where else ""
            connection.execute(f'CREATE INDEX "{name}" ON "{table.name}" ({columns}){only}')
    if table.words and search.words_of(table) not in names:
        for statement in search.create_words(table):
            connection.execute(statement)
    if table.terms and search.terms_of(table) not in names:
        for statement in search.create(table):
            connection.execute(statement)


def _create(table: Table) -> str:
    columns = [_declared(c) + (" NOT NULL" if c.required or c.name in table.key else "") for c in table.columns]
    if table.body:
        columns.append('"body" TEXT')
    key = quoted(table.key)
    if table.clustered:
        columns.append(f"PRIMARY KEY ({key})")
        return f'CREATE TABLE "{table.name}" ({", ".join(columns)}) WITHOUT ROWID'
    # A named row number survives VACUUM, which the word index relies on.
    columns = ["rowid_ INTEGER PRIMARY KEY", *columns, f"UNIQUE ({key})"]
    return f'CREATE TABLE "{table.name}" ({", ".join(columns)})'


def _declared(column: Column) -> str:
    return f'"{column.name}" {_SQL_TYPES[column.type]}'
