"""False reverts without waiting for rare events: labels are drawn from the betting mixture itself.

If Q is the law of the labels under which the bets win, and P the null at its edge (each label new with probability of
the share, whatever the outcome), then P(a test ever fires) = E_Q[1{fires} / (dQ/dP at that time)]. Under Q it fires in
most runs, so a thousand draws give the tiny probability to a twentieth of a point. The likelihood ratio is computed
here from the definition and not taken from the gate: one whose evidence is too large would fire too early, and show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from ratchet.gate.arms import CanaryTest, PromoteTest

RATES = (0.4, 0.6, 0.8, 0.9, 0.96, 0.99)
DROPS = (0.06, 0.12, 0.25, 0.5, 0.9)
SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """`draws` runs of up to `units` units at success `rate`; `promote` checks false keeps instead of false reverts."""

    rate: float
    draws: int
    units: int = 10_000
    history: int = 100
    promote: bool = False


def false_alarms(job: Draws) -> float:
    """The probability that the test fires within the units although both arms are equal."""
    chance = Random(f"{job}")
    total = 0.0
    for _ in range(job.draws):
        ok = sum(chance.random() < job.rate for _ in range(job.history))
        total += _one(chance, job, (ok, job.history))
    return total / job.draws


def _one(chance: Random, job: Draws, before: tuple[int, int]) -> float:
    """1{fires} / (dQ/dP) of one run."""
    pairs = [(rate, rate * (1 - drop)) for rate in RATES for drop in DROPS]
    known = [bad if job.promote else good for good, bad in pairs]
    weights = _weights(before, known)
    good, bad = chance.choices(pairs, weights)[0]
    odds_failed = (1 - bad) / (2 - bad - good)  # P(the worse arm | failed) at equal shares
    odds_ok = bad / (good + bad)
    counts = {(worse, succeeded): 0 for worse in (False, True) for succeeded in (False, True)}
    test = (PromoteTest if job.promote else CanaryTest)(share=SHARE, before=before)
    for _ in range(job.units):
        succeeded = chance.random() < job.rate
        worse = chance.random() < (odds_ok if succeeded else odds_failed)
        counts[worse, succeeded] += 1
        test.update(new_arm=worse != job.promote, ok=succeeded)
        if test.decision != "wait":
            return 1 / _ratio(counts, pairs, weights)
    return 0.0


def _ratio(counts: dict[tuple[bool, bool], int], pairs: list[tuple[float, float]], weights: list[float]) -> float:
    total = 0.0
    for (good, bad), weight in zip(pairs, weights, strict=True):
        failed, ok = (1 - bad) / (2 - bad - good), bad / (good + bad)
        exponent = counts[True, False] * math.log(2 * failed) + counts[False, False] * math.log(2 * (1 - failed))
        exponent += counts[True, True] * math.log(2 * ok) + counts[False, True] * math.log(2 * (1 - ok))
        total += weight * math.exp(exponent)
    return total


def _weights(before: tuple[int, int], known: list[float]) -> list[float]:
    ok, total = before
    logs = [ok * math.log(rate) + (total - ok) * math.log(1 - rate) for rate in known]
    posterior = [math.exp(each - max(logs)) for each in logs]
    return [0.8 * each / sum(posterior) + 0.2 / len(known) for each in posterior]
