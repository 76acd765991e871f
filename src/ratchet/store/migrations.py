"""From an older layout of the database to the present one, in a single transaction.

`PLAN` says what each version changed that declarations alone do not: tables, columns, indexes and word indexes that are
declared and missing are added by themselves. A version is never taken back: an older Ratchet refuses a newer store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ratchet.errors import StoreError
from ratchet.failures.health import EXCUSED
from ratchet.store import search
from ratchet.store.schema import TABLES, VERSION

if TYPE_CHECKING:
    from ratchet.store.declaring import Column, Table

APPLICATION_ID = 0x52746368  # "Rtch": tells a store of ours from any other SQLite file

Step: TypeAlias = "Callable[[sqlite3.Connection], None]"


def _mine_anew(connection: sqlite3.Connection) -> None:
    """Version 6: evidence is kept by finding and by project. What was mined before it is mined again from the outcomes;
    lessons that a person approved, and those that agents were handed, stay."""
    connection.execute("DELETE FROM resolutions")
    connection.execute(
        "DELETE FROM lessons WHERE json_extract(body, '$.provenance') LIKE 'mined from sessions%' AND uses = 0 "
        "AND NOT COALESCE(json_extract(body, '$.approved'), 0) "
        "AND (state <> 'retired' OR json_extract(body, '$.reason') LIKE 'it worked in %')"
    )
    connection.execute("UPDATE sessions SET pending = 1")


def _read_anew(connection: sqlite3.Connection) -> None:
    """Version 7: histories tell what people said; version 26: and of which answers they count the output only as it
    began. Their files are read again from the start: outcomes that are known stay as they are."""
    connection.execute("DELETE FROM cursors WHERE source IN ('claude-code', 'codex', 'messages')")


def _count_facts(connection: sqlite3.Connection) -> None:
    """Version 8: the facts of sessions are counted from what is there when they are mined again; version 25: how their
    failures ended, too; version 28: a chain's failure is that of the part which its output names."""
    connection.execute("UPDATE sessions SET pending = 1")


def _keep_texts(connection: sqlite3.Connection) -> None:
    """Version 9: the index of words goes, with the triggers that kept it; texts and terms take its place."""
    for end in ("in", "out", "new"):
        connection.execute(f'DROP TRIGGER IF EXISTS "lessons_words_{end}"')
    connection.execute('DROP TABLE IF EXISTS "lessons_words"')
    from ratchet.store.kept_texts import keep_texts

    keep_texts(connection, "?")


def _tell_sessions(connection: sqlite3.Connection) -> None:
    """Version 11: what there is of sessions is counted, and their histories are read again for tokens and places."""
    connection.execute('DROP INDEX IF EXISTS "outcomes_by_session"')
    connection.execute("UPDATE outcomes SET thread = json_extract(body, '$.thread') WHERE body LIKE '%\"thread\":%'")
    connection.execute(
        "INSERT INTO session_tallies (session, agent, project, model, calls, failures, excused, tokens, cost_usd, "
        "min_at, max_at) SELECT session, MAX(agent), MAX(project), MAX(json_extract(body, '$.model')), COUNT(*), "
        f"SUM(NOT ok AND kind NOT IN ({_EXCUSED})), SUM(NOT ok AND kind IN ({_EXCUSED})), "
        "SUM(COALESCE(json_extract(body, '$.tokens'), 0)), SUM(COALESCE(json_extract(body, '$.cost_usd'), 0)), "
        "MIN(started_at), MAX(started_at) FROM outcomes WHERE session IS NOT NULL AND source IS NOT 'ratchet-loop' "
        "GROUP BY session"
    )
    _read_anew(connection)


def _index_words(connection: sqlite3.Connection) -> None:
    """Version 14: everything is found by its words, and sessions are mined again for those of their steps."""
    from ratchet.store.kept_texts import keep_words

    keep_words(connection, "?")
    connection.execute("UPDATE sessions SET pending = 1")


_EXCUSED = ", ".join(f"'{kind}'" for kind in sorted(EXCUSED))


