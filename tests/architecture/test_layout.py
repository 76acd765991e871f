"""The map: a newcomer meets few names, and what the code says of folders is true."""

from __future__ import annotations

import re
from pathlib import Path

import ratchet
from ratchet.sandbox import interpreter

PACKAGE = Path(ratchet.__file__).parent
MOST_NAMES = 34


def test_a_newcomer_meets_few_names() -> None:
    names = sorted(path.name for path in PACKAGE.iterdir() if path.name != "__pycache__")
    assert len(names) <= MOST_NAMES, names


def test_the_folders_that_hide_answers_are_there() -> None:
    missing = [folder for folder in interpreter.ANSWERS if not Path(folder).is_dir()]
    assert not missing, "a folder that was moved shows its answers to every command"


def test_every_package_says_in_a_sentence_what_it_is_for() -> None:
    for path in sorted(PACKAGE.rglob("__init__.py")):
        if {"library", "core", "agent"} & set(path.relative_to(PACKAGE).parts):
            continue  # programs under test
        assert path.read_text().startswith('"""'), path


def test_the_page_that_says_where_things_are_names_what_is_there() -> None:
    page = (PACKAGE.parent.parent / "docs" / "explanation" / "where-is-it.md").read_text()
    for row in (line for line in page.splitlines() if line.startswith("|")):
        named = [name for name in re.findall(r"`([\w/.]+)`", row) if "/" in name or name.endswith(".py")]
        folders = ["", *{str(Path(name).parent) for name in named}, "failures/kinds", "sandbox"]
        for name in named:
            roots = [PACKAGE.parent.parent, *(PACKAGE / folder for folder in folders)]
            assert any((root / name).exists() for root in roots), f"{name} is not there: {row}"


def test_a_table_that_the_page_names_stands_in_its_file() -> None:
    page = (PACKAGE.parent.parent / "docs" / "explanation" / "where-is-it.md").read_text()
    named = re.findall(r"`([A-Z_]+)` (?:of|in) `([\w/]+\.py)`", page)
    assert named
    for name, file in named:
        assert re.search(rf"^{name}\b", (PACKAGE / file).read_text(), flags=re.MULTILINE), f"{name} is not in {file}"
