"""Keeps one lesson a project that says whence its edits import names: a function of what its sessions imported."""

from __future__ import annotations

from typing import cast

from ratchet.failures.signature import sign
from ratchet.lessons.lessons import distinct, noted, put
from ratchet.lessons.mining.habits import ProjectRuns
from ratchet.lessons.mining.imported import import_sources
from ratchet.lessons.mining.triggers import lesson_id_of
from ratchet.lessons.origins import GROUP
from ratchet.ports import Store
from ratchet.records import LessonState, Row

_KIND = "code_error"
_WHEN = "a name is not known that this project imports"
_TEXT = "This project's edits bring it in so:"


def recount_imports(store: Store, project: str, ran: ProjectRuns, *, now: float) -> dict[str, LessonState]:
    """Bring a project's lesson of imports up to date; return it where it changed, with its state. Joins the caller's
    transaction."""
    lesson_id = lesson_id_of("mined", project, GROUP)
    held = store.get("lessons", lesson_id)
    row = _row(lesson_id, project, ran, held or {}, now)
    if row is None:
        if held is not None and not held.get("decided"):
            store.delete("answers", {"lesson_id": lesson_id})
            store.delete("lessons", {"id": lesson_id})
        return {}
    if held is not None and all(held.get(name) == value for name, value in row.items() if name != "updated_at"):
        return {}
    put(store, row, held)
    if held is None or held.get("keys") != row["keys"]:
        keys = cast("list[str]", row["keys"])
        store.delete("answers", {"lesson_id": lesson_id})
        store.insert_new("answers", [{"key": key, "lesson_id": lesson_id} for key in keys])
    if held is None:
        noted(store, lesson_id, str(row["state"]), "", now)
    return {lesson_id: cast(LessonState, row["state"])}


def _row(lesson_id: str, project: str, ran: ProjectRuns, held: Row, now: float) -> Row | None:
    found = import_sources(ran.imported)
    if not found:
        return None
    return {
        "scope": "project",
        "uses": 0,
        "wins": 0,
        "created_at": now,
        **held,
        "id": lesson_id,
        "group": GROUP,
        "keys": [*found],
        "lines": {key: each.text for key, each in found.items()},
        "told": [[f"import {each.module}"] for each in found.values()],
        "rule": "edit",
        "signature": sign(_KIND, _WHEN),
        "pattern": "",
        "kind": _KIND,
        "tool": "",
        "head": "",
        "target": "",
        "when_text": _WHEN,
        "source": "session",
        "text": "\n".join([_TEXT, *(each.text for each in found.values())]),
        "example": "",
        "tried": 0,  # its lines have counts of their own
        "worked": 0,
        "says_itself": False,
        "known": False,
        "updated_at": now,
        "project": project,
        "projects": distinct([project]),
        "provenance": "counted in the edits of sessions",
        "state": held.get("decided") or "active",
        "reason": held.get("reason") or "",
        "seen_at": max(at for key in found for at, _, _ in ran.imported[key]),
    }
