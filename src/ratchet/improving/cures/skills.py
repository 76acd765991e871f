"""Skills as people ask for them: what there is, how each does, and where it was exported to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ratchet.arguments import whole_id
from ratchet.errors import Conflict, NotFound, Refused, UsageError
from ratchet.improving.cures.helped import Helped, helped
from ratchet.improving.targets.skill_folder import PREFIX, SkillFolder
from ratchet.improving.trials.guard import Guard
from ratchet.improving.trials.trials import OPEN, trials
from ratchet.lessons.lessons import retire
from ratchet.lessons.rows import lesson_of
from ratchet.lessons.skills import rows
from ratchet.lessons.skills.making import draft_of, need_makeable
from ratchet.lessons.skills.skill import NAME_CHARS, Skill, SkillDraft, is_name
from ratchet.ports import Store
from ratchet.records import Lesson, Row, Trial, text_in

Healed = Callable[[Store, Row, str], SkillDraft | None]
"""The draft of a lesson's skill from the task that was healed, under a name ("" chooses one); None for another
lesson."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillExport:
    """A folder that a skill was written into, on trial (`open`) or `kept`, and what came of its failure since."""

    folder: str
    state: str
    helped: Helped


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillStanding:
    """A skill with its lesson, its exports, and `used`: sessions in which an agent took it up by its name since."""

    skill: Skill
    lesson: Lesson
    exports: tuple[SkillExport, ...] = ()
    used: int = 0


def standing(store: Store, skill: Skill) -> SkillStanding:
    """Look how a skill stands. Raises NotFound where its lesson is gone."""
    row = store.get("lessons", skill.lesson)
    if row is None:
        raise NotFound(f"the lesson {skill.lesson} of skill {skill.name} is gone")
    found = [each for each in exports(store, skill.lesson) if SkillFolder(_folder(each)).read().values]
    return SkillStanding(
        skill=skill,
        lesson=lesson_of(row),
        exports=tuple(
            SkillExport(folder=str(_folder(each)), state=each.state, helped=helped(store, each)) for each in found
        ),
        used=_used(store, skill, min((each.opened_at for each in found), default=skill.made_at)),
    )


def exports(store: Store, lesson_id: str) -> list[Trial]:
    """The trials by which a lesson's skill was written into a folder, and not taken out, newest first."""
    held = trials(store, states=(*OPEN, "kept"))
    return [each for each in held if each.change.origin == lesson_id and each.change.target.startswith(PREFIX)]


def made(store: Store, asked: str, healed: Healed, *, name: str, now: float) -> Skill:
    """Make a skill of a lesson, or of what a healed task (its id, or its episode's) taught; again, a new version of it
    where it says something new. Raises NotFound, Refused where nothing of it was seen to work, UsageError for a name
    that is none or another's."""
    if name and not is_name(name):
        raise UsageError(f"{name!r} is no name of a skill: at most {NAME_CHARS} of a-z, 0-9 and single hyphens")
    lesson = _lesson_about(store, asked)
    need_makeable(lesson)
    before = rows.newest(store, str(lesson["id"]))
    chosen = name or (before.name if before else "")
    draft = healed(store, lesson, chosen) or draft_of(lesson, chosen)
    taken = [
        each
        for each in rows.listed(store)
        if each.name == draft.name and each.lesson != draft.lesson and not each.folder
    ]
    if taken:
        raise UsageError(f"skill {draft.name} is that of lesson {taken[0].lesson}; give this one another --name")
    return rows.keep(store, draft, now=now)


def _lesson_about(store: Store, asked: str) -> Row:
    """The lesson of that id, of a skill of that name, or that a healed task left behind."""
    row = store.get("lessons", whole_id(store, "lessons", asked))
    if row is not None:
        return row
    where = {"id": asked} if asked.startswith("ep") else {"task": asked}
    for episode in store.find("episodes", where, order=("-started_at",)).rows:
        learnt = episode.get("learnt")
        held = store.get("lessons", str(learnt[0])) if isinstance(learnt, list) and learnt else None
        if held is not None and episode.get("status") == "passed":
            return held
    return store.get("lessons", rows.named(store, asked).lesson) or {}


def retired(store: Store, guard: Guard, skill: Skill, *, reason: str, now: float) -> Lesson:
    """Tell nobody of a skill any more: its lesson is retired, its folders are taken out. One that a person changed
    stays theirs. Raises NotFound, Conflict."""
    lesson = retire(store, skill.lesson, reason=reason, now=now)
    taken_out(store, guard, skill.lesson, reason=f"its skill was retired: {lesson.reason}", now=now)
    return lesson


def taken_out(store: Store, guard: Guard, lesson_id: str, *, reason: str, now: float) -> list[Trial]:
    """Take a skill out of every folder that it was exported to."""
    done = []
    for each in exports(store, lesson_id):
        try:
            if each.state in OPEN:
                done.append(guard.stop(each.id, now=now, reason=reason))
            elif SkillFolder(_folder(each)).read().values and guard.take_back(each.id, now=now):
                done.append(each)
        except (Conflict, Refused):  # another process was quicker, or a person made the folder theirs
            continue
    return done


def exportable(store: Store, asked: str) -> Skill:
    """The skill of that name, if it may be exported. Raises NotFound, Refused."""
    skill = rows.named(store, asked)
    if skill.folder:
        raise Refused(
            f"skill {skill.name} was read from {skill.folder}: it is there already, and is not yours to write"
        )
    lesson = store.get("lessons", skill.lesson) or {}
    if lesson.get("state") != "active":
        raise Refused(
            f"skill {skill.name} is a {text_in(lesson, 'state')}: it helped in one task. Look at it (ratchet lessons "
            f"skills show {skill.name}), then: ratchet lessons approve {skill.lesson}"
        )
    return skill


def _folder(export: Trial) -> Path:
    return Path(export.change.target.removeprefix(PREFIX))


def _used(store: Store, skill: Skill, since: float) -> int:
    """Sessions in which an agent called the skill by its name, or read its file."""
    sessions: set[str] = set()
    for task in ("Skill", "activate_skill", "skill", "Read"):
        for row in store.find("outcomes", {"task": task, "started_at": (">=", since)}).rows:
            if _names(row, skill.name):
                sessions.add(text_in(row, "session"))
    return len(sessions - {""})


def _names(row: Row, name: str) -> bool:
    step = row.get("step")
    said: Sequence[str] = [text_in(step, part) for part in ("target", "input")]
    return any(each == name or f"/{name}/" in each or f'"{name}"' in each for each in said)
