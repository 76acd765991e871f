"""Says whether a cure helps: how often its lesson's failure came before it was applied, and since."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from ratchet.lessons.exposure import CURE, group_of, project_name
from ratchet.ports import Store
from ratchet.records import Json, Row, Trial, number_in, text_in

LEAST_SESSIONS = 5
"""Sessions since a cure was applied before it is judged: fewer tell nothing even of a failure in every second one."""
MOST_SESSIONS = 30
"""Sessions after which one that is not proven goes."""
_ALPHA = 0.05


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


def helped(store: Store, held: Trial) -> Helped:
    """Count the sessions of a cure's project before and since."""
    lesson = store.get("lessons", held.change.origin) or {}
    folders = _list(lesson, "projects")
    project = text_in(lesson, "project") or (project_name(str(folders[0])) if folders else "")
    began: dict[str, float] = {}
    for row in store.find("habits", {"project": project}).rows:
        began[text_in(row, "session")] = number_in(row, "at")
    healed = "sightings" in lesson  # its keys are tests and places, which a history of calls does not hold
    keys = [] if healed else [*_list(lesson, "keys")]
    met = {text_in(row, "session") for row in store.find("resolutions", {"lesson_id": str(lesson.get("id"))}).rows}
    if keys:
        asked = store.find("resolutions", {"key": ("in", keys), "project": project})
        met |= {text_in(row, "session") for row in asked.rows}
    if lesson.get("quote"):  # of what people said: how often they refused that step
        refused = store.find("habits", {"project": project, "head": text_in(lesson, "head"), "refused": (">", 0)})
        met |= {text_in(row, "session") for row in refused.rows}
    if not keys and not lesson.get("quote"):  # known by its failure alone, as a healed task's or a written one is
        seen = store.find("sightings", {"signature": ("in", _signatures(store, lesson))}).rows
        asked_for = store.find("exposures", {"trial": str(lesson.get("id"))}).rows
        met |= {text_in(row, "session") for row in (*seen, *(each for each in asked_for if group_of(each) == CURE))}
    since = {session for session, at in began.items() if at > held.opened_at}
    before = began.keys() - since
    return Helped(
        before=len(met & before), sessions_before=len(before), since=len(met & since), sessions_since=len(since)
    )


def _signatures(store: Store, lesson: Row) -> list[Json]:
    """The signature of a lesson's failure, and those of its pattern."""
    own = text_in(lesson, "signature")
    pattern = text_in(lesson, "pattern") or text_in(store.get("signatures", own) or {}, "pattern")
    rows = store.find("signatures", {"pattern": pattern}).rows if pattern else []
    return [own, *(each for row in rows if (each := text_in(row, "signature")) != own)]


def _list(row: Row, name: str) -> list[Json]:
    value = row.get(name)
    return value if isinstance(value, list) else []
