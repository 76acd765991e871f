"""The tables, declared once: a column for what is filtered, grouped or joined; one JSON body holds the rest of a row.

Every store builds itself from `TABLES`; a change of a declaration is a new `VERSION` (see `store.migrations`).
Times are Unix seconds (UTC), hours are whole hours since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

VERSION = 4
"""Version of the declarations below, kept in the database."""

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """One table. `key` identifies a row; `words` are the columns whose text `Store.match` searches.

    `clustered` rows lie in the order of their key, which suits tallies (read by ranges of the key, no other index);
    all others are appended, which is what keeps inserts cheap. A table with a `revision` column can be swapped.
    A table is equal to itself only, so that its statements can be remembered by it.
    """

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...] = ()
    words: tuple[str, ...] = ()
    clustered: bool = False
    body: bool = True

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Columns that a row carries under their own name, in order."""
        return tuple(c.name for c in self.columns if c.of is None)

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


def _text(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="text") for name in names)


def _required(type_: Type, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type=type_, required=True) for name in names)


def _int(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="int") for name in names)


def _real(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="real") for name in names)


def _bool(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="bool") for name in names)


def _copy(of: str, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="text", of=of) for name in names)


def _counters(type_: Type, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type=type_, role="counter") for name in names)


_SPAN = (Column(name="min_at", type="real", role="min"), Column(name="max_at", type="real", role="max"))
_REVISION = _int("revision")

