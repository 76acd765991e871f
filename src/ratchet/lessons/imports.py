"""Keeps the lessons whose words are found at the failure: one a project that says whence its edits import names, one
that says where its files are, and one of all projects of edits that miss their text. Functions of what sessions
imported, opened and edited."""

from __future__ import annotations

from typing import cast

from ratchet.failures.signature import sign
from ratchet.lessons import edits, origins, paths
from ratchet.lessons.lessons import distinct, noted, put
from ratchet.lessons.mining.habits import ProjectRuns
from ratchet.lessons.mining.imported import import_sources
from ratchet.lessons.mining.triggers import lesson_id_of
from ratchet.ports import Store, Where
from ratchet.records import Json, LessonState, Row, number_in, text_in, whole_in

_TEXT = "Import it as this project's edits do:"
OPENED: list[Json] = ["read", "edit", "write"]
"""The heads of calls that open a file."""


def recount_imports(store: Store, project: str, ran: ProjectRuns, *, now: float) -> dict[str, LessonState]:
    """Bring a project's lesson of imports up to date; return it where it changed, with its state. Joins the caller's
    transaction."""
    found = import_sources(ran.imported)
    told: Row = {
        "keys": [*found],
        "lines": {key: each.text for key, each in found.items()},
        "told": [[f"import {each.module}"] for each in found.values()],
        "kind": "code_error",
        "when_text": "a name that this project imports elsewhere is not known",
        "text": "\n".join([_TEXT, *(each.text for each in found.values())]),
        "provenance": "counted in the edits of sessions",
        "seen_at": max((at for key in found for at, _, _ in ran.imported[key]), default=0.0),
    }
    return _kept(store, project, origins.GROUP, told if found else None, now)


def recount_paths(store: Store, project: str, *, now: float) -> dict[str, LessonState]:
    """Bring a project's lesson of where its files are up to date; return it where it changed, with its state. There is
    one where its sessions missed files. Joins the caller's transaction."""
    missed = store.sum_by("facts", ["session"], ["failures"], {"project": project, "head": "read"})
    if not any(row["failures"] for row in missed):
        return _kept(store, project, paths.GROUP, None, now)
    opened, seen_at = opened_files(store, {"project": project})
    folders = paths.folders_of(opened)
    told: Row = {
        "keys": [paths.GROUP],
        "lines": {folder: [*names] for folder, names in folders.items()},
        "told": [],
        "kind": "resource_missing",
        "when_text": "a path is not there, in a project whose files are known",
        "text": paths.said_of_all(opened),
        "provenance": "counted in the calls of sessions",
        "seen_at": seen_at,
    }
    return _kept(store, project, paths.GROUP, told if folders else None, now)


def recount_edits(store: Store, *, now: float) -> dict[str, LessonState]:
    """Bring the lesson of edits that miss their text up to date, one for all projects, since what it says stands in the
    file of each; return it where it changed, with its state. There is one where edits failed. Joins the caller's
    transaction."""
    where: Where = {"head": "edit", "failures": (">", 0)}
    (missed,) = store.sum_by("facts", [], ["failures", "max:max_at"], where) or ({},)
    told: Row = {
        "scope": "global",
        "projects": [],
        "keys": [edits.GROUP],
        "lines": {},
        "told": [],
        "kind": "tool_arguments",
        "when_text": "an edit does not find its text in the file",
        "text": "Says where in the file the text of a failed edit stands, and what is different there.",
        "provenance": "read in the file that the call names",
        "seen_at": number_in(missed, "max:max_at"),
    }
    return _kept(store, "", edits.GROUP, told if whole_in(missed, "failures") else None, now)


def opened_files(store: Store, where: Where) -> tuple[dict[str, int], float]:
    """Count how often each file was opened in the calls that meet `where`, and when the last one was.
    Raises StoreError."""
    asked = store.sum_by(
        "facts", ["file"], ["calls", "failures", "excused", "max:max_at"], {**where, "head": ("in", OPENED)}
    )
    times = {
        text_in(row, "file"): whole_in(row, "calls") - whole_in(row, "failures") - whole_in(row, "excused")
        for row in asked
    }
    return times, max((number_in(row, "max:max_at") for row in asked), default=0.0)


def _kept(store: Store, project: str, group: str, told: Row | None, now: float) -> dict[str, LessonState]:
    lesson_id = lesson_id_of("mined", project, group)
    held = store.get("lessons", lesson_id)
    if told is None:
        if held is not None and not held.get("decided"):
            store.delete("answers", {"lesson_id": lesson_id})
            store.delete("lessons", {"id": lesson_id})
        return {}
    row = _row(lesson_id, project, group, told, held or {}, now)
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


def _row(lesson_id: str, project: str, group: str, told: Row, held: Row, now: float) -> Row:
    return {
        "scope": "project",
        "uses": 0,
        "wins": 0,
        "created_at": now,
        **held,
        "id": lesson_id,
        "group": group,
        "rule": "edit",
        "signature": sign(text_in(told, "kind"), text_in(told, "when_text")),
        "pattern": "",
        "tool": "",
        "head": "",
        "target": "",
        "source": "session",
        "example": "",
        "tried": 0,  # its lines have counts of their own
        "worked": 0,
        "says_itself": False,
        "known": False,
        "updated_at": now,
        "project": project,
        "projects": distinct([project]),
        "state": held.get("decided") or "active",
        "reason": held.get("reason") or "",
        **told,
    }
