"""Cuts texts for every surface that shows them: the lines of a hunk around what differs, sentences at a word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

LINE_CHARS = 120
"""Of a line of a hunk, its sign and indentation included."""
_LEAD_CHARS, _BEFORE_CHARS = 36, 24  # of a long line its start, and as much before what differs
_LEFT_OUT = "…"


def cut(lines: Sequence[str], limit: int = LINE_CHARS) -> list[str]:
    """The lines of a text, each at most `limit` characters: of a removed (`- `) and the added (`+ `) line in its place
    the start, and from the same column on where they differ. A line that fits stays as it is."""
    gone, came = ([at for at, line in enumerate(lines) if line[:2] == sign] for sign in ("- ", "+ "))
    beside = {one: other for one, other in zip_longest(gone, came) if one is not None and other is not None}
    beside |= {other: one for one, other in beside.items()}
    return [_cut(line, lines[beside[at]] if at in beside else "", limit) for at, line in enumerate(lines)]


def at_a_word(text: str, limit: int) -> str:
    """A text of at most `limit` characters: what is left out of a longer one begins with a word, where one is near."""
    if len(text) <= limit:
        return text
    kept = text[: limit - len(_LEFT_OUT)]
    whole = kept if text[len(kept)] == " " else kept.rpartition(" ")[0]
    return (whole if 2 * len(whole) >= limit else kept).rstrip() + _LEFT_OUT


def _cut(line: str, other: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    pairs = zip(line[2:], other[2:], strict=False)
    same = next((at + 2 for at, (one, two) in enumerate(pairs) if one != two), min(len(line), len(other)))
    room = limit - _LEAD_CHARS - 2 * len(_LEFT_OUT)
    start = min(same - _BEFORE_CHARS, max(len(line), len(other)) - room)
    if start <= _LEAD_CHARS:
        return line[: limit - len(_LEFT_OUT)] + _LEFT_OUT
    end = start + room
    return line[:_LEAD_CHARS] + _LEFT_OUT + line[start:end] + (_LEFT_OUT if end < len(line) else "")
