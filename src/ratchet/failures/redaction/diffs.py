"""Takes the signs of a diff from its lines and puts them back: what stands behind a sign begins a line for every rule.

Lines may end by an escaped line end, as inside JSON, and a sign may stand behind a colour. An item of a list (`- name`)
is no line of a diff: a space is boundary enough.

Lean: a hook process imports this, and only for a text with such lines.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LINE_END = r"(\n|\\n)"
_SIGN = r"(?:\x1b\[[0-9;]{0,8}m)?(?:[+-](?=- \S)|[+-]{1,2}(?![+-]| \S|\s?$))"  # a merge's lines have two


def apart(text: str) -> tuple[list[str], str]:
    """(what each line has in front by a diff, the text without it)."""
    pieces = compiled(_LINE_END).split(text)
    found = [compiled(_SIGN).match(line) for line in pieces[::2]]
    signs = [sign[0] if sign else "" for sign in found]
    pieces[::2] = [line[len(sign) :] for sign, line in zip(signs, pieces[::2], strict=True)]
    return signs, "".join(pieces)


def together(signs: Sequence[str], before: str, text: str) -> str:
    """The text with these signs, one for each line of `before`: of lines that became fewer, that of the first."""
    pieces = compiled(_LINE_END).split(text)
    if len(pieces[::2]) != len(signs):
        signs = list(_moved(signs, compiled(_LINE_END).split(before)[::2], pieces[::2]))
    pieces[::2] = [sign + line for sign, line in zip(signs, pieces[::2], strict=True)]
    return "".join(pieces)


def _moved(signs: Sequence[str], before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    from difflib import SequenceMatcher

    for _, start, end, at, stop in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        for line in range(stop - at):
            yield signs[min(start + line, end - 1)] if end > start else ""
