"""Measure how much a working directory has grown: a walk when the file system says that there may be something to
see."""

from __future__ import annotations

import os
import socket
import stat
import time
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from ratchet.sandbox.beneath import entries, open_beneath, remove_at
from ratchet.sandbox.command import Limits
from ratchet.sandbox.processes import Processes

_MB = 1_048_576
_LONGEST_BLIND_S = 2.0
_MOST_SETTINGS_BYTES = 65_536
_BARE = {b"HEAD": 1, b"objects": 2, b"refs": 4}


@dataclass(slots=True)
class Survey:
    """Content of a folder. Paths are relative to it."""

    size_bytes: int = 0
    inodes: int = 0
    repositories: dict[bytes, int] = field(default_factory=dict)
    """Everything named `.git`: path -> file number. Git obeys the settings in it, and those can name programs."""
    bare: dict[bytes, bytes] = field(default_factory=dict)
    """Folders that git takes for a repository by what is in them -> their settings."""
    set_ids: set[bytes] = field(default_factory=set)
    sockets: set[bytes] = field(default_factory=set)
    links: Counter[int] = field(default_factory=Counter)
    """Names seen of each file that has several."""


def survey(root: int, *, skip: frozenset[bytes] = frozenset()) -> Survey:
    """Look at everything below a folder. `skip` names paths that are not entered."""
    found = Survey()
    shape: Counter[bytes] = Counter()
    for each in entries(root, skip=skip):
        found.inodes += 1
        found.size_bytes += each.status.st_blocks * 512
        mode = each.status.st_mode
        if each.name.lower() == b".git":
            found.repositories[each.path] = each.status.st_ino
        elif each.name in _BARE and stat.S_ISDIR(mode) == (each.name != b"HEAD"):
            shape[each.path.rpartition(b"/")[0]] += _BARE[each.name]
        if stat.S_ISREG(mode):
            if mode & 0o6000:
                found.set_ids.add(each.path)
            if each.status.st_nlink > 1:
                found.links[each.status.st_ino] += 1
        elif stat.S_ISSOCK(mode):
            found.sockets.add(each.path)
    bare = (path for path, bits in shape.items() if bits == 7 and not _inside(path, found.repositories))
    found.bare = {path: _settings(root, path) for path in bare}
    return found


def _settings(root: int, path: bytes) -> bytes:
    try:
        opened = open_beneath(root, path + b"/config" if path else b"config", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""
    with os.fdopen(opened, "rb") as file:
        return file.read(_MOST_SETTINGS_BYTES) if stat.S_ISREG(os.fstat(opened).st_mode) else b"?"


def answered(root: int, paths: set[bytes]) -> set[bytes]:
    """Those sockets that somebody on the host listens at. A network of one's own does not keep a command from them,
    since they are found by their path. Asked as a datagram, which a listener never notices."""
    return {path for path in paths if _is_answered(root, path)}


def _is_answered(root: int, path: bytes) -> bool:
    above, _, name = path.rpartition(b"/")
    try:
        folder = open_beneath(root, above, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return True
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asking:
            asking.connect(f"/proc/self/fd/{folder}/".encode() + name)
    except (ConnectionRefusedError, FileNotFoundError):
        return False  # what its owner left behind
    except OSError:  # of another type, closed to this user, or a name that is too long to ask
        return True
    finally:
        os.close(folder)
    return True


def _inside(path: bytes, repositories: Container[bytes]) -> bool:
    parts = path.split(b"/")
    return any(b"/".join(parts[:depth]) in repositories for depth in range(1, len(parts) + 1))


class Growth:
    """Watches one folder against its limits of bytes and inodes."""

    def __init__(self, root: int, before: Survey, limits: Limits, skip: frozenset[bytes]) -> None:
        self._root = root
        self._before = before
        self._limits = limits
        self._skip = skip
        self._device = os.fstat(root).st_dev
        self._start = self._seen = self._used()
        self._left_bytes = limits.disk_mb * _MB
        self._left_inodes = limits.inodes
        self._next_s = time.monotonic() + _LONGEST_BLIND_S

    def _used(self) -> tuple[int, int]:
        found = os.fstatvfs(self._root)
        return (found.f_blocks - found.f_bfree) * found.f_frsize, found.f_files - found.f_ffree

    def exceeded(self, processes: Processes | None, *, surely: bool = False) -> Literal["", "disk", "inodes"]:
        """Which limit is passed. Between walks the file system's own counters, which move with everybody's writes, tell
        whether a walk can find anything; `surely` walks in any case."""
        now = self._used()
        nearer_bytes = now[0] - self._seen[0] > self._left_bytes // 2
        nearer_inodes = now[1] - self._seen[1] > self._left_inodes // 2
        if not (surely or nearer_bytes or nearer_inodes or time.monotonic() >= self._next_s):
            return ""
        started = time.monotonic()
        found = survey(self._root, skip=self._skip)
        grown = found.size_bytes - self._before.size_bytes
        # Files without a name do not show in a walk, but the file system counts them.
        if processes is not None and now[0] - self._start[0] > self._limits.disk_mb * _MB >= grown:
            grown += processes.unlinked_bytes(self._device)
        more = found.inodes - self._before.inodes
        self._seen = now
        self._left_bytes = max(self._limits.disk_mb * _MB - grown, _MB)
        self._left_inodes = max(self._limits.inodes - more, 64)
        took = time.monotonic() - started
        self._next_s = time.monotonic() + max(_LONGEST_BLIND_S, 20 * took)  # at most 5 % of the time is spent walking
        if grown > self._limits.disk_mb * _MB:
            return "disk"
        return "inodes" if more > self._limits.inodes else ""


def harmless(root: int, before: Survey, skip: frozenset[bytes]) -> list[str]:
    """Take away what a command left in a person's folder that would act on the host: new repositories, whose settings
    git obeys in any folder, and set-id bits. Return the paths."""
    after = survey(root, skip=skip)
    # One that was there before may have been moved with the folder around it; nobody could change what is in it.
    kept = set(before.repositories.values())
    new = {path for path, number in after.repositories.items() if number not in kept}
    doomed = {each for each in new if not _inside(each.rpartition(b"/")[0], new)}
    # Without its HEAD, git sees no bare repository. Those of before keep it as long as their settings are the same.
    known = set(before.bare.values())
    doomed |= {path + b"/HEAD" if path else b"HEAD" for path, said in after.bare.items() if said not in known}
    for path in sorted(doomed):
        with _folder_of(root, path) as (folder, name):
            remove_at(folder, name)
    plain = sorted(after.set_ids - before.set_ids)
    for path in plain:
        with _folder_of(root, path) as (folder, name):
            mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
            os.chmod(name, mode & 0o1777, dir_fd=folder)
    return sorted(map(os.fsdecode, [*doomed, *plain]))


@contextmanager
def _folder_of(root: int, path: bytes) -> Iterator[tuple[int, str]]:
    above, _, name = path.rpartition(b"/")
    folder = open_beneath(root, above, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield folder, os.fsdecode(name)
    finally:
        os.close(folder)
