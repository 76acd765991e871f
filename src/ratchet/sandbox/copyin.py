"""Copies a project into a workspace: its own files and nothing that a stranger's code should get to see."""

from __future__ import annotations

import errno
import logging
import os
import re
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ratchet.errors import BackendError, Refused
from ratchet.sandbox import git
from ratchet.sandbox.environments import environments
from ratchet.sandbox.ignore import Ignore, is_home, is_left_out

_log = logging.getLogger(__name__)
_CHUNK = 1 << 30
_MODULES = "node_modules"
_BLOCK = 512  # bytes: the unit of st_blocks, whatever the file system's own is
_AT_ONCE = 5_000  # so many names git is asked about at once, if there are as many to be had
_COMPILED = (".so", ".pyd", ".mo")
_HEAD_BYTES, _HEAD_LINES, _GENERATED = 512, 3, re.compile(rb"\bgenerated\b")
_MACHINE = ("/proc", "/sys")
_MOST_FILES = 300_000
_MOST_BYTES = 4 << 30
"""Beyond these it is no project but a disk, which a copy would fill."""


def copy_in(project: Path, base: Path, uid: int | None) -> int:
    """Copy a project's files to an empty folder, owned by `uid`; return how many there are.

    Links are copied as links; pipes, sockets and devices are left out. Raises Refused where the project is no folder,
    is Ratchet's home or the machine's own, or is too large to be one project.
    """
    if not project.is_dir():
        raise Refused(f"{project} is not a folder: name the one to work in")
    if is_home(str(project)):
        raise Refused(f"{project} is where Ratchet keeps what it knows: name the folder of a project")
    if any(project.resolve().is_relative_to(each) for each in _MACHINE):
        raise Refused(f"{project} shows the machine, whose files have no end: name the folder of a project")
    owned = -1 if uid is None else uid
    os.chown(base, owned, owned)
    count = 0
    for path, folder in _fitting(project):
        source, target = os.path.join(project, path), os.path.join(base, path)
        if folder:
            os.mkdir(target, 0o755)
            os.chown(target, owned, owned)
            continue
        # A build or an editor may take a file away between the look at the folder and the copy.
        with suppress(FileNotFoundError):
            count += _copied(source, target, owned)
    return count


def _fitting(project: Path) -> list[tuple[str, bool]]:
    """List what to copy, known to be one project's before a byte of it is on the disk. Raises Refused."""
    found: list[tuple[str, bool]] = []
    count = size = 0
    for path, folder in chosen(project):
        found.append((path, folder))
        if not folder:
            with suppress(FileNotFoundError):
                size += os.lstat(os.path.join(project, path)).st_blocks * _BLOCK
            count += 1
        if size > _MOST_BYTES or count > _MOST_FILES:
            raise Refused(
                f"{project} is too large to be copied (more than {_MOST_BYTES >> 30} GB or {_MOST_FILES:,} files): "
                "name the project's own folder, or have .gitignore leave out what is not part of it"
            )
    return found


def chosen(project: Path) -> Iterator[tuple[str, bool]]:
    """List what belongs to a workspace: (path relative to the project, is a folder), folders before what is in them."""
    ignore, tracked = Ignore(project), _tracked(project)
    kept_folders = {path[:at] for path in tracked for at, letter in enumerate(path) if letter == "/"}
    pending = deque([("", False)])
    while pending:
        found: dict[str, tuple[bool, bool]] = {}
        while pending and len(found) < _AT_ONCE:
            above, ignored_above = pending.popleft()
            for each in _within(project, above):
                path = f"{above}/{each.name}" if above else each.name
                folder = each.is_dir(follow_symlinks=False)
                if not is_left_out(each.path, each.name, folder=folder):
                    found[path] = folder, ignored_above
        ignored = ignore.among((path, folder) for path, (folder, above) in found.items() if not above)
        for path, (folder, ignored_above) in found.items():
            # What git tracks belongs to the project even where a later rule ignores it.
            left = ignored_above or path in ignored
            is_foreign = left and path not in (kept_folders if folder else tracked)
            if is_foreign and (folder or ignored_above or not is_made(os.path.join(project, path))):
                continue
            yield path, folder
            if folder:
                pending.append((path, left))


def is_made(path: str) -> bool:
    """Tell whether an ignored file beside the sources is what a build makes of them and a program loads from there: a
    compiled module, translations, Python whose first lines say that it was generated (a version, a grammar). Python
    that a person wrote and git ignores is a person's own: local settings, as a rule."""
    with suppress(OSError):
        if path.endswith(_COMPILED):
            return stat.S_ISREG(os.lstat(path).st_mode)
        if path.endswith(".py") and stat.S_ISREG(os.lstat(path).st_mode):
            opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(opened, "rb") as file:
                lines = file.read(_HEAD_BYTES).lower().split(b"\n")[:_HEAD_LINES]
            return any(line.startswith(b"#") and _GENERATED.search(line) for line in lines)
    return False


def _within(project: Path, above: str) -> list[os.DirEntry[str]]:
    """List what is in a folder of the project by name; nothing where a build took the folder away since it was seen."""
    try:
        with os.scandir(os.path.join(project, above)) as found:
            return sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        if not above:
            raise
        return []


def shown_beside(project: Path) -> dict[str, Path]:
    """Folders that are not copied but shown read-only: a project's virtual environment and its installed modules."""
    found: dict[str, Path] = {}
    venv = environments(project).venv
    if venv is not None:
        found[venv.name] = venv
    modules = project / _MODULES
    if modules.is_dir() and not modules.is_symlink():
        found[_MODULES] = modules
    return found


def _tracked(project: Path) -> frozenset[str]:
    """Paths that the project's repository tracks; none where there is no repository, or no git that can read it."""
    repository = git.find(project)
    if repository is None or repository.top != project.resolve():
        return frozenset()
    try:
        with git.opened(project) as opened:
            return opened.tracked()
    except BackendError as error:
        _log.warning("project.index_unread", extra={"reason": str(error)})
        return frozenset()


def _copied(source: str, target: str, owned: int) -> bool:
    status = os.lstat(source)
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(source), target)
        os.chown(target, owned, owned, follow_symlinks=False)
        return True
    if not stat.S_ISREG(status.st_mode):
        return False
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            copy_content(reading, writing)
            os.fchmod(writing, 0o755 if status.st_mode & 0o111 else 0o644)
            os.fchown(writing, owned, owned)
            os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)
    return True


def copy_content(reading: int, writing: int) -> None:
    """Copy a file's content within the kernel; shared blocks where the file system can. Holes stay holes."""
    size = os.fstat(reading).st_size
    for start, end in _written(reading, size):
        _copy_range(reading, writing, start, end)
    os.ftruncate(writing, max(size, os.fstat(writing).st_size))


def _written(reading: int, size: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that hold anything; all of it where the file system does not tell."""
    at = 0
    while at < size:
        try:
            start = os.lseek(reading, at, os.SEEK_DATA)
            at = os.lseek(reading, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno != errno.ENXIO:
                yield at, size
            return  # ENXIO: nothing but a hole is left
        yield start, at


def _copy_range(reading: int, writing: int, start: int, end: int) -> None:
    for each in (reading, writing):
        os.lseek(each, start, os.SEEK_SET)
    try:
        while start < end and (copied := os.copy_file_range(reading, writing, min(_CHUNK, end - start))):
            start += copied
    except (OSError, AttributeError):  # across file systems before Linux 5.3; macOS
        for each in (reading, writing):
            os.lseek(each, start, os.SEEK_SET)
        while start < end and (part := os.read(reading, min(1 << 20, end - start))):
            start += os.write(writing, part)
