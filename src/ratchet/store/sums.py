"""Keep the facts and the spending of sessions, and with them their sums by day, which is all that pages read.

Rows of a session replace those kept of it before, so the sums move by the difference. Facts of session "" belong to
none: they are added as they come, and count in no session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ratchet.failures.intent import call_name
from ratchet.failures.patterns.ruled import is_rule
from ratchet.records import Json, Row, number_in, text_in, whole_in
from ratchet.store.schema import TABLES
from ratchet.store.sum_tables import SUM_TABLES

if TYPE_CHECKING:
    from ratchet.ports import Store
    from ratchet.store.kept_texts import Executing

HOURS = 24
_REAL = ("duration_s", "cost_usd", "wasted_s")
_FACTS = ("calls", "failures", "excused", "sessions", "tokens", "duration_s")
_SPENT = ("calls", "given", "stored", "stored_hour", "cached", "made", "unsplit", "begun", *_REAL)
_SPENT_BY = ("model", "agent", "tool", "session", "signature")
_NAMES: Mapping[str, Callable[[Row], str]] = {
    "command": lambda row: call_name(text_in(row, "tool"), text_in(row, "head")),
    "tool": lambda row: text_in(row, "tool"),
    "project": lambda row: text_in(row, "project"),
    "model": lambda row: text_in(row, "model"),
    "hour": lambda row: f"{whole_in(row, 'hour') % HOURS:02d}:00",
}
_FOUND: Mapping[str, Callable[[Row], str]] = {
    "file": lambda row: text_in(row, "file"),
    "rule": lambda row: key if is_rule(key := text_in(row, "finding")) else "",
}
"""What facts are summed up by: those that count calls, and those that count the runs which showed a finding."""


def add_facts(store: Store, rows: Sequence[Row]) -> None:
    """Add facts that belong to no session."""
    store.add("facts", rows)
    store.add("fact_days", fact_days(rows))


def replace_facts(store: Store, session: str, rows: Sequence[Row], *, since_hour: int) -> None:
    """Put the facts of a session from an hour on in the place of those kept of it; older ones stay."""
    before = store.find("facts", {"session": session}).rows
    store.delete("facts", {"session": session, "hour": (">=", since_hour)})
    store.add("facts", rows)
    after = [*(row for row in before if whole_in(row, "hour") < since_hour), *rows]
    _move(store, "fact_days", fact_days(before), fact_days(after))


def replace_spending(store: Store, session: str, rows: Sequence[Row]) -> None:
    """Put the spending of a session in the place of what was kept of it."""
    before = store.find("spending", {"session": session}).rows
    store.delete("spending", {"session": session})
    store.add("spending", rows)
    _move(store, "spending_days", spending_days(before), spending_days(rows))


def add_spending(store: Store, rows: Sequence[Row]) -> None:
    """Add spending that belongs to no session."""
    store.add("spending", rows)
    store.add("spending_days", spending_days(rows))


def forget_sums(store: Store, session: str) -> None:
    """Take a session out of the sums. Call it in the transaction that deletes its facts and spending."""
    facts, spent = (store.find(table, {"session": session}).rows for table in ("facts", "spending"))
    _move(store, "fact_days", fact_days(facts), ())
    _move(store, "spending_days", spending_days(spent), ())


def fact_days(rows: Iterable[Row], by: str = "") -> list[Row]:
    """Sum up the facts of one session by day and each thing, or one; those of session "" count in none. Calls are
    steps: a chain of commands is one, and counts for its main command alone, its failure for the one that failed."""
    found: dict[tuple[str, int, str, str], Row] = {}
    last: dict[tuple[str, str, str], int] = {}
    for row in rows:
        day, project = whole_in(row, "hour") // HOURS, text_in(row, "project")
        steps = {**row, "calls": row.get("steps")}
        if not row.get("finding") and not (steps["calls"] or steps["failures"]):
            continue
        for thing, name_of in (_FOUND if row.get("finding") else _NAMES).items():
            if (by and by != thing) or not (name := name_of(row)):
                continue
            key = (thing, day, name, project)
            held = found.get(key)
            if held is None:
                held = found[key] = dict(zip(TABLES["fact_days"].key, key, strict=True))
            add_fact(held, row if thing in _FOUND else steps)
            if row.get("session"):
                last[thing, name, project] = max(day, last.get((thing, name, project), day))
    for (thing, name, project), day in last.items():
        found[thing, day, name, project]["sessions"] = 1
    return list(found.values())


def spending_days(rows: Iterable[Row]) -> list[Row]:
    """Sum up spending by each thing and day."""
    found: dict[tuple[Json, ...], Row] = {}
    for row in rows:
        shared: Row = {name: text_in(row, name) for name in ("project", "model", "waste")}
        shared["day"] = whole_in(row, "hour") // HOURS
        for by in _SPENT_BY:
            named: Row = {"by": by, "name": text_in(row, by), **shared}
            add_spent(found.setdefault(tuple(named.values()), named), row)
    return list(found.values())


def add_spent(held: Row, row: Row) -> None:
    """Add a row of spending, or of its sums, to one of sums."""
    _add(held, row, _SPENT)


def add_fact(held: Row, row: Row) -> None:
    """Add a row of facts, or of their sums, to one of sums."""
    _add(held, row, _FACTS)
    held["max_at"] = max(number_in(held, "max_at"), number_in(row, "max_at"))


def _add(held: Row, row: Row, sums: Iterable[str]) -> None:
    for name in sums:
        more = row.get(name)
        if more or name not in held:  # most counts of most rows are none
            held[name] = (held.get(name) or 0) + (more or 0)  # type: ignore[operator]


def _move(store: Store, table: str, before: Iterable[Row], after: Iterable[Row]) -> None:
    """Add to sums that hold `before` what they lack to hold `after`, and delete those that hold nothing more."""
    key = TABLES[table].key
    held = {tuple(row[name] for name in key): row for row in before}
    moved = [_less(row, held.pop(tuple(row[name] for name in key), {}), key) for row in after]
    moved += [_less({}, row, key) for row in held.values()]
    counted = moved[0].keys() - {*key, "max_at"} if moved else set()
    moved = [row for row in moved if any(row.get(name) for name in counted)]
    store.add(table, moved)
    for row in moved:
        if any(row.get(name, 0) < 0 for name in counted):  # type: ignore[operator]
            gone: dict[str, Json | tuple[str, Json]] = {name: row[name] for name in key}
            store.delete(table, gone | {name: ("<=", 0) for name in counted if name not in _REAL})


def _less(row: Row, old: Row, key: Sequence[str]) -> Row:
    """The row's sums less the old one's, under the key of either."""
    return {
        name: value if name in key or name == "max_at" else (row.get(name) or 0) - (old.get(name) or 0)  # type: ignore[operator]
        for name, value in (old | row).items()
    }


def fill_sums(connection: Executing, mark: str) -> None:
    """Sum up what there is, in the place of what was summed up of it (layout 18)."""
    for table in SUM_TABLES:
        connection.execute(f'DELETE FROM "{table.name}"')
    connection.execute('DROP INDEX IF EXISTS "facts_by_session"')
    for source, target, summed, add in (
        ("facts", "fact_days", fact_days, add_fact),
        ("spending", "spending_days", spending_days, add_spent),
    ):
        key = TABLES[target].key
        names = TABLES[source].names
        asked = f'SELECT {_quoted(names)} FROM "{source}" ORDER BY "session"'
        read = (dict(zip(names, row, strict=True)) for row in connection.execute(asked))
        found: dict[tuple[Json, ...], Row] = {}
        for _, of_one in groupby(read, key=lambda row: text_in(row, "session")):
            for row in summed(of_one):
                place = tuple(row[name] for name in key)
                add(found.setdefault(place, dict(zip(key, place, strict=True))), row)
        columns = TABLES[target].names
        put = f'INSERT INTO "{target}" ({_quoted(columns)}) VALUES ({", ".join([mark] * len(columns))})'
        for row in found.values():
            connection.execute(put, [row.get(name) for name in columns])
    for statement in (_OF_AGENT, _OF_ALL, _OF_KINDS):
        connection.execute(statement)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


_SUMMED = "SUM(n), SUM(tokens), SUM(duration_s), MIN(min_at), MAX(max_at)"
_PUT = "INSERT INTO signature_sums (agent, signature, n, tokens, duration_s, min_at, max_at, sessions)"
_OF_AGENT = (
    f"{_PUT} SELECT agent, signature, {_SUMMED}, (SELECT COUNT(DISTINCT session) FROM sightings "
    "WHERE sightings.signature = tallies.signature AND sightings.agent = tallies.agent) "
    "FROM tallies GROUP BY agent, signature"
)
_OF_ALL = (
    f"{_PUT} SELECT '', signature, {_SUMMED}, (SELECT COUNT(DISTINCT session) FROM sightings "
    "WHERE sightings.signature = tallies.signature) FROM tallies GROUP BY signature"
)
_OF_KINDS = (
    "INSERT INTO kind_tallies (hour, kind, n, duration_s) SELECT hour, kind, SUM(n), SUM(tallies.duration_s) "
    "FROM tallies JOIN signatures ON signatures.signature = tallies.signature GROUP BY hour, kind"
)
