"""Alerts people of patterns: new ones, those that came back or rise, and those that failed so often in so long.

Each is told once: a new one ever, the others again after a day. What is there already when alerting begins is told to
nobody; what somebody ignored, muted or resolved stays silent while it is so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from ratchet.config import Often
from ratchet.lessons.failing import Window, over_time
from ratchet.ports import Notice, Store
from ratchet.records import Json, Pattern, Row, number_in, whole_in

_PLACE = "alerted"
_AGAIN_S = 86_400.0
_FORGOTTEN_S = 7 * _AGAIN_S  # after which it is nobody's memory that something was told
_LISTED = 10
_HOUR_S = 3_600.0

Why = Literal["new", "back after it was resolved", "rising", "frequent"]


def alert(
    store: Store, patterns: Sequence[Pattern], often: Often | None, send: Callable[[Notice], object], *, now: float
) -> int:
    """Send what is new among `patterns` as one notice; return how many patterns it names. The place is moved first, so
    that no crash and no second process tells anything twice. Raises StoreError."""
    held = store.get("meta", _PLACE)
    since = number_in(held or {}, "since", now)
    before = (held or {}).get("told")
    told = (
        {name: at for name, at in before.items() if _time(at) > now - _FORGOTTEN_S} if isinstance(before, dict) else {}
    )
    found = [
        (why, each)
        for why, each in _found(store, patterns, often, since=since, now=now)
        if _is_due(told, why, each, now)
    ]
    if held is not None and not found:
        return 0
    for why, each in found:
        told[_name(why, each)] = now
    place: Row = {"since": since, "told": told}
    if not store.swap("meta", _PLACE, whole_in(held or {}, "revision"), place) or held is None:
        return 0
    lines = [f"{why}: {_line(each)}" for why, each in found]
    more = [f"and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    title = lines[0] if len(lines) == 1 else f"{len(lines)} alerts"
    text = "\n".join([*lines[:_LISTED], *more])
    record = found[0][1].id if len(found) == 1 else ""
    send(Notice(title=f"Ratchet: {title}", text=text, level="warning", record=record, at=now))
    return len(found)


def _found(
    store: Store, patterns: Sequence[Pattern], often: Often | None, *, since: float, now: float
) -> list[tuple[Why, Pattern]]:
    """Find all that could be told now, each pattern once."""
    listened = [each for each in patterns if each.triage.state in ("open", "regressed")]
    within = [each for each in listened if often is not None and each.last_seen >= now - often.within_s]
    counted = _counts(store, [each.id for each in within], often, now) if often is not None else {}
    found: list[tuple[Why, Pattern]] = []
    for each in listened:
        if each.triage.state == "regressed":
            found.append(("back after it was resolved", each))
        elif each.first_seen >= since and each.count > 1:
            found.append(("new", each))
        elif often is not None and counted.get(each.id, 0) >= often.times:
            found.append(("frequent", each))
        elif each.trend == "rising" and each.recurring and each.last_seen >= now - _AGAIN_S:
            found.append(("rising", each))
    return found


def _counts(store: Store, patterns: Sequence[str], often: Often, now: float) -> Mapping[str, int]:
    """Failures of each in the window, by whole hours: the first one counts whole."""
    first = (now - often.within_s) // _HOUR_S * _HOUR_S
    within = Window(name="", since=first, step_s=now + _HOUR_S - first, columns=1)
    return {name: counts[0] for name, counts in over_time(store, patterns, within).items()}


def _is_due(told: Mapping[str, Json], why: Why, each: Pattern, now: float) -> bool:
    at = told.get(_name(why, each))
    return at is None or (why != "new" and _time(at) <= now - _AGAIN_S)


def _name(why: Why, each: Pattern) -> str:
    return f"{why} {each.id}"


def _time(at: Json) -> float:
    return float(at) if isinstance(at, int | float) else 0.0


def _line(each: Pattern) -> str:
    said = " ".join(each.template.split())[:160]
    return f"{said} ({each.kind}, {each.count:,} times, {each.id})"
