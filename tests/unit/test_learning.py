"""Reading history files into the store: odd names and odd contents cost themselves."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ratchet import Ratchet


def test_a_file_whose_name_is_no_utf_8_is_read_once_and_its_bad_line_is_named(home: Path, tmp_path: Path) -> None:
    folders = [os.path.join(os.fsencode(tmp_path), name) for name in (b"in\xff", b"in\xfe")]
    for number, folder in enumerate(folders):
        try:
            os.makedirs(folder)
        except OSError:
            pytest.skip("this file system takes UTF-8 names only")
        run = json.dumps({"task": f"t{number}", "success": False, "error": "Error: the frobnicator broke"})
        with open(os.path.join(folder, b"x.jsonl"), "w") as file:
            file.write(f"{run}\nno json\n")
    with Ratchet(home=home) as ratchet:
        first = ratchet.learn(*map(os.fsdecode, folders))
        assert (first.files, first.outcomes, len(first.quarantined)) == (2, 2, 2)
        again = ratchet.learn(*map(os.fsdecode, folders))
        assert (again.outcomes, len(again.quarantined)) == (0, 0)
        assert len(list(ratchet.outcomes())) == 2


def test_a_question_in_text_that_is_no_utf_8_is_answered(home: Path) -> None:
    with Ratchet(home=home) as ratchet:
        ratchet.record("a", error="boom")
        assert list(ratchet.outcomes(agent="\ud800")) == []
        assert ratchet.patterns(agent="\udcff") == []
        assert ratchet.recall("\ud800 boom").abstained
