"""Lessons are changes too: the same gate says, from their withheld control, which of them must go."""

from __future__ import annotations

from collections.abc import Collection

from ratchet.errors import Conflict
from ratchet.gate.arms import CanaryTest, PromoteTest
from ratchet.gate.effects import Tallies, measure
from ratchet.lessons import credit, lessons
from ratchet.lessons.effect import LessonEffect, lesson_effects
from ratchet.ports import Store

ALPHA = 0.05
LEAST_UNITS = 20
"""Cases of its own, below which the tokens of a lesson say nothing about it."""
LEAST_GAIN = 0.02
"""A lesson that is proven to gain less than two points is not worth the attention it takes."""
MOST_UNITS = 5_000
"""Units after which a lesson that told nothing goes: the limit of every trial."""


def settle(store: Store, *, now: float, ended: Collection[str] = ()) -> list[str]:
    """Settle credit, then retire active lessons that are proven to harm or not to help, or that cost more tokens than
    they save, each with its figures; return their ids. A lesson without enough units stays: rare lessons have no
    deadline."""
    credit.settle(store, now=now, ended=ended)
    retired = []
    known = credit.known(store)
    tallies = credit.by_lesson(known.units)
    for each in lesson_effects(store, known):
        lesson_id = each.id
        row = store.get("lessons", lesson_id)
        if row is None or row.get("state") != "active":
            continue
        reason = useless(tallies[lesson_id]) or costly(each)
        if reason:
            try:
                lessons.retire(store, lesson_id, reason=reason, now=now)
            except Conflict:  # changed at this moment: the next tick looks again
                continue
            retired.append(lesson_id)
    return retired


def costly(lesson: LessonEffect) -> str:
    """Why a lesson costs more tokens than it saves, even where its effect is the greatest that is believed; "" while it
    may pay, or its own units are too few to tell."""
    net = lesson.net
    if net is None or not lesson.enough or sum(lesson.counts) < LEAST_UNITS or net.most >= net.read:
        return ""
    return (
        f"costs more than it saves: agents read {net.read:,} tokens of it, and it saved {net.saved:,.0f} "
        f"({net.most:,.0f} at most) in {lesson.counts.shown} cases"
    )


def useless(tallies: Tallies) -> str:
    """Why a lesson with these counts must go, with its figures; "" while it may stay."""
    counted = {share: counts for share, counts in tallies.items() if 0 < share < 1}
    if not counted:
        return ""
    first = next(iter(counted))
    cells = {share: (c.shown_failed, c.withheld_failed, c.shown_ok, c.withheld_ok) for share, c in counted.items()}
    effect = measure(counted)
    figures = (
        f"shown {effect.shown_ok} of {effect.shown} succeeded, withheld {effect.withheld_ok} of {effect.withheld}; "
        f"difference {100 * effect.low:+.0f} to {100 * effect.high:+.0f} points"
    )
    harm = CanaryTest(share=first, alpha=ALPHA)
    harm.add(cells)
    if harm.decision == "revert":
        return f"proven to harm: {figures}"
    if effect.high < LEAST_GAIN:
        return f"proven not to help: {figures}"
    gain = PromoteTest(share=first, alpha=ALPHA)
    gain.add(cells)
    if effect.shown + effect.withheld >= MOST_UNITS and gain.decision == "wait":
        return f"told nothing in {MOST_UNITS:,} units: {figures}"
    return ""
