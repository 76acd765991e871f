"""Cures as people ask for them: see what a lesson could become, put it on trial, look whether it helps, take it out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ratchet.errors import Conflict, NotFound, Refused
from ratchet.improving.cures import skills
from ratchet.improving.cures.cure import NOTES, Cure, CureKind, chosen, cures
from ratchet.improving.cures.helped import Helped, helped
from ratchet.improving.cures.skills import Healed, SkillStanding
from ratchet.improving.targets.pieces import KEY
from ratchet.improving.targets.skill_folder import PREFIX, SkillFolder, piece_of
from ratchet.improving.trials.guard import Guard
from ratchet.improving.trials.trials import OPEN, trials, write
from ratchet.lessons.lessons import approve
from ratchet.lessons.skills import reading, rows
from ratchet.lessons.skills.places import WRITTEN, Taker
from ratchet.lessons.skills.reading import FoundSkill, ReadSkills
from ratchet.lessons.skills.skill import Skill
from ratchet.ports import Store
from ratchet.records import Change, Json, Lesson, Row, Scope, Trial, TrialState, text_in, whole_in

FIX = "cure"
"""The class of such changes (`Change.fix`)."""
_HELD = 3  # right offers of a lesson before its line is put into the notes by itself


class CureBook:
    """The cures of one store, skills among them.

    `reading` gives the store after what was recorded is in it, `guard` moves trials, `home` keeps what is trusted,
    `healed` drafts the skill of a task that was healed, `changed` is called when lessons did.
    """

    def __init__(
        self,
        home: Path,
        *,
        reading: Callable[[], Store],
        guard: Callable[[], Guard],
        healed: Healed = lambda _store, _lesson, _name: None,
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        self._home = home
        self._reading = reading
        self._guard = guard
        self._healed = healed
        self._changed = changed

    def list(self, folder: Path) -> tuple[Cure, ...]:
        """List what active lessons of a folder's project could become, those first that would have prevented most."""
        from ratchet.lessons.exposure import concerns

        store = self._reading()
        held = [row for row in store.find("lessons", {"state": "active"}).rows if concerns(row, str(folder))]
        made = [each for row in held for each in cures(store, row, folder) if not each.problem]
        found = [each for each in made if each.edit.before != each.edit.after]
        found.sort(key=lambda each: (each.kind == "notes", -each.prevented, each.lesson))
        return tuple(found)

    def show(self, lesson_id: str, folder: Path) -> tuple[Cure, ...]:
        """List what one lesson could become, those included that replay speaks against. Raises NotFound."""
        store = self._reading()
        return tuple(cures(store, _lesson(store, lesson_id), folder))

    def apply(self, lesson_id: str, kind: CureKind, folder: Path, *, taker: Taker = "claude-code") -> Trial:
        """Make the change, on trial: `look` takes it back where it does not help. A skill goes into the folder where
        `taker` looks for skills. Raises NotFound, Refused where the lesson makes no such change, replay speaks against
        it, or it is there already; Conflict, BackendError."""
        store = self._reading()
        lesson = _lesson(store, lesson_id)
        cure = chosen(cures(store, lesson, folder, taker=taker), kind)
        skill = rows.newest(store, lesson_id) if kind == "skill" else None
        if skill is not None:
            self._make_room(store, skill, SkillFolder(folder / WRITTEN[taker] / skill.name))
            cure = chosen(cures(store, lesson, folder, taker=taker), kind)
        return put_in(store, self._guard(), cure, now=time.time())

    def undo(self, lesson_id: str) -> tuple[Trial, ...]:
        """Take out all that a lesson became, byte for byte where nobody changed the file since. Raises NotFound where
        there is nothing of it."""
        store, guard = self._reading(), self._guard()
        done = []
        for held in trials(store):
            if held.change.fix != FIX or held.change.origin != lesson_id:
                continue
            if held.state in OPEN:
                done.append(guard.stop(held.id, now=time.time(), reason="taken out by a person"))
            elif held.state == "kept" and guard.take_back(held.id, now=time.time()):
                done.append(held)
        if not done:
            raise NotFound(f"nothing of lesson {lesson_id} is in a file; `ratchet lessons cure` shows what could be")
        return tuple(done)

    def going(self) -> tuple[tuple[Trial, Helped], ...]:
        """Cures on trial, each with the sessions in which its failure came before and since."""
        store = self._reading()
        held = [each for each in trials(store, states=OPEN) if each.change.fix == FIX]
        return tuple((each, helped(store, each)) for each in held)

    def look(self) -> tuple[Trial, ...]:
        """Look at every cure on trial: keep what helps, take out what does not. Those that were settled."""
        return tuple(look(self._reading(), self._guard(), now=time.time()))

    def clear(self) -> tuple[str, ...]:
        """Take out of files what became of lessons and skills that are gone, and blank their trials; return the folders
        of skills that stay, since a person changed them."""
        left = clear(self._reading(), self._guard(), now=time.time())
        self._changed()
        return tuple(left)

    # -- skills --------------------------------------------------------------------------------------------------------

    def skills(self) -> tuple[SkillStanding, ...]:
        """List skills by name, each with its lesson, the folders that it was exported to and how it does there."""
        store = self._reading()
        return tuple(skills.standing(store, each) for each in rows.listed(store))

    def show_skill(self, name: str, project: Path | None = None) -> SkillStanding:
        """Show a skill by its name, or its lesson's id: this home's own, else the one that others wrote in the project,
        of all where none is named. Raises NotFound, Refused for a name of several."""
        store = self._reading()
        return skills.standing(store, rows.named(store, name, project))

    def make_skill(self, asked: str, *, name: str = "") -> Skill:
        """Make a skill of a lesson (its id), or of a healed task (its id, or its episode's). Made again it is a new
        version, where it says something new. Raises NotFound, Refused where nothing of it was seen to work, UsageError
        for a name that is none or another's."""
        made = skills.made(self._reading(), asked, self._healed, name=name, now=time.time())
        self._changed()
        return made

    def preview_skill(self, name: str, folder: Path, *, taker: Taker = "claude-code") -> Cure:
        """Tell what `export_skill` would write. Raises NotFound, Refused."""
        store = self._reading()
        skill = skills.exportable(store, name)
        return chosen(cures(store, _lesson(store, skill.lesson), folder, taker=taker), "skill")

    def export_skill(self, name: str, folder: Path, *, taker: Taker = "claude-code") -> Trial:
        """Write a skill below a project's folder, or a person's home, where `taker` looks for skills: on trial, `look`
        takes it out where it does not help. An older version of ours there is replaced. Raises NotFound, Refused for
        one that is not active, Conflict, BackendError."""
        skill = skills.exportable(self._reading(), name)
        return self.apply(skill.lesson, "skill", folder, taker=taker)

    def _make_room(self, store: Store, skill: Skill, target: SkillFolder) -> None:
        """Let an older version of ours end its trial. Raises Refused for a folder that holds what we did not write."""
        held = target.read().values.get(KEY)
        if held is not None and all(held != piece_of(each.files) for each in rows.versions(store, skill.lesson)):
            raise Refused(
                f"{target.path} is not what Ratchet wrote; take it away, or make the skill with another --name"
            )
        for older in skills.exports(store, skill.lesson):
            current = older.change.target == target.name and older.change.new.get(KEY) != piece_of(skill.files)
            if current and older.state in OPEN:
                self._guard().stop(older.id, now=time.time(), reason=f"version {skill.version} takes its place")

    def read_skills(self, place: Path, *, scope: Scope = "project") -> ReadSkills:
        """Read the skills that lie below a project's folder, or (`scope` global) a person's home, in the folders of
        agents. Those that others wrote are candidates of which agents are told nothing until `trust_skill`; what a
        changed file holds is asked about anew. Raises UsageError where PyYAML lacks, BackendError."""
        found = reading.read(self._reading(), self._home, place, scope=scope, now=time.time())
        self._changed()
        return found

    def trust_skill(self, name: str, project: Path | None = None) -> FoundSkill:
        """Trust a skill that others wrote in a project (of all where none is named), as it was read and shown. Raises
        NotFound, Refused for one of this home's own, a name of several, or one that changed since it was read, is gone
        or is quarantined, BackendError."""
        store = self._reading()
        skill = rows.named(store, name, project, foreign=True)
        if not skill.folder:
            raise Refused(f"skill {name} was made here: `ratchet lessons approve {skill.lesson}` makes it active")
        found = reading.trust_skill(store, self._home, skill, now=time.time())
        self._changed()
        return found

    def approve_skill(self, name: str, project: Path | None = None) -> Lesson:
        """Let agents be told of a skill that was made here: its lesson is active from then on. Raises NotFound, Refused
        for one that others wrote (see `trust_skill`), Conflict."""
        store = self._reading()
        skill = rows.named(store, name, project)
        if skill.folder:
            raise Refused(
                f"skill {skill.name} was read from {skill.folder}: look at its files there, then "
                f"`ratchet lessons skills trust {skill.name}`"
            )
        lesson = approve(store, skill.lesson)
        self._changed()
        return lesson

    def retire_skill(self, name: str, project: Path | None = None, *, reason: str = "") -> Lesson:
        """Offer a skill (as `show_skill` finds it) to nobody any more: its lesson is retired, and its folders are taken
        out, but for one that a person changed. Raises NotFound, Refused for a name of several, Conflict."""
        store = self._reading()
        skill = rows.named(store, name, project)
        lesson = skills.retired(store, self._guard(), skill, reason=reason, now=time.time())
        self._changed()
        return lesson


