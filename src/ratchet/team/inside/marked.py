"""Ends all that a worker's process started, whoever its parent is by now: the environment carries the worker's mark."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping

_NAME = "RATCHET_WORKER"
_ROUNDS = 100  # a process that starts others may start one while it is looked for; one that cannot die is left
_LOOKS, _AGAIN_S = 2, 0.01  # a chain of forks may be ahead of one walk through all processes, hardly of the next


def marked(environ: Mapping[str, str], mark: str) -> dict[str, str]:
    """Return the environment of a worker's process: its mark stands behind those of workers that it works for."""
    return {**environ, _NAME: f"{environ[_NAME]}:{mark}" if environ.get(_NAME) else mark}


def end_marked(mark: str) -> None:
    """Kill every process that carries this mark, this one left out.

    A program that left its session and its parent still has its environment. Only Linux tells that of others;
    elsewhere, and for a program that emptied its environment, this ends nothing.
    """
    misses = 0
    for _ in range(_ROUNDS):
        found = [pid for pid in _processes() if pid != os.getpid() and mark.encode() in _marks(pid)]
        misses = 0 if found else misses + 1
        if misses == _LOOKS:
            return
        if misses:
            time.sleep(_AGAIN_S)
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue


def _processes() -> list[int]:
    try:
        return [int(each) for each in os.listdir("/proc") if each.isdecimal()]
    except OSError:
        return []


def _marks(pid: int) -> list[bytes]:
    """The marks that a process was started with; none for one that is dead already, or another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            held = file.read().split(b"\0")
    except OSError:
        return []
    begins = f"{_NAME}=".encode()
    return [mark for each in held if each.startswith(begins) for mark in each.removeprefix(begins).split(b":")]
