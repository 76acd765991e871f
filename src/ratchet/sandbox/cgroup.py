"""A memory limit by control group, where one can be had: as root, or below a delegated group."""

from __future__ import annotations

import contextlib
import os
import time
from functools import cache
from itertools import count
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_numbers = count()


@cache
def parent() -> tuple[Path, int] | None:
    """The group below which groups with a memory limit can be made, and the version of the interface."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    own = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
    if (_ROOT / "cgroup.controllers").exists():
        group = _ROOT / own.get("", "/").lstrip("/")
        candidates = [(each, 2) for each in (group, *group.parents) if each == _ROOT or _ROOT in each.parents]
    else:
        path = next((path for names, path in own.items() if "memory" in names.split(",")), None)
        candidates = [] if path is None else [(_ROOT / "memory" / path.lstrip("/"), 1)]
    for folder, version in candidates:
        if _usable(folder, version):
            return folder, version
    return None


def _usable(folder: Path, version: int) -> bool:
    """Tell whether a group made here has a limit and takes our processes: tried, not read."""
    trial = folder / f"ratchet-{os.getpid()}-try"
    try:
        trial.mkdir()
        try:
            (trial / ("memory.max" if version == 2 else "memory.limit_in_bytes")).write_text(str(1 << 30))
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            try:
                (trial / "cgroup.procs").write_text(str(child))
            finally:
                os.kill(child, 9)
                os.waitpid(child, 0)
        finally:
            _removed(trial)
    except OSError:
        return False
    return True


def _removed(folder: Path) -> None:
    for _ in range(200):  # a dead process leaves its group a moment later
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.005)
        else:
            return


def sweep() -> None:
    """Remove the groups of supervisors that are gone: one that was killed could not do it."""
    found = parent()
    if found is None:
        return
    for folder in found[0].glob("ratchet-*-*"):
        maker = folder.name.split("-")[1]
        if not Path("/proc", maker).exists():
            with contextlib.suppress(OSError):  # what was in it may be dying still: the next sweep gets it
                folder.rmdir()


class MemoryGroup:
    """One group with a limit. What exceeds it is killed by the kernel; `killed` tells."""

    def __init__(self, folder: Path, version: int) -> None:
        self._folder = folder
        self._version = version

    @classmethod
    def create(cls, limit_bytes: int) -> MemoryGroup | None:
        """None where no group can be made. Raises nothing."""
        found = parent()
        if found is None:
            return None
        folder, version = found
        made = cls(folder / f"ratchet-{os.getpid()}-{next(_numbers)}", version)
        try:
            made._folder.mkdir()
            made._limit(limit_bytes)
        except OSError:
            made.remove()
            return None
        return made

    def _limit(self, limit_bytes: int) -> None:
        if self._version == 2:
            (self._folder / "memory.max").write_text(str(limit_bytes))
            optional = {"memory.swap.max": "0", "memory.oom.group": "1"}
        else:
            (self._folder / "memory.limit_in_bytes").write_text(str(limit_bytes))
            optional = {"memory.memsw.limit_in_bytes": str(limit_bytes)}
        for name, value in optional.items():  # absent where swap is not accounted
            with contextlib.suppress(OSError):
                (self._folder / name).write_text(value)

    def attach(self, pid: int) -> None:
        (self._folder / "cgroup.procs").write_text(str(pid))

    def holds(self, pid: int) -> bool:
        return str(pid) in (self._folder / "cgroup.procs").read_text(encoding="ascii").split()

    @property
    def killed(self) -> bool:
        """Tell whether the kernel had to kill for this limit."""
        name = "memory.events" if self._version == 2 else "memory.oom_control"
        return self._figures(name).get("oom_kill", 0) > 0

    @property
    def used_bytes(self) -> int:
        """Memory that cannot be taken back: without the page cache."""
        figures = self._figures("memory.stat")
        if self._version == 2:
            return figures.get("anon", 0) + figures.get("shmem", 0)
        return figures.get("total_rss", 0) + figures.get("total_shmem", 0)

    def _figures(self, name: str) -> dict[str, int]:
        try:
            text = (self._folder / name).read_text(encoding="ascii")
        except OSError:
            return {}
        return {key: int(value) for key, value in (line.split() for line in text.splitlines())}

    def remove(self) -> None:
        _removed(self._folder)
