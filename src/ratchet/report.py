"""Do the lessons help, and did the changes? The measured answer, pooled first, then one by one."""

from __future__ import annotations

from dataclasses import dataclass

from ratchet import credit
from ratchet.effects import Counts, Effect, Shrunk, Tallies, measure, shrink
from ratchet.guard.trials import trials
from ratchet.ports import Store
from ratchet.records import Trial

_CHANGES = 20  # settled trials that a report names
_OWN_WEIGHT = 0.5  # from here on a lesson's own units say more than the pool


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonEffect:
    """One lesson, measured: its counts, and its effect drawn towards the pooled one (None while nothing is measured).

    `enough` says whether its own units tell more than the pool does; without it, it is "not enough data yet".
    """

    id: str
    text: str
    state: str
    counts: Counts
    effect: Shrunk
    enough: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`pooled` over all lessons; `lessons` by effect, best first. `withheld_share` is that of new sessions, `waiting`
    counts units whose sessions still run, `not_attempted` those whose step never came up. `changes` are the settled
    trials, newest first, each with the figures of its decision, measured against its own control."""

    pooled: Effect
    lessons: tuple[LessonEffect, ...]
    withheld_share: float
    waiting: int
    not_attempted: int
    changes: tuple[Trial, ...] = ()


def report(store: Store, *, withheld_share: float) -> Report:
    """The report on what is settled (see `credit.settle`); `withheld_share` as `deliver.publish` returned it."""
    tallies = credit.by_lesson(store)
    shrunk = shrink(tallies)
    lessons = [_lesson(store, lesson_id, tallies[lesson_id], shrunk[lesson_id]) for lesson_id in tallies]
    lessons.sort(key=lambda each: (-each.effect.estimate, -sum(each.counts), each.id))
    return Report(
        pooled=measure(credit.pooled(store)),
        lessons=tuple(lessons),
        withheld_share=withheld_share,
        waiting=credit.open_units(store),
        not_attempted=credit.not_attempted(store),
        changes=tuple(trials(store, states=("kept", "reverted", "undecided"), limit=_CHANGES)),
    )


def lesson_effect(store: Store, lesson_id: str) -> LessonEffect | None:
    """One lesson of the report; None while nothing of it is settled."""
    tallies = credit.by_lesson(store)
    return _lesson(store, lesson_id, tallies[lesson_id], shrink(tallies)[lesson_id]) if lesson_id in tallies else None


def _lesson(store: Store, lesson_id: str, tallies: Tallies, effect: Shrunk) -> LessonEffect:
    row = store.get("lessons", lesson_id) or {}
    counts = Counts()
    for each in tallies.values():
        counts = counts.plus(each)
    return LessonEffect(
        id=lesson_id,
        text=str(row.get("text") or ""),
        state=str(row.get("state") or "deleted"),
        counts=counts,
        effect=effect,
        enough=effect.weight >= _OWN_WEIGHT,
    )
