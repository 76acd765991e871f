"""Run one forked candidate: its limits, the order of its tests, and what it says of them."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType, TracebackType

from .effects import EffectTracer
from .tracing import Tracer
from .waiting import waited_s

_MEMORY = 512 * 1_048_576  # beyond what the server holds: a mutant that hoards ends alone, not the sandbox
_FILE = 16 * 1_048_576
_LOAD_S = 2.0  # for importing the tests, before the first of them starts
# Where very many tests never end, the run that sees what there is has to: after so many, the others have less time.
_LATE, _HURRIED = 8, 4.0
_FRAMES = 40
_ASLEEP = 3.0  # times the CPU time that a test has, which it may take by the clock: longer, and it sleeps
_real = functools.lru_cache(maxsize=1_000)(os.path.realpath)


class InChild(BaseException):
    """Raised in the forked process, so that it returns from the search to the runner that it was forked in."""

    def __init__(self, job: ForkedRun) -> None:
        super().__init__()
        self.job = job


class TimeUp(BaseException):
    """A test of the first run took too long; the next one is tried."""


@dataclass(slots=True)
class ForkedRun:
    """One run of the tests in a forked process. `first` are run before the others; when none of them passes, and
    `hopeless` says so, the others are not run at all."""

    out: int
    root: str
    """The project, whose files are those that count."""
    first: Sequence[str] = ()
    hopeless: bool = False
    cpu_s: float = 10.0
    each_s: float = 0.0
    """Above 0: time for one test, which ends alone (the runs that see what there is)."""
    endless: frozenset[str] = frozenset()
    """Tests known to take longer than that: what they do again and again is seen soon."""
    wider: bool = False
    """Run all tests of the files that the check names tests of."""
    only: frozenset[str] = frozenset()
    """Run these alone, if any are named."""
    writes: bool = False
    """Keep what is compiled: the files are those of the project."""
    tracer: Tracer | EffectTracer | None = None
    call: Callable[[], object] | None = None
    """Called in place of the tests; what it returns is told."""
    holding: Callable[[], ForkedRun] | None = None
    """Called when the tests are loaded: returns in further children, each with a run of its own."""
    sources: frozenset[str] = frozenset()
    directly: bool = False
    """Call tests that are mere functions without what a runner does around them."""
    _done: int = 0
    _gained: bool = False
    _timed: bool = False
    _since: float = 0.0
    _sleeps_at: float = 0.0
    _late: int = 0

    def confine(self) -> None:
        """Set limits and give up the server's streams."""
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        sys.dont_write_bytecode = not self.writes
        if self.holding is not None:
            return
        with contextlib.suppress(ValueError, OSError):
            with open("/proc/self/statm", encoding="ascii") as found:
                held = int(found.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (held + _MEMORY, held + _MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGPROF, self._on_time if self.each_s else signal.SIG_DFL)
        signal.signal(signal.SIGALRM, self._on_clock if self.each_s else signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, _LOAD_S + self.cpu_s)

    def loaded(self) -> ForkedRun:
        """Go on with the tests, now that they are loaded: in this process, or in the children of one that is kept."""
        return self if self.holding is None else self.holding()

    def ordered(self, ids: Sequence[str]) -> list[int]:
        """The order in which to run these tests, as positions."""
        place = {name: i for i, name in enumerate(self.first)}
        chosen = [i for i, name in enumerate(ids) if name in self.only or not self.only]
        return sorted(chosen, key=lambda i: (place.get(ids[i], len(place)), i))

    def begin(self, name: str) -> None:
        if self.tracer is not None:
            self._tell_lines("")
        self.tell({"id": name, "ok": False, "error": "unfinished"})
        self._since = time.process_time()
        if self.each_s:
            # Again and again, for a program that catches everything; by the wall, too, for one that sleeps.
            seconds = self.each_s / (_HURRIED if name in self.endless else 1) / (_HURRIED if self._late >= _LATE else 1)
            signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
            signal.setitimer(signal.ITIMER_REAL, _ASLEEP * seconds, 0.1)
            self._sleeps_at = time.monotonic() - waited_s() + _ASLEEP * seconds
        elif not self._timed:
            signal.setitimer(signal.ITIMER_PROF, self.cpu_s)
            self._timed = True
        if self.tracer is not None:
            self.tracer.start()

    def end(self, name: str, passed: bool, error: BaseException | None = None) -> None:
        if self.each_s:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        if self.tracer is not None:
            self._tell_lines(name)
        self._done += 1
        self._late += isinstance(error, TimeUp)
        self._gained = self._gained or (passed and name in self.first)
        line, frames = self._places(error.__traceback__ if error else None)
        used = time.process_time() - self._since
        what = type(error).__name__ if error else ""
        self.tell({"id": name, "ok": passed, "line": line, "frames": frames, "error": what, "cpu_s": round(used, 4)})

    def enough(self) -> bool:
        """Tell whether to leave the other tests out."""
        return self.hopeless and not self._gained and self._done >= len(self.first)

    def tell(self, said: object) -> None:
        data = (json.dumps(said) + "\n").encode()
        while data:
            data = data[os.write(self.out, data) :]

    def leave(self) -> None:
        """End this process; nothing of the server's that is registered to happen at exit happens."""
        if self.tracer is not None:
            self.tracer.stop()
            self._tell_lines("")
            self.tell({"trace": self.tracer.seen()})
        self.tell({"end": True})
        os._exit(0)

    def _tell_lines(self, name: str) -> None:
        """Tell at once what a test ran, so that a run which is cut short has told of those before."""
        assert self.tracer is not None
        lines = self.tracer.taken(name)
        if lines:
            self.tell({"ran": name, "lines": lines})

    def _places(self, found: TracebackType | None) -> tuple[int, list[list[object]]]:
        """The line of the test that failed, and the places in the program that it failed in, the innermost last."""
        line, frames = 0, list[list[object]]()
        for frame, number in traceback.walk_tb(found):
            name = _real(frame.f_code.co_filename)
            if name in self.sources:
                frames.append([name, number])
            elif name.startswith(self.root + os.sep) and not line and not is_installed(name[len(self.root) :]):
                line = number
        return line, frames[-_FRAMES:]

    def _on_clock(self, _signal: int, _frame: FrameType | None) -> None:
        if time.monotonic() - waited_s() > self._sleeps_at:  # else a busy machine kept it waiting
            raise TimeUp

    @staticmethod
    def _on_time(_signal: int, _frame: FrameType | None) -> None:
        raise TimeUp


def is_installed(path: str) -> bool:
    """Tell whether a file below the project is an environment's, and none of the project's own."""
    return "/site-packages/" in path or "/dist-packages/" in path or "/lib/python" in path


def guarded(job: ForkedRun, name: str, run: Callable[[], object]) -> None:
    """Run one test and tell how it ended."""
    job.begin(name)
    try:
        run()
    except SystemExit as error:
        job.end(name, error.code in (None, 0), None if error.code in (None, 0) else error)
    except BaseException as error:  # noqa: BLE001  (whatever a mutant raises is its verdict)
        job.end(name, False, error)
    else:
        job.end(name, True)
    sys.stdout.flush()


def killed(child: int) -> None:
    """End a child with all that it started."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)
