"""Makes candidates of what people said: what speaks most for a rule, once for all sessions that said so.

Never active by itself. A function of the project's moves alone, so the order of reading changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from ratchet.failures.signature import sign
from ratchet.lessons.lessons import distinct, noted, put
from ratchet.lessons.mining.triggers import lesson_id_of
from ratchet.lessons.words import weights
from ratchet.lessons.words.kept import move_of
from ratchet.lessons.words.moves import Move, Way, words_of
from ratchet.ports import Store
from ratchet.records import Json, LessonState, Row, text_in, whole_in
from ratchet.store.paging import rows_of

RULE = "said"
"""The rule (a row of table `lessons` names its own) of what people said."""
KIND = "user_denied"
"""The kind of their lessons."""
_LIKE = 0.5  # share of words that two sayings of one rule have in common
_COUNTED_POINTS = 3  # below it nothing but the place speaks for a rule: not worth comparing
_MOVES = 500  # newest of one project: a comparison costs their square


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A person's words as they are shown: the quote, what they met (`met` is the command or the file) and where, and
    what speaks for a rule in them. `lesson` is the candidate that they make, "" where too little speaks for one."""

    quote: str
    way: Way
    head: str
    met: str
    step: str
    sessions: tuple[str, ...]
    people: int
    points: int
    why: tuple[str, ...]
    undone: int
    obeyed: tuple[str, ...]
    project: str
    lesson: str = ""
    state: LessonState | Literal[""] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidRule:
    """The same words by one or more people, oldest first; `sessions` and `people` count who said so."""

    moves: tuple[Move, ...]
    sessions: tuple[str, ...]
    people: int
    points: int

    @property
    def first(self) -> Move:
        return self.moves[0]

    @property
    def best(self) -> Move:
        """The one for which most speaks, the oldest of equals."""
        return max(self.moves, key=lambda each: each.points)


def rules(rows: Iterable[Row]) -> list[SaidRule]:
    """The rules in moves of one project, those first for which most speaks."""
    told = sorted(rows, key=lambda row: (row["at"], row["id"]))
    groups: list[list[Row]] = []
    heard: list[frozenset[str]] = []
    for row in told:
        words = words_of(text_in(row, "quote"))
        place = next((at for at, other in enumerate(heard) if _alike(words, other) or _told(row, groups[at][0])), None)
        if place is None:
            groups.append([row])
            heard.append(words)
        else:
            groups[place].append(row)
    found = [_rule(each) for each in groups]
    found.sort(key=lambda each: (-each.points, each.first.at, each.first.id))
    return found


def _told(row: Row, other: Row) -> bool:
    """Tell whether words only say again, shorter or longer, what met the same kind of step in the same session."""
    if row.get("session") != other.get("session") or row.get("head") != other.get("head"):
        return False
    one, two = words_of(text_in(row, "quote")), words_of(text_in(other, "quote"))
    return len(one & two) >= _TOLD_WORDS and len(one & two) >= _HELD * min(len(one), len(two))


_TOLD_WORDS, _HELD = 3, 0.8  # words in common, and their share of the shorter saying


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _LIKE * max(1, len(one | other)) and len(one & other) > 1


def _rule(rows: Sequence[Row]) -> SaidRule:
    moves = tuple(move_of(row) for row in rows)
    sessions = tuple(dict.fromkeys(text_in(row, "session") for row in rows))
    people = len({text_in(row, "person") for row in rows})
    points = max(each.points for each in moves) + weights.again(len(sessions))
    return SaidRule(moves=moves, sessions=sessions, people=people, points=points)


def waiting(store: Store) -> int:
    """Count the candidates that are a person's words. Raises StoreError."""
    rows = store.find("lessons", {"state": "candidate", "kind": KIND}).rows
    return sum(row.get("rule") == RULE for row in rows)


def corrections(store: Store, *, project: str | None = None, every: bool = False) -> tuple[Correction, ...]:
    """List what people said, those first for which most speaks; `every` gives also what makes no candidate."""
    by_project: dict[str, list[Row]] = {}
    for row in rows_of(store, "moves", {} if project is None else {"project": project}, order=("at",)):
        by_project.setdefault(text_in(row, "project"), []).append(row)
    lessons = {
        str(word): row
        for row in store.find("lessons", {"kind": KIND}).rows
        if row.get("rule") == RULE
        for word in cast("list[Json]", row.get("words") or [])
    }
    found = []
    for name, rows in sorted(by_project.items()):
        strong = [row for row in rows if whole_in(row, "points") >= _COUNTED_POINTS]
        weak = [row for row in rows if whole_in(row, "points") < _COUNTED_POINTS]
        alone = [_rule([row]) for row in weak]  # too many to be compared, and nothing but their place speaks for them
        found += [_correction(rule, name, lessons) for rule in (*rules(strong), *alone)]
    found.sort(key=lambda each: -each.points)
    return tuple(each for each in found if every or each.lesson)


