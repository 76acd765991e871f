"""The declared tables in a Postgres database: laid out and brought up to date in one transaction, under one lock.

A schema is ours when it holds the table `ratchet_layout` with the version of the declarations. A version is never taken
back: an older Ratchet refuses a newer store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ratchet.errors import StoreError
from ratchet.store import postgres_terms
from ratchet.store.declaring import Column, Table
from ratchet.store.migration_steps import PLAN, Migrating, Step, take_steps
from ratchet.store.schema import TABLES, VERSION
from ratchet.store.search import terms_of, words_of
from ratchet.store.sql import POSTGRES, quoted

if TYPE_CHECKING:
    from ratchet.store.postgres_connections import Connection

LOCK = 0x52746368
"""What every writer of this database waits for; the second half of its key is the schema's."""
BEGIN = (
    "BEGIN ISOLATION LEVEL READ COMMITTED; "
    f"SELECT pg_advisory_xact_lock({LOCK}, hashtext(current_schema())); SAVEPOINT begun"
)
"""Starts every transaction: as SQLite's BEGIN IMMEDIATE, it waits for other writers and then sees the newest state. The
savepoint lets a first write that is refused be tried in another way, and saves it a journey of its own."""

_SQL_TYPES = {"text": 'text COLLATE "C"', "int": "bigint", "real": "double precision", "bool": "smallint"}
_MARK = "ratchet_layout"
ASK_LAYOUT = f"SELECT max(version) FROM {_MARK}"
_ROW_NUMBER = '"rowid_" bigint GENERATED ALWAYS AS IDENTITY UNIQUE'


def migrate(
    connection: Connection,
    shown: str,
    *,
    tables: Iterable[Table] = TABLES.values(),
    version: int = VERSION,
    plan: Mapping[int, Step] = PLAN,
) -> None:
    """Bring the database to `version`: all or nothing, and nothing when it is there already.

    Raises StoreError when the tables are another program's or were written by a newer Ratchet; `shown` names the
    database in it.
    """
    tables = tuple(tables)
    if _found(connection, shown, tables, version) == version:
        return
    connection.execute(BEGIN)
    try:
        # Read again: another process may have migrated while this one waited for the lock.
        found = _found(connection, shown, tables, version)
        if found < version:
            for table in tables:
                _lay_out(connection, table)
            take_steps(_migrating(connection), found, version, plan)
            connection.execute(f"CREATE TABLE IF NOT EXISTS {_MARK} (version integer NOT NULL)")
            connection.execute(f"DELETE FROM {_MARK}")
            connection.execute(f"INSERT INTO {_MARK} VALUES ({version:d})")
        connection.execute("COMMIT")
    except BaseException:
        if not connection.closed:
            connection.execute("ROLLBACK")
        raise


def _migrating(connection: Connection) -> Migrating:
    def key_anew(table: Table) -> None:
        connection.execute(f"ALTER TABLE {table.name} DROP CONSTRAINT {table.name}_pkey")
        connection.execute(f"ALTER TABLE {table.name} ADD PRIMARY KEY ({quoted(table.key)})")

    return Migrating(
        connection=connection,
        mark=POSTGRES.mark,
        field=lambda name: f"(body::json->>'{name}')",
        drop_words=lambda table: connection.execute(f"DROP TABLE IF EXISTS {table}_words"),
        key_anew=key_anew,
    )


def layout_of(connection: Connection, shown: str) -> int:
    """The version of the layout (0: none yet). Raises StoreError as `migrate`."""
    return _found(connection, shown, tuple(TABLES.values()), VERSION)


def _found(connection: Connection, shown: str, tables: tuple[Table, ...], version: int) -> int:
    """The version of the layout (0: none yet)."""
    held = _names(connection)
    if _MARK not in held:
        theirs = sorted(held.intersection(table.name for table in tables))
        if theirs:
            raise StoreError(
                f"{shown} holds {', '.join(theirs[:3])} of another program; give Ratchet a database of its own, or a "
                "schema of its own by ?options=-csearch_path%3DNAME at the end of the address"
            )
        return 0
    row = connection.execute(ASK_LAYOUT).fetchone()
    found = int(str(row[0])) if row and row[0] is not None else 0
    if found > version:
        raise StoreError(
            f"{shown} was written by a newer Ratchet (layout {found}, this one knows {version}); "
            "upgrade with: pip install --upgrade ratchet-ai"
        )
    return found


def _names(connection: Connection) -> set[str]:
    """Tables and indexes of the schema that is written to."""
    said = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(current_schema()))"
    return {str(row[0]) for row in connection.execute(said)}


def _lay_out(connection: Connection, table: Table) -> None:
    """Create what is declared and missing of one table."""
    names = _names(connection)
    if table.name not in names:
        connection.execute(_create(table))
        if table.swappable and table.body:
            # Written again and again: packing 10 kB each time costs the server twice what all else of a batch does.
            connection.execute(f'ALTER TABLE "{table.name}" ALTER COLUMN "body" SET STORAGE EXTERNAL')
    else:
        said = f"SELECT attname FROM pg_attribute WHERE attrelid = '\"{table.name}\"'::regclass AND attnum > 0"
        held = {row[0] for row in connection.execute(said)}
        for column in table.columns:
            if column.name not in held:
                connection.execute(f'ALTER TABLE "{table.name}" ADD COLUMN {_declared(column)}')
        if _numbered(table) and "rowid_" not in held:
            connection.execute(f'ALTER TABLE "{table.name}" ADD COLUMN {_ROW_NUMBER}')
    for index in table.indexes:
        name = index.name_on(table)
        if name not in names:
            # NULL first, as every order has it; columns of the key are never NULL.
            columns = ", ".join(
                f'"{column}"' if column in table.key else f'"{column}" NULLS FIRST' for column in index.columns
            )
            only = f' WHERE "{index.where}" IS NOT NULL' if index.where else ""
            connection.execute(f'CREATE INDEX "{name}" ON "{table.name}" ({columns}){only}')
    if table.words and words_of(table) not in names:
        connection.execute(postgres_terms.words_index(table))
    if table.terms and terms_of(table) not in names:
        for statement in postgres_terms.create(table):
            connection.execute(statement)


def _numbered(table: Table) -> bool:
    """Tell whether a search names the rows of a table, or orders them as they were written."""
    return bool(table.terms or table.words)


def _create(table: Table) -> str:
    columns = [_declared(c) + (" NOT NULL" if c.required or c.name in table.key else "") for c in table.columns]
    if table.body:
        columns.append('"body" text')
    if _numbered(table):
        columns.insert(0, _ROW_NUMBER)
    return f'CREATE TABLE "{table.name}" ({", ".join(columns)}, PRIMARY KEY ({quoted(table.key)}))'


def _declared(column: Column) -> str:
    return f'"{column.name}" {_SQL_TYPES[column.type]}'
