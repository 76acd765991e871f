"""Columns that a write computes from the row."""

from __future__ import annotations

from collections.abc import Callable

from ratchet.failures.features import MASKED, features_in, features_of
from ratchet.failures.signature import mask
from ratchet.records import Json, Row, text_in

PROSE = ("report", "conversation")
"""Sources that are never a program's output."""


def terms_of(row: Row) -> Json:
    """The features of the text that a lesson was learnt from; of its masked text where no other was kept."""
    said = text_in(row, "said")
    if text_in(row, "source") in PROSE:  # no stretch of it tells more than the others
        return " ".join(features_in(mask(said))) or None
    if said:
        return " ".join(features_of(said)) or None
    terms = features_in(text_in(row, "when_text"))
    return " ".join([*terms, MASKED]) if terms else None


def template_terms_of(row: Row) -> Json:
    """The features of the masked text by which a pattern is known."""
    return " ".join(features_in(text_in(row, "template"))) or None


def words_of(*names: str) -> Callable[[Row], Json]:
    """Make the words of a row by those of its fields."""

    def made(row: Row) -> Json:
        from ratchet.failures.searching import words_in  # whoever only reads pays for none

        return " ".join(words_in("\n".join(text_in(row, name) for name in names))) or None

    return made
