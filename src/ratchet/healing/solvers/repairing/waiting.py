"""Tell a program that a busy machine keeps waiting from one that sleeps or is slow, and when to say so."""

from __future__ import annotations

import os
import time

_FIRST_S, _LONGEST_S = 10.0, 60.0
_ROOM_S = (0.05, 0.2, 1.0, 3.0)  # until others that run on the machine have ended a process


def forked() -> int:
    """Fork; wait a little where there is no room for another process: a limit counts those of other runs as well."""
    for pause_s in _ROOM_S:
        try:
            return os.fork()
        except BlockingIOError:
            time.sleep(pause_s)
    return os.fork()


class Pause:
    """Time between two words to a person: ten seconds at first, then twice as long, a minute at most."""

    def __init__(self) -> None:
        self._seconds = _FIRST_S
        self._ends = time.monotonic() + _FIRST_S

    def is_over(self) -> bool:
        """Tell whether something may be said now; then the next one begins."""
        if time.monotonic() < self._ends:
            return False
        self._seconds = min(_LONGEST_S, 2 * self._seconds)
        self._ends = time.monotonic() + self._seconds
        return True


def waited_s(process: int = 0) -> float:
    """Seconds that a process, this one for 0, stood ready to run while others had the cores: as Linux counts them for
    its first thread. 0.0 where the system does not tell."""
    try:
        with open(f"/proc/{process or 'self'}/schedstat", encoding="ascii") as told:
            return int(told.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
