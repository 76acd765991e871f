"""What a person hands over as a report or a conversation is found by its words, and is never sure."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet import Ratchet


def test_a_report_is_listed_for_who_asks_and_told_to_no_agent(tmp_path: Path) -> None:
    said = "Export of large invoices hangs\nWhen the folder holds thousands of invoices the export never ends."
    with Ratchet(home=tmp_path) as ratchet:
        kept = ratchet.lessons.add(when=said, do="split the export", state="active", scope="global", source="report")
        found = ratchet.recall("the export of our invoices never ends")
    assert kept.state == "active"
    assert not found.lessons
    assert [each.id for each in found.possibly] == [kept.id]


def talk(ratchet: Ratchet, name: str, said: str) -> str:
    return ratchet.lessons.add(when=said, do=f"see {name}", state="active", scope="global", source="conversation").id


@pytest.mark.parametrize(
    "asked",
    ["Which paintings did Ann study?", "Ann studied what painter?", "what is Ann painting, and studying"],
)
def test_words_are_found_in_whatever_number_and_tense_they_are_asked_for(tmp_path: Path, asked: str) -> None:
    with Ratchet(home=tmp_path) as ratchet:
        wanted = talk(ratchet, "one", "Ann: I study each painting of a Dutch master\nBob: which of them?")
        for number in range(5):
            talk(ratchet, f"other{number}", f"Ann: the pot number {number} is hot\nBob: which of them did you wash?")
        assert next(each.id for each in ratchet.recall(asked).possibly) == wanted


def test_a_number_that_the_index_masks_tells_one_conversation_from_another(tmp_path: Path) -> None:
    others = ("We cooked lentils beside a river", "Grandfather sold his tractor", "Rain drummed upon canvas all night")
    with Ratchet(home=tmp_path) as ratchet:
        ids = {
            year: talk(ratchet, str(year), f"Ann: our camp of {year}\nBob: {other}")
            for year, other in zip((2018, 2020, 2023), others, strict=True)
        }
        found = {year: next(each.id for each in ratchet.recall(f"the camp in {year}").possibly) for year in ids}
    assert found == ids


def test_the_middle_of_a_long_conversation_is_found_as_well(tmp_path: Path) -> None:
    turns = [f"Ann: we talked about the weather of day {number} for a long while" for number in range(90)]
    turns[45] = "Bob: the zeppelin lands on the meadow"
    with Ratchet(home=tmp_path) as ratchet:
        wanted = talk(ratchet, "long", "\n".join(turns))
        talk(ratchet, "other", "Ann: nothing lands here, said the farmer\nBob: and no meadow either")
        assert ratchet.recall("where did the zeppelin land").possibly[0].id == wanted
