"""The chance that a race gives up a candidate that is truly better. Pure: simulated, and the same each time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from statistics import fmean, median

from ratchet.evolving.candidate import Candidate
from ratchet.gate.paired import PairedGate

GAINS = (0.05, 0.10)
_RACES = 200  # a standard error of at most 3.5 points, in half a second
_USUAL = 0.5  # share of pairs that differ, where no race has shown it


def chances_missed(candidates: Sequence[Candidate], *, mde: float, cap: int, doubt: float) -> dict[float, float]:
    """Gain -> the chance that a candidate with this true gain would not have been kept, at the bar and with the noise
    of the races that there were. Empty where nothing was raced."""
    raced = [each for each in candidates if each.pairs and each.level]
    if not raced:
        return {}
    differed = fmean(each.differed for each in raced) or _USUAL
    level = median(each.level for each in raced)
    return {gain: missed(gain, level, round(differed, 2), mde, cap, doubt) for gain in GAINS}


@lru_cache(maxsize=256)
def missed(gain: float, level: float, differed: float, mde: float, cap: int, doubt: float) -> float:
    """The chance that a race at this level gives up a candidate that wins by `gain`, where `differed` of the pairs
    differ."""
    chance = Random(0)  # noqa: S311  (no secret)
    differed = max(differed, gain)
    wins = (differed + gain) / 2
    given_up = 0
    for _ in range(_RACES):
        gate = PairedGate(level, mde, cap, doubt)
        while gate.decision == "wait":
            drawn = chance.random()
            gate.update(1.0 if drawn < wins else -1.0 if drawn < differed else 0.0)
        given_up += gate.decision == "revert"
    return given_up / _RACES
