"""Do the lessons help, and did the changes? The measured answer, by channel first, then one by one."""

from __future__ import annotations

from dataclasses import dataclass

from ratchet.gate.deadline import measured
from ratchet.gate.effects import Effect
from ratchet.improving.trials.trials import trials
from ratchet.lessons import credit
from ratchet.lessons.effect import LessonEffect, lesson_effects
from ratchet.lessons.exposure import CURE, PREVENTION
from ratchet.ports import Store
from ratchet.records import Trial

_CHANGES = 20  # settled trials that a report names


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`prevention` is the effect of being told before the step (success: the failure did not come), `cure` that of
    being told in the failing turn (success: what had failed was achieved), `pooled` both taken together; `lines` say
    the two in a sentence each. `lessons` stand by effect, best first. `withheld_share` is that of new sessions,
    `waiting` counts units whose sessions still run, `held_back` those that ended and come after one of them, which is
    heard first, `not_attempted` those whose step never came up. `changes` are the
    settled trials, newest first, each with the figures of its decision, measured against its own control."""

    prevention: Effect
    cure: Effect
    pooled: Effect
    lines: tuple[str, ...]
    lessons: tuple[LessonEffect, ...]
    withheld_share: float
    waiting: int
    held_back: int
    not_attempted: int
    changes: tuple[Trial, ...] = ()
    coins: tuple[float, float] | None = None
    """The least and the greatest share at which the cases here were left untold; None where none had a coin."""

    @property
    def cases(self) -> int:
        """Count the units that met a lesson, those that are not counted yet, too."""
        return self.pooled.shown + self.pooled.withheld + self.waiting + self.held_back + self.not_attempted

    @property
    def unmeasured(self) -> str:
        """Why nothing is measured, in a sentence; "" where something is."""
        if not self.cases:
            return "Not measured yet: no session was told a lesson so far."
        if self.pooled.shown + self.pooled.withheld:
            return ""
        return (
            f"Not measured yet. Cases that a lesson is known for: {self.waiting} in sessions that still run, "
            f"{self.held_back} that came after one of those, {self.not_attempted} whose step never came up."
        )

    @property
    def control(self) -> str:
        """The shares left untold, now and of the cases here, in a sentence."""
        if not self.withheld_share:
            return "Every new session is told its lessons: `withheld_share` sets how many are left without, to compare."
        now = f"Of new cases {100 * self.withheld_share:.0f} %, drawn at random, are told no lesson, to compare with"
        if self.coins is None:
            return f"{now}."
        shares = " to ".join(dict.fromkeys(f"{100 * each:.0f} %" for each in self.coins))
        return f"{now}; of the cases counted here it was {shares}."


def report(store: Store, *, withheld_share: float) -> Report:
    """The report on what is settled (see `credit.settle`); `withheld_share` as `deliver.publish` returned it."""
    known = credit.known(store)
    prevention, cure = measured(known.of(PREVENTION)), measured(known.of(CURE))
    coins = [unit.met.share for unit in known.units if 0 < unit.met.share < 1]
    return Report(
        prevention=prevention,
        cure=cure,
        pooled=measured([unit.met for unit in known.units]),
        lines=(_prevention(prevention), _cure(cure, known)),
        lessons=lesson_effects(store, known),
        withheld_share=withheld_share,
        waiting=credit.open_units(store),
        held_back=credit.held_back(store),
        not_attempted=credit.not_attempted(store),
        changes=tuple(trials(store, states=("kept", "reverted", "undecided"), limit=_CHANGES)),
        coins=(min(coins), max(coins)) if coins else None,
    )


def _prevention(effect: Effect) -> str:
    if not effect.shown + effect.withheld:
        return "Told before the step: no session has met that step yet."
    came = f"{effect.shown - effect.shown_ok} of {effect.shown}"
    untold = f"{effect.withheld - effect.withheld_ok} of {effect.withheld}"
    return f"Told before the step, the failure came in {came} cases; untold, in {untold}: {_said(effect)}"


def _cure(effect: Effect, known: credit.Known) -> str:
    if not effect.shown + effect.withheld:
        return "Told in the failing turn: no case yet."
    shown, withheld = f"{effect.shown_ok} of {effect.shown}", f"{effect.withheld_ok} of {effect.withheld}"
    line = f"Told in the failing turn, {shown} got past the failure; untold, {withheld}: {_said(effect)}"
    apart = [unit for unit in known.of(CURE) if not 0 < unit.share < 1]
    if apart:
        told = [unit.ok for unit in apart if unit.shown]
        line += (
            f" Of these, {len(told)} had been told before the step, too ({sum(told)} got past it), and "
            f"{len(apart) - len(told)} had been left untold then: nothing was drawn anew, so they are not compared."
        )
    return line


def _said(effect: Effect) -> str:
    """The difference in words, with its interval."""
    if effect.estimate is None:
        return "nothing to compare yet."
    points = round(100 * effect.estimate)
    span = f"95 % interval {100 * effect.low:+.0f} to {100 * effect.high:+.0f}, valid however often you look"
    difference = f"{abs(points)} {'point' if abs(points) == 1 else 'points'} {'better' if points >= 0 else 'worse'}"
    return f"{difference} ({span}); {effect.verdict}."
