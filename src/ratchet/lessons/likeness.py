"""Finds patterns that are like a text: what failed so before, whether or not anything was learnt from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ratchet.failures.redaction.text import redact
from ratchet.lessons.finding import CANDIDATES, Sought, sought
from ratchet.lessons.ranking import Text, compare
from ratchet.records import text_in

if TYPE_CHECKING:
    from ratchet.ports import Store

LEAST, SAME = 0.5, 0.98
"""Likeness of masked texts from which a pattern is listed, and from which it is the same failure; `lessons.finding`
hands a lesson to an agent from the latter."""


def like(store: Store, text: str) -> list[tuple[str, float]]:
    """Ids of patterns whose texts are like this one, with their likeness in [0, 1], the most alike first. Raises
    StoreError."""
    asked = Sought(redact(text))
    chosen = sought(asked.features, store.spread("patterns", [*asked.features, ""]))
    rows = [row for row in store.match("patterns", chosen, limit=CANDIDATES) if not row.get("merged_into")]
    scored = [(str(row["id"]), _likeness(asked, text_in(row, "template"))) for row in rows]
    return sorted([each for each in scored if each[1] >= LEAST], key=lambda each: (-each[1], each[0]))


def _likeness(asked: Sought, template: str) -> float:
    return 1.0 if template == asked.template else compare(asked.text, Text(template))
