"""Rows of outcomes that a source read."""

from __future__ import annotations

from ratchet.failures.redaction.text import FOLDER, label
from ratchet.records import Outcome, Row, to_row


def row_of(outcome: Outcome) -> Row:
    """The row of an outcome that a source read. Texts are redacted where they are read; names are here: a history may
    call a session by an e-mail address, or a model by a URL with a password."""
    row = to_row(outcome)
    for name in _NAMES:
        if row.get(name):
            row[name] = label(str(row[name]))
    if row.get("project"):
        row["project"] = label(str(row["project"]), FOLDER)
    for parent, name in _NAMES_WITHIN:
        held = row.get(parent)
        if isinstance(held, dict) and held.get(name):
            row[parent] = {**held, name: label(str(held[name]))}
    return row


_NAMES = ("agent", "model", "session", "thread", "unit", "source")
_NAMES_WITHIN = (("step", "tool"), ("failure", "type"), ("failure", "kind"))
