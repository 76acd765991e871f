"""Changes of rows from an older layout of a Postgres database to the next, as `migrations` has them for SQLite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ratchet.failures.health import EXCUSED
from ratchet.store.schema import TABLES

if TYPE_CHECKING:
    from ratchet.store.postgres_connections import Connection

Step: TypeAlias = "Callable[[Connection], None]"


def _mine_anew(connection: Connection) -> None:
    """Version 6: mine again what was mined before it."""
    connection.execute("DELETE FROM resolutions")
    connection.execute(
        "DELETE FROM lessons WHERE body::json->>'provenance' LIKE 'mined from sessions%' AND uses = 0 "
        "AND COALESCE(body::json->>'approved', 'false') <> 'true' "
        "AND (state <> 'retired' OR body::json->>'reason' LIKE 'it worked in %')"
    )
    connection.execute("UPDATE sessions SET pending = 1")


def _read_anew(connection: Connection) -> None:
    """Version 7: histories tell what people said; version 26: and of which answers they count the output only as it
    began. Their files are read again from the start: outcomes that are known stay as they are."""
    connection.execute("DELETE FROM cursors WHERE source IN ('claude-code', 'codex', 'messages')")


def _count_facts(connection: Connection) -> None:
    """Version 8: count the facts of sessions when they are mined again; version 25: how failures ended, too;
    version 28: a chain's failure is that of the part which its output names."""
    connection.execute("UPDATE sessions SET pending = 1")


def _keep_texts(connection: Connection) -> None:
    """Version 9: the index of words goes; texts and terms take its place."""
    connection.execute("DROP TABLE IF EXISTS lessons_words")
    from ratchet.store.kept_texts import keep_texts

    keep_texts(connection, "%s")


def _tell_sessions(connection: Connection) -> None:
    """Version 11: count what there is of sessions, and read their histories again for tokens and places."""
    connection.execute('DROP INDEX IF EXISTS "outcomes_by_session"')
    connection.execute("UPDATE outcomes SET thread = body::json->>'thread' WHERE body LIKE '%\"thread\":%'")
    connection.execute(
        "INSERT INTO session_tallies (session, agent, project, model, calls, failures, excused, tokens, cost_usd, "
        "min_at, max_at) SELECT session, MAX(agent), MAX(project), MAX(body::json->>'model'), COUNT(*), "
        f"COUNT(*) FILTER (WHERE ok = 0 AND kind NOT IN ({_EXCUSED})), "
        f"COUNT(*) FILTER (WHERE ok = 0 AND kind IN ({_EXCUSED})), "
        "SUM(COALESCE((body::json->>'tokens')::bigint, 0)), "
        "SUM(COALESCE((body::json->>'cost_usd')::double precision, 0)), MIN(started_at), MAX(started_at) "
        "FROM outcomes WHERE session IS NOT NULL AND source IS DISTINCT FROM 'ratchet-loop' GROUP BY session"
    )
    _read_anew(connection)


def _index_words(connection: Connection) -> None:
    """Version 14: everything is found by its words, and sessions are mined again for those of their steps."""
    from ratchet.store.kept_texts import keep_words

    keep_words(connection, "%s")
    connection.execute("UPDATE sessions SET pending = 1")


_EXCUSED = ", ".join(f"'{kind}'" for kind in sorted(EXCUSED))


def _count_around(connection: Connection) -> None:
    """Version 12: tell facts apart by the circumstances of their steps, too."""
    key = ", ".join(f'"{name}"' for name in TABLES["facts"].key)
    connection.execute("UPDATE facts SET around = '' WHERE around IS NULL")
    connection.execute("ALTER TABLE facts DROP CONSTRAINT facts_pkey")
    connection.execute(f"ALTER TABLE facts ADD PRIMARY KEY ({key})")
    connection.execute("UPDATE sessions SET pending = 1")


def _sum_up(connection: Connection) -> None:
    """Version 18: what pages read is summed up by day; version 24: a chain counts for its main command alone;
    version 27: so do the sessions that ran one."""
    from ratchet.store.sums import fill_sums

    fill_sums(connection, "%s")


def _find_patterns(connection: Connection) -> None:
    """Version 20: patterns are found by the features of their texts, as lessons are."""
    from ratchet.store.kept_texts import keep_terms

    keep_terms(connection, "%s")


def _count_steps(connection: Connection) -> None:
    """Version 22: a chain of commands is one step; sessions are counted again when they are mined."""
    connection.execute("UPDATE facts SET steps = calls WHERE finding = '' AND around <> ''")
    _sum_up(connection)
    connection.execute("UPDATE sessions SET pending = 1")


def _cut_anew(connection: Connection) -> None:
    """Version 23: lessons are found by the features that their texts have today."""
    from ratchet.store.kept_texts import keep_features

    keep_features(connection, "%s")


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
