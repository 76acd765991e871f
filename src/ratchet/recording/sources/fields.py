"""Takes values out of foreign JSON, whatever they turn out to be: a wrong type reads as absent, never raises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from ratchet.arguments import finite
from ratchet.recording.recorder import MOST_WHOLE
from ratchet.records import Json, Row

_NOTHING: Row = {}
_FLOAT_BITS = 53  # of a whole number that a float holds exactly
# Epoch seconds between 2001 and 2100; the same span in milli-, micro- and nanoseconds does not overlap it.
_EPOCH_FROM, _EPOCH_TO = 978_307_200.0, 4_102_444_800.0


def text(value: object) -> str:
    """The string, or ""."""
    return value if isinstance(value, str) else ""


def row(value: object) -> Row:
    """The object, or an empty one (do not write to it)."""
    return value if isinstance(value, dict) else _NOTHING


def rows(value: object) -> list[Row]:
    """The objects in a list; what is no object is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def number(value: object) -> float | None:
    """A finite number, also when written as a string; never a boolean."""
    if isinstance(value, str) and len(value) <= 40:
        try:
            value = float(value)
        except ValueError:
            return None
    return finite(value)


def whole(value: object) -> int | None:
    """A whole number, also when written as a string or a float."""
    if type(value) is int and value.bit_length() <= _FLOAT_BITS:  # nearly all are
        return value
    found = number(value)
    return int(found) if found is not None and found == int(found) else None


def tokens(value: object) -> int | None:
    """A count of tokens; None for what is none, or more than any agent uses (sums would overflow the store)."""
    found = whole(value)
    return found if found is not None and 0 <= found <= MOST_WHOLE else None


def boolean(value: object) -> bool | None:
    """A truth value, also when written as `"true"`, `"no"`, 0 or 1."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    if isinstance(value, str):
        word = value.strip().lower()
        return True if word in ("true", "yes", "1") else False if word in ("false", "no", "0") else None
    return None


def first(record: Mapping[str, Json], names: Iterable[str]) -> Json:
    """The first of the named fields that holds something (not absent, null or "")."""
    for name in names:
        value = record.get(name)
        if value is not None and value != "":
            return value
    return None


def instant(value: object) -> float | None:
    """Unix seconds of an ISO 8601 time (UTC when it names no zone) or of epoch seconds, ms, us or ns."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            return _epoch(number(value))
        try:
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (OverflowError, ValueError):  # the years 1 and 9999
            return None
    return _epoch(number(value))


def _epoch(value: float | None) -> float | None:
    for scale in (1.0, 1e3, 1e6, 1e9):
        if value is not None and _EPOCH_FROM <= value / scale <= _EPOCH_TO:
            return value / scale
    return None


def blocks_text(content: object, depth: int = 3) -> str:
    """The text of a message's or tool result's content: a string, or a list of blocks whose other kinds are named."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict) and depth:
        inner = first(content, ("text", "content", "output"))
        return blocks_text(inner, depth - 1)
    if not isinstance(content, list) or not depth:
        return ""
    parts = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict):
            said = blocks_text(first(block, ("text", "content", "output")), depth - 1)
            parts.append(said or f"[{text(block.get('type')) or 'block'}]")
    return "\n".join(parts)
