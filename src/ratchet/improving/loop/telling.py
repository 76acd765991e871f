"""Tells people what the loop did: new lines of the timeline, each once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ratchet.ports import Notice, Store
from ratchet.records import Json, Row, number_in, whole_in

_CURSOR = "told"
_MOST = 50  # notices at once: after a long silence nobody reads hundreds
LATE_S = 600.0
"""How much older than what was told an event may be and is still told: a tick dates all it does by its beginning, so a
slow one writes behind a quick one; and clocks are set back."""

_TOLD: dict[tuple[str, str], tuple[str, Literal["info", "warning", "error"]]] = {
    ("trial", "opened"): ("a change is on trial", "info"),
    ("trial", "kept"): ("a change was kept", "info"),
    ("trial", "reverted"): ("a change was reverted", "warning"),
    ("trial", "undecided"): ("a trial ended undecided; the old values stay", "info"),
    ("trial", "paused"): ("a trial is paused: both arms fail", "warning"),
    ("trial", "resumed"): ("a trial goes on", "info"),
    ("trial", "advised"): ("a change without control arm: advice", "info"),
    ("proposal", "opened"): ("a fix is proposed", "info"),
    ("episode", "ended"): ("a healing ended", "info"),
    ("lesson", "retired"): ("a lesson was retired", "info"),
    ("loop", "failed"): ("a step of the improve loop failed; it goes on", "error"),
}
"""(noun, verb) of an event -> what people hear."""


def tell(store: Store, send: Callable[[Notice], object], *, now: float) -> int:
    """Send what happened since the last time; return how many notices. The place is moved first, so that no crash and
    no second process tells anything twice; the first call only takes the place."""
    cursor: Row | None = store.get("meta", _CURSOR)
    if cursor is None:
        store.swap("meta", _CURSOR, 0, {"at": now, "since": now, "ids": []})
        return 0
    since, at, known = number_in(cursor, "since"), number_in(cursor, "at"), cursor.get("ids")
    rows = store.find("events", {"at": (">=", max(since, min(at, now) - LATE_S))}, order=("at", "id")).rows
    told = set(known) if isinstance(known, list) else set()
    fresh = [row for row in rows if row["id"] not in told]
    if not fresh:
        return 0
    newest = number_in(rows[-1], "at")
    late: list[Json] = [row["id"] for row in rows if number_in(row, "at") >= min(newest, now) - LATE_S]
    if not store.swap("meta", _CURSOR, whole_in(cursor, "revision"), {"at": newest, "since": since, "ids": late}):
        return 0
    notices = [found for row in fresh if (found := notice_of(row)) is not None][-_MOST:]
    for notice in notices:
        send(notice)
    return len(notices)


def notice_of(event: Row) -> Notice | None:
    """Write what a person hears of an event; None for those that are nobody's news."""
    said = _TOLD.get((str(event.get("noun")), str(event.get("verb"))))
    if said is None:
        return None
    title, level = said
    about = [str(event[name]) for name in ("title", "target", "step", "status", "reason") if event.get(name)]
    return Notice(
        title=f"{title}: {event.get('record')}",
        text="; ".join(about),
        level=level,
        record=str(event.get("record") or ""),
        at=number_in(event, "at"),
    )
