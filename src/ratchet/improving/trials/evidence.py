"""Evidence of a trial: its units, read from the store in the order in which they started, folded through the gate.

They are read up to the first that is neither answered nor due, and no further than every home that met the trial is
known (`homes.known_of`). Each of these prefixes only grows: what is in it never changes, so that the bound of the test
holds however often it is looked at. Skipping the unanswered would let a change that fails fast be heard first. A unit
without an outcome by its deadline has failed, since a change that hangs or kills the process must not look fine.
Everything is computed anew from rows, so that reading twice, or in another process, says the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from ratchet.arguments import finite
from ratchet.gate.effects import Effect, LessonCounts, measure
from ratchet.gate.trial import Crossing, TrialGate, TrialPlan, Verdict
from ratchet.ids import CALL
from ratchet.improving.trials import homes
from ratchet.improving.trials.arms import CHANNEL
from ratchet.ports import Store, Where
from ratchet.records import Metric, Row, Trial, number_in

KNOWN = "known_until"
"""A decision's figure: how far the units were known then."""
LEAST_S = 1e-6  # a clock that did not move: 0 has no logarithm
_PAGE_ROWS = 1_000
_CURVE_STEP = 1.04  # 120 points to the 5,000 units that a trial has at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One arm's units: those that count, and how they did. `latency_s` and `cost_usd` are means of those that tell; a
    unit that failed counts as slow as the deadline there, `measured_s` is the mean of what was measured."""

    units: int = 0
    ok: int = 0
    latency_s: float | None = None
    measured_s: float | None = None
    cost_usd: float | None = None
    score: float | None = None

    @property
    def rate(self) -> float | None:
        """Share of successes; None without units."""
        return self.ok / self.units if self.units else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Standing of a trial. `against` and `toward` are the evidence for a revert and for a keep, each settled at
    `threshold`; `metrics` holds each metric's own evidence against the change. `waiting` counts exposures that
    are not read yet, `exposures` all; `known_until` is the moment up to which all homes are known (Unix seconds, 0.0
    where that does not matter). `crossing` is where the evidence that decides was reached (None: it was not), which
    holds whatever came after it, and `enough_at` when the unit started at which the gate decided (0.0: it has not, or
    that is not known). `effect` is measured on all units that count, those after the crossing too, against the trial's
    own control, never against what came before it."""

    trial: str
    new: Arm
    old: Arm
    counts: dict[float, tuple[int, int, int, int]]
    exposures: int
    waiting: int
    against: float
    toward: float
    threshold: float
    metrics: dict[str, float]
    verdict: Verdict
    effect: Effect
    known_until: float = 0.0
    enough_at: float = 0.0
    crossing: Crossing | None = None
    curve: tuple[tuple[int, float, float], ...] = ()
    """How it came about: units, and the evidence against and toward after them, at about a hundred places and where it
    was decided."""


def plan_of(trial: Trial) -> TrialPlan:
    """Return what the gate was told when the trial opened."""
    change = trial.change
    trade: dict[Metric, float] = {name: factor for name, factor in change.trade.items() if name in _RANKED}  # type: ignore[misc]
    return TrialPlan(
        deadline_s=trial.deadline_s,
        metrics=trial.metrics,
        purpose=change.metric,
        before=trial.before,
        neutral_margin=change.margin if change.neutral_ok else None,
        margins=trade or None,
        alpha=trial.alpha,
    )


def evidence(store: Store, trial: Trial, *, now: float) -> Evidence:
    """Read where the trial stands at `now` (Unix seconds). Raises StoreError."""
    gate = TrialGate(plan_of(trial), share=trial.share)
    sums = (_Sum(), _Sum())
    tallies: dict[float, list[int]] = {}
    share = trial.share
    resumed = not trial.resumed_at
    curve: list[tuple[int, float, float]] = []
    known = _known(store, trial, now)
    enough_at = 0.0
    for row in _answered(store, trial.id, known):
        unit = _Unit(row, trial)
        if not resumed and unit.at >= trial.resumed_at:
            gate.resume()
            resumed = True
        if unit.share != share:
            share = unit.share
            gate.stage(share)
        gate.update(new_arm=unit.new, ok=unit.ok, latency_s=unit.latency_s, cost_usd=unit.cost_usd, score=unit.score)
        decides = not enough_at and gate.decision != "wait"
        if decides:
            enough_at = unit.at
        sums[unit.new].count(unit)
        tallies.setdefault(share, [0, 0, 0, 0])[(0 if unit.new else 2) + (not unit.ok)] += 1
        if decides or not curve or gate.units >= curve[-1][0] * _CURVE_STEP + 1:
            said = gate.evidence
            curve.append((gate.units, said["revert"], said["keep"]))
    if not resumed:
        gate.resume()
    said = gate.evidence
    exposures = count(store, trial.id)
    age_s = max(0.0, now - trial.opened_at) if trial.opened_at else 0.0
    return Evidence(
        trial=trial.id,
        new=sums[True].arm(),
        old=sums[False].arm(),
        # (fail_new, fail_old, ok_new, ok_old), as `ratchet.gate` counts
        counts={key: (c[1], c[3], c[0], c[2]) for key, c in tallies.items()},
        exposures=exposures,
        waiting=exposures - gate.units,
        against=said["revert"],
        toward=said["keep"],
        threshold=1 / trial.alpha,
        metrics={name: said[name] for name in trial.metrics},
        verdict=gate.verdict(age_s=age_s),
        effect=measure({key: LessonCounts(*c) for key, c in tallies.items()}),
        known_until=known,
        enough_at=enough_at,
        crossing=gate.crossing,
        curve=tuple(curve),
    )