def _count_around(connection: sqlite3.Connection) -> None:
    """Version 12: facts are told apart by the circumstances of their steps, too. What is kept of sessions whose
    outcomes are gone stays as it is; the others are counted when they are mined again."""
    facts = TABLES["facts"]
    names = ", ".join(f'"{column.name}"' for column in facts.columns)
    connection.execute('UPDATE "facts" SET "around" = \'\' WHERE "around" IS NULL')
    connection.execute('ALTER TABLE "facts" RENAME TO "facts_before"')
    connection.execute('DROP INDEX IF EXISTS "facts_by_session_hour"')
    _lay_out(connection, facts)
    connection.execute(f'INSERT INTO "facts" ({names}) SELECT {names} FROM "facts_before"')
    connection.execute('DROP TABLE "facts_before"')
    connection.execute("UPDATE sessions SET pending = 1")


def _sum_up(connection: sqlite3.Connection) -> None:
    """Version 18: what pages read is summed up by day; version 24: a chain counts for its main command alone;
    version 27: so do the sessions that ran one."""
    from ratchet.store.sums import fill_sums

    fill_sums(connection, "?")


def _find_patterns(connection: sqlite3.Connection) -> None:
    """Version 20: patterns are found by the features of their texts, as lessons are."""
    from ratchet.store.kept_texts import keep_terms

    keep_terms(connection, "?")


def _count_steps(connection: sqlite3.Connection) -> None:
    """Version 22: a chain of commands is one step, and time in which a person was waited for is no tool's. Sessions are
    counted again when they are mined; until then what ran for its own sake is a step."""
    connection.execute("UPDATE facts SET steps = calls WHERE finding = '' AND around <> ''")
    _sum_up(connection)
    connection.execute("UPDATE sessions SET pending = 1")


def _cut_anew(connection: sqlite3.Connection) -> None:
    """Version 23: lessons are found by the features that their texts have today."""
    from ratchet.store.kept_texts import keep_features

    keep_features(connection, "?")


PLAN: Mapping[int, Step] = {
    6: _mine_anew,
    7: _read_anew,
    8: _count_facts,
    9: _keep_texts,
    11: _tell_sessions,
    12: _count_around,
    14: _index_words,
    18: _sum_up,
    20: _find_patterns,
    21: _read_anew,
    22: _count_steps,
    23: _cut_anew,
    24: _sum_up,
    25: _count_facts,
    26: _read_anew,
    27: _sum_up,
    28: _count_facts,
}
"""Version -> what to do with the rows of the version before, once the declared layout stands."""

_SQL_TYPES = {"text": "TEXT", "int": "INTEGER", "real": "REAL", "bool": "INTEGER"}


def migrate(
    connection: sqlite3.Connection,
    path: str,
    *,
    tables: Iterable[Table] = TABLES.values(),
    version: int = VERSION,
    plan: Mapping[int, Step] = PLAN,
) -> None:
    """Bring the database at `path` to `version`: all or nothing, and nothing when it is there already.

    Raises StoreError when the file is another program's or was written by a newer Ratchet.
    """
    if _found(connection, path, version) == version:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again: another process may have migrated while this one waited for the lock.
        found = _found(connection, path, version)
        if found < version:
            for table in tables:
                _lay_out(connection, table)
            for step in range(found + 1 if found else version + 1, version + 1):  # nothing stands in a new one
                if step in plan:
                    plan[step](connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


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
        name = f"{table.name}_by_{'_'.join(index.columns)}"
        if name not in names:
            columns = ", ".join(f'"{column}"' for column in index.columns)
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
    key = ", ".join(f'"{name}"' for name in table.key)
    if table.clustered:
        columns.append(f"PRIMARY KEY ({key})")
        return f'CREATE TABLE "{table.name}" ({", ".join(columns)}) WITHOUT ROWID'
    # A named row number survives VACUUM, which the word index relies on.
    columns = ["rowid_ INTEGER PRIMARY KEY", *columns, f"UNIQUE ({key})"]
    return f'CREATE TABLE "{table.name}" ({", ".join(columns)})'


def _declared(column: Column) -> str:
    return f'"{column.name}" {_SQL_TYPES[column.type]}'
