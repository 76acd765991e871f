"""Work that a process repeats while its host runs on: a daemon thread that survives its own faults."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)


QUICK_S = 0.5


class Quickened:
    """Work that is due every `every_s` seconds, for a thread that turns every `step_s`; `quickly` is done in between.

    An interval of 0 stays one: nothing ever runs.
    """

    def __init__(self, work: Callable[[], object], quickly: Callable[[], object], every_s: float) -> None:
        self._work = work
        self._quickly = quickly
        self._every_s = every_s
        self._due_at = time.monotonic() + every_s
        self.step_s = min(QUICK_S, every_s)

    def __call__(self) -> None:
        if time.monotonic() < self._due_at:
            self._quickly()
            return
        try:
            self._work()
        finally:
            self._due_at = time.monotonic() + self._every_s


class Background:
    """Calls `work` every `interval_s` seconds until it is stopped.

    A fault is logged and the next turn comes all the same. The thread is a daemon: it never keeps a host from ending,
    so `work` must stand being cut off. A forked child has no such thread; `alive` says so. An interval of 0 never runs.
    """

    def __init__(self, work: Callable[[], object], interval_s: float, *, name: str) -> None:
        self._work = work
        self._interval_s = min(interval_s, threading.TIMEOUT_MAX)
        self._stop = threading.Event()
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        if interval_s > 0:
            self._thread.start()

    @property
    def alive(self) -> bool:
        return self._pid == os.getpid() and self._thread.is_alive()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End after the turn under way; wait for it at most `timeout_s`."""
        self._stop.set()
        if self.alive and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._stop.wait(self._interval_s):
            try:
                self._work()
            except Exception:
                log.exception("background.failed", extra={"worker": self._thread.name})
