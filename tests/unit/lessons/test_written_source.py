"""What a person hands over as a report or a conversation is found by its words, and is never sure."""

from __future__ import annotations

from pathlib import Path

from ratchet import Ratchet


def test_a_report_is_listed_for_who_asks_and_told_to_no_agent(tmp_path: Path) -> None:
    said = "Export of large invoices hangs\nWhen the folder holds thousands of invoices the export never ends."
    with Ratchet(home=tmp_path) as ratchet:
        kept = ratchet.lessons.add(when=said, do="split the export", state="active", scope="global", source="report")
        found = ratchet.recall("the export of our invoices never ends")
    assert kept.state == "active"
    assert not found.lessons
    assert [each.id for each in found.possibly] == [kept.id]
