"""Tell a program that a busy machine keeps waiting from one that sleeps or is slow."""

from __future__ import annotations


def waited_s(process: int = 0) -> float:
    """Seconds that a process, this one for 0, stood ready to run while others had the cores: as Linux counts them for
    its first thread. 0.0 where the system does not tell."""
    try:
        with open(f"/proc/{process or 'self'}/schedstat", encoding="ascii") as told:
            return int(told.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
