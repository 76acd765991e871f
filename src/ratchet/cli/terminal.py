"""Styled text on a terminal, and plain text elsewhere: what results need of it, at a tenth of the start of `rich`."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text as RichText

_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36}
"""SGR parameters (ECMA-48, 8.3.117)."""
_USUAL_COLUMNS = 80
_WORDS = re.compile(r"\S+|\s+")


class Styled:
    """Text in pieces, each with a style: words of bold, dim and a colour; "default" is none."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self.pieces: list[tuple[str, str]] = [(text, style)] if text else []

    def append(self, text: str | Styled, style: str = "") -> Self:
        """Add a text, in its own styles where it has some."""
        for part, own in text.pieces if isinstance(text, Styled) else [(text, style)]:
            if self.pieces and self.pieces[-1][1] == own:
                self.pieces[-1] = (self.pieces[-1][0] + part, own)
            elif part:
                self.pieces.append((part, own))
        return self

    def stylize(self, style: str) -> None:
        """Add a style to all that is there."""
        self.pieces = [(text, f"{had} {style}") for text, had in self.pieces]

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces)

    @property
    def plain(self) -> str:
        """The text without its styles."""
        return str(self)

    @property
    def cell_len(self) -> int:
        """Columns that it takes on one line."""
        return _columns(self.plain)

    def wrap(self, width: int) -> list[Styled]:
        """Its lines, none wider than `width` columns: broken between words, and within a word that is wider."""
        lines, used, space = [Styled()], 0, ("", "")
        for part, style in self._parts(width):
            size = _columns(part)
            if part == "\n":
                lines.append(Styled())
                used, space = 0, ("", "")
            elif part.isspace():
                space = (space[0] + part, style)
            else:
                if used and used + _columns(space[0]) + size > width:
                    lines.append(Styled())
                    used, space = 0, ("", "")
                lines[-1].append(*space).append(part, style)
                used, space = used + _columns(space[0]) + size, ("", "")
        lines[-1].append(*space)
        return lines

    def _parts(self, width: int) -> Iterator[tuple[str, str]]:
        """Words, spaces and ends of lines."""
        for text, style in self.pieces:
            for number, line in enumerate(text.split("\n")):
                if number:
                    yield "\n", ""
                for word in _WORDS.findall(line):
                    yield from ((part, style) for part in _folded(word, width))

    def __rich__(self) -> RichText:
        """The same for a progress bar's console."""
        from rich.text import Text as Rich

        made = Rich()
        for text, style in self.pieces:
            made.append(text, style)
        return made


def _folded(word: str, width: int) -> Iterator[str]:
    while _columns(word) > width:
        cut = next(n for n in range(len(word), 0, -1) if n == 1 or _columns(word[:n]) <= width)
        yield word[:cut]
        word = word[cut:]
    yield word


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


class Console:
    """Standard output or error. A reader that goes away is no failure, here as for every other line (`app.run`)."""

    def __init__(self, *, stderr: bool = False, quiet: bool = False) -> None:
        self.file: TextIO = sys.stderr if stderr else sys.stdout
        self.quiet = quiet
        self.is_terminal = bool(os.environ.get("FORCE_COLOR")) or self.file.isatty()
        self._is_coloured = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.width = _width(self.file)

    def print(self, text: str | Styled = "", style: str = "", *, end: str = "\n", soft_wrap: bool = False) -> None:
        """Write a line. On a terminal it is broken between words, unless `soft_wrap` leaves that to the terminal."""
        if self.quiet:
            return
        said = Styled().append(text, style) if isinstance(text, str) else text
        if style and isinstance(text, Styled):
            said = Styled().append(text)
            said.stylize(style)
        lines = [said] if soft_wrap or not self.is_terminal else said.wrap(self.width)
        self._write("\n".join(map(self._drawn, lines)) + end)

    def rule(self, title: str, style: str = "") -> None:
        """Write a title within a line over the whole width."""
        left = max(3, (self.width - _columns(title) - 2) // 2)
        right = max(3, self.width - left - _columns(title) - 2)
        self.print(Styled("─" * left, style).append(f" {title} ").append("─" * right, style), soft_wrap=True)

    def _drawn(self, text: Styled) -> str:
        return "".join(self._styled(_shown(part), style) for part, style in text.pieces)

    def _styled(self, text: str, style: str) -> str:
        codes = ";".join(str(_CODES[word]) for word in style.split() if word in _CODES)
        return f"\x1b[{codes}m{text}\x1b[0m" if codes and text and self._is_coloured else text

    def _write(self, text: str) -> None:
        try:
            self.file.write(text)
            self.file.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())  # what else is said goes nowhere
            raise BrokenPipeError from None  # without its number, by which click would end the command with 1


def _shown(text: str) -> str:
    """Without control characters: what results hold may come from anywhere."""
    return text if text.isprintable() else "".join(c for c in text if c.isprintable() or c in "\n\t")


def _width(file: TextIO) -> int:
    """Columns of a terminal; COLUMNS counts first, and 0 is a width that is not known."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal():
        return int(asked) or _USUAL_COLUMNS
    try:
        return os.get_terminal_size(file.fileno()).columns or _USUAL_COLUMNS
    except (OSError, ValueError):
        return _USUAL_COLUMNS
