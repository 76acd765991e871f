"""Did the lesson help this unit? Settles exposures: the same question, asked of both arms.

A unit is a (root session, pattern). It counts once the step that the pattern is about was attempted in the session. It
succeeded if that step was achieved within `PATIENCE` tool results of its first attempt and the failure did not come
back after the lesson could be shown. Everything else is failure, an ended session included: intention to treat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import cast

from ratchet.gate.effects import LessonCounts
from ratchet.ports import Store, Where
from ratchet.records import Row, number_in, text_in, whole_in

PATIENCE = 8
"""Tool results after the first attempt within which the step must be achieved."""
DEADLINE_S = 86_400.0
"""Age at which an exposure is settled though nobody said that its session ended."""

_LESSONS: Where = {"due_at": None}
"""Exposures to lessons; those of trials have a deadline and are settled by the guard."""
_STEP_SAMPLE = 50  # recent failures that tell which step a pattern is about, where its lesson names none

StepKey = tuple[str, str, str]
"""(tool, head, target)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Report of one settling: units that count, and those whose step was never attempted."""

    counted: int = 0
    not_attempted: int = 0


def settle(store: Store, *, now: float, ended: Collection[str] = (), deadline_s: float = DEADLINE_S) -> Settled:
    """Settle the units of ended sessions and those past their deadline; count uses and wins of their lessons.

    Each session is one transaction; a unit is settled once and for all. Raises StoreError.
    """
    open_ = store.find("exposures", {**_LESSONS, "settled": False}, order=("at",)).rows
    due = [row for row in open_ if row.get("session") in ended or number_in(row, "at") <= now - deadline_s]
    counted = missed = 0
    for session in dict.fromkeys(text_in(row, "session") for row in due):
        with store.transaction():
            units: dict[str, list[Row]] = {}
            for row in store.find("exposures", {**_LESSONS, "session": session}, order=("at",)).rows:
                units.setdefault(text_in(row, "unit"), []).append(row)
            results = store.find("outcomes", {"session": session}, order=("started_at",)).rows
            for exposures in units.values():
                if not all(row.get("settled") for row in exposures):
                    verdict = _settle_unit(store, exposures, results, now)
                    counted += verdict is not None
                    missed += verdict is None
    return Settled(counted=counted, not_attempted=missed)


def _settle_unit(store: Store, exposures: list[Row], results: list[Row], now: float) -> bool | None:
    """All exposures of a unit get one verdict: that of its first one, or the one that it has already."""
    known = [row for row in exposures if row.get("settled")]
    if known:
        verdict = cast("bool | None", known[0].get("ok"))
    else:
        lesson = store.get("lessons", text_in(exposures[0], "trial")) or {}
        verdict = judged(
            exposures[0],
            results,
            step=_step_about(store, lesson),
            recurs=_recurrence(store, exposures[0], lesson),
        )
    for row in exposures:
        if not row.get("settled"):
            done: Row = {**row, "settled": True, "ok": verdict, "settled_at": now}
            store.swap("exposures", (text_in(row, "trial"), text_in(row, "unit")), whole_in(row, "revision"), done)
            if verdict is not None and row.get("arm") == "new":
                _score(store, text_in(row, "trial"), won=verdict)
    return verdict


def judged(
    exposure: Row, results: Sequence[Row], *, step: StepKey | None, recurs: Callable[[Row], bool]
) -> bool | None:
    """Tell whether a unit succeeded; None where its step was never attempted.

    `results` are the session's outcomes in order, `step` what the pattern is about (an empty target: any), `recurs`
    tells the pattern's failures. Pure.
    """
    calls = [row for row in results if isinstance(row.get("step"), dict)]
    at = number_in(exposure, "at")
    trigger = _trigger(exposure, calls, recurs)
    if trigger is not None:
        first = trigger
    elif step is None:
        return None
    else:
        attempts = [i for i, row in enumerate(calls) if _is_about(row, step)]
        later = [i for i in attempts if number_in(calls[i], "started_at") >= at]
        if not later:
            return False if attempts else None  # attempted before, and given up on
        first = later[0]
    came_back = any(recurs(row) for i, row in enumerate(calls) if number_in(row, "started_at") >= at and i != trigger)
    return not came_back and _achieved(calls, first)


def _trigger(exposure: Row, calls: Sequence[Row], recurs: Callable[[Row], bool]) -> int | None:
    """The failure that asked for the lesson: named by the hook, its position among the calls."""
    named = exposure.get("trigger")
    if not named:
        return None
    found = [i for i, row in enumerate(calls) if row.get("id") == named]
    if not found:  # its record is lost: the last such failure before the exposure
        at = number_in(exposure, "at")
        found = [i for i, row in enumerate(calls) if number_in(row, "started_at") <= at and recurs(row)]
    return found[-1] if found else None


def _achieved(calls: Sequence[Row], first: int) -> bool:
    """Tell whether the step of the first attempt succeeds at it or within `PATIENCE` results of its thread after it;
    what other subagents do meanwhile does not use that up, and they may achieve it too."""
    wanted, thread = _step_of(calls[first]), calls[first].get("thread") or ""
    left = PATIENCE
    for i in range(first, len(calls)):
        row = calls[i]
        if i > first and (row.get("thread") or "") == thread:
            left -= 1
        if left < 0:
            return False
        if row.get("ok") and _step_of(row) == wanted:
            return True
    return False


def _is_about(row: Row, step: StepKey) -> bool:
    tool, head, target = _step_of(row)
    return (tool, head) == step[:2] and step[2] in ("", target)


def _step_of(row: Row) -> StepKey:
    step = row.get("step")
    if not isinstance(step, dict):
        return "", "", ""
    return text_in(step, "tool"), text_in(step, "head"), text_in(step, "target")


def _step_about(store: Store, lesson: Row) -> StepKey | None:
    """The step that a lesson names, else the one that most of its signature's failures had. A placeholder is any
    target."""
    if lesson.get("tool"):
        target = text_in(lesson, "target")
        return text_in(lesson, "tool"), text_in(lesson, "head"), "" if "<" in target else target
    signature = text_in(lesson, "signature")
    if not signature:
        return None
    rows = store.find("outcomes", {"signature": signature}, order=("-started_at",), limit=_STEP_SAMPLE).rows
    steps = Counter(_step_of(row)[:2] for row in rows if row.get("step"))
    return (*steps.most_common(1)[0][0], "") if steps else None


def _recurrence(store: Store, exposure: Row, lesson: Row) -> Callable[[Row], bool]:
    """Tells failures of the unit's pattern: by the lesson's own signature, by the pattern that a signature belongs to,
    or by the signature of the very failure that asked (it may be similar only)."""
    own = {text_in(lesson, "signature")}
    trigger = store.get("outcomes", text_in(exposure, "trigger")) if exposure.get("trigger") else None
    if trigger is not None:
        own.add(_signature_of(trigger))
    pattern = text_in(exposure, "pattern")
    known: dict[str, bool] = dict.fromkeys(own, True)
    known[""] = False

    def recurs(row: Row) -> bool:
        if row.get("ok"):
            return False
        signature = _signature_of(row)
        if signature not in known:
            held = store.get("signatures", signature)
            known[signature] = held is not None and held.get("pattern") == pattern
        return known[signature]

    return recurs


def _signature_of(row: Row) -> str:
    failure = row.get("failure")
    return text_in(failure, "signature")


def _score(store: Store, lesson_id: str, *, won: bool) -> None:
    """Count one use of a lesson, inside the settling's transaction, which nobody else's write can come between."""
    row = store.get("lessons", lesson_id)
    if row is not None:  # deleted meanwhile: its exposures still count for the pool
        uses, wins = whole_in(row, "uses") + 1, whole_in(row, "wins") + won
        store.swap("lessons", lesson_id, whole_in(row, "revision"), {**row, "uses": uses, "wins": wins})


# --- counting ------------------------------------------------------------------------------------------------------


def pooled(store: Store) -> dict[float, LessonCounts]:
    """Counts of all settled units, each once however many lessons it met."""
    return _tallies(store, ()).get("", {})


def by_lesson(store: Store) -> dict[str, dict[float, LessonCounts]]:
    """Counts of settled units per lesson id."""
    return _tallies(store, ("trial",))


def open_units(store: Store) -> int:
    """Units that still wait for their session's end."""
    return _distinct_units(store, {**_LESSONS, "settled": False})


