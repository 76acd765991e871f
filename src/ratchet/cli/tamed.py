"""Output of strangers' programs on a person's terminal: read as it was meant, obeyed in nothing."""

from __future__ import annotations

import codecs
import re
import sys

import click

_HARMLESS = r"\x1b\[[0-9;:]{0,64}[mK]"  # colours, and the rest of a line erased, as progress bars do
_TURNING = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls: text that reads as another
_COMMAND = re.compile(rf"({_HARMLESS})|[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f{_TURNING}]")
_BEGUN = re.compile(r"\x1b(?:\[[0-9;:]{0,64})?\Z")
_RESET = "\x1b[0m"


class Tamed:
    """One stream. Colours pass; what would name the window, fill the clipboard, move about the screen or have the
    terminal type an answer is spelled out (`^[`) instead of obeyed, and so is what turns the direction of text."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""
        self._coloured = False

    def said(self, part: bytes, *, last: bool = False) -> bytes:
        """Return what to write for the next part of the stream; `last` for its end, with the colours put back."""
        text = self._begun + self._decoder.decode(part, last)
        begun = None if last else _BEGUN.search(text)
        self._begun = begun[0] if begun else ""
        text = text.removesuffix(self._begun) if begun else text
        shown = _COMMAND.sub(self._spelled, text)
        if last and self._coloured:
            shown += _RESET
        return shown.encode(self._encoding, "replace")

    def _spelled(self, found: re.Match[str]) -> str:
        if found[1]:
            self._coloured = True
            return found[1]
        number = ord(found[0])
        if number > 0xFF:
            return f"<U+{number:04X}>"
        return f"^{chr(number ^ 0x40)}" if number < 0x80 else "?"


def say(text: str) -> None:
    """Print a foreign text: to a program as it is, to a terminal tamed."""
    if sys.stdout.isatty():
        text = Tamed().said(text.encode("utf-8", "replace"), last=True).decode()
    click.echo(text, nl=False, color=True)
