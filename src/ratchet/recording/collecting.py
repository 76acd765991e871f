"""Holds Python's collector of cycles back while a batch is moved.

Reference counts free a batch's rows, none of which is part of a cycle; yet each batch makes thousands of dicts, after
every 700 of which the collector walks through what is alive, a host's heap included: 4 to 10 % of a drain's CPU
(`benchmarks/store.py`). A batch takes some tenths of a second, and what a host's other threads leave in cycles
meanwhile is collected after it.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

_lock = threading.Lock()
_holders = 0  # batches that run now, in whatever threads
_was_on = False


@contextmanager
def held_back() -> Generator[None]:
    """Switch the collector off, and on again after the last of all threads; one that was off stays off."""
    global _holders, _was_on
    with _lock:
        if not _holders:
            _was_on = gc.isenabled()
            gc.disable()
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if not _holders and _was_on:
                gc.enable()


def _in_child() -> None:
    """A process forked during a batch has no thread that would switch its collector on again."""
    global _lock, _holders
    _lock = threading.Lock()
    if _holders and _was_on:
        gc.enable()
    _holders = 0


if hasattr(os, "register_at_fork"):  # at import: a fork may come at any moment after it
    os.register_at_fork(after_in_child=_in_child)
