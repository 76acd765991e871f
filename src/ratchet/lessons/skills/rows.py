"""Rows of skills: every version is kept; the lesson's own row names the newest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ratchet.errors import NotFound
from ratchet.lessons.lessons import noted, put
from ratchet.lessons.skills.skill import Skill, SkillDraft, description_of, files_of, lesson_part, sentences
from ratchet.ports import Store
from ratchet.records import Json, Row, record_of, whole_in


def keep(store: Store, draft: SkillDraft, *, now: float) -> Skill:
    """Write a draft as the newest version of its lesson's skill, unless that says the same; return what counts. The
    lesson names it from then on. Raises NotFound, Conflict, StoreError."""
    held = newest(store, draft.lesson)
    version = held.version if held else 0
    if held is not None and held.name == draft.name and dict(held.files) == files_of(draft, version):
        return held
    return kept(
        store,
        Skill(
            lesson=draft.lesson,
            name=draft.name,
            version=version + 1,
            description=description_of(draft),
            files=files_of(draft, version + 1),
            steps=sentences(draft),
            made_at=now,
        ),
    )


def kept(store: Store, skill: Skill) -> Skill:
    """Write one version, and name it in its lesson. Raises NotFound, Conflict, StoreError."""
    with store.transaction():
        lesson = store.get("lessons", skill.lesson)
        if lesson is None:
            raise NotFound(f"no lesson {skill.lesson}; `ratchet lessons list` names those that there are")
        row: Row = {
            "id": f"{skill.lesson}/{skill.version}",
            "lesson": skill.lesson,
            "name": skill.name,
            "version": skill.version,
            "made_at": skill.made_at,
            "description": skill.description,
            "files": {**skill.files},
            "steps": [*skill.steps],
            "folder": skill.folder,
        }
        store.insert_new("skills", [row])
        put(store, {**lesson, **lesson_part(skill), "updated_at": skill.made_at}, lesson)
        noted(store, skill.lesson, "skill made", f"{skill.name}, version {skill.version}", skill.made_at)
    return skill


def newest(store: Store, lesson_id: str) -> Skill | None:
    """The newest version of a lesson's skill; None where it has none."""
    rows = store.find("skills", {"lesson": lesson_id}, order=("-version",), limit=1).rows
    return _skill_of(rows[0]) if rows else None


def drop(store: Store, lesson_id: str) -> int:
    """Delete every version of a lesson's skill, and its name in the lesson; return how many there were."""
    count = store.delete("skills", {"lesson": lesson_id})
    lesson = store.get("lessons", lesson_id)
    if count and lesson is not None:
        store.swap("lessons", lesson_id, whole_in(lesson, "revision"), {**lesson, "skill": "", "steps": []})
    return count


def listed(store: Store) -> list[Skill]:
    """The newest version of every skill, by name; none whose lesson is gone."""
    found: dict[str, Row] = {}
    for row in store.find("skills").rows:
        held = found.get(str(row["lesson"]))
        if held is None or whole_in(held, "version") < whole_in(row, "version"):
            found[str(row["lesson"])] = row
    there = (row for lesson, row in found.items() if store.get("lessons", lesson) is not None)
    return sorted(map(_skill_of, there), key=lambda each: (each.name, each.lesson))


def named(store: Store, asked: str) -> Skill:
    """The skill of that name, or of the lesson of that id. Raises NotFound."""
    for each in listed(store):
        if asked in (each.name, each.lesson):
            return each
    raise NotFound(f"no skill {asked}; `ratchet lessons skills list` names those that there are")


def _skill_of(row: Row) -> Skill:
    files = cast("Mapping[str, Json]", row.get("files") or {})
    return record_of(Skill, row, files={path: str(text) for path, text in files.items()})
