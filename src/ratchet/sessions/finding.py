"""Finds anything that agents ever did by its words: steps, edits, what people said, patterns and lessons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from ratchet.errors import UsageError
from ratchet.failures.health import EXCUSED
from ratchet.failures.patterns.sums import ALL
from ratchet.failures.searching import mark, month_marks, words_in
from ratchet.lessons.repositories import known_as
from ratchet.records import Json, Outcome, Row, number_in, outcome_of, text_in
from ratchet.sessions.behind import behind
from ratchet.sessions.listing import title_of
from ratchet.sessions.mending import fixes_of, named
from ratchet.sessions.ways import edits_of

if TYPE_CHECKING:
    from ratchet.lessons.recall import Recalled
    from ratchet.ports import Store, Where

Noun = Literal["step", "diff", "words", "pattern", "lesson"]
_PASTED_WORDS = 12  # a longer text is no search but something pasted
_LOOKED_AT = 100  # newest rows with all words of which those come first that have them beside each other
_COUNTED = 2_000  # steps of a filter alone
_NEWEST = 200  # steps that are shown of a filter alone
_GROUPS: tuple[tuple[Noun, ...], ...] = (("step", "diff"), ("words",), ("pattern",), ("lesson",))
_EXCERPT = 240
_PHRASE, _NEAR, _SAME_SENTENCE = 3, 30, 160  # characters beyond the words themselves
_WORD = re.compile(r"[^\W_]+")
_ALIKE = 0.75  # of all words of two excerpts, those that both have
_BEFORE = 60  # characters of an excerpt that stand before the word
_MOST_MONTHS = 24  # in a stretch of time that the index narrows; a longer one is looked through


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """Filters of a search; each is a name as outcomes have it, `project` as `project_name` says it. `failed` leaves out
    what somebody refused or cancelled, as counts of failures do, unless its `kind` is asked for. Of a `command` they
    are the failed runs that were counted for it (`sessions.behind`); of a `file` (a path or its end) the failed runs
    that named it and, unless `failed`, its edits."""

    agent: str = ""
    project: str = ""
    tool: str = ""
    kind: str = ""
    model: str = ""
    command: str = ""
    file: str = ""
    failed: bool = False
    since: float | None = None
    until: float | None = None

    @property
    def marks(self) -> list[str]:
        """The marks that a step must have."""
        held = {
            "agent": self.agent,
            "project": self.project,
            "tool": self.tool.lower(),
            "kind": self.kind,
            "model": self.model,
            "ok": "no" if self.failed else "",
        }
        return [mark(name, value) for name, value in held.items() if value]

    @property
    def unmarks(self) -> list[str]:
        """The marks that a step must not have."""
        return [mark("kind", kind) for kind in sorted(EXCUSED)] if self.failed and not self.kind else []

    @property
    def steps_only(self) -> bool:
        """Tell whether it asks for something that only steps have."""
        return bool(self.marks or self.command or self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """Something that was found. `text` is a stretch of it around the words; `outcome` is the step that a hit is, or
    that its words followed; `alike` counts others that say the same; `fixed_by` is the step that fixed a failed one,
    where one did soon, and `fix` says it."""

    noun: Noun
    id: str
    title: str
    text: str
    at: float
    session: str = ""
    outcome: str = ""
    agent: str = ""
    kind: str = ""
    ok: bool = True
    alike: int = 0
    fixed_by: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHit:
    """A session in which something was found."""

    id: str
    title: str
    hits: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFound:
    """Everything that was found, of each noun what has the words beside each other first, then the newest, and the
    sessions that it is in. Of a pasted text `recalled` says what is known to fix it. `steps` counts the steps and edits
    among which those of `hits` are."""

    words: tuple[str, ...]
    hits: tuple[SearchHit, ...]
    sessions: tuple[SessionHit, ...]
    recalled: Recalled | None = None
    steps: int = 0


def is_pasted(text: str) -> bool:
    """Tell whether a text is an output that was pasted, and no words to search for."""
    return "\n" in text.strip() or len(text.split()) > _PASTED_WORDS


def found_by(store: Store, text: str, narrowed: Narrowed, *, limit: int) -> SearchFound:
    """Find what has all words of a text, at most `limit` of each noun; without words, the steps that the filters leave.
    Raises UsageError for a text without words where there is no filter either."""
    words = words_in(text)
    if not words and not narrowed.steps_only:
        raise UsageError("search for a word of two letters at least, or a number")
    most = max(limit, _LOOKED_AT) if len(words) > 1 else 2 * limit  # one word is beside nothing
    found, steps = _steps(store, words, narrowed, most if words else max(most, _COUNTED))
    if not narrowed.steps_only:
        found += _sayings(store, words, narrowed, most)
        found += _patterns(store, words, narrowed, limit)
        found += _lessons(store, words, narrowed, limit)
    hits = [hit for some in _GROUPS for hit in _ordered([each for each in found if each[0].noun in some], limit)]
    sessions = _sessions(store, (hit for hit, _ in found), limit)
    fixes = fixes_of(store, [(each.session, each.at, each.id) for each in hits if each.noun == "step" and not each.ok])
    hits = [_fixed(each, fixes[each.id]) if each.id in fixes else each for each in hits]
    return SearchFound(words=tuple(words), hits=tuple(hits), sessions=tuple(sessions), steps=steps)


def _fixed(hit: SearchHit, by: Outcome) -> SearchHit:
    said = " ".join((by.step.change or by.step.input if by.step else by.task).split())
    return replace(hit, fixed_by=by.id, fix=f"{named(by)}: {said}"[:_EXCERPT])


_Found: TypeAlias = "tuple[SearchHit, Near]"


def _ordered(found: Iterable[_Found], limit: int) -> list[SearchHit]:
    """Those whose words stand next to each other, then close, then anywhere, the newest first; the same text once."""
    kept: list[tuple[SearchHit, set[str]]] = []
    for hit, _ in sorted(found, key=lambda each: (each[1].distance, -each[0].at, each[0].id)):
        said = set(_WORD.findall(hit.text.casefold()))
        same = next((at for at, (_, other) in enumerate(kept) if _is_alike(said, other)), None)
        if same is None and len(kept) < limit:
            kept.append((hit, said))
        elif same is not None:
            first, words = kept[same]
            kept[same] = (replace(first, alike=first.alike + 1), words)
    return [hit for hit, _ in kept]


def _is_alike(one: set[str], other: set[str]) -> bool:
    may_be = _ALIKE * len(one) <= len(other) <= len(one) / _ALIKE  # else no words in common are enough
    return may_be and len(one & other) >= _ALIKE * len(one | other)


def _steps(store: Store, words: Sequence[str], narrowed: Narrowed, limit: int) -> tuple[list[_Found], int]:
    """The steps that fit, and how many do: of a filter alone the newest are enough."""
    if narrowed.command or narrowed.file:
        found = [each for each in (_step(one, words) for one in _about(store, narrowed)) if not each[1].lacks]
        return found, len(found)
    terms = [*words, *narrowed.marks]
    where = _time(narrowed)
    rows: list[Row] = []
    for month in _months(narrowed):
        asked = [*terms, month] if month else terms
        rows += store.having("steps", asked, where, without=narrowed.unmarks, limit=limit - len(rows))
        if len(rows) >= limit:
            break
    fitting = sorted(_within(rows, narrowed), key=lambda row: number_in(row, "at"), reverse=True)
    keys: Json = [text_in(row, "id") for row in fitting[: limit if words else _NEWEST]]
    shown = store.find("outcomes", {"id": ("in", keys)}, order=("-started_at",)).rows
    return [_step(outcome_of(row), words) for row in shown], len(fitting)


def _about(store: Store, narrowed: Narrowed) -> list[Outcome]:
    """The failed runs of a command or that name a file, and unless only failures are asked for the edits of that file:
    the newest."""
    found = behind(
        store,
        command=narrowed.command,
        file=narrowed.file,
        project=narrowed.project,
        since=narrowed.since,
        limit=_NEWEST,
    )
    if narrowed.file and not (narrowed.command or narrowed.failed):
        found += [
            each
            for each in edits_of(store, narrowed.file)
            if each.started_at >= (narrowed.since or 0)
            and (not narrowed.project or known_as(store, each.project) == narrowed.project)
        ]
    fitting = [each for each in found if _fits(narrowed, each)]
    return sorted(fitting, key=lambda each: (-each.started_at, each.id))[:_NEWEST]


def _fits(narrowed: Narrowed, each: Outcome) -> bool:
    kind = each.failure.kind if each.failure else ""
    return (
        narrowed.agent in ("", each.agent)
        and narrowed.tool.lower() in ("", each.step.tool.lower() if each.step else "")
        and narrowed.kind in ("", kind)
        and narrowed.model in ("", each.model)
        and (narrowed.until is None or each.started_at < narrowed.until)
    )


def _months(narrowed: Narrowed) -> list[str]:
    """The months to look into one by one, newest first; "" where time is not narrowed to few."""
    if narrowed.since is None or narrowed.until is None:
        return [""]
    months = month_marks(narrowed.since, narrowed.until, _MOST_MONTHS)
    return [""] if months is None else months


def _time(narrowed: Narrowed) -> Where:
    """The condition that the store decides; where time has two ends, `_within` decides the other."""
    if narrowed.since is not None:
        return {"at": (">=", narrowed.since)}
    return {"at": ("<", narrowed.until)} if narrowed.until is not None else {}


def _step(outcome: Outcome, words: Sequence[str]) -> _Found:
    step, failure = outcome.step, outcome.failure
    told = [failure.message if failure else "", step.input if step else "", outcome.task]
    change = step.change if step else ""
    found = min((near(each, words) for each in (change, *told)), key=lambda each: each.distance) if words else _ANY
    hit = SearchHit(
        noun="diff" if change and found.text in (change, _ANY.text) else "step",
        id=outcome.id,
        outcome=outcome.id,
        title=named(outcome),
        text=found.excerpt or " ".join(filter(None, told))[:_EXCERPT],
        at=outcome.started_at,
        session=outcome.session,
        agent=outcome.agent,
        kind=failure.kind if failure else "",
        ok=outcome.ok,
    )
    return hit, found


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """The shortest stretch of a text that has the most of some words: how many it lacks, where it is, and how many
    characters it has beside them."""

    text: str
    lacks: int
    start: int = 0
    beside: int = 0

    @property
    def distance(self) -> tuple[int, int]:
        """Order texts by it: all words there; a phrase, words close by, in a sentence, anywhere."""
        return self.lacks, sum(self.beside > limit for limit in (_PHRASE, _NEAR, _SAME_SENTENCE))

    @property
    def excerpt(self) -> str:
        """The stretch with some text around it, on one line; "" where none of the words is there."""
        if self.start < 0:
            return ""
        start = max(0, self.start - _BEFORE)
        cut = " ".join(self.text[start : start + _EXCERPT].split())
        return f"{'…' if start else ''}{cut}{'…' if start + _EXCERPT < len(self.text) else ''}"


_ANY = Near(text="", lacks=0, start=-1)
"""What a search without words finds in each text."""


def near(text: str, words: Sequence[str]) -> Near:
    """Find where the words stand closest together. Linear in the text, but for each word."""
    places = sorted(
        (match.start(), match.end(), number)
        for number, word in enumerate(words)
        for match in re.finditer(re.escape(word), text, re.IGNORECASE)
    )
    if not places:
        return Near(text=text, lacks=len(words), start=-1)
    there = {number for _, _, number in places}
    least = sum(len(words[number]) for number in there)
    held: Counter[int] = Counter()
    first, best = 0, (len(text) + 1, 0)
    for _, end, number in places:
        held[number] += 1
        while len(held) == len(there):
            best = min(best, (end - places[first][0], places[first][0]))
            held[places[first][2]] -= 1
            held += Counter()  # without those that are none
            first += 1
    return Near(text=text, lacks=len(words) - len(there), start=best[1], beside=max(0, best[0] - least))


def _sayings(store: Store, words: Sequence[str], narrowed: Narrowed, limit: int) -> list[_Found]:
    found = []
    for row in _within(store.having("sayings", words, _time(narrowed), limit=limit), narrowed):
        there = near(text_in(row, "text"), words)
        hit = SearchHit(
            noun="words",
            id=text_in(row, "id"),
            outcome=text_in(row, "after"),
            title="said by the person" if row.get("who") == "person" else "said by the agent",
            text=there.excerpt or text_in(row, "text")[:_EXCERPT],
            at=number_in(row, "at"),
            session=text_in(row, "session"),
            agent=text_in(row, "agent"),
        )
        found.append((hit, there))
    return found


def _patterns(store: Store, words: Sequence[str], narrowed: Narrowed, limit: int) -> list[_Found]:
    rows = store.having("patterns", words, limit=limit)
    last_seen = _last_seen(store, [text_in(row, "id") for row in rows])
    found = []
    for row in rows:
        there = near(text_in(row, "template"), words)
        hit = SearchHit(
            noun="pattern",
            id=text_in(row, "id"),
            title=text_in(row, "kind"),
            text=there.excerpt or text_in(row, "template")[:_EXCERPT],
            at=last_seen.get(text_in(row, "id"), number_in(row, "created_at")),
            kind=text_in(row, "kind"),
            ok=False,
        )
        found.append((hit, there))
    return _dated(found, narrowed)


def _last_seen(store: Store, patterns: list[Json]) -> dict[str, float]:
    """When each pattern failed last: it may have been learnt long after."""
    rows = store.find("signatures", {"pattern": ("in", patterns)}).rows
    of = {text_in(row, "signature"): text_in(row, "pattern") for row in rows}
    asked: Where = {"agent": ALL, "signature": ("in", [*of])}
    found: dict[str, float] = {}
    for row in store.sum_by("signature_sums", ("signature",), ("max:max_at",), asked):
        pattern = of[text_in(row, "signature")]
        found[pattern] = max(found.get(pattern, 0.0), number_in(row, "max:max_at"))
    return found


def _lessons(store: Store, words: Sequence[str], narrowed: Narrowed, limit: int) -> list[_Found]:
    found = []
    for row in store.having("lessons", words, limit=limit):
        hit = SearchHit(
            noun="lesson",
            id=text_in(row, "id"),
            title=f"{text_in(row, 'state')}: when {text_in(row, 'when_text')}"[:_EXCERPT],
            text=" ".join(text_in(row, "text").split())[:_EXCERPT],
            at=number_in(row, "seen_at") or number_in(row, "updated_at") or number_in(row, "created_at"),
            kind=text_in(row, "kind"),
        )
        found.append((hit, near(f"{text_in(row, 'text')} {text_in(row, 'when_text')}", words)))
    return _dated(found, narrowed)


def _dated(found: list[_Found], narrowed: Narrowed) -> list[_Found]:
    """Those within the time that is asked for: of a pattern and a lesson, when it was met last."""
    since, until = narrowed.since, narrowed.until
    return [each for each in found if (since is None or since <= each[0].at) and (until is None or each[0].at < until)]


def _within(rows: Iterable[Row], narrowed: Narrowed) -> list[Row]:
    return [row for row in rows if narrowed.until is None or number_in(row, "at") < narrowed.until]


def _sessions(store: Store, hits: Iterable[SearchHit], limit: int) -> list[SessionHit]:
    counted: dict[str, list[float]] = {}
    for hit in hits:
        if hit.session:
            counted.setdefault(hit.session, []).append(hit.at)
    most = sorted(counted, key=lambda session: (-len(counted[session]), -max(counted[session]), session))[:limit]
    return [
        SessionHit(id=session, title=title_of(store, session), hits=len(counted[session]), at=max(counted[session]))
        for session in most
    ]
