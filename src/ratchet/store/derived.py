"""Columns that a write computes from the row."""

from __future__ import annotations

from ratchet.failures.features import MASKED, features_in, features_of
from ratchet.records import Json, Row, text_in


def terms_of(row: Row) -> Json:
    """The features of the text that a lesson was learnt from; of its masked text where no other was kept."""
    said = text_in(row, "said")
    if said:
        return " ".join(features_of(said)) or None
    terms = features_in(text_in(row, "when_text"))
    return " ".join([*terms, MASKED]) if terms else None
