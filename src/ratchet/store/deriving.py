"""Compare what is only computed from other rows with those, and make it anew.

Code that is older than a table of sums, and is still running after an upgrade, writes rows and leaves out their sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ratchet.failures.patterns.sums import ALL
from ratchet.records import Json, number_in, text_in, whole_in
from ratchet.store.derived import template_terms_of
from ratchet.store.kept_texts import Executing, keep_terms
from ratchet.store.sums import HOURS, fill_sums

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

_AGAIN = 2
_Counted = Counter[tuple[Json, ...]]


def derive(connection: Executing, mark: str) -> None:
    """Make all of it anew; inside a transaction."""
    fill_sums(connection, mark)
    keep_terms(connection, mark)


def differing(store: Store) -> tuple[str, ...]:
    """Name what does not agree with the rows that it is computed from. Changes nothing; reads what is summed up once,
    and compares whole numbers alone, by signature, hour or day. What differs is looked at again: somebody may have
    written between two questions. Raises StoreError."""
    found = tuple(_differing(store))
    for _ in range(_AGAIN if found else 0):
        again = {*_differing(store)}
        found = tuple(each for each in found if each in again)
    return found


def _differing(store: Store) -> Iterator[str]:
    def counted(table: str, by: str, *sums: str, unit: int = 1, where: Where | None = None) -> _Counted:
        """(the column or its unit, number of the sum) -> what it comes to."""
        found: _Counted = Counter()
        for row in store.sum_by(table, (by,), sums, where):
            place = row[by] if unit == 1 else whole_in(row, by) // unit
            for number, name in enumerate(sums):
                found[place, number] += int(number_in(row, name))
        return +found

    all_agents = {"agent": ALL}
    tallied = ("signature", "n", "tokens")
    if counted("signature_sums", *tallied, where=all_agents) != counted("tallies", *tallied):
        yield "sums of patterns"
    met = counted("sightings", "signature", "distinct:session", where={"signature": (">", "")})
    if counted("signature_sums", "signature", "sessions", where=all_agents) != met:
        yield "sessions of patterns"
    if counted("kind_tallies", "hour", "n") != counted("tallies", "hour", "n"):
        yield "sums of kinds"
    ended = ("failures", "excused", "tokens")
    facts = counted("facts", "hour", "steps", *ended, unit=HOURS, where={"finding": ""})
    if counted("fact_days", "day", "calls", *ended, where={"by": "hour"}) != facts:
        yield "days of what failed"
    spent = ("calls", "given", "stored", "cached", "made")
    if counted("spending_days", "day", *spent, where={"by": "model"}) != counted(
        "spending", "hour", *spent, unit=HOURS
    ):
        yield "days of spending"
    lost = store.find("patterns", {"terms": None}).rows
    if any(text_in(row, "template") and template_terms_of(row) for row in lost):
        yield "terms of patterns"
