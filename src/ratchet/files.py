"""Replace files whole, by compare-and-swap on their content; hold a lock that ends with its process."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ratchet.errors import BackendError, Conflict

ABSENT = "absent"
"""The version of a file that is not there."""

_LOCK_WAIT_S = 5.0  # whoever holds the lock as we do has it for milliseconds


def read(path: Path) -> tuple[str, str]:
    """(text, version). Bytes that are no UTF-8 come back as they were when written. Raises BackendError."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return "", ABSENT
    except OSError as error:
        raise BackendError(f"{path} cannot be read ({error.strerror}); mend its permissions") from error
    return content.decode("utf-8", "surrogateescape"), _digest(content)


def version_of(text: str) -> str:
    """The version of a file that holds this text."""
    return _digest(text.encode("utf-8", "surrogateescape"))


def swap(path: Path, version: str, text: str | None) -> None:
    """Replace the file by `text` (None: delete it) if it is still at `version`; whole or not at all.

    Two of us never overwrite each other: a lock on the folder, which leaves nothing behind. An editor takes no lock;
    what it saves in the microseconds between the last look and the replacement is lost, as between any two editors.
    Raises Conflict, BackendError.
    """
    real = path.resolve()
    try:
        with _locked(real.parent):
            if read(real)[1] != version:
                raise Conflict(
                    f"{path} was changed by somebody else meanwhile; nothing was written: look and try again"
                )
            if text is None:
                real.unlink(missing_ok=True)
            else:
                _write(real, text)
    except OSError as error:
        raise BackendError(
            f"{real} cannot be written ({error.strerror}); nothing changed: give write access to it and its folder"
        ) from error


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Conflict(f"another process keeps {folder} locked; nothing was written: try again") from None
            time.sleep(0.01)
        except OSError:  # a network file system without locks: the look before the replacement has to do
            return
        else:
            return


def _write(real: Path, text: str) -> None:
    found = real.stat() if real.exists() else None
    scratch = real.with_name(f".{real.name}.{os.getpid()}.{os.urandom(4).hex()}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if found else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        if found is not None:
            if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
                with contextlib.suppress(PermissionError):  # only root may give a file away; then it becomes ours
                    os.chown(scratch, found.st_uid, found.st_gid)
            scratch.chmod(found.st_mode & 0o7777)
        scratch.replace(real)
    finally:
        scratch.unlink(missing_ok=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextlib.contextmanager
def claimed(lock: Path, what: str) -> Iterator[None]:
    """Hold a lock file, which is made where it is missing, in a folder that is there. Raises Conflict naming `what`
    while another process, or another thread of this one, holds it."""
    opened = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Conflict(f"another process works on {what}; wait for it, or end it there") from error
        yield
    finally:
        os.close(opened)
