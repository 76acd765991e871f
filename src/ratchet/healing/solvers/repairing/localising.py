"""See what the failing tests run beside what passing ones do, and say which lines are suspect."""

from __future__ import annotations

import ast
import os
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from .expecting import TestsExpect
from .program import Program
from .server import ForkServer, RunReport
from .spectrum import Place, order_of, suspicion, with_definitions, with_named

_BESIDE_SHARE, _BESIDE_S = 0.15, 40.0  # of the time that is left, and at most, for tests beside those of the check
_FILES, _LINES = 40, 2_000  # where nothing tells which
_SETS_UP = frozenset({"setup.py", "conf.py", "noxfile.py"})
_TOLD = re.compile(r"([\w./+-]+\.py)(?::(\d+)|\", line (\d+))")

_APART = "the failing tests run no line of the program in common, so each is mended by itself"


@dataclass(frozen=True, slots=True)
class Located:
    """Answer of a trace. `imported`: file -> lines that were run at import, so whatever was to be tested."""

    suspicion: Mapping[Place, float]
    imported: Mapping[str, Collection[int]] = field(default_factory=dict)
    trace: Mapping[str, object] = field(default_factory=dict)
    last: Mapping[Place, int] = field(default_factory=dict)
    """Of the lines that failing tests ran, how many others of the file they ran since."""

    @property
    def lines(self) -> list[Place]:
        """The suspect lines, the most suspect first."""
        return order_of(self.suspicion, self.last)

    @property
    def telling(self) -> list[Place]:
        """The suspect lines but those that are suspect only for being run at import."""
        imported = [place for place in self.suspicion if place[1] in self.imported.get(place[0], ())]
        least = min((self.suspicion[place] for place in imported), default=0.0)
        idle = {place for place in imported if self.suspicion[place] <= least}
        return [place for place in self.lines if place not in idle]


def calls_in(trace: Mapping[str, object]) -> list[Mapping[str, str]]:
    """The calls that a trace tells of."""
    calls = trace.get("calls")
    return [each for each in calls if isinstance(each, dict)] if isinstance(calls, list) else []


def import_path(trace: Mapping[str, object]) -> list[str]:
    """The folders that traced tests import from."""
    path = trace.get("path")
    return [each for each in path if isinstance(each, str)] if isinstance(path, list) else []


def teach(program: Program, path: str, trace: Mapping[str, object]) -> None:
    """Tell a program which types a trace saw its variables hold."""
    held = trace.get("types")
    for file, function, types in held if isinstance(held, list) else ():
        if file == path and isinstance(types, dict):
            known = program.types.setdefault(str(function), {})
            for name, kinds in types.items():
                known[str(name)] = sorted({*known.get(str(name), []), *map(str, kinds)})


def told_places(sources: Sequence[str], said: str) -> tuple[dict[Place, float], list[Place]]:
    """Suspect lines, also in order, where nothing was seen to run: those that the check's output names with their
    files, then the other lines of these, then those of some other files, without what only sets up a project."""
    named: dict[str, set[int]] = {}
    for path, one, other in _TOLD.findall(said):
        known = [each for each in sources if each == path or each.endswith(f"/{path.removeprefix('./')}")]
        for each in known[:1]:
            named.setdefault(each, set()).add(int(one or other))
    last = [each for each in sources if os.path.basename(each) in _SETS_UP]
    paths = [*named, *(each for each in sources if each not in named and each not in last), *last][:_FILES]
    found = {
        (path, line): (2.0 if line in named[path] else 1.5) if path in named else 0.5 if path in last else 1.0
        for path in paths
        for line in range(1, _LINES)
    }
    return found, order_of(found, {})


