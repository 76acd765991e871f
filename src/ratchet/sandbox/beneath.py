"""Reads, measures and removes trees that a stranger wrote: follows no link, never blocks, at any depth."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from ratchet.errors import Refused
from ratchet.sandbox import kernel

_SAFE = kernel.RESOLVE_BENEATH | kernel.RESOLVE_NO_SYMLINKS | kernel.RESOLVE_NO_MAGICLINKS | kernel.RESOLVE_NO_XDEV
_MOST_PATH_BYTES = 3_500  # one system call takes 4,095; deeper folders are opened in steps
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STEPS, _MOST_HELD = 32, 256  # folders between two that a walk holds open, one more for each: 40,000 deep


def open_beneath(root: int, path: bytes, flags: int) -> int:
    """Open `path` below the folder `root`, never through a link, a mount point or `..`. Raises OSError."""
    if path.startswith(b"/") or b".." in path.split(b"/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), os.fsdecode(path))
    held = root
    try:
        while len(path) > _MOST_PATH_BYTES:
            cut = path.rindex(b"/", 0, _MOST_PATH_BYTES)
            deeper = _open_step(held, path[:cut], _FOLDER)
            if held != root:
                os.close(held)
            held, path = deeper, path[cut + 1 :]
        return _open_step(held, path or b".", flags)
    finally:
        if held != root:
            os.close(held)


def _open_step(folder: int, path: bytes, flags: int) -> int:
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return kernel.openat2(folder, path, flags, _SAFE)
    except OSError as error:
        # Before Linux 5.6, on macOS, and where a container's filter does not know the call.
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
    *above, last = path.split(b"/")
    held = folder
    try:
        for name in above:
            deeper = os.open(name, _FOLDER, dir_fd=held)
            if held != folder:
                os.close(held)
            held = deeper
        return os.open(last, flags, dir_fd=held)
    finally:
        if held != folder:
            os.close(held)


def read_beneath(root: str | os.PathLike[str], path: str, limit_bytes: int) -> bytes:
    """The content of a regular file below `root`.

    Raises FileNotFoundError, and Refused where it is a link, a device, a pipe, a socket, has several names, leads
    outside or is larger than the cap.
    """
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # O_NONBLOCK: opening a pipe must not wait for a writer.
        opened = open_beneath(folder, os.fsencode(path), os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise FileNotFoundError(error.errno, os.strerror(error.errno), path) from error
        raise Refused(f"{path!r} is not read from the workspace: {os.strerror(error.errno or 0)}") from error
    finally:
        os.close(folder)
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(opened)
        raise Refused(f"{path!r} is not read from the workspace: not a plain file with one name")
    with os.fdopen(opened, "rb") as file:
        content = file.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise Refused(f"{path!r} is larger than {limit_bytes:,} bytes; raise the cap to read it")
    return content


def plain_content(file: str | os.PathLike[str], limit_bytes: int) -> bytes:
    """The first bytes of a plain file, b"" where there is none or it cannot be read. A pipe is not waited for."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    with os.fdopen(opened, "rb") as reading:
        return reading.read(limit_bytes) if stat.S_ISREG(os.fstat(opened).st_mode) else b""


@dataclass(frozen=True, slots=True)
class Entry:
    """One name below a root: its path, its own status, and the open folder that holds it (valid until the next one)."""

    path: bytes
    name: bytes
    status: os.stat_result
    folder: int


def entries(root: int, *, skip: frozenset[bytes] = frozenset()) -> Iterator[Entry]:
    """Everything below a folder on its own file system, parents first, in no order else. What vanishes or cannot be
    read meanwhile is left out; `skip` names paths that are not entered (they are told).

    Some folders on the way stay open, so that one which is nested thousands deep costs no more than any other."""
    pending = [b""]
    held: list[tuple[bytes, int]] = []  # folders above the next one: each path, with a slash, and the open folder
    try:
        while pending:
            path = pending.pop()
            while held and not path.startswith(held[-1][0]):
                os.close(held.pop()[1])
            above, nearest = held[-1] if held else (b"", root)
            try:
                folder = open_beneath(nearest, path[len(above) :], _FOLDER)
            except OSError:
                continue  # gone, replaced by a link, another file system, or closed to us
            try:
                for below, each in _listed(folder, path):
                    yield each
                    if stat.S_ISDIR(each.status.st_mode) and below not in skip:
                        pending.append(below)
                if path.count(b"/", len(above)) >= _STEPS + len(held) and len(held) < _MOST_HELD:
                    held.append((path + b"/", os.dup(folder)))
            except OSError:
                continue
            finally:
                os.close(folder)
    finally:
        for _, folder in held:
            os.close(folder)


def _listed(folder: int, path: bytes) -> Iterator[tuple[bytes, Entry]]:
    with os.scandir(folder) as found:
        for each in found:
            try:
                status = each.stat(follow_symlinks=False)
            except OSError:
                continue
            name = os.fsencode(each.name)
            below = path + b"/" + name if path else name
            yield below, Entry(below, name, status, folder)


def remove_tree(path: str | os.PathLike[str]) -> None:
    """Remove a folder, whatever is in it; nothing where it is absent. Raises OSError where something stays."""
    above, name = os.path.split(os.path.abspath(path))
    try:
        folder = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if _exists(folder, name):
            remove_at(folder, name)
    finally:
        os.close(folder)


def remove_at(above: int, name: str) -> None:
    """Remove a name of an open folder. Deep trees are lifted out level by level, so that neither the stack nor the
    longest path matters; folders closed to their owner are opened. Raises OSError where something stays."""
    if _unlinked(above, name):
        return
    os.chmod(name, 0o700, dir_fd=above)
    root = os.open(name, _FOLDER, dir_fd=above)
    try:
        counter = 0
        while names := os.listdir(root):
            for each in names:
                if not _unlinked(root, each):
                    counter = _emptied(root, each, counter)
    finally:
        os.close(root)
    os.rmdir(name, dir_fd=above)


def _unlinked(folder: int, name: str) -> bool:
    """Tell whether it was no folder and is gone."""
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return False
    os.unlink(name, dir_fd=folder)
    return True


def _emptied(root: int, name: str, counter: int) -> int:
    """Remove a folder of the root: its files go, its folders move up into the root."""
    os.chmod(name, 0o700, dir_fd=root)
    folder = os.open(name, _FOLDER, dir_fd=root)
    try:
        for below in os.listdir(folder):
            if _unlinked(folder, below):
                continue
            os.chmod(below, 0o700, dir_fd=folder)  # a folder closed to its owner cannot be moved
            counter += 1
            while _exists(root, lifted := f".{counter:x}"):
                counter += 1
            os.rename(below, lifted, src_dir_fd=folder, dst_dir_fd=root)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=root)
    return counter


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
