"""Finds anything that agents ever did by its words: steps, edits, what people said, patterns and lessons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ratchet.errors import UsageError
from ratchet.failures.searching import mark, month_marks, words_in
from ratchet.records import Json, Row, number_in, outcome_of, text_in
from ratchet.sessions.listing import title_of

if TYPE_CHECKING:
    from ratchet.lessons.recall import Recalled
    from ratchet.ports import Store, Where
    from ratchet.records import Outcome

Noun = Literal["step", "diff", "words", "pattern", "lesson"]
_PASTED_WORDS = 12  # a longer text is no search but something pasted
_EXCERPT = 240
_BEFORE = 60  # characters of an excerpt that stand before the word
_MOST_MONTHS = 24  # in a stretch of time that the index narrows; a longer one is looked through


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """Filters of a search; each is a name as outcomes have it, `project` as `project_name` says it."""

    agent: str = ""
    project: str = ""
    tool: str = ""
    kind: str = ""
    model: str = ""
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
    def steps_only(self) -> bool:
        """Tell whether it asks for something that only steps have."""
        return bool(self.marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """Something that was found. `text` is a stretch of it around the first word; `outcome` is the step that a hit is,
    or that its words followed."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHit:
    """A session in which something was found."""

    id: str
    title: str
    hits: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFound:
    """Everything that was found, each noun's newest first, and the sessions that it is in. Of a pasted text `recalled`
    says what is known to fix it."""

    words: tuple[str, ...]
    hits: tuple[SearchHit, ...]
    sessions: tuple[SessionHit, ...]
    recalled: Recalled | None = None


def is_pasted(text: str) -> bool:
    """Tell whether a text is an output that was pasted, and no words to search for."""
    return "\n" in text.strip() or len(text.split()) > _PASTED_WORDS


def found_by(store: Store, text: str, narrowed: Narrowed, *, limit: int) -> SearchFound:
    """Find what has all words of a text, at most `limit` of each noun. Raises UsageError for a text without words."""
    words = words_in(text)
    if not words:
        raise UsageError("search for a word of two letters at least, or a number")
    hits = _steps(store, words, narrowed, limit)
    if not narrowed.steps_only:
        hits += _sayings(store, words, narrowed, limit)
        hits += _patterns(store, words, narrowed, limit)
        hits += _lessons(store, words, narrowed, limit)
    return SearchFound(words=tuple(words), hits=tuple(hits), sessions=tuple(_sessions(store, hits)))


def _steps(store: Store, words: Sequence[str], narrowed: Narrowed, limit: int) -> list[SearchHit]:
    terms = [*words, *narrowed.marks]
    where = _time(narrowed)
    rows: list[Row] = []
    for month in _months(narrowed):
        rows += store.having("steps", [*terms, month] if month else terms, where, limit=limit - len(rows))
        if len(rows) >= limit:
            break
    keys: Json = [text_in(row, "id") for row in _within(rows, narrowed)]
    found = map(outcome_of, store.find("outcomes", {"id": ("in", keys)}).rows)
    return sorted((_step(each, words) for each in found), key=lambda hit: (-hit.at, hit.id))


def _months(narrowed: Narrowed) -> list[str]:
    """The months to look into one by one, newest first; "" where time is not narrowed to few."""
    if narrowed.since is None or narrowed.until is None:
        return [""]
    months = month_marks(narrowed.since, narrowed.until, _MOST_MONTHS)
    return [""] if months is None else months


def _time(narrowed: Narrowed, column: str = "at") -> Where:
    """The condition that the store decides; where time has two ends, `_within` decides the other."""
    if narrowed.since is not None:
        return {column: (">=", narrowed.since)}
    return {column: ("<", narrowed.until)} if narrowed.until is not None else {}


def _step(outcome: Outcome, words: Sequence[str]) -> SearchHit:
    step, failure = outcome.step, outcome.failure
    told = [failure.message if failure else "", step.input if step else "", outcome.task]
    plain = next((excerpt for each in told if (excerpt := excerpt_of(each, words))), "")
    changed = excerpt_of(step.change, words) if step else ""
    noun: Noun = "diff" if changed else "step"
    return SearchHit(
        noun=noun,
        id=outcome.id,
        outcome=outcome.id,
        title=" ".join(filter(None, (step.tool if step else outcome.task, step.head if step else ""))),
        text=changed if noun == "diff" else plain or " ".join(filter(None, told))[:_EXCERPT],
        at=outcome.started_at,
        session=outcome.session,
        agent=outcome.agent,
        kind=failure.kind if failure else "",
        ok=outcome.ok,
    )


def excerpt_of(text: str, words: Sequence[str]) -> str:
    """The stretch of a text around the first of the words that is in it, on one line; "" where none is."""
    pattern = "|".join(re.escape(word) for word in words)
    match = re.search(pattern, text, re.IGNORECASE)
    if match is None:
        return ""
    start = max(0, match.start() - _BEFORE)
    cut = " ".join(text[start : start + _EXCERPT].split())
    return f"{'…' if start else ''}{cut}{'…' if start + _EXCERPT < len(text) else ''}"


def _sayings(store: Store, words: Sequence[str], narrowed: Narrowed, limit: int) -> list[SearchHit]:
    return [
        SearchHit(
            noun="words",
            id=text_in(row, "id"),
            outcome=text_in(row, "after"),
            title="said by the person" if row.get("who") == "person" else "said by the agent",
            text=excerpt_of(text_in(row, "text"), words) or text_in(row, "text")[:_EXCERPT],
            at=number_in(row, "at"),
            session=text_in(row, "session"),
            agent=text_in(row, "agent"),
        )
        for row in _within(store.having("sayings", words, _time(narrowed), limit=limit), narrowed)
    ]


def _patterns(store: Store, words: Sequence[str], narrowed: Narrowed, limit: int) -> list[SearchHit]:
    return [
        SearchHit(
            noun="pattern",
            id=text_in(row, "id"),
            title=text_in(row, "kind"),
            text=excerpt_of(text_in(row, "template"), words) or text_in(row, "template")[:_EXCERPT],
            at=number_in(row, "created_at"),
            kind=text_in(row, "kind"),
            ok=False,
        )
        for row in store.having("patterns", words, _time(narrowed, "created_at"), limit=limit)
    ]


def _lessons(store: Store, words: Sequence[str], narrowed: Narrowed, limit: int) -> list[SearchHit]:
    return [
        SearchHit(
            noun="lesson",
            id=text_in(row, "id"),
            title=f"{text_in(row, 'state')}: when {text_in(row, 'when_text')}"[:_EXCERPT],
            text=" ".join(text_in(row, "text").split())[:_EXCERPT],
            at=number_in(row, "updated_at") or number_in(row, "created_at"),
            kind=text_in(row, "kind"),
        )
        for row in store.having("lessons", words, _time(narrowed, "created_at"), limit=limit)
    ]


def _within(rows: Iterable[Row], narrowed: Narrowed) -> list[Row]:
    return [row for row in rows if narrowed.until is None or number_in(row, "at") < narrowed.until]


def _sessions(store: Store, hits: Iterable[SearchHit]) -> list[SessionHit]:
    counted: dict[str, list[float]] = {}
    for hit in hits:
        if hit.session:
            counted.setdefault(hit.session, []).append(hit.at)
    found = [
        SessionHit(id=session, title=title_of(store, session), hits=len(times), at=max(times))
        for session, times in counted.items()
    ]
    return sorted(found, key=lambda each: (-each.hits, -each.at, each.id))
