"""Rows of what a source read: outcomes, and words that were said."""

from __future__ import annotations

from ratchet.failures.redaction.text import FOLDER, label
from ratchet.records import Outcome, Row, Saying, names_of, to_row


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


def said_row(said: Saying) -> Row:
    """The row of words that a source heard, its names redacted as an outcome's are."""
    row: Row = {name: getattr(said, name) for name in names_of(Saying)}
    for name in ("agent", "session", "thread"):
        row[name] = label(str(row[name]))
    folder = label(str(row.pop("project")), FOLDER)
    return {**row, "folder": folder}


_NAMES = ("agent", "model", "session", "thread", "unit", "source")
_NAMES_WITHIN = (("step", "tool"), ("failure", "type"), ("failure", "kind"))
