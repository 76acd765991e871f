"""What people wrote is found by what a question is about, however many words it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from ratchet.lessons.lessons import add
from ratchet.lessons.prose import ranked
from ratchet.store.sqlite import SqliteStore

RARE = ["".join(letters) + "qu" for letters in product("bdfg", "aio", "klmnp")]  # sixty words, each in one report
JAMS = "the printer jams when the upper tray is full"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "ratchet.db")) as held:
        for at, text in enumerate((JAMS, "a printer for the tray", *RARE)):
            add(held, when=text, do=f"advice {at}", state="active", source="report", now=float(at))
        yield held


def found(store: SqliteStore, asked: str) -> list[str]:
    return [str(each.row["said"]) for each in ranked(store, asked, {"state": "active"}, limit=3)]


def test_rare_words_of_a_long_question_hide_nothing_that_it_is_about(store: SqliteStore) -> None:
    asked = f"printer jams with a full tray\nit jams, the tray jams again: {' '.join(RARE)}"
    assert found(store, asked)[0] == JAMS


def test_what_a_question_says_more_than_once_counts_for_more(store: SqliteStore) -> None:
    one, other = RARE[:2]
    asked = "something odd\n{} {} {}"
    assert found(store, asked.format(one, one, other))[:2] == [one, other]
    assert found(store, asked.format(other, other, one))[:2] == [other, one]
