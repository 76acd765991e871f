"""Did the lesson help this unit? Settles exposures: the same question, asked of both arms.

A unit is a (root session, pattern) in one group of channels, and each group has its question. **Prevention** (told at a
session's start, or before the step) counts once the step that the pattern is about was attempted, or the one that its
lesson puts in its place; it succeeded if the failure did not come. **Cure** (told in the failing turn) succeeded if
what had failed was achieved within `PATIENCE` tool results, before the failure came back. Everything else is failure,
an ended session included: intention to treat.

A lesson told at the start changes who fails. So cures are compared among units whose prevention arm was the same: those
that met no prevention have their coin; of the others, which obey the coin that fell before, the arm is known already,
and they carry no evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ratchet.failures.health import EXCUSED
from ratchet.failures.intent import intent
from ratchet.failures.programs import is_shell
from ratchet.gate.deadline import Met
from ratchet.gate.effects import LessonCounts, tally
from ratchet.lessons.exposure import CURE, PREVENTION, group_of
from ratchet.ports import Store, Where
from ratchet.records import Json, Row, number_in, text_in, whole_in

PATIENCE = 8
"""Tool results after the first attempt within which the step must be achieved."""
DEADLINE_S = 86_400.0
"""Age at which an exposure is settled though nobody said that its session ended."""

_LESSONS: Where = {"due_at": None}
"""Exposures to lessons; those of trials have a deadline and are settled by the guard."""
_REPLACING = frozenset(("instead", "stand_in", "program", "through", "flag"))
"""Rules of lessons whose example is run instead of what failed."""
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
            asked: dict[str, set[str]] = {}
            for first, *_ in units.values():
                asked.setdefault(text_in(first, "pattern"), set()).add(text_in(first, "trigger"))
            results = store.find("outcomes", {"session": session}, order=("started_at",)).rows
            for exposures in units.values():
                if not all(row.get("settled") for row in exposures):
                    triggers = asked[text_in(exposures[0], "pattern")]
                    verdict = _settle_unit(store, exposures, results, triggers, now)
                    counted += verdict is not None
                    missed += verdict is None
    return Settled(counted=counted, not_attempted=missed)


def _settle_unit(
    store: Store, exposures: list[Row], results: list[Row], triggers: Collection[str], now: float
) -> bool | None:
    """All exposures of a unit get one verdict: that of its first one, or the one that it has already. `triggers` are
    the failures by which the session asked for the pattern's lessons."""
    known = [row for row in exposures if row.get("settled")]
    lesson = store.get("lessons", text_in(exposures[0], "trial")) or {}
    steps = _steps_about(store, lesson)
    if known:
        verdict = cast("bool | None", known[0].get("ok"))
    else:
        verdict = judged(exposures[0], results, steps=steps, recurs=_recurrence(store, exposures[0], lesson, triggers))
    for row in exposures:
        if not row.get("settled"):
            done: Row = {**row, "settled": True, "ok": verdict, "settled_at": now, **_before(steps)}
            if row.get("arm") == "new":
                later = sum(number_in(each, "started_at") >= number_in(row, "at") for each in results)
                done["read"] = whole_in(row, "tokens") * (1 + later)
            store.swap("exposures", (text_in(row, "trial"), text_in(row, "unit")), whole_in(row, "revision"), done)
            if verdict is not None and row.get("arm") == "new":
                _score(store, text_in(row, "trial"), won=verdict)
    return verdict


def endings(rows: Iterable[Row]) -> dict[str, tuple[int, int]]:
    """Count how a session's failures ended that nobody was told a lesson of, by the command that they are about: how
    many there were, the first of each signature, and how many were overcome, by the rule of cures. Pure."""
    calls = [row for row in rows if isinstance(row.get("step"), dict)]
    found: dict[str, tuple[int, int]] = {}
    seen = {""}
    for place, row in enumerate(calls):
        signature = "" if row.get("ok") else _signature_of(row)
        if signature in seen or text_in(row.get("failure"), "kind") in EXCUSED:
            continue
        seen.add(signature)
        head = " ".join(_step_of(row)[:2])
        met, overcome = found.get(head, (0, 0))

        def recurs(each: Row, own: str = signature) -> bool:
            return not each.get("ok") and _signature_of(each) == own

        found[head] = met + 1, overcome + _achieved(calls, place, (), recurs)
    return found


