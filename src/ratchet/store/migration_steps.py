"""Changes of rows from an older layout to the next, for both databases: what declarations alone do not say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ratchet.failures.health import EXCUSED
from ratchet.store import kept_texts
from ratchet.store.schema import TABLES

if TYPE_CHECKING:
    from ratchet.store.declaring import Table
    from ratchet.store.kept_texts import Executing


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrating:
    """The database that a step changes: its connection, the mark of a parameter, and what only this database does.

    `field` is SQL for a name of the body; `drop_words` takes out the first index of a table's words, `key_anew` gives a
    table the key that is declared now.
    """

    connection: Executing
    mark: str
    field: Callable[[str], str]
    drop_words: Callable[[str], object]
    key_anew: Callable[[Table], None]

    def run(self, statement: str) -> None:
        self.connection.execute(statement)


Step: TypeAlias = "Callable[[Migrating], None]"


def _mine_anew(into: Migrating) -> None:
    """Version 6: evidence is kept by finding and by project. What was mined before it is mined again from the outcomes;
    lessons that a person approved, and those that agents were handed, stay."""
    into.run("DELETE FROM resolutions")
    into.run(
        f"DELETE FROM lessons WHERE {into.field('provenance')} LIKE 'mined from sessions%' AND uses = 0 "
        f"AND COALESCE(CAST({into.field('approved')} AS text), '') NOT IN ('1', 'true') "
        f"AND (state <> 'retired' OR {into.field('reason')} LIKE 'it worked in %')"
    )
    _mine_all(into)


def _read_anew(into: Migrating) -> None:
    """Version 7: histories tell what people said; version 26: and of which answers they count the output only as it
    began. Their files are read again from the start: outcomes that are known stay as they are."""
    into.run("DELETE FROM cursors WHERE source IN ('claude-code', 'codex', 'messages')")


def _mine_all(into: Migrating) -> None:
    """Version 8: the facts of sessions are counted from what is there when they are mined again; version 25: how their
    failures ended, too; version 28: a chain's failure is that of the part which its output names."""
    into.run("UPDATE sessions SET pending = 1")


def _keep_texts(into: Migrating) -> None:
    """Version 9: the index of words goes; texts and terms take its place."""
    into.drop_words("lessons")
    kept_texts.keep_texts(into.connection, into.mark)


def _tell_sessions(into: Migrating) -> None:
    """Version 11: what there is of sessions is counted, and their histories are read again for tokens and places."""
    excused = ", ".join(f"'{kind}'" for kind in sorted(EXCUSED))
    into.run('DROP INDEX IF EXISTS "outcomes_by_session"')
    into.run(f"UPDATE outcomes SET thread = {into.field('thread')} WHERE body LIKE '%\"thread\":%'")
    into.run(
        "INSERT INTO session_tallies (session, agent, project, model, calls, failures, excused, tokens, cost_usd, "
        f"min_at, max_at) SELECT session, MAX(agent), MAX(project), MAX({into.field('model')}), COUNT(*), "
        f"SUM(CASE WHEN ok = 0 AND kind NOT IN ({excused}) THEN 1 ELSE 0 END), "
        f"SUM(CASE WHEN ok = 0 AND kind IN ({excused}) THEN 1 ELSE 0 END), "
        f"SUM(COALESCE(CAST({into.field('tokens')} AS bigint), 0)), "
        f"SUM(COALESCE(CAST({into.field('cost_usd')} AS double precision), 0)), MIN(started_at), MAX(started_at) "
        "FROM outcomes WHERE session IS NOT NULL AND COALESCE(source, '') <> 'ratchet-loop' GROUP BY session"
    )
    _read_anew(into)


def _count_around(into: Migrating) -> None:
    """Version 12: facts are told apart by the circumstances of their steps, too. What is kept of sessions whose
    outcomes are gone stays as it is; the others are counted when they are mined again."""
    into.run("UPDATE facts SET around = '' WHERE around IS NULL")
    into.key_anew(TABLES["facts"])
    _mine_all(into)


def _index_words(into: Migrating) -> None:
    """Version 14: everything is found by its words, and sessions are mined again for those of their steps."""
    kept_texts.keep_words(into.connection, into.mark)
    _mine_all(into)


def _sum_up(into: Migrating) -> None:
    """Version 18: what pages read is summed up by day; version 24: a chain counts for its main command alone;
    version 27: so do the sessions that ran one."""
    from ratchet.store.sums import fill_sums

    fill_sums(into.connection, into.mark)


def _find_patterns(into: Migrating) -> None:
    """Version 20: patterns are found by the features of their texts, as lessons are."""
    kept_texts.keep_terms(into.connection, into.mark)


def _count_steps(into: Migrating) -> None:
    """Version 22: a chain of commands is one step, and time in which a person was waited for is no tool's. Sessions are
    counted again when they are mined; until then what ran for its own sake is a step."""
    into.run("UPDATE facts SET steps = calls WHERE finding = '' AND around <> ''")
    _sum_up(into)
    _mine_all(into)


def _cut_anew(into: Migrating) -> None:
    """Version 23: lessons are found by the features that their texts have today."""
    kept_texts.keep_features(into.connection, into.mark)


PLAN: Mapping[int, Step] = {
    6: _mine_anew,
    7: _read_anew,
    8: _mine_all,
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
    25: _mine_all,
    26: _read_anew,
    27: _sum_up,
    28: _mine_all,
}
"""Version -> what to do with the rows of the version before, once the declared layout stands."""


def take_steps(into: Migrating, found: int, version: int, plan: Mapping[int, Step]) -> None:
    """Do what stands between the version that was found and another; a new database (0) holds no rows to change."""
    for step in range(found + 1 if found else version + 1, version + 1):
        if step in plan:
            plan[step](into)
