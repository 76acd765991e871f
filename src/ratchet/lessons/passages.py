"""Finds the passages of a long text that read like something remembered, where nothing need be marked as an error.

The stretch where errors stand densest (`features.telling_of`) is not what was meant where other output speaks of such
too, and "File does not exist." among two hundred lines bears no mark at all. So the lines that say most of what is
known are looked up one by one, and of each memory found the run of lines is taken that is nearest to it by jK
(`lessons.finding`). What was found is judged afterwards like any text that was asked about by itself.
Lean: hook processes import this.
"""

from __future__ import annotations

from ratchet.failures.excerpt import marks_of, plain
from ratchet.failures.features import LONG, MASKED, features_in
from ratchet.failures.signature import mask
from ratchet.lessons.finding import rarity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ratchet.records import Row

    Spread = Callable[[Sequence[str]], Mapping[str, int]]
    Near = Callable[[Mapping[str, float], int], Sequence[Row]]

PASSAGES = 3  # that are judged, besides the stretch where errors stand
LOOKED_UP = 32  # lines by which memories are searched
_OF_A_LINE = 12  # features of a line by which they are
_CANDIDATES = 6  # memories of a line
_MOST = 600  # lines that are read, half of them from either end
_APART = 3  # lines without a mark end a passage of error lines
_AROUND = 2  # lines in front of it: what was run
_LEAST = 0.2  # of jK: less is no passage about the memory
_ROUNDS = 3  # a run of lines settles in two or three


def passages(text: str, spread: Spread, near: Near) -> list[str]:
    """The passages of a text longer than `LONG`: its error lines, then those nearest to a memory. `near`
    finds the memories with most of some features, by weight."""
    text = plain(text)
    if len(text) <= LONG:
        return []
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > _MOST:
        lines = [*lines[: _MOST // 2], *lines[-_MOST // 2 :]]
    read = _Lines(lines, spread)
    found: dict[tuple[int, int], float] = {}
    for place, close in read.nearest([str(row.get("terms") or "").split() for row in read.remembered(near)]):
        if close >= _LEAST:
            found[place] = max(close, found.get(place, 0.0))
    marked = _marked(lines)
    chosen: list[tuple[int, int]] = [marked] if marked else []
    for first, last in sorted(found, key=lambda place: (-found[place], place)):
        if all(last <= start or end <= first for start, end in chosen):
            chosen.append((first, last))
    return ["\n".join(lines[first:last]) for first, last in chosen[: PASSAGES + 1]]


class _Lines:
    """The features of each line with their rarity."""

    def __init__(self, lines: list[str], spread: Spread) -> None:
        masked = mask("\n".join(lines)).split("\n")
        self.lines = [features_in(line) for line in (masked if len(masked) == len(lines) else map(mask, lines))]
        self.places: dict[str, list[int]] = {}
        for at, features in enumerate(self.lines):
            for term in features:
                self.places.setdefault(term, []).append(at)
        self.counts = spread([*self.places, ""])
        self.weights = {term: rarity(self.counts, term) for term in self.places}
        self.whole = [sum([self.weights[term] for term in features]) for features in self.lines]
        self.spread = spread

    def remembered(self, near: Near) -> list[Row]:
        """Memories that share most with the lines that say most of what is known: what many lines say tells little."""
        known = [[term for term in features if term in self.counts] for features in self.lines]
        said = [sum([self.weights[term] / len(self.places[term]) for term in features]) for features in known]
        mass = [sum([self.weights[term] for term in features]) for features in known]
        told = [one * two / (own or 1.0) for one, two, own in zip(said, mass, self.whole, strict=True)]
        rows: dict[str, Row] = {}
        for at in sorted(range(len(told)), key=lambda at: (-told[at], at))[:LOOKED_UP]:
            rarest = sorted(known[at], key=lambda term: (-self.weights[term], term))[:_OF_A_LINE]
            if rarest:
                rows.update((str(row["id"]), row) for row in near({t: self.weights[t] for t in rarest}, _CANDIDATES))
        return list(rows.values())

    def nearest(self, memories: Sequence[Sequence[str]]) -> list[tuple[tuple[int, int], float]]:
        """Of each memory that can be near enough, the run of lines that has most in common with it, and how much by jK.

        A ratio of sums is the greatest where the sum of numerator less ratio times denominator is (Dinkelbach 1967),
        and that is a run of greatest sum.
        """
        others = {term for terms in memories for term in terms if term not in self.weights and term != MASKED}
        counts = {"": self.counts.get("", 0), **self.spread([*others])}
        weights = {**{term: rarity(counts, term) for term in others}, **self.weights}
        found = []
        for terms in memories:
            known = {term for term in terms if term != MASKED}
            total = sum([weights[term] for term in known])
            shared = [term for term in known if term in self.places]
            if sum([weights[term] for term in shared]) >= _LEAST * total:
                found.append(self._nearest(known, shared, total))
        return found

    def _nearest(self, known: set[str], shared: Sequence[str], total: float) -> tuple[tuple[int, int], float]:
        common = [0.0] * len(self.lines)
        for term in shared:
            for at in self.places[term]:
                common[at] += self.weights[term]
        best, close = (0, 0), 0.0
        for _ in range(_ROUNDS):
            run = _greatest([both * (1 + close) - close * own for both, own in zip(common, self.whole, strict=True)])
            near = self._close(run, known, total)
            if near <= close:
                break
            best, close = run, near
        return best, close

    def _close(self, run: tuple[int, int], known: set[str], total: float) -> float:
        said = {term for features in self.lines[run[0] : run[1]] for term in features}
        own = sum([self.weights[term] for term in said])
        common = sum([self.weights[term] for term in said if term in known])
        whole = own + total - common
        return common / whole if whole > 0 else 0.0


def _marked(lines: list[str]) -> tuple[int, int] | None:
    """The run of error lines with most marks, none too far from the next; of equals the last."""
    best, chosen = 0, None
    start = end = held = 0
    for at, mark in enumerate(marks_of(lines)):
        if not mark:
            continue
        if held == 0 or at - end > _APART:
            start, held = at, 0
        held, end = held + mark, at + 1
        if held >= best:
            best, chosen = held, (max(0, start - _AROUND), end + 1)
    return chosen


def _greatest(gains: Sequence[float]) -> tuple[int, int]:
    """The run with the greatest sum."""
    best = held = 0.0
    start, found = 0, (0, 0)
    for at, gain in enumerate(gains):
        if held <= 0.0:
            held, start = 0.0, at
        held += gain
        if held > best:
            best, found = held, (start, at + 1)
    return found
