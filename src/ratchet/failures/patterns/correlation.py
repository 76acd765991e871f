"""Patterns of different agents that occur together more often than chance: a shared cause to look for.

Two units of "together", each tested on its own: the same hour, and the same session. Of those units in which both
agents ran, let the first agent's pattern occur in a, the second's in b, and both in k. If they had nothing to do with
each other, k would be hypergeometric: Fisher's exact test, one-sided (Fisher, J. R. Stat. Soc. 98, 1935). Every pair
compared is a test, so the false discovery rate is held by Benjamini & Hochberg (J. R. Stat. Soc. B 57, 1995).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import combinations
from math import exp, lgamma
from typing import Literal, TypeAlias

from ratchet.failures.health import EXCUSED
from ratchet.failures.patterns.sums import ALL
from ratchet.ports import Store, Where
from ratchet.records import Json, whole_in

STATISTIC = "Fisher's exact test (one-sided), Benjamini-Hochberg adjusted"

FALSE_DISCOVERY_RATE = 0.05
LEAST_TOGETHER = 3
"""Together so often at the least: two coincidences are no pattern, however rare each side is."""

LARGEST = 256
"""(pattern, agent) pairs compared, the most frequent ones: at most 32,640 comparisons."""

WINDOW_S = 90 * 86_400.0
_HOUR_S = 3600

Unit = Literal["hour", "session"]
_Side: TypeAlias = "tuple[str, str]"  # pattern, agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Two patterns of two agents that come together. `p` is the chance of as many coincidences or more between
    unrelated patterns, `q` the false discovery rate at which this pair is still reported."""

    patterns: tuple[str, str]
    agents: tuple[str, str]
    unit: Unit
    together: int
    expected: float
    units: int
    p: float
    q: float
    statistic: str = STATISTIC


def correlations(store: Store, *, window_s: float = WINDOW_S, pattern: str | None = None) -> list[Correlation]:
    """Pairs that came together more often than chance in the `window_s` before the newest call, the surest first.

    With `pattern` only that one's pairs are returned; all are compared all the same, so that asking about one gives the
    same answer as asking about all. Costs a few hundred milliseconds at a million outcomes.
    """
    newest = store.sum_by("activity", (), ("max:max_at",))[0]["max:max_at"]
    if not isinstance(newest, (int, float)):
        return []
    pattern_of, start = _largest(store), newest - window_s
    hours, compared_hours = _compare(_by_hour(store, pattern_of, start), "hour")
    sessions, compared_sessions = _compare(_by_session(store, pattern_of, start), "session")
    found = _discoveries([*hours, *sessions], compared_hours + compared_sessions)
    return [each for each in found if pattern is None or pattern in each.patterns]


