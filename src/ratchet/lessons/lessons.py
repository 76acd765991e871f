"""Lessons: made of resolutions across sessions, or written by a person; and what a person may decide about them.

A lesson is a candidate until its remedy worked in `PROVEN_SESSIONS` sessions or a person approves it; it retires when
its sessions speak against it. Counts are of different sessions, taken anew from the stored resolutions each time, so
that mining a session again changes nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ratchet import ids
from ratchet.errors import Conflict, NotFound, Refused, UsageError
from ratchet.lessons.exposure import concerns
from ratchet.lessons.rows import lesson_of
from ratchet.ports import Store, Where
from ratchet.records import Json, Lesson, LessonState, Row, Scope

PROVEN_SESSIONS = 2  # a remedy that worked once may have worked by chance
_TRIED_ENOUGH = 4  # sessions before their verdict can retire a lesson
STATES: tuple[LessonState, ...] = ("active", "candidate", "quarantined", "retired")
"""All states, in the order in which lessons are listed."""
_EVIDENCE = 20  # outcome ids that are named; the rest is counted
_ASKED_AT_ONCE = 500  # values of one condition; SQLite's oldest limit is 999
_AVOIDED = 5  # remedies named that were tried in vain


@dataclass(frozen=True, slots=True, kw_only=True)
class Mined:
    """What mining a session added: new resolutions, and the lessons whose counts or state it changed."""

    resolutions: int = 0
    changed: Mapping[str, LessonState] = field(default_factory=dict)


# -- learnt from history --------------------------------------------------------------------------------------------


def mine_session(store: Store, session: str, *, now: float | None = None) -> Mined:
    """Store the resolutions of a session that are new, and bring the lessons they speak for or against up to date.

    All or nothing; joins the caller's transaction. `now` is Unix seconds. Raises StoreError.
    """
    from ratchet.lessons.mining.mining import resolutions
    from ratchet.lessons.mining.triggers import keep, lesson_key

    at = time.time() if now is None else now
    with store.transaction():
        found = resolutions(store.find("outcomes", {"session": session}, order=("started_at",)).rows)
        rows: list[Row] = []
        touched: dict[str, None] = {}
        for each in found:
            held = store.get("signatures", each.signature) or {}
            lesson_id = lesson_key(store, each, str(held.get("pattern") or ""))
            rows.append(keep(each, lesson_id, str(held.get("pattern") or "")))
        new = store.insert_new("resolutions", rows)
        for position in new:
            touched[str(rows[position]["lesson_id"])] = None
        changed: dict[str, LessonState] = {}
        for lesson_id in touched:
            state = _recount(store, lesson_id, at) if lesson_id else None
            if state is not None:
                changed[lesson_id] = state
    return Mined(resolutions=len(new), changed=changed)


def _recount(store: Store, lesson_id: str, now: float) -> LessonState | None:
    """Count a lesson's sessions from its resolutions and write it where that changes it; its new state, else None."""
    seen = store.find("resolutions", {"lesson_id": lesson_id}, order=("at",)).rows
    worked = [row for row in seen if row.get("worked")]
    held = store.get("lessons", lesson_id)
    if held is None and not _deserves(seen, worked):
        return None
    row = _counted(held or {}, lesson_id, seen, worked, now)
    if held is not None and all(held.get(name) == value for name, value in row.items() if name != "updated_at"):
        return None
    _write(store, row, held)
    if held is None or held.get("state") != row["state"]:
        _event(store, lesson_id, str(row["state"]), str(row.get("reason") or ""), now)
    return cast(LessonState, row["state"])


def _deserves(seen: Sequence[Row], worked: Sequence[Row]) -> bool:
    """Whether resolutions make a lesson: they must have worked, be put as advice and be reusable or recur; a remedy
    that must not be advice always does, so that one sees why it is none."""
    if any(row.get("reason") for row in seen):
        return True
    if not worked:
        return False
    return bool(worked[-1].get("reusable")) or len({row["session"] for row in worked}) >= PROVEN_SESSIONS


def _counted(held: Row, lesson_id: str, seen: Sequence[Row], worked: Sequence[Row], now: float) -> Row:
    """The lesson's row as its resolutions make it; what persons and credit wrote into it stays."""
    tried_in = {str(row["session"]) for row in seen}
    worked_in = {str(row["session"]) for row in worked}
    basis = worked or seen
    # The shortest text that led here holds what all of them share, and least of the one case.
    trigger = min(basis, key=lambda row: (len(str(row["template"])), str(row["template"])))
    latest = basis[-1]
    reason = next((str(row["reason"]) for row in seen if row.get("reason")), "")
    row: Row = {
        "scope": "project",
        "uses": 0,
        "wins": 0,
        "created_at": now,
        **held,
        "id": lesson_id,
        "signature": trigger["trigger_signature"],
        "pattern": trigger["trigger_pattern"],
        "kind": trigger["kind"],
        "tool": trigger["tool"],
        "head": trigger["head"],
        "target": trigger["target"],
        "when_text": trigger["template"],
        "failed": trigger["failed_input"],
        "text": _usual_text(basis),
        "example": latest["do"],
        "tried": len(tried_in),
        "worked": len(worked_in),
        "updated_at": now,
        "projects": _distinct(row.get("project") for row in seen),
        "evidence": _evidence(basis),
        "avoid": _distinct(text for row in seen for text in cast("list[Json]", row.get("avoid") or []))[:_AVOIDED],
        "provenance": "mined from sessions of " + ", ".join(map(str, _distinct(row.get("agent") for row in seen))),
    }
    row["state"], row["reason"] = _judged(held, reason, tried=len(tried_in), worked=len(worked_in))
    return row


