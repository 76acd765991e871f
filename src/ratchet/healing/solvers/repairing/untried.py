"""Thinks of edits as they are needed: those of the most suspect lines first, the others when these did not help."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from .ordering import Ranked
from .program import Program, SourceEdit
from .spectrum import Place
from .templates import edits as edits_of

_AT_FIRST = 12_000  # edits; as many as a program of a few hundred lines has, so that nothing changes for one
_AT_FIRST_S = 4.0  # and what they may take to think of
_LINES = 50  # looked at together
_DUE = 150  # candidates after which more lines are looked at; then after twice as many


class Untried:
    """The edits of a program that were not tried yet, the likeliest first. `rank` puts some into order."""

    def __init__(
        self,
        program_of: Callable[[str], Program | None],
        suspicion: Mapping[Place, float],
        rank: Callable[[Sequence[SourceEdit]], list[Ranked]],
        deadline: float,
    ) -> None:
        self._program_of = program_of
        self._rank = rank
        self._deadline = deadline
        self._lines = sorted(suspicion, key=lambda place: (-suspicion[place], place))
        self._looked: dict[str, set[int]] = {}
        self._queue: Iterator[Ranked] = iter(())
        self._most = _AT_FIRST
        self._given, self._due = 0, 0
        self.width = 0
        """Edits that were thought of."""

    @classmethod
    def none(cls) -> Untried:
        return cls(lambda _path: None, {}, lambda _edits: [], 0.0)

    def __iter__(self) -> Untried:
        return self

    def __next__(self) -> Ranked:
        if self._given >= self._due and self._lines:
            self._grow()
            self._due = max(_DUE, 2 * self._given)
        for one in self._queue:
            self._given += 1
            return one
        if not self._lines or time.monotonic() > self._deadline:
            raise StopIteration
        self._due = self._given
        return next(self)

    def _grow(self) -> None:
        """Look at more lines, and put all edits that are left into a new order."""
        rest = [one.edit for one in self._queue]
        until = min(self._deadline, time.monotonic() + _AT_FIRST_S)
        found: list[SourceEdit] = []
        step = _LINES
        while self._lines and len(found) < self._most and time.monotonic() < until:
            now, self._lines = self._lines[:step], self._lines[step:]
            step *= 2
            for path in dict.fromkeys(path for path, _ in now):
                found += self._edits(path, {line for each, line in now if each == path}, until)
        self.width += len(found)
        self._queue = iter(self._rank([*rest, *found]))

    def _edits(self, path: str, lines: set[int], until: float) -> Iterator[SourceEdit]:
        """The edits at some lines that were not thought of for more suspect ones."""
        program = self._program_of(path)
        if program is None:
            return
        before = self._looked.setdefault(path, set())

        def wanted(span: tuple[int, int]) -> bool:
            within = range(span[0], span[1] + 1)
            return any(line in lines for line in within) and not any(line in before for line in within)

        for edit in edits_of(program, wanted):
            yield edit
            if time.monotonic() > until:
                break
        before |= lines
