"""Races on a noisy benchmark: candidates against one incumbent on one stream of pairs. Pure.

What is decided is a fold over (candidate, pair index): in which order runs end, how many were under way and who made
them changes nothing. Tasks and seeds are drawn from (run seed, batch, index), so that no run is ever met twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import comb
from typing import Literal, NamedTuple

from ratchet.gate.arms import EvidenceLedger, PairedGate

Finish = Literal["wait", "keep", "revert", "refused", "unmeasured"]
"""`keep`: proven better. `revert`: given up, the incumbent stays. `refused`: it meddled with what judges it, or
excused itself. `unmeasured`: too many of its pairs could not be measured to say anything."""

INCUMBENT = -1
"""The racer that all others are compared with."""
MOST_UNMEASURED = 30
"""So many pairs without a measurement, and more than were measured, end a racer: the machine, not the candidate, is the
reason. The number is PairedGate's patience: what a hopeless candidate gets."""
LEAST_EXCUSES = 10
"""Pairs that only the candidate left unmeasured, before anybody asks whether that is chance."""
CHANCE = 0.001
"""An outage hits both sides alike: where a fair coin would say "the candidate" as often as here less than once in so
many times, it is the candidate that excuses itself from what it would lose."""


class RacedRun(NamedTuple):
    """One run that a race needs: of a racer (its position, or INCUMBENT), for the pair of that number."""

    racer: int
    pair: int


class Draw(NamedTuple):
    """Question put to both sides of a pair: the task's position, and the seed they are given."""

    task: int
    seed: int


def draw(seed: int, batch: int, index: int, tasks: int) -> Draw:
    """The task of a pair, each of `tasks` equally likely, and its seed (below 2**31). Same arguments, same answer, in
    every process; different batches and indexes are independent for all purposes."""
    bits = int.from_bytes(hashlib.sha256(b"%d/%d/%d" % (seed, batch, index)).digest()[:16], "big")
    return Draw((bits >> 31) % tasks, bits & 0x7FFFFFFF)


def levels(history: Iterable[bool], count: int, *, fdr: float, planned: int) -> tuple[float, ...]:
    """The levels of the next batch of `count`: e-LOND over a run of `planned` proposals. `history` tells of each
    candidate that was raced before, in order, whether it was kept."""
    ledger = EvidenceLedger(fdr, planned=planned)
    for kept in history:
        ledger.record(kept)
    return ledger.levels(count)


@dataclass(frozen=True, slots=True)
class Standing:
    """Standing of a racer: evidence for it, pairs counted, their mean difference, and pairs without a measurement."""

    finish: Finish
    e_value: float
    pairs: int
    mean: float
    unmeasured: int
    reason: str = ""
    peak: float = 1.0
    """The most that its evidence ever was."""
    differed: float = 0.0
    """Share of its pairs in which the two scores differ."""


class _Lane:
    """One racer: its gate, and how far its pairs have been counted."""

    __slots__ = (
        "at",
        "differed",
        "excused",
        "finish",
        "gain",
        "gate",
        "pairs",
        "peak",
        "reason",
        "spared",
        "strict",
        "unmeasured",
    )

    def __init__(self, level: float, mde: float, cap: int, doubt: float) -> None:
        self.gate = PairedGate(level, mde, cap, doubt)
        self.peak = 1.0
        """The most that its evidence ever was."""
        self.strict: PairedGate | None = None
        """The gate where each pair that only the candidate left unmeasured, beyond those that only the incumbent did,
        counts as the worst that it can have been: nobody is kept by what he leaves out. None while there is none."""
        self.at = 0
        self.pairs = 0
        self.differed = 0
        self.gain = 0.0
        """The sum of the differences of so many measured pairs."""
        self.excused = 0
        """Pairs that only the candidate left unmeasured; `spared`: only the incumbent."""
        self.spared = 0
        self.unmeasured = 0
        self.finish: Finish = "wait"
        self.reason = ""

    def count(self, new: float | None, old: float | None) -> None:
        self.at += 1
        if new is None or old is None:
            self._leave_out(new, old)
            return
        self.pairs += 1
        self.gain += new - old
        self.differed += new != old
        self.gate.update(new - old)
        if self.strict is not None:
            self.strict.update(new - old)
        self.peak = max(self.peak, self.e_value)
        if self.strict is None:
            self.finish = self.gate.decision
            return
        if self.gate.decision != "keep":
            self.finish = self.gate.decision
        elif self.strict.decision == "revert":
            self.finish = "unmeasured"
            self.reason = f"proven better only without the {self.excused} pairs that it alone left unmeasured"
        else:
            self.finish = self.strict.decision

    def _leave_out(self, new: float | None, old: float | None) -> None:
        self.unmeasured += 1
        if new is None and old is not None:
            self.excused += 1
            if self.excused > self.spared:
                self.strict = self.strict or deepcopy(self.gate)
                self.strict.update(-old)
        elif new is not None:
            self.spared += 1
        if self.excused >= LEAST_EXCUSES and _tail(self.excused, self.excused + self.spared) < CHANCE:
            self.refuse(
                f"refused: only its own runs could not be measured in {self.excused} pairs, and only those of"
                f" the version that counts in {self.spared}: it excuses itself"
            )
        elif self.unmeasured >= MOST_UNMEASURED and self.unmeasured > self.pairs:
            self.finish = "unmeasured"
            self.reason = f"{self.unmeasured} of {self.at} pairs could not be measured"

    def refuse(self, reason: str) -> None:
        self.finish, self.reason = "refused", reason

    @property
    def mean(self) -> float:
        return self.gain / self.pairs if self.pairs else 0.0

    @property
    def e_value(self) -> float:
        """The evidence that decides: that of the stricter gate once the other is satisfied."""
        decides = self.strict if self.strict is not None and self.gate.decision == "keep" else self.gate
        return decides.e_value


