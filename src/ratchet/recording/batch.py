"""The rows of many outcomes at once: the same as `recorder.row_of` makes of each, in a third of the time.

What makes one row slow is that each of its texts is searched for secrets. Of a batch all texts are searched together:
where nothing is found in them, nothing is in any; and names that came before are known. A batch that holds a secret,
and an outcome that says more than the usual, takes the ordinary way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import isnan
from operator import itemgetter

from ratchet.failures.redaction.text import LABEL, LIMIT, nothing_to_hide
from ratchet.ids import outcome_id, uuid7
from ratchet.recording.journal import line_of
from ratchet.recording.recorder import LATEST, MOST_AMOUNT, row_of
from ratchet.records import Json, Row

_NAMES = ("agent", "session", "model", "project", "source", "thread", "unit")
_AMOUNTS = ("duration_s", "first_item_s", "cost_usd", "started_at")
_KINDS: dict[str, type] = {
    **dict.fromkeys((*_NAMES, "task", "error", "id"), str),
    **dict.fromkeys(_AMOUNTS, float),
    "tokens": int,
    "ok": bool,
}
_USUAL = frozenset(_KINDS)
_NUMBERS = {float, int}
_FIRST: Row = {"r": "outcome", "id": "", "agent": "", "ok": True, "started_at": 0.0, "source": "python"}
_REMEMBERED = 8_192  # texts known to hold no secret: the same names and tasks come with every batch
_SHORT = 80  # characters; longer texts seldom come again
_harmless: set[str] = set()
Item = Mapping[str, object]


def rows_of(items: Sequence[Item]) -> list[Row]:
    """A row for each item: `agent`, and the keywords of `record`. Never raises for what an item says."""
    usual = [item for item in items if _is_usual(item)]
    rows = usual_rows(usual)
    if rows is None:
        return [_ordinary(item) for item in items]
    made = iter(rows)
    return [next(made) if _is_usual(item) else _ordinary(item) for item in items]


def usual_rows(items: object) -> list[Row] | None:
    """The rows of items that are all usual, of whatever shape they come; None where one of them is not."""
    if not isinstance(items, list) or not set(map(type, items)) <= {dict}:
        return None
    return _rows(items) if _fit(items) else None


def lines_of(rows: Sequence[Row]) -> bytes:
    """The journal's lines of these rows. Written by pydantic's encoder where it is installed: the standard library's
    takes four times as long."""
    try:
        from pydantic_core import to_json
    except ImportError:
        return b"".join(map(line_of, rows))
    try:
        return b"\n".join(map(to_json, rows)) + b"\n"
    except ValueError:  # half a character, which ours replaces
        return b"".join(map(line_of, rows))


def _ordinary(item: Item) -> Row:
    given = dict(item)
    agent = given.pop("agent", "")
    return row_of(agent, given)  # type: ignore[arg-type]  # whatever it is: the recorder names what it cannot use


def _is_usual(item: Item) -> bool:
    """Tell whether it says nothing but the usual, and all of what it names."""
    said = item.values()
    return item.keys() <= _USUAL and None not in said and "" not in said and "agent" in item


def _fit(items: Sequence[Item]) -> bool:
    """Tell whether all are usual, and all values may stand as they are: looked at field by field, not item by item."""
    names = set().union(*items)
    if not names <= _USUAL:
        return False
    texts: set[str] = set()
    for name in names:
        column = _column(items, name)
        kind = _KINDS[name]
        kinds = set(map(type, column))
        if kinds != {kind} and not (kind is float and kinds <= _NUMBERS):
            return False
        if kind is str:
            held = set(column)
            most_chars = LIMIT if name in ("task", "error") else LABEL
            if "" in held or max(map(len, held)) > most_chars or (name == "agent" and len(column) < len(items)):  # type: ignore[arg-type]
                return False
            if name != "id":  # is hashed
                texts |= held  # type: ignore[arg-type]
        elif kind is not bool and not _are_amounts(column, LATEST if name == "started_at" else MOST_AMOUNT):  # type: ignore[arg-type]
            return False
    if items and "agent" not in names:
        return False
    if any(item.get("ok") for item in items if "error" in item):  # a success with an error to tell
        return False
    return _harbour_nothing(texts)


def _column(items: Sequence[Item], name: str) -> list[object]:
    """The values of a field, of those items that have it."""
    try:
        return list(map(itemgetter(name), items))
    except KeyError:
        return [item[name] for item in items if name in item]


def _are_amounts(numbers: Sequence[float], most: float) -> bool:
    """Tell whether all are numbers from 0 to below `most`. A NaN that does not come first is found by the sum alone."""
    return min(numbers) >= 0 and max(numbers) < most and not isnan(sum(numbers))


def _harbour_nothing(texts: set[str]) -> bool:
    unknown = texts - _harmless
    if not nothing_to_hide(unknown):
        return False
    if len(_harmless) > _REMEMBERED:
        _harmless.clear()
    _harmless.update(text for text in unknown if len(text) <= _SHORT)
    return True


def _rows(items: Sequence[Item]) -> list[Row]:
    now = time.time()
    rows: list[Row] = []
    for item in items:
        row: Row = {**_FIRST, **item}  # type: ignore[dict-item]  # JSON, as `_fit` saw
        error: Json = row.pop("error", None)
        if error is not None:
            row["ok"] = False
            row["failure"] = {"message": error}
        if "started_at" not in item:
            row["started_at"] = now - row.get("duration_s", 0.0)  # type: ignore[operator]
        key = row["id"]
        row["id"] = outcome_id(row["source"], row.get("session", ""), key) if key else uuid7()  # type: ignore[arg-type]
        rows.append(row)
    return rows