def count(store: Store, trial_id: str) -> int:
    """Count the units that were exposed to the trial, in either arm."""
    rows = store.sum_by("exposures", (), ("count:*",), {"trial": trial_id, "channel": CHANNEL})
    return int(_number(rows[0], "count:*") or 0) if rows else 0


def first_at(store: Store, trial_id: str) -> float | None:
    """When the first unit met the trial (Unix seconds); None before that."""
    rows = store.find("exposures", {"trial": trial_id, "channel": CHANNEL}, order=("at",), limit=1).rows
    return _number(rows[0], "at") if rows else None


def _known(store: Store, trial: Trial, now: float) -> float:
    """The moment up to which its units may be read: of a settled trial as it was when it was decided."""
    held = number_in(trial.figures, KNOWN)
    return held if trial.decision and held else homes.known_of(store, trial, now=now)


def _answered(store: Store, trial_id: str, known: float) -> Iterator[Row]:
    """The units in the order in which they started, up to the first that is neither answered nor due."""
    where: Where = {"trial": trial_id, "channel": CHANNEL, "at": ("<=", known)}
    cursor: str | None = None
    while True:
        page = store.find("exposures", where, order=("at",), limit=_PAGE_ROWS, cursor=cursor)
        for row in page.rows:
            # The silence that ends a unit of several calls has to be over; one of an older version waits to the end.
            lasting = 0.0 if str(row["unit"]).startswith(CALL) else number_in(row, "quiet_s", inf)
            is_answered = row.get("settled") in (True, 1) and number_in(row, "settled_at") + lasting <= known
            if not is_answered and number_in(row, "due_at") > known:
                return
            yield row
        if page.cursor is None:
            return
        cursor = page.cursor


class _Unit:
    """One exposure as the gate counts it."""

    __slots__ = ("at", "cost_usd", "latency_s", "measured_s", "new", "ok", "score", "share")

    def __init__(self, row: Row, trial: Trial) -> None:
        self.at = _number(row, "at") or 0.0
        self.new = row.get("arm") == "new"
        self.ok = row.get("ok") in (True, 1)
        share = _number(row, "share")
        self.share = share if share is not None and 0 < share < 1 else trial.share
        duration_s = _number(row, "duration_s")
        self.measured_s = None if duration_s is None else max(duration_s, LEAST_S)
        self.latency_s = self.measured_s
        self.cost_usd = _number(row, "cost_usd")
        self.score = _number(row, "score")
        if not self.ok:
            self.latency_s = trial.deadline_s


class _Sum:
    """Adds up the units of one arm."""

    __slots__ = ("_ok", "_units", "_values")

    def __init__(self) -> None:
        self._units = 0
        self._ok = 0
        self._values: dict[str, tuple[float, int]] = {}

    def count(self, unit: _Unit) -> None:
        self._units += 1
        self._ok += unit.ok
        for name in ("latency_s", "measured_s", "cost_usd", "score"):
            value = getattr(unit, name)
            if value is not None:
                total, n = self._values.get(name, (0.0, 0))
                self._values[name] = (total + value, n + 1)

    def arm(self) -> Arm:
        means = {name: total / n for name, (total, n) in self._values.items()}
        return Arm(units=self._units, ok=self._ok, **means)


def _number(row: Row, name: str) -> float | None:
    # Sums of a unit's calls may leave the range of a float; one such unit must not stop its trial for good.
    return finite(row.get(name))


_RANKED = frozenset(("latency", "cost", "score"))
