"""Output of strangers' programs on a terminal: shown whole, obeyed in nothing."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from ratchet.cli.tamed import Tamed

PIECES = (
    "\x1b",
    "\x1b[",
    "\x1b[31m",
    "\x1b[0;1m",
    "\x1b[2K",
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\x9b",
    "31",
    "m",
    "ü",
    "a\n",
    "\u202e",
    "\u2066",
    "\u200f",
)


def whole(*parts: bytes) -> bytes:
    tamed = Tamed()
    return b"".join([*(tamed.said(part) for part in parts), tamed.said(b"", last=True)])


@given(st.lists(st.sampled_from(PIECES)), st.lists(st.integers(0, 60)))
def test_no_cut_of_the_stream_lets_a_command_through(pieces: list[str], cuts: list[int]) -> None:
    said = "".join(pieces).encode()
    places = [0, *sorted(min(cut, len(said)) for cut in cuts), len(said)]
    parts = [said[start:end] for start, end in zip(places, places[1:], strict=False)]
    shown = whole(*parts).decode()
    assert shown == whole(said).decode()
    rest = re.sub(r"\x1b\[[0-9;:]*[mK]", "", shown)
    assert not re.search(r"[\x00-\x07\x0b-\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", rest)


def test_plain_text_and_colours_are_as_they_were() -> None:
    assert whole("größe\tund\r\nmehr\b".encode()) == "größe\tund\r\nmehr\b".encode()
    assert whole(b"\x1b[1;31mred\x1b[K") == b"\x1b[1;31mred\x1b[K\x1b[0m"
    assert whole(b"\xff", b"\xc3", b"\xbc") == "\ufffdü".encode()


def test_what_turns_the_direction_of_text_is_spelled_and_scripts_that_run_so_are_not() -> None:
    assert whole("if \u202e{ admin }\u2066".encode()) == b"if <U+202E>{ admin }<U+2066>"
    assert whole("שלום عربي".encode()) == "שלום عربي".encode()
