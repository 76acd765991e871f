"""Try what other implementations give: one function after the other, each edit kept that lets more tests pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .branching import promise
from .donating import Donation, Donor, Function, appended, donations, donors_of
from .program import FUNCTIONS, Program, SourceEdit
from .server import RunReport

Run = Callable[[Mapping[str, bytes]], RunReport | None]
"""Runs a candidate; None: it is none (no Python, or tried before), or there is no time."""
_SOURCES = 4  # donors of which all functions are tried together


@dataclass(frozen=True, slots=True)
class Transplanted:
    """Files after some donations, with what the tests say of them."""

    files: Mapping[str, bytes]
    edits: tuple[SourceEdit, ...]
    report: RunReport


class Transplants:
    """The donors' part of a search, over the files that the failing tests run."""

    def __init__(
        self, programs: Mapping[str, Program], donors: Mapping[str, Sequence[Donor]], first: RunReport, run: Run
    ) -> None:
        self._programs = programs
        self._donors = donors
        self._run = run
        self._best = Transplanted({}, (), first)

    def tried(self, passes: Callable[[RunReport], bool]) -> Iterator[Transplanted]:
        """Yield whatever passes, as it is found; ends with the first function that makes everything pass, and with what
        donors would change in the others on top of that: the tests may not tell, where the donors do."""
        for path, program in self._programs.items():
            for name, donors in self._asked(program):
                passing: list[Transplanted] = []
                best: Transplanted | None = None
                for one in self._of(path, name, donors):
                    found = self._after(path, one)
                    if found is None:
                        continue
                    if passes(found.report):
                        yield found
                        passing.append(found)
                        if one.whole:
                            break
                    elif not passing and promise((best or self._best).report, found.report) > 0:
                        best = found
                if passing:
                    for each in {id(each): each for each in (passing[0], passing[-1])}.values():
                        yield from self._further(each, path, name, passes)
                    return
                self._best = best or self._best
        yield from self._together(passes)

    def _further(
        self, start: Transplanted, path: str, but: str, passes: Callable[[RunReport], bool]
    ) -> Iterator[Transplanted]:
        """Yield what passes with another function of a file taken from a donor, too: each alone, then all of them."""
        together = start
        for name, donors in self._asked(self._programs[path]):
            if name == but:
                continue
            for base in (start,) if together is start else (start, together):
                self._best = base
                whole = next((each for each in self._of(path, name, donors) if each.whole), None)
                found = self._after(path, whole) if whole is not None else None
                if found is not None and passes(found.report):
                    yield found
                    together = found if base is together else together

    def _together(self, passes: Callable[[RunReport], bool]) -> Iterator[Transplanted]:
        """All functions of one donor at once, and those that are missing here: they may only fit each other."""
        for path, program in self._programs.items():
            names = {program.qualname(each) for each in program.nodes if isinstance(each, FUNCTIONS)}
            sources = {id(each.around): each.around for name in names for each in self._donors.get(name, ())}
            for source, around in [*sources.items()][:_SOURCES]:
                edits: list[SourceEdit] = []
                for name in names:
                    function = _found(program, name)
                    given = [each for each in self._donors.get(name, ()) if id(each.around) == source]
                    whole = donations(program, function, given)[-1:] if function is not None else []
                    edits += [edit for one in whole for edit in one.edits]
                edits += appended(program, around)
                report = self._run({path: program.encoded(tuple(edits))})
                if report is not None and passes(report):
                    yield Transplanted({path: program.encoded(tuple(edits))}, tuple(edits), report)
                    return

    def _asked(self, program: Program) -> list[tuple[str, Sequence[Donor]]]:
        """Functions of a file with other implementations of the same qualified name."""
        names = [program.qualname(each) for each in program.nodes if isinstance(each, FUNCTIONS)]
        return [(name, self._donors[name]) for name in dict.fromkeys(names) if self._donors.get(name)]

    def _of(self, path: str, name: str, donors: Sequence[Donor]) -> list[Donation]:
        program = self._now(path)
        function = _found(program, name)
        return donations(program, function, donors) if function is not None else []

    def _now(self, path: str) -> Program:
        content = self._best.files.get(path)
        return self._programs[path] if content is None else Program(path, content)

    def _after(self, path: str, one: Donation) -> Transplanted | None:
        files = {**self._best.files, path: self._now(path).encoded(one.edits)}
        report = self._run(files)
        return None if report is None else Transplanted(files, (*self._best.edits, *one.edits), report)


def in_place(programs: Mapping[str, Program], text: str) -> dict[str, bytes]:
    """A donor in the place of the file whose functions it shares most of; empty where it shares none."""
    given = set(donors_of({"": text}))
    shared = {
        path: len(given & {program.qualname(each) for each in program.nodes if isinstance(each, FUNCTIONS)})
        for path, program in programs.items()
    }
    best = max(shared, key=lambda path: shared[path], default="")
    return {best: text.encode()} if shared.get(best) else {}


def _found(program: Program, name: str) -> Function | None:
    for each in program.nodes:
        if isinstance(each, FUNCTIONS) and program.qualname(each) == name:
            return each
    return None