def _judged(held: Row, reason: str, *, tried: int, worked: int) -> tuple[LessonState, str]:
    """State and reason by the evidence. What was quarantined or retired stays so, and what a person approved."""
    state = str(held.get("state") or "candidate")
    if reason and state != "quarantined":
        return "quarantined", reason
    if state in ("quarantined", "retired") or held.get("approved"):
        return cast(LessonState, state), str(held.get("reason") or "")
    if tried >= _TRIED_ENOUGH and 2 * worked < tried:
        return "retired", f"it worked in {worked} of the {tried} sessions that tried it"
    return ("active" if worked >= PROVEN_SESSIONS else "candidate"), ""


def _usual_text(rows: Sequence[Row]) -> str:
    """The wording that most sessions gave, of equals the shortest: they differ in how the failed step was written."""
    counts = Counter(str(row["text"]) for row in rows)
    return min(counts, key=lambda text: (-counts[text], len(text), text))


def _distinct(values: Iterable[Json]) -> list[Json]:
    return [*sorted({str(value) for value in values if value})]


def _evidence(rows: Sequence[Row]) -> list[Json]:
    """The latest failures with what resolved them."""
    ids: list[Json] = [str(row[name]) for row in rows[-_EVIDENCE // 2 :] for name in ("failed_id", "worked_id")]
    return list(dict.fromkeys(ids))


# -- decided by a person --------------------------------------------------------------------------------------------


_UNTRIED: Row = {"pattern": "", "tool": "", "head": "", "target": "", "tried": 0, "worked": 0, "uses": 0, "wins": 0}


def add(
    store: Store,
    *,
    when: str,
    do: str,
    scope: Scope = "project",
    state: LessonState = "candidate",
    project: str = "",
    provenance: str = "written by a person",
    now: float | None = None,
) -> Lesson:
    """Write a lesson: when an error like `when` occurs, do `do` (kept verbatim, secrets aside).

    The same `when` and `do` again is the same lesson; a project is added to it, and a candidate becomes active when
    asked so. Advice that switches a check off is kept as quarantined, with the reason. Raises UsageError.
    """
    from ratchet.failures.kinds.kind import kind_of
    from ratchet.failures.redaction.text import clean
    from ratchet.failures.signature import sign, template_of
    from ratchet.lessons.mining.checks import switches_off
    from ratchet.lessons.mining.triggers import lesson_id_of
    from ratchet.lessons.recall import quoted_names

    text, template = clean(do.strip("\n")), template_of(clean(when))
    if not text.strip() or not template.strip():
        raise UsageError("a lesson needs both: `when`, the error text, and `do`, what to do then")
    if state not in ("candidate", "active") or scope not in ("project", "global"):
        raise UsageError(f"a lesson starts as candidate or active, in scope project or global, not {state}/{scope}")
    at = time.time() if now is None else now
    lesson_id = lesson_id_of("written", text, template, scope)
    kind = kind_of(when)
    if (reason := switches_off(text)).startswith("speaks") and state == "active":
        reason = ""  # a person's own words to the agent; they reach it fenced like any other lesson
    row: Row = {
        **_UNTRIED,
        "id": lesson_id,
        "state": "quarantined" if reason else state,
        "scope": scope,
        "signature": sign(kind, template),
        "kind": kind,
        "when_text": template,
        "text": text,
        "created_at": at,
        "updated_at": at,
        "example": text,
        "names": [*quoted_names(clean(when))],
        "projects": [project] if project else [],
        "reason": reason,
        "evidence": [],
        "provenance": provenance,
        "approved": state == "active",
    }
    with store.transaction():
        row["pattern"] = str((store.get("signatures", str(row["signature"])) or {}).get("pattern") or "")
        held = store.get("lessons", lesson_id)
        if held is not None:
            row = _joined(held, row)
        _write(store, row, held)
        _event(store, lesson_id, "added", reason, at)
    return show(store, lesson_id)


def _joined(held: Row, row: Row) -> Row:
    """A lesson written again: what was decided about it stays, but for a candidate that is asked to be active."""
    projects = _distinct(name for each in (held, row) for name in cast("list[Json]", each.get("projects") or []))
    joined: Row = {**held, "projects": projects, "updated_at": row["updated_at"]}
    if held.get("state") == "candidate" and row["state"] == "active":
        joined |= {"state": "active", "approved": True}
    return joined


def show(store: Store, lesson_id: str) -> Lesson:
    """One lesson. Raises NotFound."""
    return lesson_of(_held(store, lesson_id))


def listed(
    store: Store, *, states: Collection[LessonState] = STATES, project: str | None = None, limit: int | None = None
) -> list[Lesson]:
    """Lessons in these states, active ones first, then by how often they worked. `project` keeps those that count in
    that folder: its own and global ones."""
    where: Where = {"state": ("in", list(states))}
    rows = store.find("lessons", where).rows
    found = [lesson_of(row) for row in rows if project is None or concerns(row, project)]
    found.sort(key=_by_merit)
    return found if limit is None else found[:limit]


def by_pattern(store: Store) -> dict[str, tuple[Lesson, ...]]:
    """Pattern id -> the lessons about its failures, in the order of `listed`; retired ones are left out."""
    states: tuple[LessonState, ...] = ("active", "candidate", "quarantined")
    lessons = listed(store, states=states)
    about: dict[str, set[str]] = {each.id: {each.signature} for each in lessons}
    for row in store.sum_by("resolutions", ("signature", "lesson_id"), ("count:*",), {"lesson_id": ("!=", "")}):
        if row["lesson_id"] in about and row["signature"]:
            about[str(row["lesson_id"])].add(str(row["signature"]))
    pattern_of = _patterns_of(store, sorted(set().union(*about.values())) if about else [])
    found: dict[str, list[Lesson]] = {}
    for each in lessons:
        for pattern in sorted({pattern_of[name] for name in about[each.id] if name in pattern_of}):
            found.setdefault(pattern, []).append(each)
    return {pattern: tuple(each) for pattern, each in found.items()}


def _patterns_of(store: Store, signatures: Sequence[str]) -> dict[str, str]:
    """Signature -> the pattern it belongs to now (a merge may have moved it)."""
    found: dict[str, str] = {}
    for start in range(0, len(signatures), _ASKED_AT_ONCE):
        asked: Where = {"signature": ("in", list(signatures[start : start + _ASKED_AT_ONCE]))}
        found |= {str(row["signature"]): str(row["pattern"]) for row in store.find("signatures", asked).rows}
    return found


def _by_merit(lesson: Lesson) -> tuple[int, int, int, str]:
    return STATES.index(lesson.state), -lesson.worked, lesson.tried, lesson.id


def approve(store: Store, lesson_id: str, *, globally: bool = False, now: float | None = None) -> Lesson:
    """Make a lesson active whatever its counts, and with `globally` in every project.

    Raises NotFound; Refused for one that switches a check off; Conflict when it changed meanwhile.
    """
    from ratchet.lessons.mining.checks import switches_off

    held = _held(store, lesson_id)
    reason = switches_off(str(held.get("text") or "")) or switches_off(str(held.get("example") or ""))
    if reason and held.get("state") == "quarantined":
        raise Refused(
            f"lesson {lesson_id} stays quarantined ({reason}): such a step is never advice. "
            "Write what should be done instead with `ratchet lessons add`"
        )
    change: Row = {"state": "active", "approved": True, "reason": ""}
    if globally:
        change["scope"] = "global"
    return _decide(store, held, change, "approved", "", now)


def retire(store: Store, lesson_id: str, *, reason: str = "", now: float | None = None) -> Lesson:
    """Hand a lesson to nobody any more; mining does not bring it back. Raises NotFound, Conflict."""
    from ratchet.failures.redaction.text import clean

    why = clean(reason) or "retired by a person"
    change: Row = {"state": "retired", "approved": False, "reason": why}
    return _decide(store, _held(store, lesson_id), change, "retired", why, now)


def quarantine(store: Store, lesson_id: str, *, reason: str, now: float | None = None) -> Lesson:
    """Mark a lesson as harmful. Raises NotFound, Conflict, UsageError without a reason."""
    from ratchet.failures.redaction.text import clean

    why = clean(reason).strip()
    if not why:
        raise UsageError(f"quarantining lesson {lesson_id} needs a reason; it is shown wherever the lesson is")
    change: Row = {"state": "quarantined", "approved": False, "reason": why}
    return _decide(store, _held(store, lesson_id), change, "quarantined", why, now)


def _held(store: Store, lesson_id: str) -> Row:
    held = store.get("lessons", lesson_id)
    if held is None:
        raise NotFound(f"no lesson {lesson_id}; `ratchet lessons list` names those that there are")
    return held


def _decide(store: Store, held: Row, change: Row, verb: str, reason: str, now: float | None) -> Lesson:
    at = time.time() if now is None else now
    with store.transaction():
        _write(store, {**held, **change, "updated_at": at}, held)
        _event(store, str(held["id"]), verb, reason, at)
    return show(store, str(held["id"]))


def _write(store: Store, row: Row, held: Row | None) -> None:
    revision = cast(int, (held or {}).get("revision") or 0)
    if not store.swap("lessons", str(row["id"]), revision, row):
        raise Conflict(f"lesson {row['id']} was changed by another process; read it again and repeat")


def _event(store: Store, lesson_id: str, verb: str, reason: str, now: float) -> None:
    event: Row = {"id": ids.uuid7(), "noun": "lesson", "record": lesson_id, "verb": verb, "at": now}
    store.insert_new("events", [{**event, "reason": reason} if reason else event])
