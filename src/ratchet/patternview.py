"""One pattern with what it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ratchet.analysis import patterns as patterned
from ratchet.analysis.correlation import Correlation, correlations
from ratchet.memory import lessons
from ratchet.ports import Store
from ratchet.records import Pattern, outcome_of

EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternDetail:
    """A pattern, its signatures, some of its messages, and what it comes together with."""

    pattern: Pattern
    signatures: tuple[str, ...]
    examples: tuple[str, ...]
    correlated: tuple[Correlation, ...]


def detail(store: Store, pattern_id: str, *, now: float, window_s: float) -> PatternDetail:
    """One pattern whole. Raises NotFound."""
    found = patterned.pattern(store, pattern_id, now=now, window_s=window_s)
    signatures = tuple(patterned.members(store, found.id))
    return PatternDetail(
        pattern=replace(found, lessons=lessons.by_pattern(store).get(found.id, ())),
        signatures=signatures,
        examples=tuple(_examples(store, signatures)),
        correlated=tuple(correlations(store, pattern=found.id)),
    )


def _examples(store: Store, signatures: Sequence[str]) -> Iterator[str]:
    """The newest message of each of the first signatures, as it was recorded (redacted)."""
    for signature in signatures[:EXAMPLES]:
        for row in store.find("outcomes", {"signature": signature}, order=("-started_at",), limit=1).rows:
            failure = outcome_of(row).failure
            if failure is not None:
                yield failure.message