def _correction(rule: SaidRule, project: str, lessons: Mapping[str, Row]) -> Correction:
    best = rule.best
    held = next((lessons[move.id] for move in rule.moves if move.id in lessons), None)
    return Correction(
        quote=best.quote,
        way=best.way,
        head=best.head,
        met=best.failed or best.target,
        step=best.step,
        sessions=rule.sessions,
        people=rule.people,
        points=rule.points,
        why=best.why,
        undone=best.undone,
        obeyed=best.obeyed,
        project=project,
        lesson=str(held["id"]) if held is not None else "",
        state=cast(LessonState, held["state"]) if held is not None else "",
    )


def recount_rules(store: Store, projects: Iterable[str], *, now: float | None = None) -> int:
    """Bring the candidates of these projects up to date; return how many wait for a person in them. Joins the caller's
    transaction. Raises StoreError."""
    at = time.time() if now is None else now
    return sum(_recount(store, project, at) for project in sorted(projects))


def _recount(store: Store, project: str, now: float) -> int:
    rows = store.find(
        "moves", {"project": project, "points": (">=", _COUNTED_POINTS)}, order=("-at",), limit=_MOVES
    ).rows
    held = [row for row in store.find("lessons", {"project": project}).rows if row.get("rule") == RULE]
    decided = {
        str(word): row for row in held if row.get("decided") for word in cast("list[Json]", row.get("words") or [])
    }
    kept: set[str] = set()
    for rule in rules(rows):
        known = next((decided[move.id] for move in rule.moves if move.id in decided), None)
        if rule.points < weights.SHOWN_POINTS and known is None:
            continue
        lesson_id = str(known["id"]) if known is not None else lesson_id_of(RULE, project, rule.first.id)
        kept.add(lesson_id)
        before = store.get("lessons", lesson_id)
        row = _lesson_row(rule, lesson_id, project, before or {}, now)
        if before is None or any(before.get(name) != value for name, value in row.items() if name != "updated_at"):
            put(store, row, before)
            if before is None:
                noted(store, lesson_id, "candidate", "a person said so", now)
    for row in held:
        if str(row["id"]) not in kept and not row.get("decided"):
            store.delete("skills", {"lesson": str(row["id"])})
            store.delete("lessons", {"id": str(row["id"])})
    return len(kept - {str(row["id"]) for row in held if row.get("decided")})


def _lesson_row(rule: SaidRule, lesson_id: str, project: str, held: Row, now: float) -> Row:
    """The lesson's row as the words make it; what a person decided, and what a model made of it, stays."""
    best = rule.best
    quote = " ".join(best.quote.split())
    row: Row = {
        "scope": "project",
        "state": "candidate",
        "reason": "",
        "uses": 0,
        "wins": 0,
        "created_at": now,
        "text": quote,
        "when_text": met(best.head, best.target),
        **held,
        "id": lesson_id,
        "group": f"{RULE} {rule.first.id}",
        "rule": RULE,
        "signature": sign(KIND, quote),
        "pattern": "",
        "kind": KIND,
        "tool": best.tool,
        "head": best.head,
        "target": "",
        "failed": best.failed,
        "quote": best.quote,
        "step": best.step,
        "sessions": list(rule.sessions),
        "people": rule.people,
        "points": rule.points,
        "why": list(best.why),
        "words": [each.id for each in rule.moves],
        "tried": 0,
        "worked": 0,
        "updated_at": now,
        "project": project,
        "projects": distinct([project]),
        "evidence": _evidence(rule),
        "provenance": f"{_whose(best.way)} in " + ("one session" if len(rule.sessions) == 1 else _many(rule)),
    }
    return row


def _whose(way: Way) -> str:
    """Say who spoke, as far as it is known: a comment is what an answer of a tool holds, whoever wrote that."""
    return "a comment in a tool's answer" if way == "review" else "a person's words"


def _many(rule: SaidRule) -> str:
    people = f", {rule.people} people" if rule.people > 1 else ""
    return f"{len(rule.sessions)} sessions{people}"


def _evidence(rule: SaidRule) -> list[Json]:
    steps: list[Json] = [each.step for each in rule.moves]
    return list(dict.fromkeys(steps))[:20]


def met(head: str, target: str) -> str:
    """Name the step that words met."""
    return f"{head} {target}".strip() if head in ("edit", "write", "read") else head
