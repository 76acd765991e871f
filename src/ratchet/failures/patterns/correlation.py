"""Patterns of different agents that occur together more often than chance: a shared cause to look for.

Two units of "together", each tested on its own: the same hour, and the same session. Of those units in which both
agents ran, let the first agent's pattern occur in a, the second's in b, and both in k. If they had nothing to do with
each other, k would be hypergeometric: Fisher's exact test, one-sided (Fisher, J. R. Stat. Soc. 98, 1935). Every pair
compared is a test, so the false discovery rate is held by Benjamini & Hochberg (J. R. Stat. Soc. B 57, 1995).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
_Counts: TypeAlias = "tuple[int, int, int, int]"  # units, those of each side, and those of both
_Test: TypeAlias = "tuple[float, tuple[str, str], tuple[str, str], Unit, _Counts]"  # p, the patterns, their agents


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
        place = self.places.get(unit)
        if place is None:
            place = self.places[unit] = len(self.places)
        byte = place >> 3
        if byte >= len(bits):
            bits.extend(bytes(byte + 1 - len(bits)))
        bits[byte] |= 1 << (place & 7)


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
    """(signature, agent) -> pattern, for the `LARGEST` most frequent (pattern, agent).

    Of a pattern no agent's part is larger than the whole: those that are too small for it are never taken apart.
    """
    pattern_of = {
        str(row["signature"]): str(row["pattern"])
        for row in store.sum_by("signatures", ("signature", "pattern", "kind"), ())
        if row["kind"] not in EXCUSED
    }
    wholes: dict[str, int] = {}
    for row in store.sum_by("signature_sums", ("signature",), ("n",), {"agent": ALL}):
        pattern = pattern_of.get(str(row["signature"]))
        if pattern is not None:
            wholes[pattern] = wholes.get(pattern, 0) + whole_in(row, "n")
    asked = {*nsmallest(LARGEST, wholes, key=lambda pattern: (-wholes[pattern], pattern))}
    while True:
        counts, of = _parts(store, {name: pattern for name, pattern in pattern_of.items() if pattern in asked})
        kept = nsmallest(LARGEST, counts, key=lambda side: (-counts[side], side))
        least = counts[kept[-1]] if len(kept) == LARGEST else 0
        more = {pattern for pattern, whole in wholes.items() if whole >= least}
        if more <= asked:
            return {(signature, side[1]): side[0] for side in kept for signature in of[side]}
        asked = more


def _parts(store: Store, pattern_of: Mapping[str, str]) -> tuple[dict[_Side, int], dict[_Side, list[str]]]:
    """Count how often each agent met these patterns, and say by which signatures."""
    counts: dict[_Side, int] = {}
    of: dict[_Side, list[str]] = {}
    where: Where = {"agent": ("!=", ALL), "signature": ("in", [*pattern_of])}
    for row in store.sum_by("signature_sums", ("signature", "agent"), ("n",), where):
        signature = str(row["signature"])
        side = pattern_of[signature], str(row["agent"])
        counts[side] = counts.get(side, 0) + whole_in(row, "n")
        of.setdefault(side, []).append(signature)
    return counts, of


def _signatures(pattern_of: Mapping[tuple[str, str], str]) -> list[Json]:
    return [*dict.fromkeys(signature for signature, _ in pattern_of)]


def _compare(marks: _Marks, unit: Unit) -> tuple[list[_Test], int]:
    """The pairs that came together often enough to be worth a look, and how many were compared."""
    ran = {agent: int.from_bytes(bits, "little") for agent, bits in marks.agents.items()}
    of: dict[str, list[tuple[str, int]]] = {}
    for (pattern, agent), bits in sorted(marks.sides.items()):
        of.setdefault(agent, []).append((pattern, int.from_bytes(bits, "little")))
    found: list[_Test] = []
    compared = 0
    log_factorial = [lgamma(n + 1) for n in range(len(marks.places) + 1)].__getitem__
    for one, other in combinations(sorted(of), 2):
        compared += len(of[one]) * len(of[other])
        both = ran.get(one, 0) & ran.get(other, 0)
        units = both.bit_count()
        left, right = _frequent(of[one], both), _frequent(of[other], both)
        for pattern, mine, a in left:
            for its, theirs, b in right:
                together = (mine & theirs).bit_count()
                if together < LEAST_TOGETHER or together * units <= a * b:
                    continue
                p = _tail(log_factorial, units, a, b, together)
                if p <= FALSE_DISCOVERY_RATE:  # else no rank makes it a discovery
                    patterns, agents = zip(*sorted(((pattern, one), (its, other))), strict=True)
                    found.append((p, patterns, agents, unit, (units, a, b, together)))
    return found, compared


def _frequent(sides: Sequence[tuple[str, int]], both: int) -> list[tuple[str, int, int]]:
    """Keep the sides that occurred often enough to come together with anything, where both agents ran; count them."""
    held = ((pattern, bits & both) for pattern, bits in sides)
    return [(pattern, bits, count) for pattern, bits in held if (count := bits.bit_count()) >= LEAST_TOGETHER]


def hypergeometric_tail(units: int, a: int, b: int, at_least: int) -> float:
    """P(K >= at_least), where K of b units drawn from `units` fall among a marked ones."""
    return _tail(lambda n: lgamma(n + 1), units, a, b, at_least)


def _tail(log_factorial: Callable[[int], float], units: int, a: int, b: int, at_least: int) -> float:
    first = max(at_least, a + b - units, 0)
    if first > min(a, b):
        return 0.0

    def log_choose(n: int, k: int) -> float:
        return log_factorial(n) - log_factorial(k) - log_factorial(n - k)

    term = total = exp(log_choose(a, first) + log_choose(units - a, b - first) - log_choose(units, b))
    for k in range(first, min(a, b)):
        term *= (a - k) * (b - k) / ((k + 1) * (units - a - b + k + 1))
        total += term
        if term < total * 1e-16:
            break
    return min(1.0, total)


def _discoveries(tests: Iterable[_Test], compared: int) -> list[Correlation]:
    """Benjamini-Hochberg over all comparisons; those left out above count with p = 1."""
    ordered = sorted(tests)
    q = 1.0
    found: list[Correlation] = []
    for rank in range(len(ordered), 0, -1):
        p, patterns, agents, unit, (units, a, b, together) = ordered[rank - 1]
        q = min(q, p * compared / rank)
        if q <= FALSE_DISCOVERY_RATE:
            found.append(
                Correlation(
                    patterns=patterns,
                    agents=agents,
                    unit=unit,
                    together=together,
                    expected=round(a * b / units, 3),
                    units=units,
                    p=p,
                    q=q,
                )
            )
    return found[::-1]
