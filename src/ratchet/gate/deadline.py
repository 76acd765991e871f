"""Bet on a lesson's effect so that it is found by a deadline. Pure; valid whenever one looks.

A bet that grows fastest in the long run is the wrong one for a person who has 250 sessions: it reaches its threshold
late, or far above it. Who wants to own a given sum by a given day stakes most where little is left of either (Browne,
"Reaching goals by a deadline", Advances in Applied Probability 1999): in Gaussian terms the wealth is the conditional
probability of a fixed-sample test, so that its power is nearly that test's. Here only the size of each bet comes from
there. A unit with arm A (1 = shown, by a coin of probability pi), success Y and expected success m multiplies the
wealth by

    1 + k ((A - pi)(Y - m) - pi (1 - pi) d)

whose mean is at most 1 while the effect is at most d, whatever k and m were chosen from earlier units, since A is
independent of what would have happened. So the wealth reaches 1/alpha with probability at most alpha (Ville).

m may know all that was known before the coin fell: here how failures of the same command ended before there were
lessons (`expectations`, written down with the coin), and what units since then gained upon that, by command and
pattern. What it explains no longer blurs the effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log1p, sqrt
from typing import NamedTuple

from ratchet.gate.effects import Effect, e_value, effect_of, spanned, tally

HELPS_ALPHA, HARMS_ALPHA = 0.045, 0.005
"""How the 5 % chance of calling an effect that is none is dealt out: people wait for the proof that lessons help; one
that harms is retired by itself, by a test of its own (`CanaryTest`)."""
PROVEN = 20.0  # evidence from which on fewer units go without (Ville: reached by luck in 1 of 20 at most)
AIMED_FROM, AIMED_SHARE, AIMED_TIMES = 20, 0.5, 2.5
LEAST_SHARE = 0.1
ARM_UNITS = 10
"""Units of an arm of one pattern below which it is short."""
AIMED_WEIGHT = 0.975
"""Of the evidence that stands on the deadline; the rest stays for effects that take thousands of units."""
DEADLINE_UNITS = 250
_OVER = 1.1  # times the sum wanted is aimed at: it is then reached before the last unit where the effect is large
_STAKE = 0.95  # the most of its wealth that a bet may lose on one unit
_WIDEST = 0.5  # effects beyond 50 points are not asked about: smaller bets would be needed for that
_PULL = (
    12.0  # units' worth of the wider average in each expectation: with 4, chance that is learnt costs 5 points of power
)
_PULLS = 2.0, _PULL, _PULL  # of the levels of an expectation, widest first
# Where failures before all lessons told: lessons lift commands by some 5 points more or less than all, .23 / .05 ** 2.
_PULLS_KNOWN = 12.0, 100.0, 100.0
_NEWEST = 0.04  # of a unit in the variance that is expected of those to come
_LEAST = 0.02  # no success is expected more surely than that: a bet is sized by its variance


class Met(NamedTuple):
    """One unit, in the order of its exposure: what the coin did, what came of it, and what was known before: `pattern`
    and `head` (the command that it is about), and `expected`, the success that failures of that command had without
    lessons (None: nobody knew)."""

    share: float
    shown: bool
    ok: bool
    pattern: str = ""
    head: str = ""
    expected: float | None = None


def expectations(ended: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    """The success to expect of each command's failures, and of any ("") other's: of (how many there were, how many were
    overcome) while nobody was told anything. Empty where there were none."""
    met, overcome = (sum(counts) for counts in zip(*ended.values(), strict=True)) if ended else (0, 0)
    if not met:
        return {}
    usual = (overcome + 1.0) / (met + 2.0)
    return {"": usual} | {head: (ok + _PULL * usual) / (n + _PULL) for head, (n, ok) in ended.items()}


class Expected:
    """Expects a unit's success from what was known of it, and from what those before it gained upon that."""

    def __init__(self) -> None:
        self._gained: dict[tuple[bool | str, ...], list[float]] = {}

    def of(self, unit: Met) -> float:
        gain = 0.0
        for key, pull in zip(_levels(unit), _PULLS if unit.expected is None else _PULLS_KNOWN, strict=True):
            gained, n = self._gained.get(key, (0.0, 0.0))
            gain = (gained + pull * gain) / (n + pull)
        return min(max(_known(unit) + gain, _LEAST), 1 - _LEAST)

    def add(self, unit: Met) -> None:
        for key in _levels(unit):
            held = self._gained.setdefault(key, [0.0, 0.0])
            held[0] += unit.ok - _known(unit)
            held[1] += 1


def _levels(unit: Met) -> tuple[tuple[bool | str, ...], ...]:
    """The wider averages that a unit's expectation is drawn to, widest first."""
    told = unit.expected is not None
    return (told,), (told, unit.head), (told, unit.head, unit.pattern)


def _known(unit: Met) -> float:
    return 0.5 if unit.expected is None else unit.expected