_TABLES = (
    # Facts. A column costs 0.2 us an outcome even where it is empty, so only what is filtered by has one.
    Table(
        name="outcomes",
        key=("id",),
        columns=(
            *_required("text", "id", "agent"),
            *_required("bool", "ok"),
            *_required("real", "started_at"),
            *_text("session", "task", "project", "source"),
            *_copy("failure", "kind", "signature"),
        ),
        indexes=(
            Index(columns=("session",), where="session"),
            Index(columns=("started_at",)),
            Index(columns=("signature", "started_at"), where="signature"),
        ),
    ),
    Table(
        name="exposures",
        key=("trial", "unit"),
        columns=(
            *_text("trial", "unit", "arm", "session", "pattern", "channel"),
            *_real("share", "at", "settled_at", "due_at"),  # `due_at`: of a trial's exposure, its deadline
            *_bool("settled", "ok"),
            *_REVISION,
        ),
        indexes=(Index(columns=("session",), where="session"), Index(columns=("at",))),
    ),
    # Sessions that grew since they were last searched for loops and resolutions are `pending`.
    Table(
        name="sessions",
        key=("session",),
        columns=(*_text("session"), *_bool("pending"), *_real("at"), *_REVISION),
        indexes=(Index(columns=("pending", "at")),),
    ),
    # What the failures have in common.
    Table(
        name="signatures",
        key=("signature",),
        columns=(
            *_text("signature", "kind", "template", "pattern"),
            *_bool("pinned"),  # split off by a person: never merged again by itself
            *_real("created_at"),
            *_REVISION,
        ),
        indexes=(Index(columns=("pattern",)),),
    ),
    Table(
        name="patterns",
        key=("id",),
        columns=(*_text("id", "signature", "kind", "template"), *_real("created_at"), *_REVISION),
    ),
    Table(
        name="merges",
        key=("id",),
        columns=(*_text("id", "pattern", "signature"), *_bool("undone"), *_real("at"), *_REVISION),
        indexes=(Index(columns=("pattern",)),),
    ),
    # Tallies: moved in the transaction of the insert, so that analysis never scans history.
    Table(
        name="tallies",
        key=("signature", "agent", "hour"),
        columns=(
            *_text("signature", "agent"),
            *_int("hour"),
            *_counters("int", "n", "tokens"),
            *_counters("real", "duration_s", "cost_usd"),
            *_SPAN,
        ),
        clustered=True,
        body=False,
    ),
    # Signature "" stands for taking part in a session at all.
    Table(
        name="sightings",
        key=("signature", "session", "agent"),
        columns=(*_text("signature", "session", "agent"), *_counters("int", "n"), *_SPAN),
        clustered=True,
        body=False,
    ),
    Table(
        name="activity",
        key=("agent", "hour"),
        columns=(
            *_text("agent"),
            *_int("hour"),
            *_counters("int", "calls", "failures", "excused", "tokens"),
            *_counters("real", "duration_s", "cost_usd"),
            *_SPAN,
        ),
        clustered=True,
        body=False,
    ),
    # One row per agent: its last outcomes, oldest first, in the body's `outcomes` as [started_at, id, ok].
    Table(name="recents", key=("agent",), columns=(*_text("agent"), *_REVISION)),
    # What was learnt.
    Table(
        name="resolutions",
        key=("id",),
        columns=(
            *_text("id", "session", "failed_id", "worked_id", "signature", "pattern", "lesson_id"),
            *_real("at", "wasted_s", "failed_s"),
            *_int("wasted_tokens", "failed_tokens"),
            *_REVISION,
        ),
        indexes=(
            Index(columns=("signature",)),
            Index(columns=("lesson_id",), where="lesson_id"),
            Index(columns=("session",)),
        ),
    ),
    Table(
        name="lessons",
        key=("id",),
        columns=(
            *_text("id", "state", "scope", "signature", "pattern", "kind", "tool", "head", "target"),
            *_text("when_text", "text"),
            *_int("tried", "worked", "uses", "wins"),
            *_real("created_at", "updated_at"),
            *_REVISION,
        ),
        # In the order in which a session start is offered them: `lookup.top` reads the first few and no more.
        indexes=(Index(columns=("signature",)), Index(columns=("pattern",)), Index(columns=("state", "worked", "id"))),
        words=("when_text",),
    ),
    # What is tried. A lease names the trial that holds its target, "" when it is free.
    Table(
        name="trials",
        key=("id",),
        columns=(
            *_text("id", "target", "agent", "state", "pattern"),
            *_real("created_at", "opened_at", "closed_at"),
            *_REVISION,
        ),
        indexes=(Index(columns=("state",)), Index(columns=("target",)), Index(columns=("created_at",))),
    ),
    Table(name="leases", key=("target",), columns=(*_text("target", "trial"), *_REVISION)),
    Table(
        name="proposals",
        key=("id",),
        columns=(
            *_text("id", "agent", "pattern", "kind", "state", "trial"),
            *_real("created_at", "updated_at"),
            *_REVISION,
        ),
        indexes=(Index(columns=("state",)), Index(columns=("pattern",))),
    ),
    # Where reading stands: journal segments and source files. `carry` (the reader's own memory) stands in the body.
    Table(
        name="cursors",
        key=("path",),
        columns=(*_text("path", "identity", "source"), *_int("offset", "size"), *_real("at"), *_REVISION),
        indexes=(Index(columns=("identity",), where="identity"),),
    ),
    Table(
        name="quarantine",
        key=("path", "line", "reason"),
        columns=(*_text("path"), *_int("line"), *_text("reason", "source"), *_real("at")),
        indexes=(Index(columns=("at",)),),
    ),
    # Live settings: which version of a target is in force (the body holds its declared knobs), and all versions.
    Table(
        name="settings",
        key=("target",),
        columns=(*_text("target", "agent"), *_int("version"), *_real("at"), *_REVISION),
    ),
    Table(
        name="versions",
        key=("id",),
        columns=(
            *_text("id", "target", "who", "why"),
            *_int("number", "parent"),
            *_real("at", "applied_at"),
            *_REVISION,
        ),
        indexes=(Index(columns=("target", "number")),),
    ),
    # Healing. A task is claimed again as a further episode; an attempt faces a signature and leaves another, or none.
    Table(
        name="tasks",
        key=("id",),
        columns=(*_text("id", "folder"), *_int("episodes"), *_real("created_at", "updated_at"), *_REVISION),
        indexes=(Index(columns=("folder",)),),
    ),
    Table(
        name="episodes",
        key=("id",),
        columns=(
            *_text("id", "task", "status", "solver", "folder", "signature"),
            *_int("number"),
            *_real("started_at", "ended_at", "duration_s", "cost_usd"),
            *_REVISION,
        ),
        indexes=(Index(columns=("started_at",)), Index(columns=("task",))),
    ),
    Table(
        name="attempts",
        key=("episode", "n"),
        columns=(
            *_text("episode"),
            *_int("n"),
            *_text("status", "solver", "faced", "signature", "kind"),
            *_real("started_at", "duration_s", "cost_usd"),
            *_REVISION,
        ),
        indexes=(Index(columns=("solver", "status", "started_at")),),
    ),
    # A way back after each attempt: the workspace's token, and the changed files themselves in the body.
    Table(
        name="checkpoints",
        key=("episode", "n"),
        columns=(*_text("episode"), *_int("n"), *_text("token", "state"), *_real("at"), *_REVISION),
    ),
    # Money set aside before a call and settled after it: a call whose end nobody saw counts in full.
    Table(
        name="charges",
        key=("id",),
        columns=(
            *_text("id", "episode"),
            *_int("attempt", "tokens"),
            *_real("reserved_usd", "usd", "at"),
            *_bool("settled"),
            *_REVISION,
        ),
        indexes=(Index(columns=("episode",)),),
    ),
    # The timeline, read by people and notifiers, never by loops.
    Table(
        name="events",
        key=("id",),
        columns=(*_text("id", "noun", "record", "verb"), *_real("at")),
        indexes=(Index(columns=("at",)), Index(columns=("record",))),
    ),
    Table(name="meta", key=("name",), columns=(*_text("name"), *_REVISION)),
)

TABLES: dict[str, Table] = {table.name: table for table in _TABLES}
