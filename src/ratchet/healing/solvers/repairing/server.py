"""Forks one process for every candidate, with the candidate's files in place, and reads what its tests say.

Where an edit changes only bodies of functions, the child is forked from a process that has loaded the tests already,
and the functions' code is exchanged in it (`swapping`): nothing is imported again.
"""

from __future__ import annotations

import json
import marshal
import os
import select
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .child import ForkedRun, InChild, killed
from .effects import EffectTracer, Probe
from .keeping import UNFIT, Begun, LoadedProcess, held
from .swapping import Swap
from .tracing import Tracer
from .waiting import forked, waited_s

_SMALLEST_S = 0.1  # of CPU; most mutants of a loop never end, and what works is rarely slower than all that failed
_TIMES = 5.0
_READ = 1 << 18
_KEPT = 64_000_000  # bytes of what one child says
_LOADING_S = 60.0
_BESIDE_S = 10.0
_PROBED, _PROBED_S, _PROBING_S = 6, 1.0, 20.0  # failing tests, time of each, and of all
_COLLECTED_S = 0.5  # for a report that may lie there already
_BEGUN = 1_000_000_000  # seconds: from here on every content of a file has a time of its own


Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Test:
    """End of one test. `line` is that of the test which failed, `frames` the places in the program on the way to where
    an exception arose, the innermost last."""

    passed: bool
    line: int = 0
    error: str = ""
    frames: tuple[Place, ...] = ()
    cpu_s: float = 0.0


UNFINISHED = "unfinished"  # the `error` of a test that had begun when its process ended


@dataclass(slots=True)
class RunReport:
    """One run. `whole` is False where it was ended, or ended itself, before the last test."""

    tests: dict[str, Test] = field(default_factory=dict)
    whole: bool = False
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """Of a traced run: test -> file -> lines, each where it was run last; under "" what was run at import."""
    trace: Mapping[str, object] = field(default_factory=dict)
    returned: object = None
    clipped: bool = False
    """It had more to say than is kept."""

    @property
    def cut_short(self) -> bool:
        """Nothing was wrong when its time was up: with more, it may pass."""
        return not self.whole and all(self.tests[name].error == UNFINISHED for name in self.failing)

    def crashes(self, path: str) -> dict[int, str]:
        """Lines of a file that an exception of a failing test went through, with its name."""
        failed = [test for test in self.tests.values() if not test.passed]
        return {line: test.error for test in failed for file, line in test.frames if file == path}

    @property
    def passing(self) -> frozenset[str]:
        return frozenset(name for name, test in self.tests.items() if test.passed)

    @property
    def failing(self) -> frozenset[str]:
        return frozenset(name for name, test in self.tests.items() if not test.passed)