def _tail(heads: int, tosses: int) -> float:
    """Compute the probability that a fair coin shows at least so many heads."""
    return float(sum(comb(tosses, k) for k in range(heads, tosses + 1)) / 2**tosses)


class Race:
    """A batch of candidates against one incumbent. Each goes on until it is decided; all share the incumbent's runs.

    Ask for `wanted` runs, `record` what came of them in any order, until `decided`. `doubt`: see `PairedGate`; less of
    it gives up sooner.
    """

    def __init__(self, levels: Sequence[float], *, mde: float = 0.05, cap: int = 1_500, doubt: float = 1.0) -> None:
        self._lanes = [_Lane(level, mde, cap, doubt) for level in levels]
        self._scores: dict[RacedRun, float | None] = {}
        self._refusals: dict[RacedRun, str] = {}

    def record(self, run: RacedRun, score: float | None, *, refusal: str = "") -> None:
        """Take in the result of a run: its score in [0, 1], None where it could not be measured; `refusal` says with
        what it meddled. The first word about a run counts."""
        if run in self._scores:
            return
        self._scores[run] = score
        if refusal and run.racer != INCUMBENT:
            self._refusals[run] = refusal
            if self._lanes[run.racer].finish == "keep":  # seen in a run that its proof did not need: seen all the same
                self._lanes[run.racer].refuse(refusal)
        for racer in range(len(self._lanes)) if run.racer == INCUMBENT else (run.racer,):
            if self._lanes[racer].at == run.pair:
                self._advance(racer, self._lanes[racer])

    def _advance(self, racer: int, lane: _Lane) -> None:
        """Count a racer's pairs, in order, as far as both their runs are known."""
        while lane.finish == "wait":
            new, old = RacedRun(racer, lane.at), RacedRun(INCUMBENT, lane.at)
            if new in self._refusals:  # whatever the incumbent did
                lane.refuse(self._refusals[new])
            elif new in self._scores and old in self._scores:
                lane.count(self._scores[new], self._scores[old])
            else:
                return

    def wanted(self, most: int, under_way: Container[RacedRun] = ()) -> list[RacedRun]:
        """The next runs that the decision needs, at most so many, the earliest pairs first; none that is known or
        under way."""
        found: list[RacedRun] = []
        open_ = [(racer, lane) for racer, lane in enumerate(self._lanes) if lane.finish == "wait"]
        index = min((lane.at for _, lane in open_), default=0)
        while open_ and len(found) < most:
            racers = [racer for racer, lane in open_ if lane.at <= index]
            for run in (RacedRun(INCUMBENT, index), *(RacedRun(racer, index) for racer in racers)):
                if run not in self._scores and run not in under_way and len(found) < most:
                    found.append(run)
            index += 1
        return found

    def needs(self, run: RacedRun) -> bool:
        """Tell whether a run under way can still change what is decided."""
        racers = self._lanes if run.racer == INCUMBENT else (self._lanes[run.racer],)
        return any(lane.finish == "wait" and lane.at <= run.pair for lane in racers)

    @property
    def decided(self) -> bool:
        return all(lane.finish != "wait" for lane in self._lanes)

    def standing(self, racer: int) -> Standing:
        lane = self._lanes[racer]
        differed = lane.differed / lane.pairs if lane.pairs else 0.0
        told = (lane.finish, lane.e_value, lane.pairs, lane.mean, lane.unmeasured, lane.reason)
        return Standing(*told, peak=lane.peak, differed=differed)

    @property
    def best(self) -> int | None:
        """The one to keep: of those proven better, that with the greatest mean difference, the first of equals. The
        others are to be raced again, against it."""
        proven = [racer for racer, lane in enumerate(self._lanes) if lane.finish == "keep"]
        return max(proven, key=lambda racer: (self._lanes[racer].mean, -racer), default=None)
