"""Parts of a table's declaration: typed columns, indexes, and short forms to write them down (`store.schema`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Literal

from ratchet.records import Json, Row

Type = Literal["text", "int", "real", "bool"]
Role = Literal["value", "counter", "min", "max"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One typed column. `role` is how `Store.add` combines it; `of` names the nested value whose field of
    the same name it copies, which makes it a column to filter by and nothing that a reader gets back twice."""

    name: str
    type: Type
    role: Role = "value"
    required: bool = False
    of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An index over columns; with `where`, over only those rows in which that column is set."""

    columns: tuple[str, ...]
    where: str | None = None

    def name_on(self, table: Table) -> str:
        return f"{table.name}_by_{'_'.join(self.columns)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """One table. `key` identifies a row; `terms` is the column of blank-separated terms by which `Store.match` finds
    it, `words` one of those by which `Store.having` does. `made` columns are computed from the row by each write: what
    is found by them is always what the row says.

    `clustered` rows lie in the order of their key, which suits tallies (read by ranges of the key, no other index);
    all others are appended, which is what keeps inserts cheap. A table with a `revision` column can be swapped.
    A table is equal to itself only, so that its statements can be remembered by it.
    """

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...] = ()
    terms: str = ""
    words: str = ""
    made: Mapping[str, Callable[[Row], Json]] = field(default_factory=dict)
    clustered: bool = False
    body: bool = True

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Columns that a row carries under their own name, in order."""
        return tuple(c.name for c in self.columns if c.of is None)

    @cached_property
    def whole(self) -> Callable[[Row], tuple[Json, ...]] | None:
        """Read all values of a row that gives every column, where there is nothing else to read."""
        return None if self.body or self.made or self.copies or len(self.names) < 2 else itemgetter(*self.names)

    @cached_property
    def copies(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Nested values whose fields are copied into columns: (the value's name, its fields), in column order."""
        parents = dict.fromkeys(c.of for c in self.columns if c.of)
        return tuple((parent, tuple(c.name for c in self.columns if c.of == parent)) for parent in parents)

    @cached_property
    def booleans(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns if c.type == "bool")

    @cached_property
    def known(self) -> frozenset[str]:
        """Fields of a row that the body leaves out."""
        return frozenset(self.names)

    @cached_property
    def by_name(self) -> dict[str, Column]:
        return {c.name: c for c in self.columns}

    @cached_property
    def swappable(self) -> bool:
        return "revision" in self.by_name


def text(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="text") for name in names)


def required(type_: Type, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type=type_, required=True) for name in names)


def integer(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="int") for name in names)


def real(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="real") for name in names)


def boolean(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="bool") for name in names)


def copy(of: str, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="text", of=of) for name in names)


def counters(type_: Type, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type=type_, role="counter") for name in names)
