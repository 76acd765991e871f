"""Checks what callers hand to the public functions, and numbers that others wrote.

A wrong value is a UsageError that says what is accepted, at the call and not deep inside.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING

from ratchet.errors import NotFound, UsageError

if TYPE_CHECKING:
    from ratchet.ports import Store
    from ratchet.records import Row

_LEAST_CHARS = 3  # of an id: fewer name nearly everything


def need_text(name: str, value: object) -> None:
    """Raise UsageError unless the value is a text."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is a text (str), not {_said(value)}")


def need_text_or_none(**values: object) -> None:
    """Raise UsageError for the first value that is neither a text nor None."""
    for name, value in values.items():
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{name} is a text (str) or None, not {_said(value)}")


def need_count(name: str, value: object, *, or_none: bool = False) -> None:
    """Raise UsageError unless the value is a whole number from 0 on."""
    if value is None and or_none:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UsageError(f"{name} is a whole number from 0 on{' or None' if or_none else ''}, not {_said(value)}")


def need_number(
    name: str, value: object, *, least: float = 0, whole: bool = False, finite: bool = False, why: str = ""
) -> None:
    """Raise UsageError unless the value is a number from `least` on. NaN is none: as a limit it would hold nothing."""
    kinds = int if whole else int | float
    if not isinstance(value, kinds) or isinstance(value, bool) or not value >= least or (finite and value == inf):
        said = f"{value!r:.60}" if isinstance(value, int | float | str) else _said(value)
        raise UsageError(f"{name} is {said}: use a {'whole ' if whole else ''}number from {least:g} up{why}")


def finite(value: object) -> float | None:
    """The number as a float; None for what is none, NaN, infinite or, as JSON may have it, beyond every float."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


def need_flag_or_none(name: str, value: object) -> None:
    """Raise UsageError unless the value is True, False or None."""
    if value is not None and not isinstance(value, bool):
        raise UsageError(f"{name} is True, False or None, not {_said(value)}")


def need_time_or_none(name: str, value: object) -> None:
    """Raise UsageError unless the value is None or a finite number of Unix seconds."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value - value == 0
    if value is not None and not is_number:
        raise UsageError(f"{name} is Unix seconds (a number) or None, not {_said(value)}")


def whole_id(store: Store, table: str, given: str) -> str:
    """The one id of a table that begins with this; what was given where it is whole, or names none. Raises UsageError
    where several begin so."""
    if not given or store.get(table, given) is not None:
        return given
    rows = store.find(table, {"id": (">=", given)}, order=("id",), limit=3).rows
    found = [str(row["id"]) for row in rows if str(row["id"]).startswith(given)]
    if found and len(given) < _LEAST_CHARS:
        raise UsageError(f"{given} is too short for an id: give {_LEAST_CHARS} characters at least, as of {found[0]}")
    if len(found) > 1:
        raise UsageError(f"{given} begins several ids ({', '.join(found)}, ...): give more of it")
    return found[0] if found else given


def named_row(store: Store, table: str, given: str, noun: str, listing: str) -> Row:
    """The row of an id, or of its beginning. Raises NotFound, which names the command that lists them, and UsageError
    as `whole_id`."""
    row = store.get(table, whole_id(store, table, given))
    if row is None:
        raise NotFound(f"no {noun} {given}; `ratchet {listing}` names those that there are")
    return row


def _said(value: object) -> str:
    """The value where it is short and harmless, else its type: a value may hold a secret."""
    return repr(value) if value is None or isinstance(value, int | float) else type(value).__name__