def put_in(store: Store, guard: Guard, cure: Cure, *, now: float) -> Trial:
    """Put a cure on trial. Raises Refused where it is there already."""
    if cure.edit.before == cure.edit.after:
        raise Refused(f"{cure.file} holds it already")
    row = store.get("lessons", cure.lesson) or {}
    change = Change(
        target=cure.target,
        new={KEY: cure.piece},
        agent=_agent(store, row),
        reason=f"lesson {cure.lesson}: by replay {cure.prevented} prevented, {cure.accepted} of {cure.of} stopped",
        origin=cure.lesson,
        fix=FIX,
        pattern=text_in(row, "pattern"),
    )
    return guard.open(change, now=now, mode="advisory")


def look(store: Store, guard: Guard, *, now: float) -> list[Trial]:
    """See `CureBook.look`."""
    settled = []
    for held in trials(store, states=OPEN):
        if held.change.fix != FIX:
            continue
        verdict, reason = helped(store, held).verdict
        lesson = store.get("lessons", held.change.origin) or {}
        if lesson.get("state") in ("retired", "quarantined"):
            verdict, reason = "revert", f"its lesson is {lesson['state']}: {text_in(lesson, 'reason')}"
        if verdict == "wait":
            continue
        try:
            settled.append(guard.stop(held.id, now=now, keep=verdict == "keep", reason=reason))
        except Conflict:  # another process was quicker, or an editor: it is looked at again
            continue
    for held in trials(store, states=("kept",)):
        lesson = store.get("lessons", held.change.origin) or {}
        if held.change.target.startswith(PREFIX) and lesson.get("state") in ("retired", "quarantined"):
            settled += skills.taken_out(store, guard, held.change.origin, reason="its lesson was retired", now=now)
    clear(store, guard, now=now)
    return settled


