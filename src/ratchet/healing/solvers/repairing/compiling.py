"""Compile what differs between a file and its candidates, not the whole file for every one of them."""

from __future__ import annotations

import ast
import bisect
import io
import itertools
import tokenize
import warnings
from types import CodeType

_RECENT = 16  # contents that are asked for again: candidates that run beside others
_FUTURE = 0x1FE0000  # flags of `from __future__ import ...` in a code object

Compiled = tuple[CodeType, CodeType]
"""The same statements of a file as it was, and as they are now."""


class SourceFile:
    """One file as it was. Raises SyntaxError, ValueError or RecursionError where it is no Python."""

    def __init__(self, path: str, content: bytes) -> None:
        self._path = path
        self._encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(self._encoding)
        self._lines = text.splitlines(keepends=True)
        self.tree = ast.parse(text)
        self._flags = compile(self.tree, path, "exec", dont_inherit=True).co_flags & _FUTURE
        self._starts = [min([each.lineno, *_decorated(each)]) for each in self.tree.body]
        self._known: dict[tuple[int, int], CodeType] = {}
        self._recent: dict[bytes, Compiled | None] = {content: None}

    def against(self, content: bytes) -> Compiled | None:
        """The top-level statements in which other content differs; None where those are no Python, or give a warning
        (`x is 1` helps nobody)."""
        if content not in self._recent:
            if len(self._recent) >= _RECENT:
                del self._recent[next(iter(self._recent))]
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", SyntaxWarning)
                    self._recent[content] = self._differing(content)
            except (SyntaxError, ValueError, SyntaxWarning, RecursionError):
                self._recent[content] = None
        return self._recent[content]

    def _differing(self, content: bytes) -> Compiled:
        old, new = self._lines, content.decode(self._encoding).splitlines(keepends=True)
        start = _common(old, new)
        end = min(_common(old[::-1], new[::-1]), len(old) - start, len(new) - start)
        # Lines that are added at the end of a statement belong to it.
        at = max(0, bisect.bisect_right(self._starts, start) - 1 if start else 0)
        after = bisect.bisect_right(self._starts, max(start + 1, len(old) - end))
        first = self._starts[at] - 1 if self._starts and at else 0
        last = self._starts[after] - 1 if after < len(self._starts) else len(old)
        if (first, last) not in self._known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._known[first, last] = self._compiled(old[first:last], first)
        return self._known[first, last], self._compiled(new[first : last + len(new) - len(old)], first)

    def _compiled(self, lines: list[str], before: int) -> CodeType:
        text = "\n" * before + "".join(lines)
        made = compile(text, self._path, "exec", flags=self._flags, dont_inherit=True)
        assert isinstance(made, CodeType)
        return made


def _decorated(node: ast.stmt) -> list[int]:
    return [each.lineno for each in getattr(node, "decorator_list", ())]


def _common(one: list[str], other: list[str]) -> int:
    """Length of the start that both share."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same)
