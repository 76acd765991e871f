"""Rows of lessons, read."""

from __future__ import annotations

from ratchet.records import Lesson, Row, record_of


def lesson_of(row: Row) -> Lesson:
    """The lesson that a row of the table `lessons` holds."""
    said = {name: value for name, value in row.items() if value is not None}
    lacking: Row = {"text": "", "signature": "", "kind": "", "tried": 0, "worked": 0}
    return record_of(Lesson, {**lacking, **said}, when=str(said.get("when_text", "")))