def is_untold(store: Store, session: str) -> bool:
    """Tell whether no coin fell for a session."""
    return not store.find("exposures", {**_LESSONS, "session": session}, limit=1).rows


def _before(steps: Sequence[StepKey]) -> Row:
    """Say what was known of a unit before its coin fell."""
    return {"head": " ".join(steps[0][:2])} if steps else {}


def judged(
    exposure: Row, results: Sequence[Row], *, steps: Sequence[StepKey], recurs: Callable[[Row], bool]
) -> bool | None:
    """Tell whether a unit succeeded; None where its step was never attempted.

    `results` are the session's outcomes in order, `steps` what the pattern is about (an empty target: any) and behind
    it what its lesson puts in its place, `recurs` tells the pattern's failures. Pure.
    """
    calls = [row for row in results if isinstance(row.get("step"), dict)]
    at = number_in(exposure, "at")
    if group_of(exposure) == PREVENTION:
        later = [row for row in calls if number_in(row, "started_at") >= at]
        if any(recurs(row) for row in later):
            return False
        return True if any(_is_about(row, step) for row in later for step in steps) else None
    first = _trigger(exposure, calls, recurs)
    if first is None:
        if not steps:
            return None
        attempts = [i for i, row in enumerate(calls) if any(_is_about(row, step) for step in steps)]
        after = [i for i in attempts if number_in(calls[i], "started_at") >= at]
        if not after:
            return False if attempts else None  # attempted before, and given up on
        first = after[0]
        if recurs(calls[first]):
            return False
    return _achieved(calls, first, steps[1:], recurs)


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


def _achieved(calls: Sequence[Row], first: int, instead: Sequence[StepKey], recurs: Callable[[Row], bool]) -> bool:
    """Tell whether the step of the first attempt, or one in its place, succeeds at it or within `PATIENCE` results of
    its thread after it, before the failure comes back; what other subagents do meanwhile does not use that up, and they
    may achieve it too."""
    wanted, thread = _step_of(calls[first]), calls[first].get("thread") or ""
    left = PATIENCE
    for i in range(first, len(calls)):
        row = calls[i]
        if i > first and (row.get("thread") or "") == thread:
            left -= 1
        if left < 0 or (i > first and recurs(row)):
            return False
        if row.get("ok") and (_step_of(row) == wanted or any(_is_about(row, step) for step in instead)):
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


def _steps_about(store: Store, lesson: Row) -> list[StepKey]:
    """The step that a lesson names, else the one that most of its signature's failures had, or those that asked for its
    pattern where none has that signature (a placeholder is any target); behind it the one that the lesson puts in its
    place."""
    if lesson.get("tool"):
        target = text_in(lesson, "target")
        named = (text_in(lesson, "tool"), text_in(lesson, "head"), "" if "<" in target else target)
        return [named, *_in_its_place(lesson, named)]
    signature = text_in(lesson, "signature")
    if not signature:
        return []
    own = store.find("outcomes", {"signature": signature}, order=("-started_at",), limit=_STEP_SAMPLE).rows
    rows = own or _asking(store, text_in(lesson, "pattern"))
    steps = Counter(_step_of(row)[:2] for row in rows if row.get("step"))
    return [(*steps.most_common(1)[0][0], "")] if steps else []


def _asking(store: Store, pattern: str) -> list[Row]:
    """The failures that asked for lessons of a pattern, which may be worded otherwise."""
    asked = store.find("exposures", {**_LESSONS, "pattern": pattern}, order=("-at",), limit=_STEP_SAMPLE).rows
    ids: list[Json] = [each["trigger"] for each in asked if each.get("trigger")]
    return [*store.find("outcomes", {"id": ("in", ids)}).rows] if pattern and ids else []


def _in_its_place(lesson: Row, named: StepKey) -> list[StepKey]:
    """Another command that a lesson's example runs. A session that was told of it never attempts the old one."""
    if lesson.get("rule") not in _REPLACING or not is_shell(named[0]):
        return []
    head, _ = intent(named[0], text_in(lesson, "example"))
    return [(named[0], head, "")] if head not in ("", named[1]) else []


