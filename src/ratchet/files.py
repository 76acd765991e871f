"""Replace files whole, by compare-and-swap on their content; hold locks that end with their process.

Hooks import this: it loads nothing but `os`, and what else it needs where it needs it.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from ratchet.errors import BackendError, Conflict, RatchetError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    FilePath = str | os.PathLike[str]

ABSENT = "absent"
"""The version of a file that is not there."""
_SWAP_WAIT_S = 5.0  # whoever holds a folder's lock as `swap` does has it for milliseconds
_LOOK_S = 0.01


def read(path: FilePath, *, folder: int | None = None) -> bytes | None:
    """The content of a file; None if there is none. With an open `folder`, the path is a name in it and no link is
    followed. Raises BackendError, Refused for what is no regular file."""
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
    flags |= 0 if folder is None else os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        mode = os.stat(path, dir_fd=folder, follow_symlinks=folder is None).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a pipe may have no end
            raise Refused(f"{path} is no regular file; it is left as it is: put a file in its place, then try again")
        with open(os.open(path, flags, dir_fd=folder), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BackendError(
            f"{path} cannot be read ({error.strerror}); nothing changed: mend its permissions"
        ) from error


def walk(
    top: FilePath, *, unread: Callable[[OSError], None] | None = None, links: bool = False
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk a folder as `os.walk` does from the top (folders taken out of the second list are left out), however deep it
    is nested: before Python 3.12 that one recurses. `unread` is told of a folder that cannot be read; `links` to
    folders are followed, too."""
    waiting = [os.fspath(top)]
    while waiting:
        above = waiting.pop()
        folders: list[str] = []
        names: list[str] = []
        try:
            with os.scandir(above) as found:
                for each in found:
                    (folders if _is_folder(each) else names).append(each.name)
        except OSError as error:
            if unread is not None:
                unread(error)
            continue
        yield above, folders, names
        below = [os.path.join(above, name) for name in reversed(folders)]
        waiting += [each for each in below if links or not os.path.islink(each)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def text_of(content: bytes | None) -> str:
    """Content as text. Bytes that are no UTF-8 become surrogates, and themselves again in `bytes_of`."""
    return (content or b"").decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def version_of(content: bytes | None) -> str:
    """The version of a file that holds this content: its SHA-256, or `ABSENT`."""
    import hashlib

    return ABSENT if content is None else hashlib.sha256(content).hexdigest()


def swap(
    path: FilePath, version: str, content: bytes | None, *, mode: int | None = None, folder: int | None = None
) -> None:
    """Replace a file (None: delete it) if it is still at `version`, with the guarantee of `replace`.

    Two of us never overwrite each other: a lock on the folder, which leaves nothing behind. An editor takes no lock;
    what it saves in the microseconds between the last look and the replacement is lost, as between any two editors.
    Raises Conflict, BackendError, and Refused for what is no regular file; nothing is then written.
    """
    real = os.path.realpath(path) if folder is None else os.fspath(path)
    place = os.path.dirname(os.path.abspath(real)) if folder is None else folder
    busy = Conflict(f"another process keeps the folder of {path} locked; nothing was written: try again")
    try:
        with Locked(place, busy, wait_s=_SWAP_WAIT_S):
            if version_of(read(real, folder=folder)) != version:
                raise Conflict(
                    f"{path} was changed by somebody else meanwhile; nothing was written: look and try again"
                )
            if content is not None:
                replace(real, content, mode=mode, folder=folder)
            elif version != ABSENT:
                os.unlink(real, dir_fd=folder)
    except OSError as error:
        raise BackendError(
            f"{real} cannot be written ({error.strerror}); nothing changed: give write access to it and its folder"
        ) from error


def replace(path: FilePath, content: bytes, *, mode: int | None = None, folder: int | None = None) -> None:
    """Write a file whole or not at all: a reader, a crash or a full disk finds the old content or all of the new.

    Links are followed. With an open `folder`, the path is a name in it, wherever that folder is moved meanwhile, and a
    link of that name is replaced. Owner and permissions stay as they are; `mode` sets other permissions. A new file
    gets those that the umask leaves. A device stays: a link to it may stand where our file was. Raises OSError.
    """
    real = os.path.realpath(path) if folder is None else os.fspath(path)
    try:
        held = os.stat(real, dir_fd=folder, follow_symlinks=folder is None)
    except FileNotFoundError:
        held = None
    if held is not None and (stat.S_ISCHR(held.st_mode) or stat.S_ISBLK(held.st_mode)):
        raise OSError(errno.EINVAL, "is a device, and stays: put a file in its place", real)
    scratch = _written(real, content, 0o666 if held is None and mode is None else 0o600, durable=True, folder=folder)
    try:
        if held is not None and sys.platform != "win32" and (held.st_uid, held.st_gid) != (os.geteuid(), os.getegid()):
            try:  # noqa: SIM105  (a hook needs no contextlib)
                os.chown(scratch, held.st_uid, held.st_gid, dir_fd=folder)
            except PermissionError:  # only root may give a file away; then it becomes ours
                pass
        if mode is None and held is not None:
            mode = stat.S_IMODE(held.st_mode)
        if mode is not None:
            os.chmod(scratch, mode, dir_fd=folder)
        os.replace(scratch, real, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(scratch, dir_fd=folder)
        raise


def need_inside(path: FilePath) -> None:
    """Raise Refused where a link on the way to a file leads out of the repository that it is named in, or, outside of
    one, out of its folder (of a file in `.claude` and the like, the folder that holds it): who made a folder must not
    choose what is written elsewhere."""
    place = os.path.abspath(path)
    folder = above = os.path.dirname(place)
    while os.path.basename(folder).startswith("."):
        folder = os.path.dirname(folder)
    while above != os.path.dirname(above):
        if os.path.lexists(os.path.join(above, ".git")):
            folder = above
            break
        above = os.path.dirname(above)
    real, top = os.path.realpath(place), os.path.realpath(folder)
    if os.path.commonpath((real, top)) != top:
        raise Refused(f"{os.fspath(path)} is a link out of {folder}: nothing was written; to write there, name {real}")


def settled(path: FilePath, content: bytes) -> bytes:
    """The content of a file that is written once: `content` if nobody came before. Whole from its first moment on, by
    linking a finished file into place; for its user only. Not synced: a hook does not wait for a disk. Raises OSError.
    """
    scratch = _written(os.fspath(path), content, 0o600, durable=False)
    try:
        os.link(scratch, path)
    except FileExistsError:
        with open(path, "rb") as file:
            return file.read()
    except OSError:  # a file system without links: the last writer wins, which only a race can tell from the first
        os.replace(scratch, path)
        return content
    finally:
        if os.path.exists(scratch):
            os.unlink(scratch)
    return content


def _written(path: str, content: bytes, mode: int, *, durable: bool, folder: int | None = None) -> str:
    """A new file beside `path` that holds the content."""
    scratch = os.path.join(os.path.dirname(path), f".{os.urandom(8).hex()}.ratchet")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(scratch, flags, mode, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(descriptor)
    except BaseException:
        os.unlink(scratch, dir_fd=folder)
        raise
    return scratch


def lock(descriptor: int, *, shared: bool = False, wait: bool = False) -> bool | None:
    """Lock an open file until it is closed, at the latest by the end of the process. False: somebody else holds it.
    None: there are no locks here (Windows, some network file systems)."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


class Locked:
    """`with Locked(path, busy):` one process, and one thread of it, at a time. A file is made where it is missing, and
    its folder; a folder, by its path or an open one, leaves nothing behind. Where there are no locks, everybody may go
    on.

    Raises `busy` when the lock was not had within `wait_s`, or as soon as `stopped()`.
    """

    __slots__ = ("_busy", "_descriptor", "_path", "_stopped", "_wait_s")

    def __init__(
        self,
        path: FilePath | int,
        busy: RatchetError,
        *,
        wait_s: float = 0.0,
        stopped: Callable[[], bool] | None = None,
    ) -> None:
        self._path = path if isinstance(path, int) else os.fspath(path)
        self._busy, self._wait_s, self._stopped = busy, wait_s, stopped
        self._descriptor = -1

    def __enter__(self) -> None:
        from time import monotonic, sleep

        if (descriptor := self._opened()) < 0:
            return
        deadline = monotonic() + self._wait_s
        try:
            while lock(descriptor) is False:
                if monotonic() >= deadline or (self._stopped is not None and self._stopped()):
                    raise self._busy
                sleep(_LOOK_S)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def _opened(self) -> int:
        flags = getattr(os, "O_CLOEXEC", 0)
        try:
            if isinstance(self._path, int):
                return os.open(".", os.O_RDONLY | flags, dir_fd=self._path)
            if os.path.isdir(self._path):
                return os.open(self._path, os.O_RDONLY | flags)
        except PermissionError:  # Windows opens no folder, and some may be written but not read
            return -1
        os.makedirs(os.path.dirname(os.path.abspath(self._path)), mode=0o700, exist_ok=True)
        return os.open(self._path, os.O_RDWR | os.O_CREAT | flags, 0o600)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def claimed(path: FilePath, what: str) -> Locked:
    """Hold a lock file at once. Raises Conflict naming `what` while somebody else holds it."""
    busy = Conflict(f"another process works on {what}; wait for it, or end it there")
    return Locked(path, busy, wait_s=2 * _LOOK_S)  # `is_free` holds it for an instant


def is_free(path: FilePath) -> bool:
    """Tell whether a lock file is there and nobody holds it: who did has ended, however it ended. False where that
    cannot be told (no such file, as on another machine; no locks)."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return False
    try:
        return lock(descriptor, shared=True) is True
    finally:
        os.close(descriptor)
