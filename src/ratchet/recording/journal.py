"""The append-only journal: one line a record, one write a line, never a database in the way.

A process writes its own segment, named by UUIDv7; hooks, which are a process per event, share one a day. An append that
returned True survives the process's death by any signal (power loss is not promised). Nothing here raises into the
host: what cannot be written is counted, reported once, and the next append tries again.

Lean: a hook process imports this.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import RLock
from _weakref import ref

from ratchet import files
from ratchet.ids import uuid7
from ratchet.recording import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ratchet.records import Row

FOLDER = "journal"
SUFFIX = ".jsonl"
_SHARED = "hooks-"
SEGMENT_BYTES = 64 * 1024 * 1024
"""Size from which on a process begins a new segment, so that drained ones can go."""
_RETRY_S = 1.0  # pause before an unwritable home is tried again: a failing open costs 20 times a failing write
_LOOK_S = 1.0  # how often it is looked whether the segment is still there: a look costs a fifth of a write
_EBADF = 9
_HIGH_FD = 512  # above what a host that closes and reopens low descriptors hands out by itself


class Journal:
    """Appends rows to this process's segment in `home`. Safe under threads, signals, garbage collection and fork.

    `shared` joins the day's segment of all hooks instead. `report` is called once per outage with what to tell.
    """

    def __init__(
        self,
        home: str,
        *,
        shared: bool = False,
        report: Callable[[str], None] | None = None,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self.folder = os.path.join(_absolute(home), FOLDER)
        self.lost = 0
        """Records that could not be written since this journal was made."""
        self._shared = shared
        self._report = report
        self._segment_bytes = segment_bytes
        self._start_over()
        _live.add(ref(self, _live.discard))

    def _start_over(self) -> None:
        # Reentrant: a signal handler or a collected generator may record while an append is under way.
        self._lock = RLock()
        self._fd = -1
        self._written = 0
        self._torn = False
        self._retry_at = 0.0
        self._look_at = 0.0
        self._unreported_lost = 0
        self._outage = ""
        self._untold = ""

    def append(self, row: Row) -> bool:
        """Write one record; True once it is in the operating system's hands. Never raises, never waits."""
        try:
            line = line_of(row)
        except (ValueError, TypeError, RecursionError) as error:
            return self._lose(f"a record could not be encoded: {error}")
        return self._kept(line, 1)

    def extend(self, lines: bytes, records: int) -> bool:
        """Write many records, a line each, with one write; False when not all of them are kept (then give all of them
        again: a reader tells them by their ids). Never raises, never waits."""
        return self._kept(lines, records)

    def _kept(self, lines: bytes, records: int) -> bool:
        with self._lock:
            try:
                kept = self._write(lines, records)
            except OSError as error:
                why = f"the journal in {self.folder[:200]} cannot be written: {error.strerror or error}"
                kept = self._lose(why, records)
            except ValueError as error:  # a home that is no path: NUL in it, or a lone surrogate
                kept = self._lose(f"the journal in {self.folder[:200]!r} cannot be written: {error}", records)
            why, self._untold = self._untold, ""
        if why and self._report is not None:  # outside the lock: a host's log handler may do anything
            self._report(why)
        return kept

    def close(self) -> None:
        """Let go of the segment, so that it can be deleted once drained. A later append begins another."""
        with self._lock:
            fd, self._fd = self._fd, -1
        if fd >= 0:
            _close(fd)

    def _write(self, lines: bytes, records: int) -> bool:
        now = time.monotonic()
        if now >= self._look_at:
            self._look(now)
        if self._fd < 0 or self._written >= self._segment_bytes:
            if now < self._retry_at:
                return self._lose(self._outage, records)
            self._open()
        try:
            return self._put(lines, records)
        except OSError as error:
            if error.errno != _EBADF:
                raise
        # The host closed all descriptors (daemons do). The number may be another's by now: never close it.
        self._fd = -1
        self._open()
        return self._put(lines, records)

    def _look(self, now: float) -> None:
        """Tell when somebody removed the home under this process: what is written there is gone, and nothing fails."""
        self._look_at = now + _LOOK_S
        if self._fd >= 0 and _is_gone(self._fd):
            self.close()
            self._untold = (
                f"the journal in {self.folder[:200]} was removed while it was in use: it is made anew, and what was "
                f"recorded in the last {_LOOK_S:g} s may be lost; restart this process to use the new home for all else"
            )

    def _put(self, lines: bytes, records: int) -> bool:
        """One write. A short one (the disk ran full) leaves a torn line, so the next record begins a fresh one."""
        for _ in range(2):
            # In a shared segment another process may have left the torn line.
            piece = b"\n" + lines if self._torn or self._shared else lines
            written = os.write(self._fd, piece)
            self._written += written
            if written == len(piece):
                self._torn = False
                if self._outage:
                    self._recover()
                return True
            self._torn = True
        return self._lose(f"the disk of {self.folder} is full", records)

    def _open(self) -> None:
        self.close()
        self._retry_at = time.monotonic() + _RETRY_S
        make_private(os.path.dirname(self.folder))
        make_private(self.folder)
        fd = self._open_shared() if self._shared else self._open_own()
        if hasattr(os, "fchmod"):
            os.fchmod(fd, 0o600)  # whatever the umask took away
        self._fd, self._written, self._torn, self._retry_at = fd, 0, False, 0.0

    def _open_shared(self) -> int:
        """Without a lock: a drain leaves the segments of today and yesterday alone, and hooks live for seconds."""
        return _opened(os.path.join(self.folder, _SHARED + time.strftime("%Y%m%d", time.gmtime()) + SUFFIX))

    def _open_own(self) -> int:
        for _ in range(8):  # a drain may take the new segment for an abandoned one before it is locked
            fd = _opened(os.path.join(self.folder, uuid7() + SUFFIX))
            # Marks it as being written. Without locks a drain cannot lock it either, so it never deletes it.
            if files.lock(fd, shared=True) is not False and os.fstat(fd).st_nlink:
                return _raised(fd)
            _close(fd)
        raise OSError("every new segment was deleted at once")

    def _lose(self, why: str, records: int = 1) -> bool:
        self.lost += records
        self._unreported_lost += records
        if not self._outage:
            self._outage = self._untold = why
        return False

    def _recover(self) -> None:
        """After an outage: a line that says how many records are missing, for `ratchet doctor`."""
        lost, why = self._unreported_lost, self._outage
        self._unreported_lost, self._outage = 0, ""
        self.append({"r": "lost", "count": lost, "reason": why, "at": time.time()})


