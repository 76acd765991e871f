"""Records as rows of a store, and rows as records: by their fields' names."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, TypeVar, cast

from ratchet.records import Json, Row

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


@functools.cache
def names_of(kind: type[DataclassInstance]) -> tuple[str, ...]:
    """The names of a record's fields, in order."""
    return tuple(each.name for each in fields(kind))


def as_row(record: DataclassInstance) -> Row:
    """A record as a row: tuples become lists."""
    return cast("Row", {name: [*held] if isinstance(held, tuple) else held for name, held in asdict(record).items()})


def record_of(kind: type[T], row: Json | Mapping[str, Json], **given: object) -> T:
    """The record that a row holds: lists become tuples, fields of a newer version are ignored. What is `given` counts
    instead of what the row says."""
    assert isinstance(row, Mapping)
    known = {name: row[name] for name in names_of(cast("type[DataclassInstance]", kind)) if row.get(name) is not None}
    return kind(**{name: tuple(held) if isinstance(held, list) else held for name, held in known.items()} | given)