class Localiser:
    """Traces the tests; those beside the check's own once, for the passing ones to speak of what is healthy."""

    def __init__(self, server: ForkServer, tree_of: Callable[[str], ast.Module | None]) -> None:
        self._server = server
        self._tree_of = tree_of
        self._beside: Mapping[str, Mapping[str, list[int]]] | None = None
        self._ran: Mapping[str, Mapping[str, Collection[int]]] = {}
        self._imported: Mapping[str, Collection[int]] = {}
        self._calls: list[Mapping[str, str]] = []

    def calls(self, places: Collection[Place]) -> list[Mapping[str, str]]:
        """The calls by tests beside those of the check, which pass, where they run some lines."""
        running = self.guarding(places)
        return [each for each in self._calls if each.get("test") in running]

    @property
    def ran(self) -> Mapping[str, Mapping[str, Collection[int]]]:
        """The lines that each test ran: test -> file -> lines; under "" what was run at import."""
        return self._ran

    @property
    def beside(self) -> frozenset[str]:
        """Tests that lie beside those of the check, and pass."""
        return frozenset(self._beside or ())

    def guarding(self, places: Collection[Place]) -> frozenset[str]:
        """Those of them that run one of some lines; all of them where one is run at import."""
        return self.beside & self.running(places)

    def at_import(self, places: Collection[Place]) -> bool:
        """Tell whether one of some lines is run at import: that a test runs it says nothing then."""
        return any(line in self._imported.get(path, ()) for path, line in places)

    def running(self, places: Collection[Place]) -> frozenset[str]:
        """Tests, of the check or beside it, that run one of some lines; all of them where one is run at import."""
        if self.at_import(places):
            return frozenset(self._ran)
        return frozenset(
            name for name, ran in self._ran.items() if any(line in ran.get(path, ()) for path, line in places)
        )

    def unfit(self, suspects: Collection[object], together: Collection[str]) -> str:
        """Say why no edit can help: nothing is suspect, or these tests, to be mended by one, run nothing together; else
        ""."""
        if not suspects:
            return "without a model only Python is mended, and the failing tests run no Python file that may be changed"
        always = {(path, line) for path, lines in self._imported.items() for line in lines}
        ran = [self._ran.get(name, {}) for name in together]
        places = [{(path, line) for path in each for line in each[path]} - always for each in ran]
        return _APART if len(places) > 1 and all(places) and not set.intersection(*places) else ""

    def located(self, files: Mapping[str, bytes], report: RunReport, expected: TestsExpect) -> Located:
        """Trace the tests on files of which `report` told how they end; `expected` is what failing ones expect."""
        traced = self._server.whole(files, trace=True)
        if self._beside is None:
            self._beside = self._looked_beside(report)
        ran = {**self._beside, **traced.lines}
        places = {name: {(file, at) for file, lines in held.items() for at in lines} for name, held in ran.items()}
        failed = [test for name, test in traced.tests.items() if name in report.failing and test.error != "TimeUp"]
        found = suspicion(places, report.failing, [test.frames for test in failed])
        imported = {file: frozenset(lines) for file, lines in traced.lines.get("", {}).items()}
        if not files:  # what is asked later is asked of the program as it was
            self._ran, self._imported = ran, imported
        read = {path: self._tree_of(path) for path in {file for file, _ in found}}
        trees = {path: tree for path, tree in read.items() if tree is not None}
        last: dict[Place, int] = {}
        for file, lines in (each for name in report.failing for each in traced.lines.get(name, {}).items()):
            for age, line in enumerate(reversed(lines)):
                last[file, line] = min(age, last.get((file, line), age))
        found = with_named(with_definitions(found, trees), trees, expected.called, expected.compared)
        return Located(found, imported, traced.trace, last)

    def _looked_beside(self, report: RunReport) -> Mapping[str, Mapping[str, list[int]]]:
        """Lines of the tests that lie in the files of the check's, and pass."""
        left_s = self._server.deadline - time.monotonic()
        found = self._server.whole({}, trace=True, wider_s=min(_BESIDE_S, _BESIDE_SHARE * left_s))
        passing = found.passing - report.tests.keys()
        self._calls = calls_in(found.trace)
        return {name: lines for name, lines in found.lines.items() if name in passing}
