"""Answers a failure with what is remembered about it, or says that nothing is.

First lessons whose findings the text shows, then the memories that share its rarest features, judged by
`lessons.finding`: what is sure is returned apart from what is only possible. An agent that is handed the advice for
another failure is worse off than one that is handed none. What people wrote is ranked as prose (`lessons.prose`) and is
only ever possible.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

from ratchet.failures.diagnostics import bare_keys_of, import_keys_of, keys_of
from ratchet.failures.features import LONG
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.kinds.table import KINDS
from ratchet.failures.patterns.ruled import keys_titled
from ratchet.failures.redaction.text import redact
from ratchet.failures.signature import TEXT_LIMIT, sign
from ratchet.lessons import origins, paths, prose
from ratchet.lessons.ahead.sighted import is_mined
from ratchet.lessons.exposure import concerns
from ratchet.lessons.finding import (
    CALIBRATED,
    CANDIDATES,
    Bars,
    Hit,
    Judged,
    Sought,
    foremost,
    gathered,
    judged,
    quoted_names,
)
from ratchet.lessons.grounding import answers, restates
from ratchet.lessons.lessons import STATES, looked_up
from ratchet.lessons.ranking import order
from ratchet.lessons.rests import folder_of, stale
from ratchet.lessons.rows import lesson_of
from ratchet.lessons.standing import PROVEN_SESSIONS
from ratchet.records import Json, Lesson, LessonState, Row, text_in, whole_in
from ratchet.store.derived import PROSE

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

_OF_OTHERS = 4  # how many times more are fetched when lessons of other projects are to be left out
_ASKED_KEYS, _ASKED_LESSONS = 200, 400  # of one text; SQLite's oldest limit of values is 999

Match = Literal["finding", "exact", "pattern", "similar", "words"]
Silent = Literal["", "nothing", "unlike", "ambiguous", "unproven", "empty", "itself", "others", "looked_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledLesson:
    """One recalled lesson. `match` is "finding" (the text shows what the lesson answers), "exact" (the same signature),
    "pattern" (another signature of the same pattern), "similar", or "words" (a person's text that shares words);
    `score` in [0, 1] is the similarity. `superseded_by` names a newer lesson about the same, `learnt_in` the projects
    that it counts in; none for one that counts everywhere. `needs` is what the failed command must have had, an option
    say, where the text does not show it."""

    lesson: Lesson
    match: Match
    score: float
    superseded_by: str = ""
    learnt_in: tuple[str, ...] = ()
    needs: str = ""

    @property
    def text(self) -> str:
        """The advice, verbatim."""
        return self.lesson.text

    @property
    def id(self) -> str:
        return self.lesson.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """Lessons, best first: `lessons` are sure enough to be handed to an agent, `possibly` for a person to look through.

    `abstained` says that none is sure, `silent` why: "nothing" is remembered, what is remembered is "unlike" this, two
    remedies fit equally well ("ambiguous"), or what fits worked in one session alone ("unproven"); "empty" where the
    text has no words; "itself" where the text says what the lessons about it say, which then come first in `possibly`;
    "others" where strangers wrote what is sure, and nothing of it may be shown until a person approves it; "looked_up"
    where what there is to say is worked out when the step fails, by the lesson that then comes first in `possibly`.
    `looked_for` is what the text was known by.
    `searched` counts the lessons of the store in the states asked for, `known` all that there are."""

    lessons: tuple[RecalledLesson, ...]
    searched: int
    known: int = 0
    possibly: tuple[RecalledLesson, ...] = ()
    looked_for: str = ""
    silent: Silent = ""
    elapsed_ms: float = 0.0

    @property
    def abstained(self) -> bool:
        return not self.lessons

    @property
    def counted(self) -> str:
        """Say how many lessons were searched, and of how many where some are set aside."""
        said = f"{self.searched:,} lesson{'' if self.searched == 1 else 's'} searched"
        aside = self.known - self.searched
        more = f"{aside:,} more {'is' if aside == 1 else 'are'} set aside, as quarantined or retired"
        return f"{said}; {more}" if aside > 0 else said


def recall(
    store: Store,
    text: str,
    *,
    limit: int = 5,
    project: str | None = None,
    states: tuple[LessonState, ...] = ("active", "candidate"),
    listing: bool = True,
) -> Recalled:
    """The lessons for this error text, traceback, tool output, whole log or question; at most `limit` of either list.

    `project` (a folder) leaves out what was learnt elsewhere and is not global; None searches every project, which is
    for a person asking their own store. Lessons quarantined or retired never come back unless `states` asks for them.
    Without `listing` only what is sure is looked for. What is active is judged by itself: no crowd of candidates hides
    it. Raises StoreError when the store cannot be read: that is no answer, unlike an empty one.
    """
    started, asked, limit = time.perf_counter(), sought(text), max(0, limit)
    found = recalled(store, asked, {"state": ("in", [*states])}, limit=limit, project=project, listing=listing)
    others: list[Json] = [state for state in states if state != "active"]
    crowded = "active" in states and others and _counted(store, {"state": ("in", others)})
    if crowded and all(each.lesson.state != "active" for each in found.lessons):
        active = recalled(store, asked, {"state": "active"}, limit=limit, project=project, listing=False)
        found = found if active.abstained else _ahead(active.lessons, found, limit)
    return replace(found, elapsed_ms=(time.perf_counter() - started) * 1000)


def _ahead(sure: tuple[RecalledLesson, ...], found: Recalled, limit: int) -> Recalled:
    """Put what is sure before what else was found."""
    told = {each.text for each in sure}
    lessons, possibly = ([each for each in some if each.text not in told] for some in (found.lessons, found.possibly))
    return replace(found, lessons=(*sure, *lessons)[:limit], possibly=tuple(possibly), silent="")


def sought(text: str) -> Sought:
    """Make a text ready: redacted as everything stored was, so that signatures agree."""
    return Sought(redact(_ends(text)))


def recalled(
    store: Store, asked: Sought, where: Where, *, limit: int, project: str | None, listing: bool = True
) -> Recalled:
    """`recall` among the lessons that meet `where`."""
    said, (searched, known) = asked.whole, _counts(store, where)
    sure: dict[str, RecalledLesson] = {}
    possibly: dict[str, RecalledLesson] = {}
    silent: Silent = "empty" if not asked.template else "nothing" if not searched else ""
    if not silent and limit:
        sure = {each.id: each for each in _keyed(store, said, where, project)}
        found, same = _judged(store, asked, where, project, said, set(sure))
        sure |= {str(each.row["id"]): _told(each, same) for each in found.sure}
        chance = {at: sure.pop(at) for at in _by_chance(store, sure)}
        silent = "" if sure else "unproven" if chance else cast(Silent, found.silent)
        if listing:
            possibly = _possibly(store, said, where, project, found.possibly, same, limit=limit + len(sure))
            itself = {} if sure else _said_itself(store, asked, where, project, said)
            silent, possibly = "itself" if itself else silent, itself | chance | possibly
            if later := {} if sure or itself else _looked_up(store, where, project, said):
                silent, possibly = "looked_up", later | possibly
    told = {each.text for each in sure.values()}
    return Recalled(
        lessons=_placed(store, [*sure.values()][:limit], said),
        possibly=_placed(store, [each for each in possibly.values() if each.text not in told][:limit], said),
        searched=searched,
        known=known,
        looked_for=asked.template,
        silent=silent,
    )


def _looked_up(store: Store, where: Where, project: str | None, said: str) -> dict[str, RecalledLesson]:
    """The lesson that works out what to say of such an error once a step fails with it."""
    group = looked_up(said)
    ids: list[Json] = [row["lesson_id"] for row in store.find("answers", {"key": group}).rows] if group else []
    rows = store.find("lessons", {**where, "id": ("in", ids)}).rows if ids else ()
    about = map(lesson_of, _shown(rows, project, said))
    return {each.id: RecalledLesson(lesson=each, match="finding", score=1.0) for each in about}


def _by_chance(store: Store, found: Iterable[str]) -> list[str]:
    """The ids of candidates that sessions taught and too few of them saw work: what they say may be chance."""
    asked: list[Json] = [*found]
    rows = store.find("lessons", {"id": ("in", asked), "state": "candidate"}).rows if asked else []
    return [str(row["id"]) for row in rows if is_mined(row) and whole_in(row, "worked") < PROVEN_SESSIONS]


def _placed(store: Store, found: Sequence[RecalledLesson], said: str) -> tuple[RecalledLesson, ...]:
    """The same, each with the projects that it counts in: what one project taught need not hold in another; and with
    what it needs that the text does not show. What several of them say alike is said once."""
    from ratchet.lessons.repositories import known_as

    alike: dict[str, list[str]] = {}
    for each in found:
        alike.setdefault(each.text, []).extend(each.lesson.projects)
    found = [next(each for each in found if each.text == text) for text in alike]
    folders = {folder for each in found if each.lesson.scope != "global" for folder in alike[each.text]}
    names = {folder: name for folder in folders if (name := known_as(store, folder))}
    ids: list[Json] = [each.id for each in found]
    rows = store.find("lessons", {"id": ("in", ids)}).rows if ids else ()
    needs = {text_in(row, "id"): text_in(row, "needs") for row in rows if text_in(row, "needs") not in said}
    return tuple(
        replace(
            each,
            learnt_in=tuple(dict.fromkeys(names[at] for at in alike[each.text] if at in names)),
            needs=needs.get(each.id, ""),
        )
        for each in found
    )


def _judged(
    store: Store, whole: Sought, where: Where, project: str | None, said: str, known: set[str]
) -> tuple[Judged, dict[str, Match]]:
    """Judge what a text, or a passage of a long one, is like: the passages only where the whole is not sure."""
    bars, names = bars_of(store), quoted_names(said)

    def spread(terms: Sequence[str]) -> dict[str, int]:
        return store.spread("lessons", terms)

    def near(weights: Mapping[str, float], limit: int) -> list[Row]:
        return _shown(store.match("lessons", weights, where, limit=limit), project, said)

    def judge(asked: Sought) -> tuple[Judged, dict[str, Match]]:
        rows, same = candidates(store, asked, where, project, said)
        others = [row for row in rows if str(row["id"]) not in known]
        return judged(asked, others, same, spread, bars, names), same

    told = judge(whole)
    if told[0].sure or len(said) <= LONG:
        return told
    from ratchet.lessons.passages import passages

    found = [told, *[judge(Sought(each, "passage")) for each in passages(said, spread, near)]]
    best = foremost([each for each, _ in found])
    return best, {at: match for _, same in found for at, match in same.items()}


def bars_of(store: Store) -> Bars:
    """The thresholds that this store's own memories gave (`lessons.calibration`), else those that come with Ratchet."""
    kept = (store.get("meta", CALIBRATED) or {}).get("bars")
    return Bars.of(kept) if isinstance(kept, dict) else Bars()


def _ends(text: str) -> str:
    """Return the ends that `template_of` looks at; more need not be redacted."""
    half = TEXT_LIMIT // 2
    return text if len(text) <= TEXT_LIMIT else f"{text[:half]}\n{text[-half:]}"


def _counts(store: Store, where: Where) -> tuple[int, int]:
    """Count the lessons that are searched, and all. Those in the states asked for are nearly all that there are: the
    few others are counted, and taken from the number of all, which the index knows."""
    asked = where.get("state")
    if len(where) > 1 or not isinstance(asked, tuple):
        return _counted(store, where), 0
    others: list[Json] = [state for state in STATES if state not in cast("list[Json]", asked[1])]
    known = store.spread("lessons", [""]).get("", 0)
    return known - _counted(store, {"state": ("in", others)}), known


def _counted(store: Store, where: Where) -> int:
    counted = store.sum_by("lessons", [], ["count:*"], where)
    return whole_in(counted[0], "count:*") if counted else 0


def _said_itself(
    store: Store, asked: Sought, where: Where, project: str | None, said: str
) -> dict[str, RecalledLesson]:
    """Lessons that are about the text and say nothing that it does not say: who asks is told that they are known."""
    found = {each.id: each for each in _keyed(store, said, where, project, restating=True)}
    rows, same = candidates(store, asked, where, project, said, restating=True)
    alike = [(lesson_of(row), same[str(row["id"])]) for row in rows if str(row["id"]) in same]
    return {each.id: RecalledLesson(lesson=each, match=match, score=1.0) for each, match in alike} | found


def _keyed(
    store: Store, text: str, where: Where, project: str | None, *, restating: bool = False
) -> list[RecalledLesson]:
    """Lessons for the tests that fail and the findings that the text shows, in their order; `restating` as in
    `_shown`."""
    from ratchet.failures.failed_tests import names_of  # of a home that is only looked at, nothing is asked

    parted = _BEHIND_WORDS.sub("\n", text)
    imports = import_keys_of(parted)
    findings = (*keys_of(parted), *imports, *keys_of(text), *bare_keys_of(text), *keys_titled(text))
    missing = paths.missing_path(text)
    keys = list(dict.fromkeys([*names_of(text), *findings, *([paths.GROUP] if missing else [])]))
    named: list[Json] = [*keys[:_ASKED_KEYS]]
    ids: list[Json] = [row["lesson_id"] for row in store.find("answers", {"key": ("in", named)}).rows] if named else []
    rows = store.find("lessons", {**where, "id": ("in", ids[:_ASKED_LESSONS])}).rows if ids else []
    first = {str(row["id"]): min((keys.index(key) for key in _keys_of(row) if key in keys), default=0) for row in rows}
    about = origins.narrowed(_shown(rows, project, text, restating=restating), imports)
    shown = paths.placed(about, missing, project or "")
    found = [RecalledLesson(lesson=lesson_of(each), match="finding", score=1.0) for each in shown]
    return sorted(
        _by_evidence(found), key=lambda each: (each.lesson.state != "active", each.lesson.is_habit, first[each.id])
    )


# The space between what somebody wrote before a finding (`the build failed: `) and the finding's place.
_BEHIND_WORDS = re.compile(r"(?<=[:>\])\w]) (?=[^\s:]{1,300}\.\w{1,12}:\d{1,6}:)")


def _keys_of(row: Row) -> list[str]:
    return [str(key) for key in cast("list[Json]", row.get("keys") or [])]


def candidates(
    store: Store, asked: Sought, where: Where, project: str | None, text: str, *, restating: bool = False
) -> tuple[list[Row], dict[str, Match]]:
    """Rows that share the rarest features, and those with the signature of the text or one of its pattern; the latter
    by id. `restating` as in `_shown`."""
    signature = sign(kind_of(text), asked.template)
    # A lesson's own headline, as it is printed, has lost what told its kind: alone it may read like another.
    named: list[Json] = [sign(each, asked.template) for each in KINDS]
    exact = store.find("lessons", {**where, "signature": ("in", named)}).rows
    pattern = (store.get("signatures", signature) or {}).get("pattern")
    sibling = store.find("lessons", {**where, "pattern": pattern}).rows if pattern else []
    wanted = CANDIDATES if project is None else CANDIDATES * _OF_OTHERS

    def near(weights: Mapping[str, float], limit: int) -> list[Row]:
        found = store.match("lessons", weights, where, limit=limit)
        told = [row for row in found if row.get("rule") != "edit"]
        return _shown(told, project, text, restating=restating)

    counts = store.spread("lessons", [*asked.features, ""])
    likest = gathered(asked.features, counts, near, (wanted,))[:CANDIDATES]
    same: dict[str, Match] = {str(row["id"]): "pattern" for row in sibling}
    same |= {str(row["id"]): "exact" for row in exact}
    told = _shown((*exact, *sibling), project, text, restating=restating)
    return [*{str(row["id"]): row for row in (*told, *likest)}.values()], same


def _shown(rows: Iterable[Row], project: str | None, message: str, *, restating: bool = False) -> list[Row]:
    """Rows that may be shown in a project: its own (reviewed ones of its repository among them) and global ones; not
    those that only repeat what the failure's own `message` says (or, `restating`, those alone) or are about other
    names, nor stale ones."""
    told = (row for row in rows if restates(row, message) is restating and answers(row, message=message))
    fresh = (row for row in told if not stale(row, project or folder_of(row)))
    return [row for row in fresh if project is None or concerns(row, project)]


def _possibly(
    store: Store,
    text: str,
    where: Where,
    project: str | None,
    hits: Sequence[Hit],
    same: dict[str, Match],
    *,
    limit: int,
) -> dict[str, RecalledLesson]:
    failures = [each for each in hits if each.row.get("source") not in PROSE]
    listed = [_told(each, same) for each in [each for each in failures if each.listed][:limit]]
    told = prose.ranked(store, text, where, limit=prose.CANDIDATES)
    seen = {str(row["id"]) for row in _shown([each.row for each in told], project, text)}
    written = [
        RecalledLesson(lesson=lesson_of(each.row), match="words", score=each.share, superseded_by=each.superseded_by)
        for each in [each for each in told if str(each.row["id"]) in seen][:limit]
    ]
    first: dict[str, RecalledLesson] = {}
    for each in (*listed, *written):
        first.setdefault(each.id, each)
    return first


def _told(hit: Hit, same: dict[str, Match]) -> RecalledLesson:
    lesson = lesson_of(hit.row)
    return RecalledLesson(lesson=lesson, match=same.get(lesson.id, "similar"), score=max(hit.near, hit.alike))


def _by_evidence(found: list[RecalledLesson]) -> list[RecalledLesson]:
    keys = [(f.score, f.lesson.state == "active", f.lesson.tried, f.lesson.worked, f.id) for f in found]
    return [found[position] for position in order(keys)]