def not_attempted(store: Store) -> int:
    """Settled units that do not count."""
    return _distinct_units(store, {**_LESSONS, "settled": True, "ok": None})


def _tallies(store: Store, by: tuple[str, ...]) -> dict[str, dict[float, LessonCounts]]:
    """Counts in order of exposure up to the first unit that is still open: were quick verdicts counted first, an arm
    that fails fast would look worse for a while, and a look just then would be misled."""
    where: Where = {**_LESSONS, "settled": True, "ok": ("!=", None)}
    first_open = store.find("exposures", {**_LESSONS, "settled": False}, order=("at",), limit=1).rows
    if first_open:
        where = {**where, "at": ("<", first_open[0]["at"])}
    found: dict[str, dict[float, LessonCounts]] = {}
    for row in store.sum_by("exposures", (*by, "share", "arm", "ok"), ("distinct:unit",), where):
        cell = (0 if row["arm"] == "new" else 2) + (0 if row["ok"] else 1)
        tallies = found.setdefault(str(row.get("trial", "")), {})
        counts = list(tallies.get(number_in(row, "share"), LessonCounts()))
        counts[cell] += whole_in(row, "distinct:unit")
        tallies[number_in(row, "share")] = LessonCounts(*counts)
    return found


def _distinct_units(store: Store, where: Where) -> int:
    rows = store.sum_by("exposures", (), ("distinct:unit",), where)
    return whole_in(rows[0], "distinct:unit") if rows else 0
