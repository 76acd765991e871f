"""The processes of a job: who they are, what they use, and their end."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable

_PATIENCE_S = 30.0  # a process in an uninterruptible wait on a dead disk may never end
_TICKS = os.sysconf("SC_CLK_TCK")


class Processes:
    """All processes of one job. In a process namespace its own /proc lists exactly them; else they are the descendants
    of the supervisor, to which orphans come back."""

    def __init__(self, first: int, *, namespace: bool) -> None:
        self._first = first
        self._proc = f"/proc/{first}/root/proc" if namespace else "/proc"
        self._namespace = namespace
        self._moved_in = False
        self._cpu: dict[tuple[str, str], int] = {}
        self._most_ticks = 0

    def _stats(self) -> dict[str, list[str]]:
        """Process number -> the fields of its `stat` behind the name."""
        found: dict[str, list[str]] = {}
        if self._namespace and not self._is_moved_in():
            return found
        with contextlib.suppress(OSError):
            if self._namespace and os.stat(self._proc).st_dev == os.stat("/proc").st_dev:
                return {}  # its root is still the host's: it has not come to its own /proc yet
            for name in os.listdir(self._proc):
                if name.isdecimal():
                    with contextlib.suppress(OSError, ValueError):
                        found[name] = _read(f"{self._proc}/{name}/stat").rpartition(b")")[2].decode("ascii").split()
        return found if self._namespace else _below(found, str(os.getpid()))

    def _is_moved_in(self) -> bool:
        """Tell whether the first process has the sandbox's root already. Before that its /proc is the host's, and would
        charge the job with everybody's processes."""
        if not self._moved_in:
            with contextlib.suppress(OSError):
                self._moved_in = _started_at(f"{self._proc}/1/stat") == _started_at(f"/proc/{self._first}/stat")
        return self._moved_in

    def cpu_s(self) -> float:
        """CPU time of the whole tree so far, of those included that are gone. A sampled lower bound: what was born and
        died between two looks counts once its parent has waited for it."""
        alive = 0
        for pid, fields in self._stats().items():
            own = int(fields[11]) + int(fields[12])
            self._cpu[pid, fields[19]] = own
            alive += own + int(fields[13]) + int(fields[14])
        self._most_ticks = max(self._most_ticks, alive, sum(self._cpu.values()))
        return self._most_ticks / _TICKS

    def memory_bytes(self) -> int:
        """Memory of the tree, shared pages counted once (PSS): a pool of forked workers is not its size times N."""
        total = 0
        for pid in self._stats():
            with contextlib.suppress(OSError, ValueError):
                for line in _read(f"{self._proc}/{pid}/smaps_rollup").splitlines():
                    if line.startswith(b"Pss:"):
                        total += int(line.split()[1]) * 1024
        return total

    def unlinked_bytes(self, device: int) -> int:
        """Count what open files without a name hold on a file system."""
        seen: dict[int, int] = {}
        for pid in self._stats():
            folder = f"{self._proc}/{pid}/fd"
            with contextlib.suppress(OSError):
                for name in os.listdir(folder):
                    with contextlib.suppress(OSError):
                        found = os.stat(f"{folder}/{name}")
                        if found.st_dev == device and found.st_nlink == 0:
                            seen[found.st_ino] = found.st_blocks * 512
        return sum(seen.values())

    def inodes_of_memory(self, folders: tuple[str, ...]) -> int:
        """Count the files that the sandbox's own memory file systems hold."""
        total = 0
        for folder in folders if self._is_moved_in() else ():
            with contextlib.suppress(OSError):
                found = os.statvfs(f"/proc/{self._first}/root{folder}")
                total += found.f_files - found.f_ffree
        return total

    def stand_still(self) -> None:
        """Stop all of them: until every one stands still, since what still runs may start more."""
        patience = time.monotonic() + _PATIENCE_S
        while (running := self._running()) and time.monotonic() < patience:
            _signalled(running, signal.SIGSTOP)
            time.sleep(0.002)

    def go_on(self) -> None:
        """Let all of them go on."""
        _signalled(self._on_host(), signal.SIGCONT)

    def _running(self) -> list[str]:
        """Those that do not stand still: their numbers outside."""
        found = []
        for pid in self._on_host():
            with contextlib.suppress(OSError):
                if _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] not in b"TtZX":
                    found.append(pid)
        return found

    def _on_host(self) -> list[str]:
        """The numbers by which they are known outside their namespace."""
        if not self._namespace:
            return list(self._stats())
        inside = os.readlink(f"/proc/{self._first}/ns/pid")
        found = []
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with contextlib.suppress(OSError):  # another's, or gone
                if os.readlink(f"/proc/{name}/ns/pid") == inside:
                    found.append(name)
        return found

    def end(self) -> None:
        """Kill all of them and wait until none is left."""
        patience = time.monotonic() + _PATIENCE_S
        if self._first <= 0:  # it never came to be; 0 would be this process's own group
            return
        if self._namespace:
            # The namespace dies with its first process, which is gone only after all the others are.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._first, signal.SIGKILL)
            while not _is_gone(self._first) and time.monotonic() < patience:
                time.sleep(0.0005)
            return
        while (left := self._stats()) and time.monotonic() < patience:
            # Stopped first: what forks faster than it is killed stands still after the first round.
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in left:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(int(pid), number)
            self._reap(left)
            time.sleep(0.002)

    def _reap(self, ended: Iterable[str]) -> None:
        """Take the dead away, but for the first one: how that ended is asked for later."""
        for pid in map(int, ended):
            if pid != self._first:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


def _signalled(pids: Iterable[str], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(int(pid), number)


def _started_at(path: str) -> bytes:
    """When a process started, in ticks since the machine did: with its number, what a process is known by."""
    return _read(path).rpartition(b")")[2].split()[19]


def _is_gone(pid: int) -> bool:
    try:
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True


def _below(stats: dict[str, list[str]], ancestor: str) -> dict[str, list[str]]:
    children: dict[str, list[str]] = {}
    for pid, fields in stats.items():
        children.setdefault(fields[1], []).append(pid)
    found: dict[str, list[str]] = {}
    pending = list(children.get(ancestor, ()))
    while pending:
        pid = pending.pop()
        if stats[pid][0] != "Z":
            found[pid] = stats[pid]
        pending.extend(children.get(pid, ()))
    return found


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read(65_536)
