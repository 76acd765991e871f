"""The measured effect of each lesson."""

from __future__ import annotations

from dataclasses import dataclass

from ratchet.gate.effects import LessonCounts, Shrunk, Tallies, shrink
from ratchet.lessons import credit
from ratchet.ports import Store

_OWN_WEIGHT = 0.5  # from here on a lesson's own units say more than the pool


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonEffect:
    """One lesson, measured: its counts, and its effect drawn towards the pooled one (None while nothing is measured).

    `enough` says whether its own units tell more than the pool does; without it, it is "not enough data yet".
    """

    id: str
    text: str
    state: str
    counts: LessonCounts
    effect: Shrunk
    enough: bool


def lesson_effects(store: Store) -> tuple[LessonEffect, ...]:
    """Every measured lesson, best effect first."""
    tallies = credit.by_lesson(store)
    shrunk = shrink(tallies)
    found = [_lesson(store, lesson_id, tallies[lesson_id], shrunk[lesson_id]) for lesson_id in tallies]
    return tuple(sorted(found, key=lambda each: (-each.effect.estimate, -sum(each.counts), each.id)))


def lesson_effect(store: Store, lesson_id: str) -> LessonEffect | None:
    """One lesson of the report; None while nothing of it is settled."""
    tallies = credit.by_lesson(store)
    return _lesson(store, lesson_id, tallies[lesson_id], shrink(tallies)[lesson_id]) if lesson_id in tallies else None


def _lesson(store: Store, lesson_id: str, tallies: Tallies, effect: Shrunk) -> LessonEffect:
    row = store.get("lessons", lesson_id) or {}
    counts = LessonCounts()
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
