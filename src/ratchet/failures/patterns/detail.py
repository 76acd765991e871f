"""One pattern with what it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ratchet.failures.patterns import patterns as patterned
from ratchet.failures.patterns.correlation import Correlation, correlations
from ratchet.ports import Store, Where
from ratchet.records import Outcome, Pattern, number_in, outcome_of, text_in, whole_in

EXAMPLES = 3
RECENT = 20
MENDED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternDetail:
    """A pattern, its signatures, some of its messages, and what it comes together with."""

    pattern: Pattern
    signatures: tuple[str, ...]
    examples: tuple[str, ...]
    correlated: tuple[Correlation, ...]
    days: tuple[tuple[float, int], ...] = ()
    """Failures a day, oldest first, as (when the day began in Unix seconds, how many); empty days are left out."""
    recent: tuple[Outcome, ...] = ()
    """Its newest failures."""
    mended: tuple[tuple[Outcome, Outcome], ...] = ()
    """Its newest failures that a later step mended, each with that step."""


def detail(
    store: Store, pattern_id: str, *, now: float, window_s: float, known: Sequence[Correlation] | None = None
) -> PatternDetail:
    """One pattern whole, without its lessons; `known` are all correlations, where somebody has them. Raises
    NotFound."""
    found = patterned.pattern(store, pattern_id, now=now, window_s=window_s)
    signatures = tuple(patterned.members(store, found.id))
    known = correlations(store) if known is None else known
    return PatternDetail(
        pattern=found,
        signatures=signatures,
        examples=tuple(_examples(store, signatures)),
        correlated=tuple(each for each in known if found.id in each.patterns),
        days=tuple(_days(store, signatures)),
        recent=tuple(_recent(store, signatures)),
        mended=tuple(_mended(store, signatures)),
    )


def _mended(store: Store, signatures: Sequence[str]) -> Iterator[tuple[Outcome, Outcome]]:
    where: Where = {"signature": ("in", [*signatures])}
    rows = [row for row in store.find("resolutions", where).rows if row.get("worked")]
    newest = sorted(rows, key=lambda row: -number_in(row, "at"))[:MENDED]
    for row in newest:
        failed, worked = (store.get("outcomes", text_in(row, name)) for name in ("failed_id", "worked_id"))
        if failed is not None and worked is not None:  # retention may have taken either
            yield outcome_of(failed), outcome_of(worked)


def _days(store: Store, signatures: Sequence[str]) -> Iterator[tuple[float, int]]:
    tallied: dict[int, int] = {}
    for row in store.sum_by("tallies", ("hour",), ("n",), {"signature": ("in", [*signatures])}):
        day = whole_in(row, "hour") // 24
        tallied[day] = tallied.get(day, 0) + whole_in(row, "n")
    for day, count in sorted(tallied.items()):
        yield day * 86_400.0, count


def _recent(store: Store, signatures: Sequence[str]) -> Iterator[Outcome]:
    rows = [
        row  # of each signature by itself, as the index has them
        for each in signatures
        for row in store.find("outcomes", {"signature": each}, order=("-started_at",), limit=RECENT).rows
    ]
    newest = sorted(rows, key=lambda row: (-number_in(row, "started_at"), text_in(row, "id")))
    yield from map(outcome_of, newest[:RECENT])


def _examples(store: Store, signatures: Sequence[str]) -> Iterator[str]:
    """The newest message of each of the first signatures, as it was recorded (redacted)."""
    for signature in signatures[:EXAMPLES]:
        for row in store.find("outcomes", {"signature": signature}, order=("-started_at",), limit=1).rows:
            failure = outcome_of(row).failure
            if failure is not None:
                yield failure.message
