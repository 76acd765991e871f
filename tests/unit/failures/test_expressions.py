"""Expressions are the same whether they were compiled or read back."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.failures import expressions
from ratchet.failures.diagnostic_forms import FORMS
from ratchet.failures.redaction import commands, named

SOURCES = [
    r"(?i)^(?P<key>\w{1,20})\s*[:=]\s*(?P<value>[^\s\"']+)$",
    r"(?xa) [a-z]++ (?<!é) \u00e9 | \d{3,}?",
    "[\u3040-\u30ff]{3,}|(a)|(?P<last>b)",
    *[row[2] for row in FORMS],
    *[row[3] for row in named._CLASSES],
    named._GAP,
    *[row[2] for row in commands._OPTIONS],
]


@pytest.fixture(autouse=True)
def nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(expressions, "_cache", {})
    yield
    expressions.kept()


def kept_in(folder: Path) -> Path:
    expressions.keep_in(str(folder))
    for source in SOURCES:
        expressions.compiled(source)
    expressions.kept()
    expressions._cache.clear()
    return folder / f"expressions.{sys.implementation.cache_tag}"


def test_an_expression_that_is_read_back_is_the_one_that_was_compiled(tmp_path: Path) -> None:
    kept_in(tmp_path)
    expressions.keep_in(str(tmp_path))
    for source in SOURCES:
        found, own = expressions.compiled(source), re.compile(source)
        assert found == own
        assert (found.groups, dict(found.groupindex)) == (own.groups, dict(own.groupindex))
    assert expressions._shelf is not None
    assert expressions._shelf.missed == []


def test_what_was_missed_is_added_to_what_is_kept(tmp_path: Path) -> None:
    path = kept_in(tmp_path)
    size = path.stat().st_size
    expressions.keep_in(str(tmp_path))
    expressions.compiled("one[ ]more")
    expressions.kept()
    assert path.stat().st_size > size
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:200] + b"?" + data[201:], lambda _: b""])
def test_a_damaged_file_is_written_anew(tmp_path: Path, damage: object) -> None:
    path = kept_in(tmp_path)
    whole = path.read_bytes()
    assert callable(damage)
    path.write_bytes(damage(whole))
    kept_in(tmp_path)
    assert path.read_bytes() == whole


def test_the_file_of_another_python_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_in(tmp_path)
    monkeypatch.setattr(sys, "version", "another")
    expressions.keep_in(str(tmp_path))
    assert expressions.compiled(SOURCES[0]) == re.compile(SOURCES[0])
    assert expressions._shelf is not None
    assert expressions._shelf.missed == [SOURCES[0]]


def test_where_nothing_can_be_written_expressions_are_compiled(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    expressions.keep_in(str(tmp_path / "file" / "below"))
    assert expressions.compiled("a|b").fullmatch("b")
    expressions.kept()
