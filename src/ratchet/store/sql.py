"""SQL text from declared tables: pure functions from a declaration and the shape of a call to a statement.

Nothing here knows what the tables are about, and nothing runs. Values always travel as parameters.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from ratchet.errors import UsageError
from ratchet.records import Json, Page
from ratchet.store.rows import column_names, read_names, row_of

if TYPE_CHECKING:
    from ratchet.ports import Where
    from ratchet.store.declaring import Column, Table

Clause: TypeAlias = "tuple[str, list[Json]]"
"""A piece of SQL and its parameters."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """Differences of a database. One is equal to itself only, so that statements can be remembered by it.

    `listed` makes one parameter of a list, which `among` (with the column as `{}`) looks a value up in; `same` is an
    equality that NULL takes part in; `total` adds two whole numbers; `rising` and `falling` end an order so that NULL
    counts as the smallest.
    """

    mark: str
    among: str
    listed: Callable[[Sequence[Json]], Json]
    same: str
    never: str
    total: str
    least: str
    greatest: str
    rising: str = ""
    falling: str = ""


SQLITE = Dialect(
    mark="?",
    # One parameter whatever the length: the statement stays cached and no limit of parameters is met.
    among="{} IN (SELECT value FROM json_each(?))",
    listed=lambda values: json.dumps(list(values)),
    same="IS",
    never="0",
    total="{} + {}",
    least="min",
    greatest="max",
)

POSTGRES = Dialect(
    mark="%s",
    among="{} = ANY(%s)",
    listed=list,
    same="IS NOT DISTINCT FROM",
    never="FALSE",
    # A counter stays at its type's limit instead of refusing everything that is counted after it.
    total="GREATEST(LEAST({}::numeric + {}, 9223372036854775807), -9223372036854775808)::bigint",
    least="LEAST",
    greatest="GREATEST",
    rising=" NULLS FIRST",
    falling=" NULLS LAST",
)

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
def insert(table: Table, dialect: Dialect = SQLITE, *, rows: int = 1) -> str:
    """Insert so many rows, each unless its key exists."""
    names = column_names(table)
    values = ", ".join([f"({', '.join([dialect.mark] * len(names))})"] * rows)
    return f'INSERT INTO "{table.name}" ({quoted(names)}) VALUES {values} ON CONFLICT ({quoted(table.key)}) DO NOTHING'


@cache
def upsert(table: Table, dialect: Dialect = SQLITE, *, source: str = "") -> str:
    """Insert; on an existing key add counters and widen extremes. Other columns keep what came first.

    `source` is where the rows come from, without it one row of parameters."""
    names = column_names(table)
    changes = [change for column in table.columns if (change := _combined(column, dialect))]
    if not changes:
        raise UsageError(f"table {table.name} has no counters to add to")
    source = source or f"VALUES ({', '.join([dialect.mark] * len(names))})"
    return (
        f'INSERT INTO "{table.name}" AS held ({quoted(names)}) {source} '
        f"ON CONFLICT ({quoted(table.key)}) DO UPDATE SET {', '.join(changes)}"
    )


def _combined(column: Column, dialect: Dialect) -> str:
    name = f'"{column.name}"'
    if column.role == "counter":
        total = dialect.total if column.type == "int" else SQLITE.total
        return f"{name} = " + total.format(f"COALESCE(held.{name}, 0)", f"COALESCE(excluded.{name}, 0)")
    if column.role in ("min", "max"):
        # The two-argument min() of SQLite is NULL when either is.
        extreme = dialect.least if column.role == "min" else dialect.greatest
        return f"{name} = {extreme}(COALESCE(held.{name}, excluded.{name}), COALESCE(excluded.{name}, held.{name}))"
    return ""


@cache
def update_at_revision(table: Table, dialect: Dialect = SQLITE) -> str:
    """Overwrite a whole row iff its revision is the expected one; parameters: all values, the key, the revision."""
    changes = ", ".join(f'"{name}" = {dialect.mark}' for name in column_names(table))
    return f'UPDATE "{table.name}" SET {changes} WHERE {key_equals(table, dialect)} AND "revision" = {dialect.mark}'


@cache
def select_key(table: Table, dialect: Dialect = SQLITE) -> str:
    return f'SELECT {quoted(read_names(table))} FROM "{table.name}" WHERE {key_equals(table, dialect)}'


def key_equals(table: Table, dialect: Dialect = SQLITE) -> str:
    return " AND ".join(f'"{name}" = {dialect.mark}' for name in table.key)


def conditions(table: Table, where: Where | None, dialect: Dialect = SQLITE, *, prefix: str = "") -> Clause:
    """`where` as ANDed SQL ("" when there is nothing to say)."""
    parts: list[str] = []
    values: list[Json] = []
    for name, wanted in (where or {}).items():
        column_of(table, name)
        held = f'{prefix}"{name}"'
        operator, value = wanted if isinstance(wanted, tuple) else ("=", wanted)
        if operator == "in":
            parts.append(dialect.among.format(held))
            values.append(dialect.listed(listed(table, name, value)))
        elif operator not in COMPARISONS:
            raise UsageError(f"unknown operator {operator!r}; use one of {' '.join(sorted(COMPARISONS))} in")
        elif value is None:
            parts.append(f"{held} IS {'' if operator == '=' else 'NOT '}NULL")
        else:
            parts.append(f"{held} {operator} {dialect.mark}")
            values.append(value)
    return " AND ".join(parts), values


def listed(table: Table, name: str, value: Json) -> Sequence[Json]:
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"table {table.name}, column {name}: `in` wants a list, got {type(value).__name__}")
    return value


def select(
    table: Table,
    where: Where | None,
    dialect: Dialect = SQLITE,
    *,
    order: Sequence[str],
    limit: int | None,
    after: Sequence[Json] | None,
) -> Clause:
    """A page of rows: the columns of `read_names`, then those of the full order, which make a cursor."""
    full = full_order(table, order)
    said, values = conditions(table, where, dialect)
    parts = [said] if said else []
    if after is not None:
        beyond, more = _beyond(table, full, after, dialect)
        parts.append(beyond)
        values += more
    text = f'SELECT {quoted(read_names(table))}, {quoted([n for n, _ in full])} FROM "{table.name}"'
    if parts:
        text += f" WHERE {' AND '.join(parts)}"
    text += " ORDER BY " + ", ".join(_ordered(table, name, down, dialect) for name, down in full)
    if limit is not None:
        text += f" LIMIT {dialect.mark}"
        values.append(limit)
    return text, values


def _ordered(table: Table, name: str, down: bool, dialect: Dialect) -> str:
    nulls = "" if name in table.key else dialect.falling if down else dialect.rising
    return f'"{name}" {"DESC" if down else "ASC"}{nulls}'


def delete(table: Table, where: Where, dialect: Dialect = SQLITE) -> Clause:
    """Raises UsageError without a condition: nobody means to empty a table."""
    said, values = conditions(table, where, dialect)
    if not said:
        raise UsageError(f"table {table.name}: name what to delete")
    return f'DELETE FROM "{table.name}" WHERE {said}', values


def full_order(table: Table, order: Sequence[str]) -> list[tuple[str, bool]]:
    """Columns with whether they descend; the key completes it, so that no two rows are equal in it."""
    full: list[tuple[str, bool]] = []
    for said in (*order, *table.key):
        name = said.removeprefix("-")
        column_of(table, name)
        if all(name != earlier for earlier, _ in full):
            full.append((name, said.startswith("-")))
    return full


def _beyond(table: Table, order: Sequence[tuple[str, bool]], after: Sequence[Json], dialect: Dialect) -> Clause:
    """Rows that come after `after` in `order`. NULL sorts first, as SQLite has it."""
    (name, down), value = order[0], after[0]
    held = f'"{name}"'
    always = table.by_name[name].required or name in table.key
    later, values = _later(held, value, dialect, down=down, always=always)
    if len(order) == 1:
        return later, values
    deeper, more = _beyond(table, order[1:], after[1:], dialect)
    text = f"({later} OR ({held} {dialect.same} {dialect.mark} AND {deeper}))"
    values = [*values, value, *more]
    if always:
        # Says the same once more, in the one form that an index can seek by.
        return f"({held} {'<=' if down else '>='} {dialect.mark} AND {text})", [value, *values]
    return text, values


def _later(held: str, value: Json, dialect: Dialect, *, down: bool, always: bool) -> Clause:
    if value is None:
        return (dialect.never, []) if down else (f"{held} IS NOT NULL", [])
    if not down:
        return f"{held} > {dialect.mark}", [value]
    below = f"{held} < {dialect.mark}"
    return (below if always else f"({below} OR {held} IS NULL)"), [value]


def page_of(table: Table, order: Sequence[tuple[str, bool]], found: Sequence[Sequence[Any]], limit: int | None) -> Page:
    """The page of what `select` found in this full order. It was asked for one row more than `limit`, which tells
    whether anything follows."""
    width = len(read_names(table))
    kept = found if limit is None else found[:limit]
    more = len(kept) < len(found) and bool(kept)
    return Page([row_of(table, each[:width]) for each in kept], cursor_of(order, kept[-1][width:]) if more else None)


def cursor_of(order: Sequence[tuple[str, bool]], last: Sequence[Json]) -> str:
    """An opaque text that continues after the row whose ordering values are `last`."""
    said = json.dumps([[name, down] for name, down in order])
    return base64.urlsafe_b64encode(json.dumps([said, list(last)]).encode()).decode()


def after_cursor(order: Sequence[tuple[str, bool]], cursor: str) -> list[Json]:
    """The ordering values in a cursor. Raises UsageError for one of another order, or none of ours."""
    try:
        said, last = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError("this cursor was not given out by the store; start again without one") from error
    if said != json.dumps([[name, down] for name, down in order]) or len(last) != len(order):
        raise UsageError("this cursor belongs to another order; use it with the call that gave it")
    return list(last)


def group(
    table: Table, by: Sequence[str], sums: Sequence[str], where: Where | None, dialect: Dialect = SQLITE
) -> Clause:
    """GROUP BY; without `by` one row over all."""
    for name in by:
        column_of(table, name)
    said, values = conditions(table, where, dialect)
    columns = [*(f'"{name}"' for name in by), *(_aggregate(table, wanted) for wanted in sums)]
    text = f'SELECT {", ".join(columns)} FROM "{table.name}"'
    if said:
        text += f" WHERE {said}"
    if by and (sums or not {*table.key} <= {*by}):  # else each row is a group of its own
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