def _is_gone(fd: int) -> bool:
    try:
        return os.fstat(fd).st_nlink == 0
    except OSError:  # a host closed it: the next write tells
        return False


def line_of(row: Row) -> bytes:
    """A record as it stands in a segment."""
    text = wire.written(row)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate: no database takes it
        return text.encode("utf-8", "replace") + b"\n"


def _absolute(home: str) -> str:
    """The home, wherever the process goes later; as it is when the working directory is gone."""
    path = os.path.expanduser(home)
    try:
        return os.path.abspath(path)
    except OSError:
        return path


def make_private(folder: str) -> None:
    """Create a folder that only its owner can enter, whatever the umask; leave an existing one as it is."""
    if not os.path.isdir(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            return
        os.chmod(folder, 0o700)


def is_shared(name: str) -> bool:
    """Tell whether a segment's name is that of a day's hooks."""
    return name.startswith(_SHARED)


def may_be_written(name: str, now: float) -> bool:
    """Tell whether a hook may still be writing to this shared segment: its day, in UTC, ended less than a day ago."""
    return name[len(_SHARED) :][:8] >= time.strftime("%Y%m%d", time.gmtime(now - 86_400))


def segments(home: str) -> list[str]:
    """Paths of the segments in `home`, oldest first; empty when nothing was ever recorded there."""
    folder = os.path.join(_absolute(home), FOLDER)
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(SUFFIX)]


def _opened(path: str) -> int:
    # Not blocking: a pipe that somebody put there is an error and not an endless wait. Files know no difference.
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | flags, 0o600)


def _raised(fd: int) -> int:
    """The same file under a high number: low ones are handed out again by a host that closes what it does not know."""
    try:
        import fcntl
    except ImportError:
        return fd
    try:
        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD)
    except OSError:  # fewer descriptors than that are allowed
        return fd
    _close(fd)
    return high


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError as error:
        if error.errno != _EBADF:
            raise


_live: set[ref[Journal]] = set()


def _after_fork() -> None:
    """A child writes its own segment; its copy of the parent's is closed, which leaves the parent's lock in force."""
    for known in list(_live):
        journal = known()
        if journal is not None:
            fd = journal._fd
            journal._start_over()
            if fd >= 0:
                _close(fd)


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)
