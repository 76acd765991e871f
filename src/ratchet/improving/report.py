"""Do the lessons help, and did the changes? The measured answer, pooled first, then one by one."""

from __future__ import annotations

from dataclasses import dataclass

from ratchet.gate.effects import Effect, measure
from ratchet.improving.trials.trials import trials
from ratchet.lessons import credit
from ratchet.lessons.effect import LessonEffect, lesson_effects
from ratchet.ports import Store
from ratchet.records import Trial

_CHANGES = 20  # settled trials that a report names


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
    return Report(
        pooled=measure(credit.pooled(store)),
        lessons=lesson_effects(store),
        withheld_share=withheld_share,
        waiting=credit.open_units(store),
        not_attempted=credit.not_attempted(store),
        changes=tuple(trials(store, states=("kept", "reverted", "undecided"), limit=_CHANGES)),
    )
