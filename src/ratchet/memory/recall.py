"""Answers a failure with what is remembered about it, or says that nothing is.

Two ways in: the very signature, which is one look-up; else lessons that share words with the text (at most
`CANDIDATES`, by BM25), compared in full by `ratchet.ranking`. What is not similar enough is not returned: an agent that
is handed the advice for another failure is worse off than one that is handed none.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal, cast

from ratchet.kinds import kind_of
from ratchet.ports import Store, Where
from ratchet.ranking import order, rank, words
from ratchet.records import Json, Lesson, LessonState, Row, Scope
from ratchet.signature import sign, template_of

CANDIDATES = 64  # more found nothing more at 10,000 lessons (benchmarks/recall.py), fewer lost some
_OF_OTHERS = 4  # how many times more are fetched when lessons of other projects are to be left out

Match = Literal["exact", "similar"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One recalled lesson. `match` is "exact" by signature, with score 1, else "similar"; `score` in [0, 1]."""

    lesson: Lesson
    match: Match
    score: float

    @property
    def text(self) -> str:
        """The advice, verbatim."""
        return self.lesson.text

    @property
    def id(self) -> str:
        return self.lesson.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """Lessons, best first. `abstained` says that nothing known is similar enough; with `searched` = 0 because there is
    nothing to search. `searched` counts the lessons of the store in the states asked for."""

    lessons: tuple[Found, ...]
    searched: int
    elapsed_ms: float

    @property
    def abstained(self) -> bool:
        return not self.lessons


def recall(
    store: Store,
    text: str,
    *,
    limit: int = 5,
    project: str | None = None,
    states: Collection[LessonState] = ("active", "candidate"),
) -> Recalled:
    """The lessons for this error text, traceback, tool output or question; best first, at most `limit`.

    `project` leaves out what was learnt elsewhere and is not global; None searches every project, which is for a person
    asking their own store. Lessons quarantined or retired never come back unless `states` asks for them. Exact matches
    come first, then bands of similarity; inside each, evidence decides, never age. Raises StoreError when the store
    cannot be read: that is no answer, unlike an empty one.
    """
    started = time.perf_counter()
    template = template_of(text)
    allowed: Where = {"state": ("in", list(states))}
    searched = _count(store, allowed)
    found: list[Found] = []
    if searched and template:
        exact = store.find("lessons", {**allowed, "signature": sign(kind_of(text), template)}).rows
        found = [Found(lesson=lesson, match="exact", score=1.0) for lesson in _of_project(exact, project)]
        found = _ordered(found)[: max(0, limit)]
        if len(found) < limit:
            known = {each.id for each in found}
            found += [each for each in _similar(store, template, allowed, project) if each.id not in known]
    elapsed_ms = (time.perf_counter() - started) * 1000
    return Recalled(lessons=tuple(found[: max(0, limit)]), searched=searched, elapsed_ms=elapsed_ms)


def lesson_of(row: Row) -> Lesson:
    """The lesson that a row of the table `lessons` holds."""

    def said(name: str) -> str:
        return str(row.get(name) or "")

    def number(name: str) -> int:
        return int(cast(int, row.get(name) or 0))

    def several(name: str) -> tuple[str, ...]:
        return tuple(map(str, cast("list[Json]", row.get(name) or [])))

    return Lesson(
        id=said("id"),
        text=said("text"),
        state=cast(LessonState, said("state")),
        scope=cast(Scope, said("scope")),
        signature=said("signature"),
        kind=said("kind"),
        tried=number("tried"),
        worked=number("worked"),
        when=said("when_text"),
        example=said("example"),
        tool=said("tool"),
        head=said("head"),
        target=said("target"),
        projects=several("projects"),
        reason=said("reason"),
        evidence=several("evidence"),
        provenance=said("provenance"),
        revision=number("revision"),
    )


def _count(store: Store, where: Where) -> int:
    counted = store.sum_by("lessons", [], ["count:*"], where)
    return int(cast(int, counted[0]["count:*"])) if counted else 0


def _similar(store: Store, template: str, where: Where, project: str | None) -> list[Found]:
    wanted = CANDIDATES if project is None else CANDIDATES * _OF_OTHERS
    rows = store.match("lessons", words(template), where, limit=wanted)
    lessons = list(_of_project(rows, project))[:CANDIDATES]
    hits = rank(template, [lesson.when for lesson in lessons])
    return _ordered([Found(lesson=lessons[position], match="similar", score=score) for score, position in hits])


def _of_project(rows: Iterable[Row], project: str | None) -> Iterable[Lesson]:
    """Lessons that may be shown in a project: its own (reviewed ones of its repository among them) and global ones."""
    for row in rows:
        lesson = lesson_of(row)
        if project is None or lesson.scope == "global" or project in lesson.projects:
            yield lesson


def _ordered(found: list[Found]) -> list[Found]:
    keys = [(f.score, f.lesson.state == "active", f.lesson.tried, f.lesson.worked, f.id) for f in found]
    return [found[position] for position in order(keys)]
