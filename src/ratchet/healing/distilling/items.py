"""Pieces of evidence that a model may look at: at most 1.5 kB each, known again by their hash.

Four places: a person's words, what fixes of one finding have in common, commands that differ in many words, and whether
a lesson is out of date. Never at a failure, and never to choose its cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from ratchet.ids import hex_of
from ratchet.lessons.words.rules import KIND, RULE
from ratchet.ports import Store, Where
from ratchet.records import Json, Row, text_in, whole_in
from ratchet.store.paging import rows_of

EVIDENCE_BYTES = 1_500
"""Of one item: what a model is told of it."""
_FIXES, _FIX_SESSIONS = 6, 3  # of one finding, before its hunks are worth comparing
_STEPS, _STEP_SESSIONS = 4, 2
_SHOWN = 6  # hunks or commands of one item
_CONTRARY = 6

Place: TypeAlias = Literal["words", "hunks", "steps", "contrary"]
PLACES: tuple[Place, ...] = ("words", "hunks", "steps", "contrary")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceItem:
    """Evidence for one question: `about` is the lesson or the finding, `shown` and `held_out` are the rows behind it,
    the latter for the check of the answer alone."""

    place: Place
    project: str
    about: str
    text: str
    shown: tuple[Row, ...] = ()
    held_out: tuple[Row, ...] = ()

    @property
    def mark(self) -> str:
        """Tells it from every other evidence: the answer is kept under it."""
        return hex_of(f"{self.place}\0{self.project}\0{self.about}\0{self.text}")[:32]


def items(store: Store, places: Iterable[Place] = PLACES, *, project: str | None = None) -> list[EvidenceItem]:
    """All evidence that a model could make something of, in a fixed order. Raises StoreError."""
    found: list[EvidenceItem] = []
    wanted = set(places)
    if "words" in wanted:
        found += _words(store)
    if wanted & {"hunks", "steps"}:
        by_key = _by_key(store)
        found += _hunks(store, by_key) if "hunks" in wanted else ()
        found += _steps(by_key) if "steps" in wanted else ()
    if "contrary" in wanted:
        found += _contrary(store)
    return [each for each in found if project is None or each.project == project]


def _words(store: Store) -> Iterator[EvidenceItem]:
    rows = store.find("lessons", {"state": "candidate", "kind": KIND}).rows
    for row in sorted(rows, key=lambda row: (-whole_in(row, "points"), str(row["id"]))):
        if row.get("rule") != RULE or row.get("decided"):
            continue
        step = text_in(row, "failed") or text_in(row, "when_text")
        move = store.get("moves", str(cast("list[Json]", row["words"])[0])) or {}
        parts = [
            f"The agent's step: {text_in(row, 'head')}: {step}",
            f"The person ({move.get('way', 'typed')}): {row['quote']}",
            f"Lines of its own that the agent took back afterwards: {move.get('undone', 0)}",
        ]
        yield EvidenceItem(
            place="words",
            project=text_in(row, "project"),
            about=str(row["id"]),
            text=_capped("\n".join(parts)),
            shown=(row,),
        )


def _by_key(store: Store) -> dict[tuple[str, str], list[Row]]:
    """(project, finding) -> the resolutions of it that worked, oldest first."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows_of(store, "resolutions", {"key": ("!=", "")}, order=("at",)):
        if row.get("worked"):
            found.setdefault((text_in(row, "project"), text_in(row, "key")), []).append(row)
    return found


def _hunks(store: Store, by_key: dict[tuple[str, str], list[Row]]) -> Iterator[EvidenceItem]:
    """Findings that were fixed often and of which no lesson says how."""
    for (project, key), rows in sorted(by_key.items()):
        fixes = [row for row in rows if row.get("way") == "edit" and row.get("added")]
        if len(fixes) < _FIXES or _sessions(fixes) < _FIX_SESSIONS or _answered(store, key, project):
            continue
        shown, held_out = fixes[::2][-_SHOWN:], fixes[1::2]
        parts = [f"Finding {key}: {text_in(shown[0], 'message')}"]
        parts += [_hunk(row) for row in shown]
        text = _capped("\n\n".join(parts))
        yield EvidenceItem(
            place="hunks", project=project, about=key, text=text, shown=tuple(shown), held_out=tuple(held_out)
        )


def _steps(by_key: dict[tuple[str, str], list[Row]]) -> Iterator[EvidenceItem]:
    """Failures of commands that other commands achieved, without a lesson, since too many words differ."""
    for (project, key), rows in sorted(by_key.items()):
        steps = [row for row in rows if row.get("way") == "step" and row.get("do") and not row.get("lesson_id")]
        steps = [row for row in steps if row["do"] != row["failed_input"]]
        if len(steps) < _STEPS or _sessions(steps) < _STEP_SESSIONS:
            continue
        shown, held_out = steps[::2][-_SHOWN:], steps[1::2]
        parts = [f"Error: {text_in(shown[0], 'message')}"]
        parts += [f"failed:  {_line(row, 'failed_input')}\nworked:  {_line(row, 'do')}" for row in shown]
        text = _capped("\n\n".join(parts))
        yield EvidenceItem(
            place="steps", project=project, about=key, text=text, shown=tuple(shown), held_out=tuple(held_out)
        )


def _contrary(store: Store) -> Iterator[EvidenceItem]:
    """Lessons against which something speaks."""
    for row in store.find("lessons", {"state": ("in", ["active", "candidate"])}, order=("id",)).rows:
        if not row.get("group") or row.get("decided") or not whole_in(row, "wrong"):
            continue
        keys = [*cast("list[Json]", row.get("keys") or [])]
        asked: Where = {"key": ("in", keys), "project": row["project"]}
        rows = store.find("resolutions", asked, order=("-at",), limit=40).rows
        ends = [each for each in rows if each.get("worked")][:_CONTRARY]
        against = [each for each in ends if each.get("lesson_id") != row["id"]]
        if not against:
            continue
        parts = [f"Lesson: {row['text']}", "Newest first, what ended these failures since:"]
        parts += [_hunk(each) if each.get("way") == "edit" else f"ran: {_line(each, 'do')}" for each in ends]
        yield EvidenceItem(
            place="contrary",
            project=text_in(row, "project"),
            about=str(row["id"]),
            text=_capped("\n\n".join(parts)),
            shown=(row,),
            held_out=tuple(ends),
        )


def _answered(store: Store, key: str, project: str) -> bool:
    """Tell whether a lesson of the project says what to do about a finding."""
    for answer in store.find("answers", {"key": key}).rows:
        lesson = store.get("lessons", str(answer["lesson_id"]))
        if lesson and lesson.get("project") == project and lesson.get("state") in ("active", "candidate"):
            return True
    return False


def _sessions(rows: Sequence[Row]) -> int:
    return len({row["session"] for row in rows})


def _hunk(row: Row) -> str:
    removed, added = (cast("list[Json]", row.get(name) or []) for name in ("removed", "added"))
    return "\n".join([*(f"- {line}" for line in removed[:3]), *(f"+ {line}" for line in added[:4])])


def _line(row: Row, name: str) -> str:
    return " ".join(text_in(row, name).split())[:200]


def _capped(text: str) -> str:
    return text.encode("utf-8", "replace")[:EVIDENCE_BYTES].decode("utf-8", "ignore")
