"""Answers a failure with what is remembered about it, or says that nothing is.

First the very signature, or its pattern: a look-up each. Then lessons that share words with the text (at most
`CANDIDATES`, by BM25), compared in full by `lessons.ranking`. What is not similar enough is not returned: an agent that
is handed the advice for another failure is worse off than one that is handed none.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from ratchet.failures.diagnostics import keys_of
from ratchet.failures.excerpt import error_lines
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.redaction.text import redact
from ratchet.failures.signature import TEXT_LIMIT, sign, template_of
from ratchet.lessons.exposure import concerns
from ratchet.lessons.ranking import order, rank, words
from ratchet.lessons.restating import restates
from ratchet.lessons.rests import folder_of, stale
from ratchet.lessons.rows import lesson_of
from ratchet.records import Json, Lesson, LessonState, Row, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

CANDIDATES = 64  # eight held all that was found among 10,000 lessons; many lessons of one wording need more
_OF_OTHERS = 4  # how many times more are fetched when lessons of other projects are to be left out

_NAMES = 8
_ASKED_KEYS, _ASKED_LESSONS = 200, 400  # of one text; SQLite's oldest limit of values is 999
_QUOTED = re.compile(r"(['\"`])([\w.@\-]{1,60})\1")

Match = Literal["exact", "pattern", "similar"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledLesson:
    """One recalled lesson. `match` is "exact" (the same signature), "pattern" (another signature of the same pattern),
    both with score 1, or "similar"; `score` in [0, 1] is the similarity."""

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

    lessons: tuple[RecalledLesson, ...]
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
    states: tuple[LessonState, ...] = ("active", "candidate"),
) -> Recalled:
    """The lessons for this error text, traceback, tool output or question; best first, at most `limit`.

    `project` (a folder) leaves out what was learnt elsewhere and is not global; None searches every project, which is
    for a person asking their own store. Lessons quarantined or retired never come back unless `states` asks for them.
    Exact matches come first, then those of the pattern, then bands of similarity; inside each, evidence decides, never
    age. Raises StoreError when the store cannot be read: that is no answer, unlike an empty one.
    """
    started = time.perf_counter()
    wanted = max(0, limit)
    said = redact(_ends(text))  # as everything stored was, so that signatures agree
    template = template_of(said)
    allowed: Where = {"state": ("in", list(states))}
    searched = _count(store, allowed)
    found: dict[str, RecalledLesson] = {}
    if searched and template and wanted:
        signature = sign(kind_of(said), template)
        found |= _new(found, _keyed(store, said, allowed, project))
        found |= _new(found, _exact(store, signature, allowed, project, said))
        if len(found) < wanted:
            found |= _new(found, _of_pattern(store, signature, allowed, project, said))
        if len(found) < wanted:
            found |= _new(found, _similar(store, template, allowed, project, said))
    elapsed_ms = (time.perf_counter() - started) * 1000
    return Recalled(lessons=tuple(found.values())[:wanted], searched=searched, elapsed_ms=elapsed_ms)


def quoted_names(text: str) -> list[str]:
    """The single words that an error text quotes (a module, a key, a branch), which its signature leaves out; kept as
    `names` with a lesson, they tell apart what shares a signature."""
    quoted = _QUOTED.findall(error_lines(text))
    return list(dict.fromkeys([name for _, name in quoted if not name.isdigit()]))[:_NAMES]


def _ends(text: str) -> str:
    """Return the ends that `template_of` looks at; more need not be redacted."""
    half = TEXT_LIMIT // 2
    return text if len(text) <= TEXT_LIMIT else f"{text[:half]}\n{text[-half:]}"


def _count(store: Store, where: Where) -> int:
    counted = store.sum_by("lessons", [], ["count:*"], where)
    return whole_in(counted[0], "count:*") if counted else 0


def _new(found: Collection[str], more: Iterable[RecalledLesson]) -> dict[str, RecalledLesson]:
    return {each.id: each for each in more if each.id not in found}


def _keyed(store: Store, text: str, where: Where, project: str | None) -> list[RecalledLesson]:
    """Mined lessons for the findings that the text shows, in their order."""
    keys = keys_of(text)
    named: list[Json] = [*keys[:_ASKED_KEYS]]
    ids: list[Json] = [row["lesson_id"] for row in store.find("answers", {"key": ("in", named)}).rows] if named else []
    rows = store.find("lessons", {**where, "id": ("in", ids[:_ASKED_LESSONS])}).rows if ids else []
    first = {str(row["id"]): min((keys.index(key) for key in _keys_of(row) if key in keys), default=0) for row in rows}
    found = _ordered(
        [RecalledLesson(lesson=each, match="exact", score=1.0) for each in _of_project(rows, project, text)]
    )
    return sorted(found, key=lambda each: (each.lesson.state != "active", first[each.id]))


def _keys_of(row: Row) -> list[str]:
    return [str(key) for key in cast("list[Json]", row.get("keys") or [])]


def _exact(store: Store, signature: str, where: Where, project: str | None, text: str) -> list[RecalledLesson]:
    rows = store.find("lessons", {**where, "signature": signature}).rows
    found = _ordered(
        [RecalledLesson(lesson=lesson, match="exact", score=1.0) for lesson in _of_project(rows, project, text)]
    )
    if len(found) > 1:
        # A signature masks quoted names, so lessons for two missing modules share it: those that name others come last.
        asked = set(quoted_names(text))
        told = {str(row["id"]): set(map(str, cast("list[Json]", row.get("names") or []))) for row in rows}
        found.sort(key=lambda each: bool(asked and told[each.id]) and not asked & told[each.id])
    return found


def _of_pattern(store: Store, signature: str, where: Where, project: str | None, text: str) -> list[RecalledLesson]:
    """Lessons for other signatures that analysis, or a person, holds to be the same failure."""
    held = store.get("signatures", signature)
    pattern = held.get("pattern") if held else None
    if not pattern:
        return []
    rows = store.find("lessons", {**where, "pattern": pattern}).rows
    return _ordered(
        [RecalledLesson(lesson=lesson, match="pattern", score=1.0) for lesson in _of_project(rows, project, text)]
    )


def _similar(store: Store, template: str, where: Where, project: str | None, text: str) -> list[RecalledLesson]:
    wanted = CANDIDATES if project is None else CANDIDATES * _OF_OTHERS
    rows = store.match("lessons", words(template), where, limit=wanted)
    rows = [row for row in rows if row.get("rule") != "edit"]  # those answer a finding, not a wording
    lessons = _of_project(rows, project, text)[:CANDIDATES]
    advice = [f"{lesson.head} {lesson.text}" for lesson in lessons]
    hits = rank(template, [lesson.when for lesson in lessons], advice=advice)
    return _ordered(
        [RecalledLesson(lesson=lessons[position], match="similar", score=score) for score, position in hits]
    )


def _of_project(rows: Iterable[Row], project: str | None, message: str) -> list[Lesson]:
    """Lessons that may be shown in a project: its own (reviewed ones of its repository among them) and global ones;
    not those that only repeat what the failure's own `message` says or are about another value, nor stale ones."""
    told = (row for row in rows if not restates(row, message) and _names_it(row, message))
    fresh = (row for row in told if not stale(row, project or folder_of(row)))
    return [lesson_of(row) for row in fresh if project is None or concerns(row, project)]


def _names_it(row: Row, message: str) -> bool:
    """Tell whether a message names the wrong value that a mined lesson is about; of other lessons nothing is asked."""
    return row.get("rule") != "fields" or str(row.get("needs") or "") in message


def _ordered(found: list[RecalledLesson]) -> list[RecalledLesson]:
    keys = [(f.score, f.lesson.state == "active", f.lesson.tried, f.lesson.worked, f.id) for f in found]
    return [found[position] for position in order(keys)]
