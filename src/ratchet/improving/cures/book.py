"""Cures as people ask for them: see what a lesson could become, put it on trial, look whether it helps, take it out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from pathlib import Path

from ratchet.errors import Conflict, NotFound, Refused
from ratchet.improving.cures.cure import NOTES, Cure, CureKind, chosen, cures
from ratchet.improving.targets.pieces import KEY
from ratchet.improving.trials.guard import Guard
from ratchet.improving.trials.trials import OPEN, trials
from ratchet.ports import Store
from ratchet.records import Change, Json, Row, Trial, number_in, text_in, whole_in

FIX = "cure"
"""The class of such changes (`Change.fix`)."""
LEAST_SESSIONS = 5
"""Sessions since a cure was applied before it is judged: fewer tell nothing even of a failure in every second one."""
MOST_SESSIONS = 30
"""Sessions after which one that is not proven goes."""
_ALPHA = 0.05
_HELD = 3  # right offers of a lesson before its line is put into the notes by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Helped:
    """Sessions of the lesson's project in which its failure came, before a cure and since."""

    before: int
    sessions_before: int
    since: int
    sessions_since: int

    @property
    def verdict(self) -> tuple[str, str]:
        """("keep", "revert" or "wait", and why)."""
        said = (
            f"the failure came in {self.since} of {self.sessions_since} sessions since, "
            f"in {self.before} of {self.sessions_before} before"
        )
        if self.sessions_since < LEAST_SESSIONS:
            return "wait", said
        rate = (self.before + 1) / (self.sessions_before + 2)
        if self.since >= rate * self.sessions_since:
            return "revert", f"it does not help: {said}"
        if _at_most(self.since, self.sessions_since, rate) <= _ALPHA:
            return "keep", f"it helps: {said}"
        if self.sessions_since >= MOST_SESSIONS:
            return "revert", f"nothing proves that it helps: {said}"
        return "wait", said


def _at_most(count: int, total: int, rate: float) -> float:
    """P(X <= count), X binomial(total, rate)."""
    return sum(comb(total, k) * rate**k * (1 - rate) ** (total - k) for k in range(count + 1))


class CureBook:
    """The cures of one store. `reading` gives the store after what was recorded is in it, `guard` moves trials."""

    def __init__(self, *, reading: Callable[[], Store], guard: Callable[[], Guard]) -> None:
        self._reading = reading
        self._guard = guard

    def list(self, folder: Path) -> tuple[Cure, ...]:
        """List what active lessons of a folder's project could become, those first that would have prevented most."""
        from ratchet.lessons.exposure import concerns

        store = self._reading()
        rows = [row for row in store.find("lessons", {"state": "active"}).rows if concerns(row, str(folder))]
        found = [each for row in rows for each in cures(store, row, folder) if not each.problem]
        found.sort(key=lambda each: (each.kind == "notes", -each.prevented, each.lesson))
        return tuple(found)

    def show(self, lesson_id: str, folder: Path) -> tuple[Cure, ...]:
        """List what one lesson could become, those included that replay speaks against. Raises NotFound."""
        store = self._reading()
        return tuple(cures(store, _lesson(store, lesson_id), folder))

    def apply(self, lesson_id: str, kind: CureKind, folder: Path) -> Trial:
        """Make the change, on trial: `look` takes it back where it does not help. Raises NotFound, Refused where the
        lesson makes no such change, replay speaks against it, or it is there already; Conflict, BackendError."""
        store = self._reading()
        lesson = _lesson(store, lesson_id)
        return put_in(store, self._guard(), chosen(cures(store, lesson, folder), kind), now=time.time())

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
        if verdict == "wait":
            continue
        try:
            settled.append(guard.stop(held.id, now=now, keep=verdict == "keep", reason=reason))
        except Conflict:  # another process was quicker, or an editor: it is looked at again
            continue
    return settled


def notes_by_themselves(store: Store, guard: Guard, *, now: float) -> list[Trial]:
    """Put the lines of lessons that held into the notes of their projects, where those have notes already: the only
    cure that may start by itself, and only where the person's configuration says `auto_fix`."""
    opened = []
    known = {each.change.origin for each in trials(store) if each.change.fix == FIX}
    for row in store.find("lessons", {"state": "active"}).rows:
        if whole_in(row, "right") < _HELD or str(row["id"]) in known:
            continue
        folder = next((Path(str(name)) for name in _folders(row) if Path(str(name)).is_dir()), None)
        if folder is None or not any((folder / name).is_file() for name in NOTES):
            continue
        lines = cures(store, row, folder, kinds=("notes",))
        opened += [put_in(store, guard, each, now=now) for each in lines if not each.problem]
    return opened


def helped(store: Store, held: Trial) -> Helped:
    """Count the sessions of a cure's project before and since."""
    lesson = store.get("lessons", held.change.origin) or {}
    project = text_in(lesson, "project")
    began: dict[str, float] = {}
    for row in store.find("habits", {"project": project}).rows:
        began[text_in(row, "session")] = number_in(row, "at")
    keys = [*_list(lesson, "keys")]
    met = {text_in(row, "session") for row in store.find("resolutions", {"lesson_id": str(lesson.get("id"))}).rows}
    if keys:
        asked = store.find("resolutions", {"key": ("in", keys), "project": project})
        met |= {text_in(row, "session") for row in asked.rows}
    if lesson.get("quote"):  # of what people said: how often they refused that step
        refused = store.find("habits", {"project": project, "head": text_in(lesson, "head"), "refused": (">", 0)})
        met |= {text_in(row, "session") for row in refused.rows}
    since = {session for session, at in began.items() if at > held.opened_at}
    before = began.keys() - since
    return Helped(
        before=len(met & before), sessions_before=len(before), since=len(met & since), sessions_since=len(since)
    )


def _lesson(store: Store, lesson_id: str) -> Row:
    row = store.get("lessons", lesson_id)
    if row is None:
        raise NotFound(f"no lesson {lesson_id}; `ratchet lessons list` names those that there are")
    return row


def _agent(store: Store, lesson: Row) -> str:
    evidence = _list(lesson, "evidence")
    outcome = store.get("outcomes", str(evidence[0])) if evidence else None
    return text_in(outcome or {}, "agent")


def _folders(row: Row) -> list[Json]:
    return [*_list(row, "projects"), row.get("project")]


def _list(row: Row, name: str) -> list[Json]:
    value = row.get(name)
    return value if isinstance(value, list) else []