@dataclass(slots=True)
class _Marks:
    """In which units something occurred, as bits of one integer: two sets of 2,160 hours meet in well under 1 us."""

    places: dict[Json, int] = field(default_factory=dict)
    sides: dict[_Side, bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    agents: dict[str, bytearray] = field(default_factory=lambda: defaultdict(bytearray))

    def put(self, bits: bytearray, unit: Json) -> None:
        byte, bit = divmod(self.places.setdefault(unit, len(self.places)), 8)
        if byte >= len(bits):
            bits.extend(bytes(byte + 1 - len(bits)))
        bits[byte] |= 1 << bit


def _by_hour(store: Store, pattern_of: Mapping[tuple[str, str], str], start: float) -> _Marks:
    marks = _Marks()
    first = start // _HOUR_S
    for row in store.sum_by("activity", ("agent", "hour"), (), {"hour": (">=", first)}):
        marks.put(marks.agents[str(row["agent"])], row["hour"])
    asked: Where = {"signature": ("in", _signatures(pattern_of)), "hour": (">=", first)}
    for row in store.sum_by("tallies", ("signature", "agent", "hour"), (), asked):
        agent = str(row["agent"])
        pattern = pattern_of.get((str(row["signature"]), agent))
        if pattern is not None:
            marks.put(marks.sides[pattern, agent], row["hour"])
    return marks


def _by_session(store: Store, pattern_of: Mapping[tuple[str, str], str], start: float) -> _Marks:
    marks = _Marks()
    asked: Where = {"signature": ("in", ["", *_signatures(pattern_of)]), "max_at": (">=", start)}
    for row in store.sum_by("sightings", ("signature", "session", "agent"), (), asked):
        signature, agent = str(row["signature"]), str(row["agent"])
        if not signature:
            marks.put(marks.agents[agent], row["session"])
        elif (signature, agent) in pattern_of:
            marks.put(marks.sides[pattern_of[signature, agent], agent], row["session"])
    return marks


def _largest(store: Store) -> dict[tuple[str, str], str]:
    """(signature, agent) -> pattern, for the `LARGEST` most frequent (pattern, agent)."""
    pattern_of = {
        row["signature"]: str(row["pattern"])
        for row in store.sum_by("signatures", ("signature", "pattern", "kind"), ())
        if row["kind"] not in EXCUSED
    }
    counts: dict[_Side, int] = {}
    of: dict[_Side, list[str]] = {}
    for row in store.sum_by("signature_sums", ("signature", "agent"), ("n",), {"agent": ("!=", ALL)}):
        signature = row["signature"]
        if signature in pattern_of:
            side = pattern_of[signature], str(row["agent"])
            counts[side] = counts.get(side, 0) + whole_in(row, "n")
            of.setdefault(side, []).append(str(signature))
    kept = nsmallest(LARGEST, counts, key=lambda side: (-counts[side], side))
    return {(signature, side[1]): side[0] for side in kept for signature in of[side]}


def _signatures(pattern_of: Mapping[tuple[str, str], str]) -> list[Json]:
    return [*dict.fromkeys(signature for signature, _ in pattern_of)]


def _compare(marks: _Marks, unit: Unit) -> tuple[list[Correlation], int]:
    """The pairs that came together often enough to be worth a look, `q` still open, and how many were compared."""
    ran = {agent: int.from_bytes(bits, "little") for agent, bits in marks.agents.items()}
    of: dict[str, list[tuple[str, int]]] = {}
    for (pattern, agent), bits in sorted(marks.sides.items()):
        of.setdefault(agent, []).append((pattern, int.from_bytes(bits, "little")))
    found: list[Correlation] = []
    compared = 0
    for one, other in combinations(sorted(of), 2):
        compared += len(of[one]) * len(of[other])
        both = ran.get(one, 0) & ran.get(other, 0)
        left, right = _frequent(of[one], both), _frequent(of[other], both)
        for pattern, mine in left:
            for its, theirs in right:
                together = (mine & theirs).bit_count()
                if together < LEAST_TOGETHER:
                    continue
                units, a, b = both.bit_count(), mine.bit_count(), theirs.bit_count()
                if together * units > a * b:
                    sides = sorted(((pattern, one), (its, other)))
                    found.append(_pair(sides, unit, (units, a, b, together)))
    return found, compared


def _frequent(sides: Sequence[tuple[str, int]], both: int) -> list[tuple[str, int]]:
    """Keep the sides that occurred often enough to come together with anything, where both agents ran."""
    return [(pattern, bits & both) for pattern, bits in sides if (bits & both).bit_count() >= LEAST_TOGETHER]


def _pair(sides: Sequence[_Side], unit: Unit, counts: tuple[int, int, int, int]) -> Correlation:
    """A pair that came together more often than expected, by units, those of each side, and those of both."""
    units, a, b, together = counts
    (one, mine), (other, theirs) = sides
    return Correlation(
        patterns=(one, other),
        agents=(mine, theirs),
        unit=unit,
        together=together,
        expected=round(a * b / units, 3),
        units=units,
        p=hypergeometric_tail(units, a, b, together),
        q=1.0,
    )


def hypergeometric_tail(units: int, a: int, b: int, at_least: int) -> float:
    """P(K >= at_least), where K of b units drawn from `units` fall among a marked ones."""
    first = max(at_least, a + b - units, 0)
    if first > min(a, b):
        return 0.0
    term = total = exp(_log_chance(units, a, b, first))
    for k in range(first, min(a, b)):
        term *= (a - k) * (b - k) / ((k + 1) * (units - a - b + k + 1))
        total += term
        if term < total * 1e-16:
            break
    return min(1.0, total)


def _log_chance(units: int, a: int, b: int, k: int) -> float:
    return _log_choose(a, k) + _log_choose(units - a, b - k) - _log_choose(units, b)


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _discoveries(tests: Sequence[Correlation], compared: int) -> list[Correlation]:
    """Benjamini-Hochberg over all comparisons; those left out above count with p = 1."""
    ordered = sorted(tests, key=lambda each: (each.p, each.patterns, each.agents, each.unit))
    q = 1.0
    found: list[Correlation] = []
    for rank in range(len(ordered), 0, -1):
        q = min(q, ordered[rank - 1].p * compared / rank)
        if q <= FALSE_DISCOVERY_RATE:
            found.append(replace(ordered[rank - 1], q=q))
    return found[::-1]
