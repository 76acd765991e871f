"""A gated expression finds what the expression itself finds, and skips only texts in which it finds nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.failures import runner_reports, steps, unflagged
from ratchet.failures.gated import Gated, read
from ratchet.lessons.mining import refused, silencing

GATED = [
    *(each for module in (runner_reports, steps, unflagged, silencing) for each in vars(module).values()),
    *(expression for _, expression in refused.TEXTS),
]
SOURCES = [each.source for each in GATED if isinstance(each, Gated)]
PIECES = [
    "FAIL",
    "0 failed",
    " passed",
    "error: ",
    "exit status 1",
    "\n",
    " ",
    "tail",
    "2>&1",
    "|| true",
    "CI=false",
    "İ",
    "ſ",
    "x",
]


def _needles(source: str) -> tuple[frozenset[str] | None, bool]:
    return read(source)[1:]


def test_the_literals_are_those_of_which_each_way_to_match_needs_one() -> None:
    assert _needles(r"^a(?:bc|de)+f?|(?<=ghi)\d{2}|x{2}yz") == (frozenset(("bc", "de", "ghi", "yz")), False)
    assert _needles(r"(?i)ERROR \d|[a-z](?=Warn)") == (frozenset(("error ", "warn")), True)
    assert _needles(r"\d+|abc") == (None, False), "digits may stand anywhere"
    assert _needles(r"(?:abc)?|(?!abc)d*") == (None, False), "what may be left out is not needed"


@pytest.mark.parametrize("source", SOURCES)
def test_it_looks_for_literals(source: str) -> None:
    assert _needles(source)[0], source


@given(st.sampled_from(SOURCES), st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=8).map("".join))
def test_it_finds_what_the_expression_finds(source: str, text: str) -> None:
    gated, plain = Gated(source), re.compile(source)
    gated.search("")
    assert [found.span() for found in gated.finditer(text)] == [found.span() for found in plain.finditer(text)]
    assert (gated.search(text) is None) == (plain.search(text) is None)
    assert gated.sub("-", text) == plain.sub("-", text)


@pytest.mark.parametrize(("source", "text"), [("(?i)skip", "\u017fkip"), ("(?i)key", "\u212aey"), ("a|b", "")])
def test_letters_that_fold_to_others_are_found(source: str, text: str) -> None:
    gated = Gated(source)
    for _ in range(2):
        assert (gated.search(text) is None) == (re.search(source, text) is None)
