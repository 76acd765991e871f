"""Tells of a lesson where it was met, and what was tried there in vain."""

from __future__ import annotations

from typing import cast

from ratchet.lessons.mining.checks import forbidden
from ratchet.ports import Store
from ratchet.records import Json, Row, text_in

_VAIN = 5  # remedies that are told with a lesson


def trials(store: Store, row: Row) -> Row:
    """Say of a lesson in how many projects it was met, and what was tried there in vain, with how many sessions did."""
    met = cast("list[Json]", row.get("generic") or ([row["project"]] if row.get("project") else []))
    return {"met_in": len(met), "tried_in_vain": _in_vain(store, row)}


def _in_vain(store: Store, row: Row) -> list[Json]:
    """List what was tried for the same findings and did not help, each with the number of sessions that tried it."""
    keys = [*cast("list[Json]", row.get("keys") or [])]
    if not keys or not row.get("project"):
        return []
    met = store.find("resolutions", {"key": ("in", keys), "project": row["project"]}).rows
    sessions: dict[str, set[str]] = {}
    for each in met:
        tried = text_in(each, "text") or ", ".join(map(str, cast("list[Json]", each.get("forms") or [])))
        was_tried = tried and not each.get("worked") and each.get("worked_id") != each.get("failed_id")
        if was_tried and tried != row["text"] and not forbidden(tried):
            sessions.setdefault(tried, set()).add(text_in(each, "session"))
    best = sorted(sessions.items(), key=lambda each: (-len(each[1]), each[0]))[:_VAIN]
    return [{"do": tried, "sessions": len(names)} for tried, names in best]