class DeadlineBet:
    """Evidence that showing raises success (`better=False`: lowers it), aimed at 1/`alpha` within `units`."""

    def __init__(self, *, alpha: float, better: bool = True, units: int = DEADLINE_UNITS) -> None:
        self._goal = _OVER / alpha
        self._sign = 1.0 if better else -1.0
        self._left = units
        self._wealth = 1.0
        self._variance = 0.0  # of a success, as expected of the units to come
        self._expected = Expected()
        self._placed: list[tuple[float, float, float]] = []  # (k, gain, pi (1 - pi)) of each bet

    def update(self, unit: Met) -> None:
        """Take one more unit. Those without a coin teach what to expect, and carry no evidence."""
        expected = self._expected.of(unit)
        if 0 < unit.share < 1 and self._left > 0:
            self._place(unit, expected)
            self._left -= 1
        self._expected.add(unit)

    def _place(self, unit: Met, expected: float) -> None:
        spread = unit.share * (1 - unit.share)
        gains = [self._sign * (arm - unit.share) * (ok - expected) for arm in (0, 1) for ok in (0, 1)]
        # What is left is units like those before, whatever this one is: equal log-odds want equal stakes.
        newest = max(_NEWEST, 1 / (len(self._placed) + 1))
        self._variance += newest * (expected * (1 - expected) - self._variance)
        size = self._size(spread * self._variance)
        size = min(size, _STAKE / (_WIDEST * spread - min(gains)))
        gain = self._sign * (unit.shown - unit.share) * (unit.ok - expected)
        self._placed.append((size, gain, spread))
        self._wealth *= 1 + size * gain

    def _size(self, variance: float) -> float:
        """The slope of the wealth that a fixed-sample test would have, per unit of evidence."""
        from statistics import NormalDist  # 10 ms, for those who have units at all

        normal = NormalDist()
        reached = min(self._wealth / self._goal, 1 - 1e-9)
        if reached < 1e-9:  # ruined: what is left cannot reach it
            return 0.0
        return normal.pdf(normal.inv_cdf(reached)) / (reached * sqrt(self._left * variance))

    def e_value(self, effect: float = 0.0) -> float:
        """Evidence against "the difference never exceeds `effect`" (of the other direction: "is never below it")."""
        if not effect:
            return self._wealth
        against = self._sign * effect
        if against > _WIDEST:
            return 0.0
        against = max(against, -_WIDEST)
        logs = sum([log1p(size * (gain - against * spread)) for size, gain, spread in self._placed])
        return exp(logs) if logs < 700 else float("inf")


class EffectEvidence:
    """Evidence of units about their effect, in both directions; what `spanned` asks."""

    def __init__(self, units: Sequence[Met]) -> None:
        self.tallies = tally((unit.share, unit.shown, unit.ok) for unit in units)
        self._bets = {
            better: DeadlineBet(alpha=alpha * AIMED_WEIGHT, better=better)
            for better, alpha in ((True, HELPS_ALPHA), (False, HARMS_ALPHA))
        }
        for unit in units:
            for bet in self._bets.values():
                bet.update(unit)

    def __call__(self, effect: float = 0.0, better: bool = True) -> float:
        """Evidence against "the difference never exceeds `effect`" (`better=False`: "is never below it"): the wealth of
        one who stakes most of it on the deadline, the rest as if there were none."""
        open_ended = e_value(self.tallies, effect=effect, better=better)
        return AIMED_WEIGHT * self._bets[better].e_value(effect) + (1 - AIMED_WEIGHT) * open_ended


def measured(units: Sequence[Met]) -> Effect:
    """The effect on units in the order of their exposure: found as soon as it can be, and valid whenever one looks. Its
    95 % interval errs on the low side in at most 4.5 % and on the high side in at most .5 % of all experiments."""
    evidence = EffectEvidence(units)
    return effect_of(evidence.tallies, spanned(evidence, 1 / HELPS_ALPHA, 1 / HARMS_ALPHA), evidence())


def withheld_share(evidence: float, tossed: int, *, share: float, proven_share: float) -> float:
    """The share of new units to withhold: `share`, while no answer is in sight; up to half of them, where a question is
    open and the withheld arm is what its answer waits for; `proven_share` (never more than `share`) once lessons are
    proven to help. `tossed` units had a coin so far. The choice looks at the past only, so that nothing is less valid.

    A home with few sessions proves nothing whatever it withholds; from `AIMED_FROM` units on it pays, up to the
    deadline. A probability below `LEAST_SHARE` would tell nothing in that time.
    """
    if evidence > PROVEN:
        return min(share, proven_share)
    if share and AIMED_FROM <= tossed < DEADLINE_UNITS:
        return raised(share)
    return share


def aimed_share(shown: int, withheld: int, *, share: float) -> float | None:
    """The share to withhold of one pattern's units, given how many of them each arm had, where one arm is short beside
    the other; None where none is. Without it, single lessons that are learnt late never have a control of their own."""
    if not share or shown + withheld < ARM_UNITS or min(shown, withheld) >= ARM_UNITS:
        return None
    if 2 * withheld < shown:
        return raised(share)
    return LEAST_SHARE if 2 * shown < withheld else None


def raised(share: float) -> float:
    """The share to withhold where a question is open, or an arm is short; `share` where that is 0."""
    return share and max(share, LEAST_SHARE, min(AIMED_SHARE, AIMED_TIMES * share))
