"""Writes a result into a project: by compare-and-swap on each file's content, under a lock, all of it or nothing.

A file that was edited meanwhile keeps that edit: only our own hunks are made to it, and where both changed the same
lines nothing is written at all.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ratchet import files
from ratchet.errors import BackendError, Conflict, RatchetError, Refused
from ratchet.healing.patches import carried_over
from ratchet.sandbox.command import FileChange
from ratchet.sandbox.git import names_repository

_WAIT_S = 60.0  # writing a project's files takes seconds at most
_TRIES = 3  # an editor that saves at this very moment is done by the second


def apply(project: Path, changes: Sequence[FileChange], *, lock: Path) -> tuple[str, ...]:
    """Bring these changes into the files of a project; return the paths that it wrote. Doing it again writes nothing.

    `lock` is a file that everybody who applies to this project locks. Raises Conflict where somebody changed the same
    lines meanwhile, Refused where a path leads out of the project; nothing is then changed.
    """
    busy = Conflict(f"another process keeps writing to {project}; nothing was applied: try again")
    with files.Locked(lock, busy, wait_s=_WAIT_S):
        for last in (False,) * (_TRIES - 1) + (True,):
            planned = [(each, *_planned(project, each)) for each in changes]
            todo = [(change, held, new) for change, held, new in planned if held != new]
            try:
                return _written(project, todo)
            except Conflict:
                if last:
                    raise
    raise AssertionError


def _planned(project: Path, change: FileChange) -> tuple[bytes | None, bytes | None]:
    """Return what a file holds and what it should hold."""
    held = _content(project, change.path)
    if held == change.after:
        return held, held
    if held == change.before:
        return held, change.after
    if held is None or change.before is None or change.after is None:
        what = (
            "is gone" if held is None else "was changed" if change.before is not None else "was made by somebody else"
        )
        raise Conflict(f"{change.path} {what} meanwhile: nothing was applied. Take the diff by hand")
    merged = carried_over(change.before, change.after, held)
    if merged is None:
        raise Conflict(
            f"{change.path} was changed in the same lines meanwhile: nothing was applied. Take the diff by hand, or "
            "run it again"
        )
    return held, merged


def _written(project: Path, todo: Sequence[tuple[FileChange, bytes | None, bytes | None]]) -> tuple[str, ...]:
    """Swap each file; those swapped before a conflict are swapped back."""
    done: list[tuple[FileChange, bytes | None, bytes | None]] = []
    try:
        for change, held, new in todo:
            _swap(project, change, held, new)
            done.append((change, held, new))
    except (RatchetError, OSError) as error:
        for change, held, new in reversed(done):
            with suppress(RatchetError, OSError):  # changed again already: that edit counts
                _swap(project, change, new, held)
        if isinstance(error, OSError):
            raise BackendError(f"{error.filename}: {error.strerror}; nothing was applied") from error
        raise
    return tuple(change.path for change, _, _ in todo)


def _swap(project: Path, change: FileChange, held: bytes | None, new: bytes | None) -> None:
    """Replace a file's content if it is still what it was."""
    with _folder(project, change.path, make=new is not None) as (folder, name):
        files.swap(name, files.version_of(held), new, mode=_mode(folder, name, change), folder=folder)


def _mode(folder: int, name: str, change: FileChange) -> int | None:
    """The permissions to give; None for those that the file has."""
    executable = bool((change.after_mode or change.before_mode) & 0o111)
    try:
        bits = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0o755 if executable else 0o644
    if change.before_mode == change.after_mode:
        return None
    return bits | 0o111 if executable else bits & ~0o111


def _content(project: Path, path: str) -> bytes | None:
    try:
        with _folder(project, path) as (folder, name):
            return files.read(name, folder=folder)
    except FileNotFoundError:
        return None
    except BackendError as error:
        raise Refused(f"{path} is not a plain file ({error}): nothing was applied") from error


@contextmanager
def _folder(project: Path, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The open folder of a path in the project, and the path's name in it.

    Each folder on the way is opened by its name in the one before, and never through a link: what is swapped for a link
    meanwhile leads nowhere. `make`: those that are missing are made. Raises Refused, FileNotFoundError.
    """
    *above, name = path.split("/")
    if any(part in ("", ".", "..") or names_repository(part) for part in (*above, name)):
        raise Refused(f"{path!r} is no path within the project: nothing was applied")
    with ExitStack() as closing:
        held = _opened(closing, project, None)
        for part in above:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=held)
            try:
                held = _opened(closing, part, held)
            except OSError as error:
                if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                    raise
                raise Refused(f"{path} leads through a link or a file: nothing was applied") from error
        yield held, name


def _opened(closing: ExitStack, place: str | Path, within: int | None) -> int:
    # A folder that may be searched but not read is good enough where the system can open it as that.
    flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(place, flags if within is None else flags | os.O_NOFOLLOW, dir_fd=within)
    closing.callback(os.close, descriptor)
    return descriptor
