"""Styled text: plain where nobody looks, broken between words where somebody does."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.cli.terminal import Console, Styled


def printed(text: str | Styled, **environ: str) -> str:
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
        for name in ("FORCE_COLOR", "NO_COLOR", "TERM", "COLUMNS"):
            patch.delenv(name, raising=False)
        for name, value in environ.items():
            patch.setenv(name, value)
        Console().print(text)
    return out.getvalue()


def test_colours_are_for_terminals() -> None:
    said = Styled("red", "bold red").append(" plain").append(Styled(" dim", "dim"))
    assert printed(said) == "red plain dim\n"
    assert printed(said, FORCE_COLOR="1") == "\x1b[1;31mred\x1b[0m plain\x1b[2m dim\x1b[0m\n"
    assert printed(said, FORCE_COLOR="1", NO_COLOR="1") == "red plain dim\n"
    assert printed(said, FORCE_COLOR="1", TERM="dumb") == "red plain dim\n"


def test_what_would_command_the_terminal_is_not_printed() -> None:
    assert printed(Styled("a\x1b[2J\x07b\x9bc\r\nd")) == "a[2Jbc\nd\n"


def test_a_script_finds_a_line_whole_and_a_person_reads_words_whole() -> None:
    long = "one two three four"
    assert printed(long, COLUMNS="9") == f"{long}\n"
    assert printed(long, COLUMNS="9", FORCE_COLOR="1").split("\n") == ["one two", "three", "four", ""]


def test_spaces_stay_where_a_line_is_not_broken() -> None:
    said = Styled("  ", "dim").append(" a", "bold").append("  b \n  c ")
    assert [str(line) for line in said.wrap(80)] == ["   a  b", "  c "]


def test_wide_letters_take_two_columns() -> None:
    assert Styled("日本").cell_len == 4
    assert [str(line) for line in Styled("日本語").wrap(4)] == ["日本", "語"]


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp", "Mn"))), st.integers(2, 9)
)
def test_lines_are_never_wider_and_no_letter_is_lost(text: str, width: int) -> None:
    lines = Styled(text).wrap(width)
    assert all(line.cell_len <= width for line in lines)
    assert "".join(map(str, lines)) == text
