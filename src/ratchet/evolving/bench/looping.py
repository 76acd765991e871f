"""Recognises an agent that goes round in circles: the same steps again and again, and no file that is any different.

Rules, not guesses: a block of at most 24 lines came 12 times in a row, over at least five seconds, while the files of
the working folder stayed what they were. Numbers in lines that tell of a failure are masked, so that "attempt 17
failed" is the same step as "attempt 16 failed"; in all other lines they count, since a counter that moves is progress.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable

from ratchet.failures.signature import mask

REPEATS = 12
PATIENCE_S = 5.0
LONGEST = 24
_LINE_CHARS = 400
_PENDING_BYTES = 65_536
_FAILS = re.compile(rb"error|fail|exception|traceback|denied|refused|timed out|retry", re.IGNORECASE)


class LoopWatch:
    """Listens to what one agent prints. `state` names what its files hold now; it is asked only when lines repeat."""

    def __init__(self, state: Callable[[], str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._state = state
        self._clock = clock
        self._lines: deque[int] = deque(maxlen=LONGEST * REPEATS)
        self._pending = {"stdout": b"", "stderr": b""}
        self._heard = 0
        self._suspected_at: float | None = None
        self._suspected_heard = 0
        self._files = ""

    def hear(self, stream: str, said: bytes) -> None:
        """Take what was printed, as it comes."""
        *lines, rest = (self._pending.get(stream, b"") + said).split(b"\n")
        self._pending[stream] = rest[-_PENDING_BYTES:]
        fresh = [_step(line) for line in lines[-LONGEST * REPEATS :] if line.strip()]
        if fresh:
            self._lines.extend(fresh)
            self._heard += len(fresh)

    def looping(self) -> bool:
        """Tell whether it goes round in circles by now. Cheap; ask as often as you like."""
        if not self._repeats():
            self._suspected_at = None
            return False
        now = self._clock()
        if self._suspected_at is None:
            self._suspect(now, self._state())
            return False
        if now - self._suspected_at < PATIENCE_S or self._heard - self._suspected_heard < REPEATS:
            return False  # it may have ended to repeat itself, and be at work in silence
        files = self._state()
        if files == self._files:
            return True
        self._suspect(now, files)
        return False

    def _suspect(self, now: float, files: str) -> None:
        self._suspected_at, self._suspected_heard, self._files = now, self._heard, files

    def _repeats(self) -> bool:
        lines = list(self._lines)
        return any(_ends_with_repeats(lines, length) for length in range(1, LONGEST + 1))


def _ends_with_repeats(lines: list[int], length: int) -> bool:
    """Tell whether the last lines are one block of this length, `REPEATS` times in a row."""
    needed = length * REPEATS
    if len(lines) < needed:
        return False
    return lines[-needed + length :] == lines[-needed:-length]


def _step(line: bytes) -> int:
    """Hash a line, so that equal steps are equal."""
    line = line[:_LINE_CHARS].strip()
    if _FAILS.search(line):
        return hash(mask(line.decode("utf-8", "replace")))
    return hash(line)
