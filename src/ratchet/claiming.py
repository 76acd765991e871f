"""One process at a time: a claim that ends with the process that holds it, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ratchet.errors import Conflict


@contextmanager
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
