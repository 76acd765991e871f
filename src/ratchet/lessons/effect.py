"""The measured effect of each lesson, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from ratchet.gate.effects import LessonCounts, Shrunk, Tallies, shrink
from ratchet.lessons import credit
from ratchet.lessons.exposure import CURE, PREVENTION
from ratchet.ports import Store
from ratchet.records import number_in, text_in

_OWN_WEIGHT = 0.5  # from here on a lesson's own units say more than the pool
_LIKELY = 2.0  # standard deviations within which a lesson's effect is believed to lie: 97.5 % to each side


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    """Tokens of one lesson: `read` by agents that were shown it (again at each later step of their session), `saved`
    by its effect, and `most`, the greatest saving that its effect is believed to allow."""

    read: int
    saved: float
    most: float

    @property
    def tokens(self) -> float:
        """Saved less read: below 0 it costs more than it saves."""
        return self.saved - self.read


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonEffect:
    """One lesson, measured: its counts, and its effect drawn towards the pooled one (None while nothing is measured).

    `enough` says whether its own units tell more than the pool does; without it, it is "not enough data yet". `net` is
    None where no source told of tokens.
    """

    id: str
    text: str
    state: str
    counts: LessonCounts
    effect: Shrunk
    enough: bool
    net: Net | None = None


def lesson_effects(store: Store, known: credit.Known) -> tuple[LessonEffect, ...]:
    """Every measured lesson, best effect first."""
    tallies = credit.by_lesson(known.units)
    shrunk = shrink(tallies)
    found = [_lesson(store, known, lesson_id, counted, shrunk[lesson_id]) for lesson_id, counted in tallies.items()]
    return tuple(sorted(found, key=lambda each: (-each.effect.estimate, -sum(each.counts), each.id)))


def lesson_effect(store: Store, lesson_id: str) -> LessonEffect | None:
    """One lesson of the report; None while nothing of it is settled."""
    known = credit.known(store)
    tallies = credit.by_lesson(known.units)
    if lesson_id not in tallies:
        return None
    return _lesson(store, known, lesson_id, tallies[lesson_id], shrink(tallies)[lesson_id])


def _lesson(store: Store, known: credit.Known, lesson_id: str, tallies: Tallies, effect: Shrunk) -> LessonEffect:
    row = store.get("lessons", lesson_id) or {}
    counts = LessonCounts()
    for each in tallies.values():
        counts = counts.plus(each)
    return LessonEffect(
        id=lesson_id,
        text=text_in(row, "text"),
        state=text_in(row, "state") or "deleted",
        counts=counts,
        effect=effect,
        enough=effect.weight >= _OWN_WEIGHT,
        net=_net(store, known, lesson_id, effect),
    )


def _net(store: Store, known: credit.Known, lesson_id: str, effect: Shrunk) -> Net | None:
    """A failure that does not come saves its own turn and those until it is overcome, a cure only the latter; each as
    the sessions took in which the lesson was learnt."""
    sums = ("count:*", "wasted_tokens", "failed_tokens")
    (row,) = store.sum_by("resolutions", (), sums, {"lesson_id": lesson_id}) or ({},)
    stuck, turn = number_in(row, "wasted_tokens"), number_in(row, "failed_tokens")
    if not stuck + turn:
        return None
    per = {PREVENTION: (stuck + turn) / number_in(row, "count:*"), CURE: stuck / number_in(row, "count:*")}
    worth = sum(per[each.group] for each in known.units if lesson_id in each.lessons and each.met.shown)
    most = worth * (effect.estimate + _LIKELY * effect.spread)
    return Net(read=known.read.get(lesson_id, 0), saved=worth * effect.estimate, most=most)
