"""The first thing to look at: how well agents do over time, what is rising, and what lessons have saved."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from ratchet.failures.patterns.health import Health, health
from ratchet.gate.effects import Effect
from ratchet.ports import Store
from ratchet.records import Json, Pattern, Row, number_in, whole_in

T = TypeVar("T")
KEPT_S = 60.0
_LOOKS = 4  # that are kept: the first page, all patterns, and those of a filter or two; each may be 10,000 patterns
_HOUR_S = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Runs in one stretch of time; `failures` are the agents' own."""

    at: float
    calls: int
    failures: int

    @property
    def rate(self) -> float | None:
        """Share of successes; None where nothing ran."""
        return 1 - self.failures / self.calls if self.calls else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Savings by lessons, each with its 95 % interval: failures that did not come back, and what those would have
    taken. Only where the effect is proven against the withheld control; None before that."""

    recurrences: float
    low: float
    high: float
    seconds: float
    usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """One look at a store."""

    health: Health
    outcomes: int
    failures: int
    spans: tuple[Span, ...]
    rising: tuple[Pattern, ...]
    patterns: int
    lessons: int
    trials: int
    effect: Effect
    lines: tuple[str, ...]
    saved: Saved | None


def spans(store: Store, *, since: float, step_hours: int) -> tuple[Span, ...]:
    """Count what ran since a moment, in stretches of whole hours; those in which nothing ran are left out."""
    start = int(since // _HOUR_S)
    found: dict[int, list[int]] = {}
    for row in store.sum_by("activity", ("hour",), ("calls", "failures"), {"hour": (">=", start)}):
        held = found.setdefault((whole_in(row, "hour") - start) // step_hours, [0, 0])
        held[0] += whole_in(row, "calls")
        held[1] += whole_in(row, "failures")
    return tuple(
        Span(at=float((start + place * step_hours) * _HOUR_S), calls=calls, failures=failures)
        for place, (calls, failures) in sorted(found.items())
    )


def saved(store: Store, effect: Effect) -> Saved | None:
    """Estimate what the lessons that were shown have saved, if they were proven to help."""
    if effect.verdict != "helps" or effect.estimate is None:
        return None
    totals = store.sum_by("tallies", (), ("n", "duration_s", "cost_usd"))
    row: Row = totals[0] if totals else {}
    failures = number_in(row, "n")
    recurrences = effect.estimate * effect.shown
    return Saved(
        recurrences=recurrences,
        low=effect.low * effect.shown,
        high=effect.high * effect.shown,
        seconds=recurrences * number_in(row, "duration_s") / failures if failures else 0.0,
        usd=recurrences * number_in(row, "cost_usd") / failures if failures else 0.0,
    )


def look(
    store: Store,
    *,
    now: float,
    days: float,
    patterns: Sequence[Pattern],
    lessons: int,
    effect: Effect,
    lines: tuple[str, ...] = (),
) -> Overview:
    """Everything on one page. `patterns` are all, those that recur first."""
    totals = store.sum_by("activity", (), ("calls", "failures"))
    row: Row = totals[0] if totals else {}
    step_hours = max(1, round(days * 24 / 84))  # 84 points: four hours each over a fortnight
    open_trials = store.sum_by("trials", (), ("count:*",), {"state": ("in", ["open", "paused"])})
    rising = sorted((each for each in patterns if each.trend == "rising"), key=lambda each: -each.impact)
    return Overview(
        health=health(store),
        outcomes=whole_in(row, "calls"),
        failures=whole_in(row, "failures"),
        spans=spans(store, since=now - days * 24 * _HOUR_S, step_hours=step_hours),
        rising=tuple(rising[:8]),
        patterns=len(patterns),
        lessons=lessons,
        trials=whole_in(open_trials[0], "count:*") if open_trials else 0,
        effect=effect,
        lines=lines,
        saved=saved(store, effect),
    )


class Glance:
    """The last looks, as long as nothing has happened since: what many people keep open, or page through, costs one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[Hashable, tuple[tuple[Json, ...], float, object]] = OrderedDict()

    def at(self, store: Store, look: Callable[[], T], asked: Hashable = "") -> T:
        """Return what a look says now; `asked` tells it from other looks. At most `KEPT_S` old: what ages by itself (a
        trend, a deadline) is looked at again."""
        mark = _mark(store)
        with self._lock:
            seen = self._seen.get(asked)
            if seen is not None and seen[0] == mark and time.monotonic() - seen[1] < KEPT_S:
                self._seen.move_to_end(asked)
                return cast(T, seen[2])
        found = look()
        with self._lock:
            self._seen[asked] = (mark, time.monotonic(), found)
            self._seen.move_to_end(asked)
            if len(self._seen) > _LOOKS:
                self._seen.popitem(last=False)
        return found


def _mark(store: Store) -> tuple[Json, ...]:
    """Changes with every outcome and every event."""
    totals = store.sum_by("activity", (), ("calls", "failures", "excused"))
    newest = store.find("events", order=("-at", "-id"), limit=1).rows
    counted = totals[0] if totals else {}
    return (*(counted.get(name) for name in ("calls", "failures", "excused")), newest[0]["id"] if newest else None)
