"""Thinks of edits as they are needed: those of the most suspect lines first, the others when these did not help."""

from __future__ import annotations

import ast
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from .ordering import Ranked
from .program import Program, SourceEdit
from .spectrum import Place
from .templates import Seen, Span, edits_at, sites

_AT_FIRST = 12_000  # edits; as many as a program of a few hundred lines has, so that nothing changes for one
_AT_FIRST_S = 4.0  # of CPU: what they may take to think of
_SIFTED = 200  # edits that are looked at together before the first of them is tried
_DUE = 150  # candidates after which more lines are looked at; then after twice as many

_Sites = tuple[Program | None, dict[int, list[tuple[ast.AST, Span]]], Seen]
"""A file, its nodes by the lines that speak for edits there, and the edits that were made."""
Sifted = tuple[Sequence[Ranked], Sequence[Ranked]]
"""Edits to try, and those under which the failing tests would do what they did."""


class Untried:
    """The edits of a program that were not tried yet, the likeliest first. `lines` are the suspect ones in order,
    `rank` puts edits into order, `sift` tells those that change nothing."""

    def __init__(
        self,
        program_of: Callable[[str], Program | None],
        lines: Sequence[Place],
        rank: Callable[[Sequence[SourceEdit]], list[Ranked]],
        deadline: float,
        sift: Callable[[Sequence[Ranked]], Sifted] = lambda edits: (edits, ()),
    ) -> None:
        self._program_of = program_of
        self._rank = rank
        self._deadline = deadline
        self._sift = sift
        self._lines = lines
        self._at = 0
        self._sites: dict[str, _Sites] = {}
        self._done: set[int] = set()
        self._front: deque[Ranked] = deque()
        """The edits to try next, which were looked at."""
        self._queue: deque[Ranked] = deque()
        self._idle: deque[Ranked] = deque()
        """Edits under which a failing test would do what it did: tried when there are no others."""
        self._given, self._due = 0, 0
        self.width = 0
        """Edits that were thought of."""

    @classmethod
    def none(cls) -> Untried:
        return cls(lambda _path: None, (), lambda _edits: [], 0.0)

    def __iter__(self) -> Untried:
        return self

    def __next__(self) -> Ranked:
        if self._given >= self._due and self._at < len(self._lines):
            self._grow()
            self._due = max(_DUE, 2 * self._given)
        while self._queue and not self._front and time.monotonic() <= self._deadline:
            batch = [self._queue.popleft() for _ in range(min(_SIFTED, len(self._queue)))]
            now, later = self._sift(batch)
            self._front.extend(now)
            self._idle.extend(later)
        if self._front:
            self._given += 1
            return self._front.popleft()
        if time.monotonic() > self._deadline:
            raise StopIteration
        if self._at >= len(self._lines):
            if self._idle:
                return self._idle.popleft()
            raise StopIteration
        self._due = self._given
        return next(self)

    def upcoming(self, most: int) -> list[Ranked]:
        """The next edits, unless more lines are looked at before them."""
        return [*itertools.islice(self._front, most)] if self._given < self._due else []

    def _grow(self) -> None:
        """Look at more lines, and put all edits that are left into a new order."""
        rest = [one.edit for one in (*self._front, *self._queue)]
        until_s = time.process_time() + _AT_FIRST_S
        found: list[SourceEdit] = []
        while self._at < len(self._lines) and len(found) < _AT_FIRST:
            found += self._edits(*self._lines[self._at])
            self._at += 1
            if time.process_time() > until_s or time.monotonic() > self._deadline:
                break
        self.width += len(found)
        self._front.clear()
        self._queue = deque(self._rank([*rest, *found]))

    def _edits(self, path: str, line: int) -> Iterator[SourceEdit]:
        """The edits for which a line speaks, but those that a more suspect one spoke for."""
        if path not in self._sites:
            self._sites[path] = self._sites_of(path)
        program, nodes, seen = self._sites[path]
        if program is None:
            return
        for node, lines in nodes.pop(line, ()):
            if id(node) not in self._done:
                self._done.add(id(node))
                yield from edits_at(program, node, lines, seen)

    def _sites_of(self, path: str) -> _Sites:
        program = self._program_of(path)
        found: dict[int, list[tuple[ast.AST, Span]]] = {}
        for node, lines in sites(program) if program is not None else ():
            for line in range(lines[0], lines[1] + 1):
                found.setdefault(line, []).append((node, lines))
        return program, found, set()