class ForkServer:
    """The parent of all candidates. One at a time, since they share the folder."""

    def __init__(self, deadline: float, root: str, cpu_s: float = float("inf")) -> None:
        self.deadline = deadline
        """On the monotonic clock."""
        self._cpu_ends_s = cpu_s
        self.root = root
        self.limit_s = _SMALLEST_S
        self.first: tuple[str, ...] = ()
        self.sources: frozenset[str] = frozenset()
        self.left_out: frozenset[str] = frozenset()
        """Tests that do not count."""
        self.loaded_anew = 0
        """Candidates for which the tests were loaded anew."""
        self.import_path: Sequence[str] = ()
        """Where the tests import from: what they give to functions may be of classes that lie beside them."""
        self._endless: frozenset[str] = frozenset()
        self._idle: list[LoadedProcess] = []
        self._kept_cpu_s = 0.0
        self._directly = True
        self._stamp = _BEGUN

    def measured(self, report: RunReport) -> None:
        """Set a candidate's time by what the first run took, and its order by what failed."""
        self.limit_s = max(_SMALLEST_S, _TIMES * sum(t.cpu_s for t in report.tests.values() if t.error != "TimeUp"))
        self.first = tuple(name for name, test in report.tests.items() if not test.passed)
        self._endless = frozenset(name for name, test in report.tests.items() if test.error == "TimeUp")

    @property
    def cpu_s(self) -> float:
        """CPU time of this process and of all candidates so far."""
        return sum(os.times()[:4]) + self._kept_cpu_s

    def without(self, report: RunReport) -> RunReport:
        """A report without the tests that do not count."""
        for name in self.left_out:
            report.tests.pop(name, None)
        return report

    def out_of_time(self) -> bool:
        return time.monotonic() > self.deadline or self.cpu_s > self._cpu_ends_s

    def whole(self, files: Mapping[str, bytes], *, trace: bool = False, wider_s: float = 0.0) -> RunReport:
        """All tests, each with its own time; with `trace`, what they run. Above 0, `wider_s` is the time for all tests
        of the files in which those lie."""
        tracer = Tracer(self.sources) if trace else None
        wall_s = wider_s or 60.0
        return self._run(files, tracer=tracer, each_s=2.0 if trace else 0.7, wall_s=wall_s, wider=wider_s > 0)

    def vain(self, files: Mapping[str, bytes], probes: Sequence[tuple[str, Probe]]) -> Mapping[str, Collection[int]]:
        """Numbers of the probes, each with its file, that change nothing for a failing test, or raise, by test."""
        some = frozenset(self.first[:_PROBED])
        report = self._run(files, tracer=EffectTracer(probes), only=some, each_s=_PROBED_S, wall_s=_PROBING_S)
        found = report.trace.get("vain")
        return {str(test): frozenset(numbers) for test, numbers in found.items()} if isinstance(found, dict) else {}

    def beside(self, files: Mapping[str, bytes], names: Collection[str], *, trace: bool = False) -> RunReport:
        """Tests that lie beside those of the check, by their names, as far as there is time for them; with `trace`,
        what they run."""
        tracer, only = Tracer(self.sources) if trace else None, frozenset(names)
        return self._run(files, tracer=tracer, only=only, wider=True, each_s=2.0, cpu_s=_BESIDE_S, wall_s=3 * _BESIDE_S)

    def keep_loaded(self, processes: int = 1) -> bool:
        """Load the tests once, for the candidates that only change functions, and keep so many processes that hold
        them: as many candidates can run at once. False where that cannot be had."""
        pairs = [socket.socketpair() for _ in range(processes)]
        child = forked()
        if child == 0:
            os.setpgid(0, 0)
            for ours, _ in pairs:
                ours.close()
            job = ForkedRun(out=os.open(os.devnull, os.O_WRONLY), root=self.root, first=self.first,
                            sources=self.sources)  # fmt: skip
            job.holding = lambda: held([theirs for _, theirs in pairs], job)
            raise InChild(job)
        ends = time.monotonic() + max(1.0, min(_LOADING_S, self.deadline - time.monotonic()))
        keepers = [LoadedProcess(0 if at else child, ours) for at, (ours, _) in enumerate(pairs)]
        for _, theirs in pairs:
            theirs.close()
        for at, (ours, _) in enumerate(pairs):
            ours.settimeout(max(0.1, ends - time.monotonic()))
            if keepers[at].said() is None:
                for each in reversed(keepers):
                    each.end()
                return False
            ours.settimeout(10.0)
        self._idle = keepers
        self._compare()
        return True

    def _compare(self) -> None:
        """See whether tests that are called directly fail as they do otherwise."""
        begun = self.begin(())
        report = self.ended(begun) if begun is not None else None
        self._directly = report is not None and report.failing == frozenset(self.first)

    @property
    def idle(self) -> int:
        """Processes that hold the loaded tests and have nothing to do."""
        return len(self._idle)

    def begin(self, swaps: Sequence[Swap]) -> Begun | None:
        """Start a candidate beside others; None where no process is free for it."""
        while self._idle:
            keeper = self._idle.pop(0)
            out, back = os.pipe()
            asked = {"first": self.first, "cpu_s": self.limit_s, "endless": list(self._endless), "swaps": list(swaps),
                     "directly": self._directly}  # fmt: skip
            child = keeper.ask(marshal.dumps(asked), back)
            os.close(back)
            if child is not None:
                return Begun(keeper, child, out, time.monotonic() + 4 * self.limit_s + 3.0)
            os.close(out)
            keeper.end()
        return None

    def ended(self, begun: Begun) -> RunReport | None:
        """The report of a candidate that was started, once it has ended; None where the loaded tests do not do."""
        until = max(begun.until, time.monotonic() + _COLLECTED_S)
        report = _heard(begun.out, begun.child, until, self.deadline + 1.0)
        os.close(begun.out)
        killed(begun.child)
        used = begun.keeper.said()
        if used is None:
            begun.keeper.end()
        else:
            self._kept_cpu_s += used / 1e6
            self._idle.append(begun.keeper)
        return self.without(report) if report.returned != UNFIT else None

    def dropped(self, begun: Begun) -> None:
        """End a candidate whose report is not wanted."""
        killed(begun.child)
        self.ended(begun)

    def candidate(self, files: Mapping[str, bytes], *, times: float = 1.0) -> RunReport:
        """The tests that failed at first, on files that are loaded anew; the others only if one of those passes now. It
        has `times` the usual time."""
        limit_s = self.limit_s * times
        self.loaded_anew += 1
        return self._run(files, first=self.first, hopeless=True, cpu_s=limit_s, wall_s=4 * limit_s + 3.0)

    def call(self, files: Mapping[str, bytes], function: Callable[[], object], *, seconds: float) -> object:
        """Return what a function returns in a child that imports as the tests do, as JSON; None where it does not come
        back."""

        def called() -> object:
            sys.path[:0] = [each for each in self.import_path if each not in sys.path]
            return function()

        return self._run(files, call=called, cpu_s=seconds, wall_s=4 * seconds + 2.0).returned

    def _run(
        self,
        files: Mapping[str, bytes],
        *,
        wall_s: float,
        first: Sequence[str] = (),
        hopeless: bool = False,
        cpu_s: float = 10.0,
        each_s: float = 0.0,
        tracer: Tracer | EffectTracer | None = None,
        wider: bool = False,
        only: frozenset[str] = frozenset(),
        call: Callable[[], object] | None = None,
    ) -> RunReport:
        kept = {path: self._put(path, content, 0) for path, content in files.items()}
        out, back = os.pipe()
        child = forked()
        if child == 0:
            os.setpgid(0, 0)
            os.close(out)
            raise InChild(
                ForkedRun(
                    out=back,
                    root=self.root,
                    first=first,
                    hopeless=hopeless,
                    cpu_s=cpu_s,
                    each_s=each_s,
                    endless=self._endless,
                    wider=wider,
                    only=only,
                    writes=not files,
                    tracer=tracer,
                    call=call,
                    sources=self.sources,
                )
            )
        os.close(back)
        try:
            report = _heard(out, child, time.monotonic() + wall_s, self.deadline + 1.0)
            killed(child)
            os.waitpid(child, 0)
        finally:
            os.close(out)
            for path, (content, at) in kept.items():
                self._put(path, content, at)
        return self.without(report)

    def _put(self, path: str, content: bytes, at: int) -> tuple[bytes, int]:
        """Put other content into a file of the folder; return what it held, and since when. Compiled files are told by
        size and second of their source: so each content has a second of its own (`at`; 0: a new one)."""
        full = os.path.join(self.root, path)
        with open(full, "rb+") as file:
            since = os.fstat(file.fileno()).st_mtime_ns
            held = file.read()
            file.seek(0)
            file.truncate()
            file.write(content)
        self._stamp += not at
        os.utime(full, ns=(at or self._stamp * 1_000_000_000,) * 2)
        return held, since


