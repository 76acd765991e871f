"""Tells what of a project's imports is about a failure. Lean: hook processes import this."""

from __future__ import annotations

from ratchet.failures.missing_names import name_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ratchet.records import Row

GROUP = "imports"
"""The group of such a lesson, one a project."""


def about(rows: Iterable[Row], keys: Iterable[str]) -> list[Row]:
    """The lessons, that of the imports with the lines alone about names that are asked for (by their import keys) and
    about which no other of the lessons is; left out where none is left."""
    found = [*rows]
    told = {name for row in found if row.get("group") != GROUP for key in _list(row, "keys") if (name := name_in(key))}
    wanted = [key for key in keys if key.split(" ", 2)[2] not in told]
    return [each for row in found if (each := _narrowed(row, wanted)) is not None]


def _narrowed(row: Row, wanted: Iterable[str]) -> Row | None:
    if row.get("group") != GROUP:
        return row
    lines = row.get("lines")
    said = [str(lines[key]) for key in wanted if key in lines] if isinstance(lines, dict) else []
    return {**row, "text": " ".join(said)} if said else None


def _list(row: Row, name: str) -> list[str]:
    held = row.get(name)
    return [str(each) for each in held] if isinstance(held, list) else []
