"""Rows of skills: every version is kept; the lesson's own row names the newest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from ratchet.errors import NotFound, Refused
from ratchet.lessons.lessons import noted, put
from ratchet.lessons.skills.skill import NO_PART, Skill, SkillDraft, description_of, files_of, lesson_part, sentences
from ratchet.ports import Store
from ratchet.records import Json, Row, record_of, text_in, whole_in


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
        store.swap("lessons", lesson_id, whole_in(lesson, "revision"), {**lesson, **NO_PART})
    return count


def listed(store: Store, name: str = "") -> list[Skill]:
    """The newest version of every skill, or of those of one name, by name; none whose lesson is gone."""
    lessons = {str(row["lesson"]) for row in store.find("skills", {"name": name} if name else None).rows}
    found = [newest(store, each) for each in lessons if store.get("lessons", each) is not None]
    there = [each for each in found if each is not None and name in ("", each.name)]
    return sorted(there, key=lambda each: (each.name, each.lesson))


def versions(store: Store, lesson_id: str) -> list[Skill]:
    """Every version of a lesson's skill."""
    return [_skill_of(row) for row in store.find("skills", {"lesson": lesson_id}).rows]


def named(store: Store, asked: str, project: Path | None = None, *, foreign: bool = False) -> Skill:
    """The skill of the lesson of that id, or of that name: this home's own, then the one that others wrote which lies
    in the project or serves all (`foreign` asks for that one first). Raises NotFound, Refused for a name of several."""
    found = [each for each in listed(store) if asked in (each.name, each.lesson)]
    ours = [each for each in found if each.lesson == asked or not each.folder]
    theirs = [each for each in found if each.folder and (project is None or _serves(store, each, project))]
    for group in (theirs, ours) if foreign and not any(each.lesson == asked for each in ours) else (ours, theirs):
        if len(group) == 1:
            return group[0]
        if group:
            raise Refused(f"{len(group)} skills are called {asked}; say which by its lesson: {_list(group)}")
    elsewhere = f" here; elsewhere there is {_list(found)}" if found else ""
    raise NotFound(f"no skill {asked}{elsewhere}; `ratchet lessons skills list` names those that there are")


def _serves(store: Store, skill: Skill, project: Path) -> bool:
    lesson = store.get("lessons", skill.lesson) or {}
    place = Path(text_in(lesson, "place")).resolve()
    return lesson.get("scope") == "global" or project.resolve().is_relative_to(place)


def _list(skills: Sequence[Skill]) -> str:
    return ", ".join(f"{each.lesson} ({each.folder or 'made here'})" for each in skills)


def _skill_of(row: Row) -> Skill:
    files = cast("Mapping[str, Json]", row.get("files") or {})
    return record_of(Skill, row, files={path: str(text) for path, text in files.items()})
