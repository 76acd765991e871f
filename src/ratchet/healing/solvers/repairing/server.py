"""Forks one process for every candidate, with the candidate's files in place, and reads what its tests say."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .child import ForkedRun, InChild
from .tracing import Tracer

_SMALLEST_S = 0.1  # of CPU; most mutants of a loop never end, and what works is rarely slower than all that failed
_TIMES = 5.0
_READ = 65_536
_KEPT = 8_000_000  # bytes of what one child says


@dataclass(frozen=True, slots=True)
class Test:
    """End of one test. `line` is that of the test which failed, `crash` the place in the program, if any."""

    passed: bool
    line: int = 0
    error: str = ""
    crash: tuple[str, int] | None = None
    cpu_s: float = 0.0


UNFINISHED = "unfinished"  # the `error` of a test that had begun when its process ended


@dataclass(slots=True)
class RunReport:
    """One run. `whole` is False where it was ended, or ended itself, before the last test."""

    tests: dict[str, Test] = field(default_factory=dict)
    whole: bool = False
    trace: Mapping[str, object] = field(default_factory=dict)
    returned: object = None

    @property
    def cut_short(self) -> bool:
        """Nothing was wrong when its time was up: with more, it may pass."""
        return not self.whole and all(self.tests[name].error == UNFINISHED for name in self.failing)

    @property
    def passing(self) -> frozenset[str]:
        return frozenset(name for name, test in self.tests.items() if test.passed)

    @property
    def failing(self) -> frozenset[str]:
        return frozenset(name for name, test in self.tests.items() if not test.passed)


def cpu_s() -> float:
    """CPU time of this process and of all candidates so far."""
    return sum(os.times()[:4])


class ForkServer:
    """The parent of all candidates. One at a time, since they share the folder."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        """On the monotonic clock."""
        self.limit_s = _SMALLEST_S
        self.first: tuple[str, ...] = ()
        self.sources: tuple[str, ...] = ()
        self._endless: frozenset[str] = frozenset()
        self._root = os.getcwd()

    def measured(self, report: RunReport) -> None:
        """Set a candidate's time by what the first run took, and its order by what failed."""
        self.limit_s = max(_SMALLEST_S, _TIMES * sum(t.cpu_s for t in report.tests.values() if t.error != "TimeUp"))
        self.first = tuple(name for name, test in report.tests.items() if not test.passed)
        self._endless = frozenset(name for name, test in report.tests.items() if test.error == "TimeUp")

    def out_of_time(self) -> bool:
        return time.monotonic() > self.deadline

    def whole(self, files: Mapping[str, bytes], *, trace: bool = False) -> RunReport:
        """All tests, each with its own time; with `trace`, what they run."""
        tracer = Tracer(self.sources) if trace else None
        return self._run(files, tracer=tracer, each_s=2.0 if trace else 0.7, wall_s=60.0)

    def candidate(self, files: Mapping[str, bytes], *, times: float = 1.0) -> RunReport:
        """The tests that failed at first; the others only if one of those passes now. It has `times` the usual time."""
        limit_s = self.limit_s * times
        return self._run(files, first=self.first, hopeless=True, cpu_s=limit_s, wall_s=4 * limit_s + 3.0)

    def call(self, files: Mapping[str, bytes], function: Callable[[], object], *, seconds: float) -> object:
        """Return what a function returns in a child, as JSON; None where it does not come back."""
        return self._run(files, call=function, cpu_s=seconds, wall_s=4 * seconds + 2.0).returned

    def _run(
        self,
        files: Mapping[str, bytes],
        *,
        wall_s: float,
        first: Sequence[str] = (),
        hopeless: bool = False,
        cpu_s: float = 10.0,
        each_s: float = 0.0,
        tracer: Tracer | None = None,
        call: Callable[[], object] | None = None,
    ) -> RunReport:
        kept = {path: _exchange(self._root, path, content) for path, content in files.items()}
        out, back = os.pipe()
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            os.close(out)
            raise InChild(
                ForkedRun(
                    out=back,
                    first=first,
                    hopeless=hopeless,
                    cpu_s=cpu_s,
                    each_s=each_s,
                    endless=self._endless,
                    tracer=tracer,
                    call=call,
                    sources=self.sources,
                )
            )
        os.close(back)
        try:
            said = _read(out, min(time.monotonic() + wall_s, self.deadline + 1.0))
            _ended(child)
        finally:
            os.close(out)
            for path, content in kept.items():
                _exchange(self._root, path, content)
        return _parsed(said)


def _exchange(root: str, path: str, content: bytes) -> bytes:
    """Put other content into a file of the folder; return what it held."""
    with open(os.path.join(root, path), "rb+") as file:
        held = file.read()
        file.seek(0)
        file.truncate()
        file.write(content)
    return held


def _read(out: int, until: float) -> bytes:
    """Read what a child says, until it says no more or its time is over."""
    said = bytearray()
    while len(said) < _KEPT:
        left = until - time.monotonic()
        if left <= 0 or not select.select([out], [], [], left)[0]:
            break
        piece = os.read(out, _READ)
        if not piece:
            break
        said += piece
        if said.endswith(b'{"end": true}\n'):
            break
    return bytes(said)


def _ended(child: int) -> None:
    """End a child with all that it started."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    os.waitpid(child, 0)


def _parsed(said: bytes) -> RunReport:
    """The report of a child. What it says is a mutant's word: odd lines are left out."""
    report = RunReport()
    for line in said.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict):
            continue
        if isinstance(row.get("id"), str):
            report.tests[row["id"]] = _test_of(row)
        elif isinstance(row.get("trace"), dict):
            report.trace = row["trace"]
        elif "returned" in row:
            report.returned = row["returned"]
        elif row.get("end") is True:
            report.whole = True
    return report


def _test_of(row: Mapping[str, object]) -> Test:
    line, crash, cpu_s = row.get("line"), row.get("crash"), row.get("cpu_s")
    place: tuple[str, int] | None = None
    if isinstance(crash, list) and len(crash) == 2 and isinstance(crash[1], int):
        place = (str(crash[0]), crash[1])
    return Test(
        passed=row.get("ok") is True,
        line=line if isinstance(line, int) else 0,
        error=str(row.get("error") or ""),
        crash=place,
        cpu_s=float(cpu_s) if isinstance(cpu_s, int | float) else 0.0,
    )
