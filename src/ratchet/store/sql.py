"""SQL text from declared tables: pure functions from a declaration and the shape of a call to a statement.

Nothing here knows what the tables are about, and nothing runs. Values always travel as parameters.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

from ratchet.errors import UsageError
from ratchet.ports import Where
from ratchet.records import Json
from ratchet.store.declaring import Column, Table
from ratchet.store.rows import column_names, read_names

Clause: TypeAlias = "tuple[str, list[Json]]"
"""A piece of SQL and its parameters."""

COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_AGGREGATES = {"min": "MIN({})", "max": "MAX({})", "distinct": "COUNT(DISTINCT {})"}


def column_of(table: Table, name: str) -> Column:
    """The declared column, or UsageError naming those that exist."""
    found = table.by_name.get(name)
    if found is None:
        raise UsageError(f"table {table.name} has no column {name!r}; its columns are {', '.join(table.by_name)}")
    return found


def quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


@cache
def insert(table: Table) -> str:
    """Insert unless the key exists."""
    names = column_names(table)
    marks = ", ".join("?" * len(names))
    return f'INSERT INTO "{table.name}" ({quoted(names)}) VALUES ({marks}) ON CONFLICT ({quoted(table.key)}) DO NOTHING'


@cache
def upsert(table: Table) -> str:
    """Insert; on an existing key add counters and widen extremes. Other columns keep what came first."""
    names = column_names(table)
    changes = [change for column in table.columns if (change := _combined(column))]
    if not changes:
        raise UsageError(f"table {table.name} has no counters to add to")
    return (
        f'INSERT INTO "{table.name}" AS held ({quoted(names)}) VALUES ({", ".join("?" * len(names))}) '
        f"ON CONFLICT ({quoted(table.key)}) DO UPDATE SET {', '.join(changes)}"
    )


def _combined(column: Column) -> str:
    name = f'"{column.name}"'
    if column.role == "counter":
        return f"{name} = COALESCE(held.{name}, 0) + COALESCE(excluded.{name}, 0)"
    if column.role in ("min", "max"):
        # The two-argument min() of SQLite is NULL when either is.
        return f"{name} = {column.role}(COALESCE(held.{name}, excluded.{name}), COALESCE(excluded.{name}, held.{name}))"
    return ""


@cache
def update_at_revision(table: Table) -> str:
    """Overwrite a whole row iff its revision is the expected one; parameters: all values, the key, the revision."""
    changes = ", ".join(f'"{name}" = ?' for name in column_names(table))
    return f'UPDATE "{table.name}" SET {changes} WHERE {_key_equals(table)} AND "revision" = ?'


@cache
def select_key(table: Table) -> str:
    return f'SELECT {quoted(read_names(table))} FROM "{table.name}" WHERE {_key_equals(table)}'


def _key_equals(table: Table) -> str:
    return " AND ".join(f'"{name}" = ?' for name in table.key)


def conditions(table: Table, where: Where | None, *, prefix: str = "") -> Clause:
    """`where` as ANDed SQL ("" when there is nothing to say)."""
    parts: list[str] = []
    values: list[Json] = []
    for name, wanted in (where or {}).items():
        column_of(table, name)
        held = f'{prefix}"{name}"'
        operator, value = wanted if isinstance(wanted, tuple) else ("=", wanted)
        if operator == "in":
            # One parameter whatever the length: the statement stays cached and no limit of parameters is met.
            parts.append(f"{held} IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(list(_listed(table, name, value))))
        elif operator not in COMPARISONS:
            raise UsageError(f"unknown operator {operator!r}; use one of {' '.join(sorted(COMPARISONS))} in")
        elif value is None:
            parts.append(f"{held} IS {'' if operator == '=' else 'NOT '}NULL")
        else:
            parts.append(f"{held} {operator} ?")
            values.append(value)
    return " AND ".join(parts), values


def _listed(table: Table, name: str, value: Json) -> Sequence[Json]:
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"table {table.name}, column {name}: `in` wants a list, got {type(value).__name__}")
    return value


def select(
    table: Table, where: Where | None, *, order: Sequence[str], limit: int | None, after: Sequence[Json] | None
) -> Clause:
    """A page of rows: the columns of `read_names`, then those of the full order, which make a cursor."""
    full = full_order(table, order)
    said, values = conditions(table, where)
    parts = [said] if said else []
    if after is not None:
        beyond, more = _beyond(table, full, after)
        parts.append(beyond)
        values += more
    text = f'SELECT {quoted(read_names(table))}, {quoted([n for n, _ in full])} FROM "{table.name}"'
    if parts:
        text += f" WHERE {' AND '.join(parts)}"
    text += " ORDER BY " + ", ".join(f'"{name}" {"DESC" if down else "ASC"}' for name, down in full)
    if limit is not None:
        text += " LIMIT ?"
        values.append(limit)
    return text, values


def full_order(table: Table, order: Sequence[str]) -> list[tuple[str, bool]]:
    """Columns with whether they descend; the key completes it, so that no two rows are equal in it."""
    full: list[tuple[str, bool]] = []
    for said in (*order, *table.key):
        name = said.removeprefix("-")
        column_of(table, name)
        if all(name != earlier for earlier, _ in full):
            full.append((name, said.startswith("-")))
    return full


def _beyond(table: Table, order: Sequence[tuple[str, bool]], after: Sequence[Json]) -> Clause:
    """Rows that come after `after` in `order`. NULL sorts first, as SQLite has it."""
    (name, down), value = order[0], after[0]
    held = f'"{name}"'
    always = table.by_name[name].required or name in table.key
    later, values = _later(held, value, down=down, always=always)
    if len(order) == 1:
        return later, values
    deeper, more = _beyond(table, order[1:], after[1:])
    text = f"({later} OR ({held} IS ? AND {deeper}))"
    values = [*values, value, *more]
    if always:
        # Says the same once more, in the one form that an index can seek by.
        return f"({held} {'<=' if down else '>='} ? AND {text})", [value, *values]
    return text, values


def _later(held: str, value: Json, *, down: bool, always: bool) -> Clause:
    if value is None:
        return ("0", []) if down else (f"{held} IS NOT NULL", [])
    if not down:
        return f"{held} > ?", [value]
    return (f"{held} < ?" if always else f"({held} < ? OR {held} IS NULL)"), [value]


def cursor_of(order: Sequence[tuple[str, bool]], last: Sequence[Json]) -> str:
    """An opaque text that continues after the row whose ordering values are `last`."""
    said = json.dumps([[name, down] for name, down in order])
    return base64.urlsafe_b64encode(json.dumps([said, list(last)]).encode()).decode()


def after_cursor(order: Sequence[tuple[str, bool]], cursor: str) -> list[Json]:
    """The ordering values in a cursor. Raises UsageError for one of another order, or none of ours."""
    try:
        said, last = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except ValueError as error:
        raise UsageError("this cursor was not given out by the store; start again without one") from error
    if said != json.dumps([[name, down] for name, down in order]):
        raise UsageError("this cursor belongs to another order; use it with the call that gave it")
    return list(last)


def group(table: Table, by: Sequence[str], sums: Sequence[str], where: Where | None) -> Clause:
    """GROUP BY; without `by` one row over all."""
    for name in by:
        column_of(table, name)
    said, values = conditions(table, where)
    columns = [*(f'"{name}"' for name in by), *(_aggregate(table, wanted) for wanted in sums)]
    text = f'SELECT {", ".join(columns)} FROM "{table.name}"'
    if said:
        text += f" WHERE {said}"
    if by:
        text += f" GROUP BY {quoted(by)}"
    return text, values


def _aggregate(table: Table, wanted: str) -> str:
    if wanted == "count:*":
        return "COUNT(*)"
    kind, _, name = wanted.rpartition(":")
    held = f'"{column_of(table, name).name}"'
    if not kind:
        return f"COALESCE(SUM({held}), 0)"
    if kind not in _AGGREGATES:
        raise UsageError(f"unknown sum {wanted!r}; use column, min:column, max:column, distinct:column or count:*")
    return _AGGREGATES[kind].format(held)
