"""Searches texts for an expression only where they hold what it cannot match without.

An alternation that begins with an anchor or a word's boundary is tried anew at every character, which takes 0.3 us; to
look for the literals of which one stands in each way to match takes a hundredth of that, and most texts hold none.
Lean: hook processes import this, and take their expressions as `compiled` has them.
"""

from __future__ import annotations

from ratchet.failures import expressions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_IGNORECASE = 2  # `re.IGNORECASE`
_MOST = 60  # literals that are looked for

_Needles = frozenset[str]


class Gated:
    """An expression with its flags inside it."""

    __slots__ = ("_folded", "_needles", "_pattern", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._pattern: re.Pattern[str] | None = None
        self._needles: _Needles | None = None
        self._folded = False

    def search(self, text: str) -> re.Match[str] | None:
        return self._ready().search(text) if self._may_match(text) else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._ready().finditer(text) if self._may_match(text) else iter(())

    def sub(self, by: str, text: str) -> str:
        return self._ready().sub(by, text) if self._may_match(text) else text

    def _may_match(self, text: str) -> bool:
        """Tell whether the text holds one of the literals; True where the expression has none."""
        if self._needles is None:  # no literals, or not compiled yet
            return True
        if self._folded:
            if not text.isascii():  # letters beyond fold to some of ASCII's
                return True
            text = text.lower()
        return any(map(text.__contains__, self._needles))

    def _ready(self) -> re.Pattern[str]:
        """The expression, compiled at first use: a hook has it from its file, any other process with its literals."""
        if self._pattern is None:
            if expressions.are_kept():
                self._pattern = expressions.compiled(self.source)
            else:
                self._pattern, self._needles, self._folded = read(self.source)
        return self._pattern


def read(source: str) -> tuple[re.Pattern[str], _Needles | None, bool]:
    """(the expression, literals of which one stands in whatever it matches, whether they are in lower case and to be
    looked for so). None where there are no such literals."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(source)  # once for both: it takes as long as to compile
    folds = [bool(parsed.state.flags & _IGNORECASE)]
    found = _of_all(parsed, folds)
    if found is None or len(found) > _MOST:
        return _compiler.compile(parsed), None, False
    return _compiler.compile(parsed), frozenset(each.lower() for each in found) if any(folds) else found, any(folds)


def _of_all(parts: object, folds: list[bool]) -> _Needles | None:
    """Of what is matched one after another the part whose shortest literal is the longest."""
    from typing import cast  # as little of it as of `re` is any use to a hook

    best: _Needles | None = None
    run = ""
    for kind, value in [*cast("list[tuple[object, object]]", parts), (None, None)]:
        if str(kind) == "LITERAL":
            run += chr(cast("int", value))
            continue
        for found in (frozenset((run,)) if run else None, _of_one(str(kind), value, folds)):
            if found is not None and (best is None or min(map(len, found)) > min(map(len, best))):
                best = found
        run = ""
    return best


def _of_one(kind: str, value: object, folds: list[bool]) -> _Needles | None:
    match kind, value:
        case "BRANCH", (_, list() as alternatives):
            ways = [found for each in alternatives if (found := _of_all(each, folds)) is not None]
            return frozenset().union(*ways) if len(ways) == len(alternatives) else None
        case "SUBPATTERN", (_, int() as added, _, parts):
            folds.append(bool(added & _IGNORECASE))
            return _of_all(parts, folds)
        case (("MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT"), (least, _, parts)):
            return _of_all(parts, folds) if least else None
        case ("ASSERT", (_, parts)) | ("ATOMIC_GROUP", parts):
            return _of_all(parts, folds)
    return None