def clear(store: Store, guard: Guard, *, now: float) -> list[str]:
    """Take out of files what became of lessons and skills that are gone, and what their trials say of it; return the
    folders of skills that stay, since a person changed them or another process writes there."""
    stay = []
    for held in trials(store):
        target, origin = held.change.target, held.change.origin
        if held.change.fix != FIX or not held.change.new:
            continue
        is_skill = target.startswith(PREFIX)
        if store.get("lessons", origin) is not None and not (is_skill and rows.newest(store, origin) is None):
            continue
        try:
            if held.state in OPEN:
                held = guard.stop(held.id, now=now, reason="what it was made of is gone")
            elif held.state == "kept":
                guard.take_back(held.id, now=now)
        except (Conflict, Refused):  # another process was quicker, or an editor: the next look does it
            stay += [target.removeprefix(PREFIX)] if is_skill else []
            continue
        if is_skill and SkillFolder(Path(target.removeprefix(PREFIX))).is_there():
            stay.append(target.removeprefix(PREFIX))
        state: TrialState = "reverted" if held.state == "kept" else held.state
        write(store, held, state=state, change=replace(held.change, new={}), edit={}, base={})
    return sorted(set(stay))


def notes_by_themselves(store: Store, guard: Guard, *, now: float) -> list[Trial]:
    """Put the lines of lessons that held into the notes of their projects, where those have notes already: the only
    cure that may start by itself, and only where the person's configuration says `auto_fix`."""
    opened = []
    known = {each.change.origin for each in trials(store) if each.change.fix == FIX}
    for row in store.find("lessons", {"state": "active"}).rows:
        if whole_in(row, "right") < _HELD or str(row["id"]) in known:
            continue
        folders = [Path(str(name)) for name in (*_list(row, "projects"), row.get("project"))]
        folder = next((each for each in folders if each.is_dir()), None)
        if folder is None or not any((folder / name).is_file() for name in NOTES):
            continue
        lines = cures(store, row, folder, kinds=("notes",))
        opened += [put_in(store, guard, each, now=now) for each in lines if not each.problem]
    return opened


def _lesson(store: Store, lesson_id: str) -> Row:
    row = store.get("lessons", lesson_id)
    if row is None:
        raise NotFound(f"no lesson {lesson_id}; `ratchet lessons list` names those that there are")
    return row


def _agent(store: Store, lesson: Row) -> str:
    evidence = _list(lesson, "evidence")
    outcome = store.get("outcomes", str(evidence[0])) if evidence else None
    return text_in(outcome or {}, "agent")


def _list(row: Row, name: str) -> list[Json]:
    value = row.get(name)
    return value if isinstance(value, list) else []