def _recurrence(store: Store, exposure: Row, lesson: Row, triggers: Collection[str]) -> Callable[[Row], bool]:
    """Tells failures of the unit's pattern: by the lesson's own signature, by the pattern that a signature belongs to,
    or by the signature of the very failures that asked (they may be similar only)."""
    own = {text_in(lesson, "signature")}
    for each in triggers:
        trigger = store.get("outcomes", each) if each else None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One settled unit that counts. `met` is what the statistics read; of a cure that met prevention before, its share
    is 0 or 1. `lessons` are those that it met."""

    group: str
    met: Met
    lessons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Everything that is settled. `units` stand in the order of exposure; `read` says of each lesson how many tokens
    agents have read of it, in all sessions that it was shown to, also where its step never came up."""

    units: tuple[Unit, ...]
    read: Mapping[str, int]

    def of(self, group: str) -> list[Met]:
        return [each.met for each in self.units if each.group == group]


def known(store: Store) -> Known:
    """Everything that is settled, up to the first unit that is still open: were quick verdicts counted first, an arm
    that fails fast would look worse for a while, and a look just then would be misled."""
    where: Where = {**_LESSONS, "settled": True}
    first_open = store.find("exposures", {**_LESSONS, "settled": False}, order=("at",), limit=1).rows
    if first_open:
        where = {**where, "at": ("<", first_open[0]["at"])}
    found: dict[str, list[Row]] = {}
    read: Counter[str] = Counter()
    for row in store.find("exposures", where, order=("at",)).rows:
        found.setdefault(text_in(row, "unit"), []).append(row)
        read[text_in(row, "trial")] += whole_in(row, "read")
    prevented: dict[tuple[str, str], Row] = {}
    for first, *_ in found.values():
        if group_of(first) == PREVENTION:
            prevented[text_in(first, "session"), text_in(first, "pattern")] = first
    units = [_unit(rows, prevented) for rows in found.values() if rows[0].get("ok") is not None]
    return Known(units=tuple(units), read=read)


def _unit(rows: list[Row], prevented: dict[tuple[str, str], Row]) -> Unit:
    first, group = rows[0], group_of(rows[0])
    share, expected = number_in(first, "share"), first.get("expected")
    before = prevented.get((text_in(first, "session"), text_in(first, "pattern"))) if group == CURE else None
    if before is not None and number_in(before, "at") <= number_in(first, "at"):
        share = 1.0 if before.get("arm") == "new" else 0.0
    met = Met(
        share=share,
        shown=first.get("arm") == "new",
        ok=bool(first.get("ok")),
        pattern=text_in(first, "pattern"),
        head=text_in(first, "head"),
        expected=expected if isinstance(expected, float) else None,
    )
    return Unit(group=group, met=met, lessons=tuple(text_in(row, "trial") for row in rows))


def pooled(units: Iterable[Unit]) -> dict[float, LessonCounts]:
    """Counts of units, each once however many lessons it met."""
    return tally((each.met.share, each.met.shown, each.met.ok) for each in units)


def by_lesson(units: Iterable[Unit]) -> dict[str, dict[float, LessonCounts]]:
    """Counts of units per lesson id."""
    found: dict[str, list[tuple[float, bool, bool]]] = {}
    for each in units:
        for lesson_id in each.lessons:
            found.setdefault(lesson_id, []).append((each.met.share, each.met.shown, each.met.ok))
    return {lesson_id: tally(cells) for lesson_id, cells in found.items()}


def told(store: Store, lesson_id: str) -> tuple[int, int]:
    """Cases of one lesson that are told it, and from which it is withheld, settled or not."""
    rows = store.sum_by("exposures", ("arm",), ("distinct:unit",), {**_LESSONS, "trial": lesson_id})
    arms = {text_in(row, "arm"): whole_in(row, "distinct:unit") for row in rows}
    return arms.pop("new", 0), sum(arms.values())


def open_units(store: Store) -> int:
    """Units that still wait for their session's end."""
    return _distinct_units(store, {**_LESSONS, "settled": False})


def held_back(store: Store) -> int:
    """Settled units that are not counted yet, since one that was exposed before them is still open."""
    first_open = store.find("exposures", {**_LESSONS, "settled": False}, order=("at",), limit=1).rows
    if not first_open:
        return 0
    return _distinct_units(store, {**_LESSONS, "settled": True, "ok": ("!=", None), "at": (">=", first_open[0]["at"])})


def not_attempted(store: Store) -> int:
    """Settled units that do not count."""
    return _distinct_units(store, {**_LESSONS, "settled": True, "ok": None})


def _distinct_units(store: Store, where: Where) -> int:
    rows = store.sum_by("exposures", (), ("distinct:unit",), where)
    return whole_in(rows[0], "distinct:unit") if rows else 0