def _heard(out: int, child: int, until: float, ends: float) -> RunReport:
    """The report of a child, until it says no more or its time is over: at `until`, later by as much as a busy machine
    kept it waiting, and at `ends` in any case. What it says is a mutant's word: odd lines are left out."""
    report = RunReport()
    for line in _lines(out, lambda: min(until + waited_s(child), ends), report):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict):
            continue
        if isinstance(row.get("id"), str):
            report.tests[row["id"]] = _test_of(row)
        elif isinstance(row.get("lines"), dict):
            _add(report.lines.setdefault(str(row.get("ran")), {}), row["lines"])
        elif isinstance(row.get("trace"), dict):
            report.trace = row["trace"]
        elif "returned" in row:
            report.returned = row["returned"]
        elif row.get("end") is True:
            report.whole = True
            break
    return report


def _lines(out: int, until: Callable[[], float], report: RunReport) -> Iterator[bytes]:
    size, rest = 0, b""
    while size < _KEPT:
        while not select.select([out], [], [], max(0.0, until() - time.monotonic()))[0]:
            if time.monotonic() >= until():
                return
        piece = os.read(out, _READ)
        if not piece:
            return
        size += len(piece)
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    report.clipped = True


def _add(held: dict[str, list[int]], lines: Mapping[str, object]) -> None:
    for file, found in lines.items():
        if isinstance(found, list):
            held.setdefault(file, []).extend(each for each in found if isinstance(each, int))


def _test_of(row: Mapping[str, object]) -> Test:
    line, frames, cpu_s = row.get("line"), row.get("frames"), row.get("cpu_s")
    places = [
        (str(each[0]), each[1])
        for each in (frames if isinstance(frames, list) else ())
        if isinstance(each, list) and len(each) == 2 and isinstance(each[1], int)
    ]
    return Test(
        passed=row.get("ok") is True,
        line=line if isinstance(line, int) else 0,
        error=str(row.get("error") or ""),
        frames=tuple(places),
        cpu_s=float(cpu_s) if isinstance(cpu_s, int | float) else 0.0,
    )
