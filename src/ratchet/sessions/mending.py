"""Tells which failed steps a later one mended: the one verdict that a session's list, its page, its steps and its
handoff give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ratchet.failures.health import EXCUSED
from ratchet.failures.patterns.ingest import DERIVED
from ratchet.records import Outcome, Row, outcome_of, text_in

if TYPE_CHECKING:
    from ratchet.ports import Store

_LAST = 1_000  # steps that are looked through for what nothing mended
_PARTS = re.compile(r"[/\\:?#]+")


@dataclass(frozen=True, slots=True)
class Mended:
    """`worked`: failed step -> the one that achieved it; `failed`: the other way round; `taught`: step -> the lessons
    that were learnt from it."""

    worked: dict[str, str]
    failed: dict[str, list[str]]
    taught: dict[str, list[str]]


def mended(store: Store, sessions: set[str]) -> Mended:
    """Read what was mined of these sessions. A step that reached for something else than the failed one is no fix,
    though it may teach where that is."""
    rows = store.find("resolutions", {"session": ("in", [*sessions])}).rows
    asked = {text_in(row, name) for row in rows if row.get("way") == "step" for name in ("failed_id", "worked_id")}
    steps = {text_in(row, "id"): row for row in store.find("outcomes", {"id": ("in", [*asked])}).rows}
    found = Mended({}, {}, {})
    for row in rows:
        if not row.get("worked"):
            continue
        failed, worked = text_in(row, "failed_id"), text_in(row, "worked_id")
        for step in (failed, worked):
            lesson = text_in(row, "lesson_id")
            if lesson and lesson not in found.taught.setdefault(step, []):
                found.taught[step].append(lesson)
        if row.get("way") == "step" and _is_another(steps.get(failed), steps.get(worked)):
            continue
        found.worked.setdefault(failed, worked)
        if failed not in found.failed.setdefault(worked, []):
            found.failed[worked].append(failed)
    return found


def _is_another(failed: Row | None, worked: Row | None) -> bool:
    """Tell whether two steps name a file, an address or a skill each, and not the same one. A file that is found
    elsewhere is the same, and so is one that the failure named."""
    one, other = (_last_part(text_in((row or {}).get("step"), "target")) for row in (failed, worked))
    return bool(one and other) and one != other and other not in text_in((failed or {}).get("failure"), "message")


def _last_part(target: str) -> str:
    return next((part for part in reversed(_PARTS.split(target)) if part), "")


def unmended(store: Store, session: str) -> tuple[Outcome, ...]:
    """The failed steps that nothing mended and after which the same call did not work, either, of the last thousand:
    oldest first."""
    rows: Sequence[Row] = store.find("outcomes", {"session": session}, order=("-started_at",), limit=_LAST).rows
    known = mended(store, {session}).worked
    worked: set[tuple[str, str, str, str]] = set()
    found: list[Outcome] = []
    for row in rows:  # the newest first
        step = row.get("step")
        call = (text_in(row, "thread"), text_in(step, "tool"), text_in(step, "head"), text_in(step, "target"))
        if row.get("ok"):
            worked.add(call)
            continue
        counted = row.get("source") != DERIVED and text_in(row.get("failure"), "kind") not in EXCUSED
        if counted and text_in(row, "id") not in known and (not step or call not in worked):
            found.append(outcome_of(row))
    return tuple(reversed(found))
