"""One decision about a trial from all its metrics: the ramp, the evidence, and when to stop waiting. Pure.

The statistics are `ratchet.gate`'s. Here several metrics are combined, and the rules around the evidence live: how fast
the new arm's share grows, when both arms fail together, when a trial has gone on for too long, and how much harm the
changes that were declared neutral may add up to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp
from typing import Literal, get_args

from ratchet.errors import UsageError
from ratchet.gate.arms import CanaryTest, PromoteTest, RankBet
from ratchet.gate.bets import positive, real, truth, whole
from ratchet.records import Metric

Verdict = Literal["wait", "keep", "revert", "pause", "undecided"]

WEIGHTS: Mapping[Metric, float] = {"success": 0.6, "latency": 0.2, "cost": 0.1, "score": 0.1}
MARGINS: Mapping[Metric, float] = {"latency": 1.10, "cost": 1.10, "score": 1.0}
"""The factor by which new may be slower or dearer without that counting as harm; for a score, exp(what it may lose)."""

RAMP = ((40, 0.10), (100, 0.25))
"""(units, share of new until that many have started)."""
FULL_SHARE = 0.5
QUIET_CALLS_PER_DAY = 100  # below it a ramp would take days: half at once

MOST_UNITS = 5_000
MOST_AGE_S = 14 * 86_400.0
OUTAGE_STREAK = 8
LEAST_COST_USD = 1e-6  # a call that was free is as cheap as this one: 0 has no logarithm

NEUTRAL_BUDGET = 0.05  # points of success that changes kept on non-inferiority may cost a target in a quarter
QUARTER_S = 91 * 86_400.0


def ramp(units: int, *, calls_per_day: float) -> float:
    """The share of the new arm for the unit that starts after `units` others of its trial."""
    if real("calls_per_day", calls_per_day) < QUIET_CALLS_PER_DAY:
        return FULL_SHARE
    started = whole("units", units)
    return next((share for until, share in RAMP if started < until), FULL_SHARE)


def neutral_allowance(charges: Iterable[tuple[float, float]], *, now_s: float) -> float:
    """Compute the margin that a target may still grant to changes declared neutral: 5 points in any 91 days.

    `charges`: (when it was kept, its margin) of each change the target kept on non-inferiority.
    """
    spent = sum(margin for at_s, margin in charges if now_s - at_s < QUARTER_S)
    return max(NEUTRAL_BUDGET - spent, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """Purpose and limits of a trial. Frozen: weights, margins and horizon never change while data come in.

    `metrics`: those whose values exist at open; success always does. `purpose`: the metric that must be proven better
    for a keep. `neutral_margin`: for a change declared neutral, the success it may lose (at most .02) instead.
    `margins`: a declared trade, e.g. {"latency": 3.0} for a change that buys success with time. `deadline_s` is the
    latency of a failed unit. `before`: (ok, total) of the old arm.
    """

    deadline_s: float
    metrics: tuple[Metric, ...] = ("success",)
    purpose: Metric = "success"
    before: tuple[int, int] = (0, 0)
    neutral_margin: float | None = None
    margins: Mapping[Metric, float] | None = None
    alpha: float = 0.05
    most_units: int = MOST_UNITS
    most_age_s: float = MOST_AGE_S

    def __post_init__(self) -> None:
        positive("deadline_s", self.deadline_s)
        unknown = {*self.metrics, self.purpose} - set(get_args(Metric))
        if unknown or "success" not in self.metrics or self.purpose not in self.metrics:
            raise UsageError(
                f"metrics are {self.metrics!r}, the purpose is {self.purpose!r}: use some of {get_args(Metric)}, "
                f"success among them, and one of those as the purpose"
            )

    @property
    def weights(self) -> dict[Metric, float]:
        """Each metric's weight in the decision to revert; they sum to 1."""
        total = sum(WEIGHTS[metric] for metric in self.metrics)
        return {metric: WEIGHTS[metric] / total for metric in self.metrics}

    def margin(self, metric: Metric) -> float:
        """The factor by which new may exceed old in what is better when lower."""
        return (self.margins or {}).get(metric, MARGINS[metric])


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """The first time that the evidence reached its threshold, which decides: after how many `units`, and the e-value
    with the last of them. What comes after it may say less."""

    units: int
    e_value: float


