"""Narrows the lesson of a project's imports to the names that a failure misses. Lean: hook processes import this."""

from __future__ import annotations

from ratchet.failures.missing_names import name_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ratchet.records import Row

GROUP = "imports"
"""The group of such a lesson, one a project."""


def narrowed(rows: Iterable[Row], keys: Iterable[str]) -> list[Row]:
    """The lessons; that of the imports with only its lines about the missing names (`keys`) that no other lesson here
    is about, or left out where none remains."""
    found = [*rows]
    told = {name for row in found if row.get("group") != GROUP for key in _list(row, "keys") if (name := name_in(key))}
    wanted = [key for key in keys if key.split(" ", 2)[2] not in told]
    return [each for row in found if (each := _with_lines(row, wanted)) is not None]


def _with_lines(row: Row, wanted: Iterable[str]) -> Row | None:
    if row.get("group") != GROUP:
        return row
    lines = row.get("lines")
    said = [str(lines[key]) for key in wanted if key in lines] if isinstance(lines, dict) else []
    return {**row, "text": " ".join(said)} if said else None


def _list(row: Row, name: str) -> list[str]:
    held = row.get(name)
    return [str(each) for each in held] if isinstance(held, list) else []
