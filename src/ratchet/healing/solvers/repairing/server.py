"""Forks one process for every candidate, with the candidate's files in place, and reads what its tests say.

Where an edit changes only bodies of functions, the child is forked from a process that has loaded the tests already,
and the functions' code is exchanged in it (`swapping`): nothing is imported again.
"""

from __future__ import annotations

import contextlib
import gc
import json
import marshal
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .child import ForkedRun, InChild
from .swapping import Swap, exchange, live
from .tracing import Tracer, naming

_SMALLEST_S = 0.1  # of CPU; most mutants of a loop never end, and what works is rarely slower than all that failed
_TIMES = 5.0
_READ = 1 << 18
_KEPT = 64_000_000  # bytes of what one child says
_LOADING_S = 60.0
_BESIDE_S = 10.0
_NUMBER = struct.Struct("=q")
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

    @property
    def passing(self) -> frozenset[str]:
        return frozenset(name for name, test in self.tests.items() if test.passed)

    @property
    def failing(self) -> frozenset[str]:
        return frozenset(name for name, test in self.tests.items() if not test.passed)


class ForkServer:
    """The parent of all candidates. One at a time, since they share the folder."""

    def __init__(self, deadline: float, root: str) -> None:
        self.deadline = deadline
        """On the monotonic clock."""
        self.root = root
        self.limit_s = _SMALLEST_S
        self.first: tuple[str, ...] = ()
        self.sources: frozenset[str] = frozenset()
        self.left_out: frozenset[str] = frozenset()
        """Tests that do not count."""
        self.loaded_anew = 0
        """Candidates for which the tests were loaded anew."""
        self._endless: frozenset[str] = frozenset()
        self._keeper: _Keeper | None = None
        self._kept_cpu_s = 0.0
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
        return time.monotonic() > self.deadline

    def whole(self, files: Mapping[str, bytes], *, trace: bool = False, wider_s: float = 0.0) -> RunReport:
        """All tests, each with its own time; with `trace`, what they run. Above 0, `wider_s` is the time for all tests
        of the files in which those lie."""
        tracer = Tracer(self.sources) if trace else None
        wall_s = wider_s or 60.0
        return self._run(files, tracer=tracer, each_s=2.0 if trace else 0.7, wall_s=wall_s, wider=wider_s > 0)

    def beside(self, files: Mapping[str, bytes], names: Collection[str]) -> RunReport:
        """Tests that lie beside those of the check, by their names, as far as there is time for them."""
        return self._run(files, only=frozenset(names), wider=True, each_s=2.0, cpu_s=_BESIDE_S, wall_s=3 * _BESIDE_S)

    def keep_loaded(self) -> bool:
        """Load the tests once, for the candidates that only change functions; False where that cannot be had."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            ours.close()
            job = ForkedRun(out=os.open(os.devnull, os.O_WRONLY), root=self.root, first=self.first,
                            sources=self.sources)  # fmt: skip
            job.holding = lambda: _held(theirs, job)
            raise InChild(job)
        theirs.close()
        ours.settimeout(max(1.0, min(_LOADING_S, self.deadline - time.monotonic())))
        keeper = _Keeper(child, ours)
        if keeper.said() is None:
            keeper.end()
            return False
        ours.settimeout(10.0)
        self._keeper = keeper
        return True

    def candidate(
        self, files: Mapping[str, bytes], *, swaps: Sequence[Swap] | None = None, times: float = 1.0
    ) -> RunReport:
        """The tests that failed at first; the others only if one of those passes now. It has `times` the usual time.
        `swaps`: the functions whose exchange makes these files; None: the files are loaded."""
        limit_s = self.limit_s * times
        if swaps is not None and self._keeper is not None:
            report = self._exchanged(swaps, limit_s)
            if report is not None:
                return report
        self.loaded_anew += 1
        return self._run(files, first=self.first, hopeless=True, cpu_s=limit_s, wall_s=4 * limit_s + 3.0)

    def call(self, files: Mapping[str, bytes], function: Callable[[], object], *, seconds: float) -> object:
        """Return what a function returns in a child, as JSON; None where it does not come back."""
        return self._run(files, call=function, cpu_s=seconds, wall_s=4 * seconds + 2.0).returned

    def _exchanged(self, swaps: Sequence[Swap], limit_s: float) -> RunReport | None:
        """One candidate in a child of the process that keeps the tests loaded; None where it cannot be had so."""
        assert self._keeper is not None
        out, back = os.pipe()
        try:
            asked = {"first": self.first, "cpu_s": limit_s, "endless": list(self._endless), "swaps": list(swaps)}
            child = self._keeper.ask(marshal.dumps(asked), back)
            os.close(back)
            if child is None:
                self._keeper.end()
                self._keeper = None
                return None
            report = _heard(out, min(time.monotonic() + 4 * limit_s + 3.0, self.deadline + 1.0))
            _killed(child)
            self._kept_cpu_s += (self._keeper.said() or 0) / 1e6
        finally:
            os.close(out)
        return self.without(report) if report.returned != _UNFIT else None

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
        wider: bool = False,
        only: frozenset[str] = frozenset(),
        call: Callable[[], object] | None = None,
    ) -> RunReport:
        kept = {path: self._put(path, content, 0) for path, content in files.items()}
        out, back = os.pipe()
        child = os.fork()
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
            report = _heard(out, min(time.monotonic() + wall_s, self.deadline + 1.0))
            _killed(child)
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


_UNFIT = "unfit"


class _Keeper:
    """The process that has loaded the tests, as seen from its parent: a request and an open pipe go there, the number
    of the child that answers comes back, and what CPU time both took, in millionths of a second, when
    that is gone."""

    def __init__(self, process: int, channel: socket.socket) -> None:
        self._process = process
        self._channel = channel

    def ask(self, request: bytes, out: int) -> int | None:
        try:
            socket.send_fds(self._channel, [_NUMBER.pack(len(request))], [out])
            self._channel.sendall(request)
        except OSError:
            return None
        return self.said()

    def said(self) -> int | None:
        """The next number that it says; None where it says no more."""
        try:
            data = self._channel.recv(_NUMBER.size, socket.MSG_WAITALL)
        except OSError:
            return None
        return int(_NUMBER.unpack(data)[0]) if len(data) == _NUMBER.size else None

    def end(self) -> None:
        self._channel.close()
        _killed(self._process)
        os.waitpid(self._process, 0)


def _held(channel: socket.socket, kept: ForkedRun) -> ForkedRun:
    """Keep the loaded tests: return once in every child that is asked for, and never in this process."""
    functions = live(naming(kept.sources))
    gc.collect()
    gc.freeze()  # what is there is not looked at again in every child, which would copy its pages
    channel.sendall(_NUMBER.pack(0))
    told_s = 0.0
    while True:
        head, descriptors, *_ = socket.recv_fds(channel, _NUMBER.size, 1)
        if len(head) < _NUMBER.size or not descriptors:
            os._exit(0)
        size = _NUMBER.unpack(head)[0]
        request = b""
        while len(request) < size:
            request += channel.recv(size - len(request)) or os._exit(0)
        child = os.fork()
        if child:
            os.close(descriptors[0])
            channel.sendall(_NUMBER.pack(child))
            os.waitpid(child, 0)
            used_s = sum(os.times()[:4])
            channel.sendall(_NUMBER.pack(int(1e6 * (used_s - told_s))))
            told_s = used_s
            continue
        os.setpgid(0, 0)
        channel.close()
        asked = marshal.loads(request)  # noqa: S302  (our own parent's)
        job = ForkedRun(
            out=descriptors[0],
            root=kept.root,
            first=asked["first"],
            hopeless=True,
            cpu_s=asked["cpu_s"],
            endless=frozenset(asked["endless"]),
            sources=kept.sources,
        )
        job.confine()
        if not exchange(functions, asked["swaps"]):
            job.tell({"returned": _UNFIT})
            job.leave()
        return job


def _heard(out: int, until: float) -> RunReport:
    """The report of a child, until it says no more or its time is over. What it says is a mutant's word: odd lines are
    left out."""
    report = RunReport()
    for line in _lines(out, until, report):
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


def _lines(out: int, until: float, report: RunReport) -> Iterator[bytes]:
    size, rest = 0, b""
    while size < _KEPT:
        left = until - time.monotonic()
        if left <= 0 or not select.select([out], [], [], left)[0]:
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


def _killed(child: int) -> None:
    """End a child with all that it started."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)


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
