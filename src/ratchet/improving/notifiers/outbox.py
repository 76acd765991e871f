"""Keeps notifiers away from the host: telling costs microseconds, whatever becomes of the notice."""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Sequence

from ratchet.failures.redaction.text import clean
from ratchet.ports import Notice, Notifier

log = logging.getLogger(__name__)

WAITING = 100
"""Notices that wait for one notifier; further ones are dropped and counted."""
TITLE_LIMIT, TEXT_LIMIT = 200, 3_000


class Outbox:
    """Delivers notices through all notifiers, each from a thread of its own with a bounded queue: one that hangs keeps
    up neither the host nor the others.

    Texts are redacted and capped here, once. Nothing it does raises; threads are daemons and never keep a host alive.
    """

    def __init__(self, notifiers: Sequence[Notifier], *, waiting: int = WAITING) -> None:
        self._posts = [_Post(notifier, waiting) for notifier in notifiers]

    def tell(self, notice: Notice) -> None:
        """Deliver it soon, or not at all."""
        try:
            cleaned = Notice(
                title=" ".join(clean(notice.title, TITLE_LIMIT).split()),
                text=clean(notice.text, TEXT_LIMIT),
                level=notice.level,
                record=notice.record,
                at=notice.at,
            )
            for post in self._posts:
                post.put(cleaned)
        except Exception:  # the edge to the host
            log.exception("notice.lost")

    @property
    def dropped(self) -> dict[str, int]:
        """Notifier -> notices that were lost, because it failed or was too slow."""
        return {post.notifier.name: post.dropped for post in self._posts if post.dropped}

    def close(self, timeout_s: float = 2.0) -> None:
        """Deliver what waits, for at most `timeout_s` in all; then give up."""
        for post in self._posts:
            post.end()
        share_s = timeout_s / max(1, len(self._posts))
        for post in self._posts:
            post.join(share_s)


class _Post:
    """One notifier with its queue. Its thread begins with the first notice, and anew in a forked child."""

    def __init__(self, notifier: Notifier, waiting: int) -> None:
        self.notifier = notifier
        self.dropped = 0
        self._waiting = waiting
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._queue: queue.Queue[Notice | None] = queue.Queue(self._waiting + 1)  # one more place, for the end
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = False

    def put(self, notice: Notice) -> None:
        if self._pid != os.getpid():
            self._begin()
        with self._lock:
            if self._ended or self._queue.qsize() >= self._waiting:
                self._lose("it is too slow or closed")
                return
            self._queue.put_nowait(notice)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"ratchet-{self.notifier.name}", daemon=True)
                self._thread.start()

    def end(self) -> None:
        with self._lock:
            if not self._ended:
                self._ended = True
                self._queue.put_nowait(None)

    def join(self, timeout_s: float) -> None:
        if self._thread is not None and self._pid == os.getpid():
            self._thread.join(timeout_s)

    def _work(self) -> None:
        while True:
            notice = self._queue.get()
            if notice is None:
                return
            try:
                self.notifier.send(notice)
            except Exception as error:  # noqa: BLE001  (a notifier may be a plugin; it must not end the others' notices)
                self._lose(f"{type(error).__name__}: {clean(str(error), 300)}")

    def _lose(self, reason: str) -> None:
        self.dropped += 1
        # A traceback might show a notifier's address, so only what was said is logged, and not for each notice.
        if self.dropped & (self.dropped - 1) == 0:
            log.warning(
                "notifier.failed", extra={"notifier": self.notifier.name, "reason": reason, "lost": self.dropped}
            )
