"""Prefilters of redaction: where one says no, its expression finds nothing."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import ratchet
from ratchet.failures.expressions import compiled
from ratchet.failures.intent import commands
from ratchet.failures.redaction import diffs, forms, named, providers, text

REAL = [
    part
    for path in (
        Path(__file__).parent / "tool_outputs.txt",
        *sorted((Path(ratchet.__file__).parent / "demo" / "history").glob("*.jsonl")),
    )
    for part in re.split(r"(?<=\n)", path.read_text(encoding="utf-8"))
]
PIECES = (
    *("+", "-", "+ ", "- ", "@@ 1 1", "\n", "\\n", "\\", "\x1b[31m", "m", " ", "a", "\r", "@", ".", "=", ":", '"', "'"),
    *("4111", "1111", "12345678", "\u00a0", "\u0661", "\ud83d", "vercel", "anthropic key", "x7Kq9Zp2Lm4Tv8", "session"),
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=24).map("".join),
    st.lists(st.sampled_from(REAL), max_size=3).map("".join),
)


def _holds(given_text: str) -> None:
    signed = compiled(text._SIGNED).search(given_text) or compiled(text._CHANGE).fullmatch(given_text)
    assert text._is_diff(given_text) is (signed is not None)
    digits = sum(each in "0123456789" for each in given_text)
    assert digits >= forms._FEWEST or forms._four_digits_in(given_text) is None
    if not any(map(providers._is_bare_key, compiled(providers._BARE).findall(given_text))):
        assert compiled(providers._BESIDE_KIND).sub(providers._hidden_beside_kind, given_text) == given_text
    assert diffs._pieces(given_text) == compiled(diffs._LINE_END).split(given_text)


@given(TEXTS)
def test_what_a_prefilter_passes_over_holds_nothing(given_text: str) -> None:
    _holds(given_text)


def test_nor_does_what_real_tools_and_agents_wrote() -> None:
    for part in REAL:
        _holds(part)


WORDS = st.lists(
    st.sampled_from((" ", "ab", "-", "->", ">", ":", "is", "=", "x.", '"', "(", "9", "," * 2)), max_size=40
)


@given(st.one_of(WORDS.map("".join), TEXTS.map(str.lower)))
def test_words_behind_a_name_are_those_that_a_way_back_would_find(low: str) -> None:
    once = r"(?:[\w@.)\]\x80-\uffff]|-(?!>)){0,24}+"
    again = named._GAP.replace(once, r"[\w@.)\]\x80-\uffff-]{0,24}").replace("{1,80}+[", "{1,80}[")
    assert again != named._GAP
    for at in range(len(low)):
        found, wanted = (compiled(each).match(low, at) for each in (named._GAP, again))
        assert (found and found.regs) == (wanted and wanted.regs)


def test_a_command_that_is_remembered_cannot_be_changed() -> None:
    asked = "cd here && make test | tail -3"
    first = commands(asked)
    first[0][0].append("gone")
    assert commands(asked) == [(["cd", "here"], False), (["make", "test"], False), (["tail", "-3"], True)]