class TrialGate:
    """Fed with a trial's units in the order in which they started, says what to do with the change.

    Revert: one e-value, the weighted mean of the metrics', at 1/alpha (an average of e-values is one). Keep: the
    purpose's metric is proven better at 1/alpha and no metric has reached 1/alpha against the change by itself.
    Reverting wins where both happen at once.
    """

    def __init__(self, plan: TrialPlan, *, share: float) -> None:
        self.plan = plan
        self.canary = CanaryTest(share=share, alpha=plan.alpha, before=plan.before)
        self.promote = PromoteTest(share=share, alpha=plan.alpha, before=plan.before, margin=plan.neutral_margin)
        self._harm = {
            m: RankBet(share=share, alpha=plan.alpha, margin=plan.margin(m)) for m in plan.metrics if m != "success"
        }
        # A rank bet with the arms exchanged: old is slower, dearer or poorer than new.
        self._gain = (
            RankBet(share=1 - share, alpha=plan.alpha)
            if plan.purpose != "success" and plan.neutral_margin is None
            else None
        )
        self._weights = plan.weights
        self._streaks = [0, 0]  # failures in a row of the old arm, of the new
        self._units = 0
        self._settled: Literal["wait", "keep", "revert"] = "wait"
        self._better: Crossing | None = None
        self._crossing: Crossing | None = None

    def stage(self, share: float) -> None:
        """Units from here on fall to the new arm with this probability."""
        self.canary.stage(share)
        self.promote.stage(share)
        for bet in self._harm.values():
            bet.stage(share)
        if self._gain:
            self._gain.stage(1 - share)

    def update(
        self,
        *,
        new_arm: bool,
        ok: bool,
        latency_s: float | None = None,
        cost_usd: float | None = None,
        score: float | None = None,
    ) -> None:
        """Count one unit. A metric without a value for this unit is left as it is; a failed unit takes its deadline and
        scores 0."""
        new, succeeded = truth("new_arm", new_arm), truth("ok", ok)
        values = {
            "latency": self._latency(succeeded, latency_s),
            "cost": None if cost_usd is None else max(real("cost_usd", cost_usd), LEAST_COST_USD),
            "score": _poorness(succeeded, score),
        }
        self._units += 1
        self._streaks[new] = 0 if succeeded else self._streaks[new] + 1
        self.canary.update(new_arm=new, ok=succeeded)
        self.promote.update(new_arm=new, ok=succeeded)
        for metric, bet in self._harm.items():
            if (value := values[metric]) is not None:
                bet.update(new_arm=new, value=value)
        if self._gain and (value := values[self.plan.purpose]) is not None:
            self._gain.update(new_arm=not new, value=value)
        self._decide()

    def resume(self) -> None:
        """The trial goes on after a pause: what failed until then pauses it no more."""
        self._streaks = [0, 0]

    def _latency(self, succeeded: bool, latency_s: float | None) -> float | None:
        deadline_s = self.plan.deadline_s
        if not succeeded:
            return deadline_s  # else a change that fails fast would look fast
        return None if latency_s is None else min(positive("latency_s", latency_s), deadline_s)

    def _decide(self) -> None:
        if self._settled != "wait" or self._units > self.plan.most_units:
            return  # what comes after the horizon decides nothing, however late it is looked at
        if self._is_harmful():
            self._settled, self._crossing = "revert", Crossing(units=self._units, e_value=self.evidence["revert"])
        elif self.is_better:
            self._better = self._better or Crossing(units=self._units, e_value=self.evidence["keep"])
            if not self._is_blocked():
                self._settled, self._crossing = "keep", self._better

    def _is_harmful(self) -> bool:
        """Tell whether the evidence has reached 1/alpha; the canary's is computed only where its bound suffices."""
        limit = 1 / self.plan.alpha
        rest = sum([self._weights[metric] * bet.e_value for metric, bet in self._harm.items()])
        share = self._weights["success"]
        return share * self.canary.ceiling + rest >= limit and share * self.canary.e_value + rest >= limit

    def _is_blocked(self) -> bool:
        limit = 1 / self.plan.alpha
        return self.canary.e_value >= limit or any(bet.e_value >= limit for bet in self._harm.values())

    @property
    def is_better(self) -> bool:
        """Tell whether the purpose has been proven, at this or an earlier unit."""
        return self._gain.decision == "revert" if self._gain else self.promote.decision == "keep"

    @property
    def evidence(self) -> dict[str, float]:
        """Each metric's e-value against the change, their weighted mean as `revert`, and the purpose's as `keep`."""
        each: dict[str, float] = {"success": self.canary.e_value}
        each.update((metric, bet.e_value) for metric, bet in self._harm.items())
        combined = sum(self._weights[metric] * each[metric] for metric in self._weights)
        better = self._gain.e_value if self._gain else self.promote.e_value
        return {**each, "revert": combined, "keep": better}

    @property
    def units(self) -> int:
        """Units counted so far."""
        return self._units

    @property
    def decision(self) -> Literal["wait", "keep", "revert"]:
        """Decide by the evidence; once it is not `wait`, it stays."""
        return self._settled

    @property
    def crossing(self) -> Crossing | None:
        """The place where the evidence that decided was reached; None while it is `wait`."""
        return self._crossing

    def verdict(self, *, age_s: float = 0.0) -> Verdict:
        """Decide what to do now with a trial that is `age_s` old.

        `undecided`: 5,000 units or 14 days told nothing, the old setting stays. `pause`: both arms are failing, so that
        neither says anything about the change.
        """
        if self._settled != "wait":
            return self._settled
        if self._units >= self.plan.most_units or real("age_s", age_s) >= self.plan.most_age_s:
            return "undecided"
        return "pause" if self.is_outage else "wait"

    @property
    def is_outage(self) -> bool:
        """Tell whether the last 8 units of both arms failed, each arm having succeeded before."""
        ok_new = any(cells[2] for cells in self.canary.counts.values())
        ok_old = any(cells[3] for cells in self.canary.counts.values())
        return min(self._streaks) >= OUTAGE_STREAK and ok_new and ok_old


def _poorness(succeeded: bool, score: float | None) -> float | None:
    """A score in [0, 1] as a value that is worse when higher and whose logarithm is the score's negative."""
    if score is None:
        return None if succeeded else 1.0
    number = real("score", score)
    if not 0 <= number <= 1:
        raise UsageError(f"score is {score!r}: use a number from 0 to 1")
    return exp(-number)
