"""The rows of many outcomes at once: the same as `recorder.row_of` makes of each, in half the time.

What makes one row slow is that each of its texts is searched for secrets. Of a batch all texts are searched together:
where nothing is found in them, nothing is in any. A batch that holds a secret, and an outcome that says more than the
usual, takes the ordinary way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from ratchet.coin import outcome_id, uuid7
from ratchet.recorder import row_of
from ratchet.records import Json, Row
from ratchet.redaction import LABEL, LIMIT, nothing_to_hide

_NAME, _TEXT, _AMOUNT, _COUNT, _FLAG, _MOMENT = range(6)
_USUAL = {
    "task": _TEXT,
    "error": _TEXT,
    **dict.fromkeys(("agent", "session", "thread", "unit", "project", "source", "model"), _NAME),
    **dict.fromkeys(("duration_s", "first_item_s", "cost_usd"), _AMOUNT),
    "tokens": _COUNT,
    "ok": _FLAG,
    "started_at": _MOMENT,
    "id": _NAME,
}
_LATEST = 1e11  # Unix seconds, as the recorder has it
_MOST = 2**53  # an amount beyond it is no measurement


def rows_of(items: Sequence[Mapping[str, object]]) -> list[Row]:
    """A row for each item: `agent`, and the keywords of `record`. Never raises for what an item says."""
    texts: set[str] = set()
    now = time.time()
    usual = [_usual(item, texts, now) for item in items]
    if not nothing_to_hide(texts):
        usual = [None] * len(items)
    return [_ordinary(item) if row is None else row for item, row in zip(items, usual, strict=True)]


def _ordinary(item: Mapping[str, object]) -> Row:
    given = dict(item)
    agent = given.pop("agent", "")
    return row_of(agent, given)  # type: ignore[arg-type]  # whatever it is: the recorder names what it cannot use


def _usual(item: Mapping[str, object], texts: set[str], now: float) -> Row | None:
    """The row of an item that says nothing but the usual, its texts added to `texts`; None for any other."""
    row: Row = {"r": "outcome", "id": "", "agent": "", "ok": True, "started_at": now, "source": "python"}
    for name, value in item.items():
        if value is None:
            continue
        kind = _USUAL.get(name)
        if kind is None:
            return None
        if kind <= _TEXT:
            if type(value) is not str or len(value) > (LABEL if kind == _NAME else LIMIT):
                return None
            if value:
                row[name] = value
        elif kind == _FLAG:
            if type(value) is not bool:
                return None
            row[name] = value
        elif (type(value) is float or type(value) is int) and 0 <= value < _MOST:
            row[name] = value if kind == _COUNT else float(value)
            if kind == _COUNT and type(value) is not int:
                return None
        else:
            return None
    return _finished(item, row, texts)


def _finished(item: Mapping[str, object], row: Row, texts: set[str]) -> Row | None:
    """The row with what follows from several fields."""
    error: Json = row.pop("error", None)
    moment = item.get("started_at")
    if not row["agent"] or float(row["started_at"]) >= _LATEST:  # type: ignore[arg-type]  # a number, set above
        return None
    if error is not None or item.get("error") is not None:
        if not error or item.get("ok"):  # a success with an error to tell, or one without words
            return None
        row["ok"] = False
        row["failure"] = {"message": error}
        texts.add(error)  # type: ignore[arg-type]  # a text, as all that is checked above
    if moment is None:
        row["started_at"] = row["started_at"] - row.get("duration_s", 0.0)  # type: ignore[operator]
    for name in _TEXTS:
        value = row.get(name)
        if value is not None:
            texts.add(value)  # type: ignore[arg-type]
    key = row["id"]
    row["id"] = outcome_id(row["source"], row.get("session", ""), key) if key else uuid7()  # type: ignore[arg-type]
    return row


_TEXTS = ("agent", "task", "session", "model", "project", "source", "thread", "unit")
