"""Lessons that three projects taught alike: they are told in every other project, too.

Evidence counts in the project where it was met. A generic lesson is a function of the projects' own ones: it is there
while three of them are active with one remedy, and it is silent where a project's own evidence has spoken. A history
names its projects itself, and anybody may have written it: one counts if its steps ran here, and once a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from ratchet.failures.intent import is_shell
from ratchet.lessons.exposure import repository_of
from ratchet.lessons.lessons import noted, put
from ratchet.lessons.mining.advice import commands_in, held_back
from ratchet.lessons.mining.triggers import lesson_id_of
from ratchet.ports import Store
from ratchet.records import Json, LessonState, Row, text_in, whole_in

PROJECTS = 3
_SPOKEN = ("active", "retired", "quarantined")
_SUMS = ("tried", "worked", "right", "wrong", "unknown", "saved_turns")


def recount_generic(store: Store, changed: Iterable[Row], *, now: float) -> dict[str, LessonState]:
    """Bring the generic lessons up to date that these lessons of projects (as they were, or are) have a part in;
    return those that changed, with their state. Joins the caller's transaction."""
    groups: dict[str, set[str]] = {}
    for row in changed:
        if row.get("group") and not row.get("generic"):
            groups.setdefault(str(row["group"]), set()).update(_keys(row))
    found: dict[str, LessonState] = {}
    for group, keys in sorted(groups.items()):
        lesson_id = lesson_id_of("generic", group)
        held = store.get("lessons", lesson_id)
        own = _of_group(store, group, keys)
        made = _made(store, own, held or {}, lesson_id, now)
        if made is None:
            if held is not None and not held.get("decided"):
                store.delete("answers", {"lesson_id": lesson_id})
                store.delete("skills", {"lesson": lesson_id})
                store.delete("lessons", {"id": lesson_id})
        elif held is None or any(held.get(name) != value for name, value in made.items() if name != "updated_at"):
            put(store, made, held)
            store.delete("answers", {"lesson_id": lesson_id})
            store.insert_new("answers", [{"key": key, "lesson_id": lesson_id} for key in _keys(made)])
            if held is None:
                noted(store, lesson_id, "active", "", now)
            found[lesson_id] = cast(LessonState, made["state"])
    return found


def _keys(row: Row) -> list[str]:
    return [str(key) for key in cast("list[Json]", row.get("keys") or [])]


def _of_group(store: Store, group: str, keys: Iterable[str]) -> list[Row]:
    """All projects' lessons of a group, by what their findings have in common."""
    rows: dict[str, Row] = {}
    asked: set[str] = set()
    waiting = set(keys)
    while waiting:
        named: list[Json] = [*sorted(waiting)]
        ids: list[Json] = [
            *sorted({str(row["lesson_id"]) for row in store.find("answers", {"key": ("in", named)}).rows})
        ]
        asked |= waiting
        for row in store.find("lessons", {"id": ("in", ids)}).rows if ids else ():
            if row.get("group") == group and not row.get("generic"):
                rows[str(row["id"])] = row
        waiting = {key for row in rows.values() for key in _keys(row)} - asked
    return [rows[name] for name in sorted(rows)]


def _made(store: Store, own: Sequence[Row], held: Row, lesson_id: str, now: float) -> Row | None:
    active = [row for row in own if row["state"] == "active" and row.get("project")]
    if not active:
        return None
    lead = min(active, key=lambda row: (-whole_in(row, "worked"), str(row["id"])))
    if not _stands_alone(lead):
        return None
    alike = [row for row in active if _same(lead, row)]
    if len({row["project"] for row in alike}) < PROJECTS or len(_ran_here(store, alike)) < PROJECTS:
        return None
    state, reason = (held["decided"], held.get("reason")) if held.get("decided") else ("active", "")
    spoken = sorted({str(row["project"]) for row in own if row["state"] in _SPOKEN})
    return {
        **{name: value for name, value in lead.items() if name not in ("revision", "decided", "rests", "distilled")},
        **{name: held[name] for name in ("uses", "wins", "created_at", "decided", "approved") if name in held},
        "id": lesson_id,
        "generic": [*spoken],
        "project": "",
        "projects": [],
        "scope": "global",
        "state": state,
        "reason": reason or "",
        **{name: sum(whole_in(row, name) for row in alike) for name in _SUMS},
        "provenance": f"mined alike in {len({row['project'] for row in alike})} projects",
        "updated_at": now,
    }


def _ran_here(store: Store, alike: Sequence[Row]) -> list[str]:
    """The projects of lessons whose steps were recorded as they ran, or whose folder is a repository of this machine;
    of those that stand in one history file the first."""
    found, read = [], set[str]()
    for row in sorted(alike, key=lambda row: str(row["project"])):
        seen = store.find("resolutions", {"lesson_id": row["id"]}).rows
        files = {text_in(each, "file") for each in seen}
        here = "" in files or any(repository_of(text_in(each, "folder")) for each in seen)
        if here and ("" in files or files.isdisjoint(read)):
            found.append(str(row["project"]))
        read |= files
    return found


def _stands_alone(row: Row) -> bool:
    """Tell whether a remedy is vouched for without a word of what failing programs printed: whoever writes a project's
    scripts writes that, so each project sees for itself."""
    if not is_shell(str(row.get("tool") or "")) or row.get("rule") in ("edit", "form", "place"):
        return True
    named = commands_in(str(row.get("text") or ""))[:1]
    return row.get("rule") != "flag" and not any(held_back(each, failed="", said="") for each in named)


def _same(lead: Row, other: Row) -> bool:
    """Tell whether two projects' lessons of one group are the same fix; a project's own way of switching a check off is
    nobody else's."""
    if lead.get("rule") != "edit":
        return True
    mine, others = _fix(lead), _fix(other)
    return bool(mine & others) and not any(form.startswith("suppress ") for form in mine | others)


def _fix(row: Row) -> set[str]:
    told = row.get("told")
    first = told[0] if isinstance(told, list) and told else []
    return {str(form) for form in first} if isinstance(first, list) else set()
