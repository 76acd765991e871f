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

_SPACED = r"[+-] "
_CUT = 2  # lines that a cut leaves without a sign: what says that it was made, and the rest of the one it went through


def apart(text: str) -> tuple[list[str], str]:
    """(what each line has in front by a diff, the text without it)."""
    pieces = _pieces(text)
    found = map(compiled(_SPACED if _is_change(pieces[::2]) else _SIGN).match, pieces[::2])
    signs = [sign[0] if sign else "" for sign in found]
    pieces[::2] = [line[len(sign) :] for sign, line in zip(signs, pieces[::2], strict=True)]
    return signs, "".join(pieces)


def _pieces(text: str) -> list[str]:
    """The lines of a text, and between them what ends each."""
    if "\\n" in text:
        return compiled(_LINE_END).split(text)
    lines = text.split("\n")
    pieces = ["\n"] * (2 * len(lines) - 1)
    pieces[::2] = lines
    return pieces


def _is_change(lines: Sequence[str]) -> bool:
    """Tell whether these are what a step keeps of an edit: a sign and a space before each."""
    others = [line for line in lines if line and line[:2] not in ("+ ", "- ", "@@")]
    return lines[0] not in others and len(others) <= _CUT and not any(line[0] in "+-" for line in others)


def new_side(signs: Sequence[str], bare: str) -> tuple[list[str], str]:
    """Of what `apart` gave (what each line has in front by a diff, the lines that it takes away among that; the text
    without it): a name stands beside its new value."""
    pieces = [*_pieces(bare), ""]
    fronts: list[str] = []
    kept: list[str] = []
    gone = ""
    last = len(signs) - 1
    for number, (sign, line, ending) in enumerate(zip(signs, pieces[::2], pieces[1::2], strict=True)):
        if "-" in sign and number < last:
            gone += sign + line + ending
        else:
            fronts.append(gone + sign)
            kept += (line, ending)
            gone = ""
    return fronts, "".join(kept)


def together(signs: Sequence[str], before: str, text: str) -> str:
    """The text with these signs, one for each line of `before`: of lines that became fewer, that of the first."""
    pieces = _pieces(text)
    if len(pieces[::2]) != len(signs):
        signs = list(_moved(signs, _pieces(before)[::2], pieces[::2]))
    pieces[::2] = [sign + line for sign, line in zip(signs, pieces[::2], strict=True)]
    return "".join(pieces)


def _moved(signs: Sequence[str], before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """The sign of each line of `now`. Lines that stand once in both texts are the same line; between two of these, so
    are equal lines from either end on; the rest have the sign of their place. Linear, where `difflib` is not: one key
    before some thousand empty lines took it minutes."""
    places = _once(before)
    start = at = 0
    for stop, line in [*((number, line) for line, number in _once(now).items()), (len(now), None)]:
        end = len(before) if line is None else places.get(line, -1)
        if end < start:
            continue
        old, new = before[start:end], now[at:stop]
        head = _equal(old, new)
        tail = _equal(old[head:][::-1], new[head:][::-1])
        yield from signs[start : start + head]
        first, last = start + head, end - tail
        for number in range(len(new) - head - tail):
            yield signs[min(first + number, last - 1)] if last > first else ""
        yield from signs[last:end]
        start, at = end, stop


def _once(lines: Sequence[str]) -> dict[str, int]:
    """The lines that stand once among these, each with its place; in order."""
    places: dict[str, int] = {}
    for number, line in enumerate(lines):
        places[line] = -1 if line in places else number
    return {line: number for line, number in places.items() if number >= 0}


def _equal(some: Sequence[str], others: Sequence[str]) -> int:
    """Count the lines that are equal from the start on."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((number for number, (one, other) in pairs if one != other), min(len(some), len(others)))
