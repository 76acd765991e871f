"""Work that fails in every way that a worker can, for trials of a team."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import cast

from ratchet.records import Json
from ratchet.team.handed import Handed

WAYS = ("raise", "hang", "exit", "flood", "wrong", "slow", "kill")
"""How a task fails. A slow one does not: it takes fifty times as long, and ends well."""
RIGHT = "right"
_SLOW_S = 0.25
_FLOOD = 48 * 1_048_576


def do_one(work: Json, context: Handed) -> Json:
    """Do one task: {"way": ..., "times": n, "log": file, "takes_s": s}. It fails in its way at its first `times`
    attempts. What was paid for is a line in the log: the task, the attempt, and how far it came."""
    asked = cast("Mapping[str, Json]", work)
    log = str(asked["log"])
    _note(log, context, "began")
    time.sleep(float(str(asked.get("takes_s", 0.0))))
    way = str(asked.get("way", ""))
    value = RIGHT
    if way == "slow":
        time.sleep(_SLOW_S)
    elif way and context.attempt <= int(str(asked["times"])):
        value = _FAIL[way]()
    _note(log, context, "paid")
    return value


def _note(log: str, context: Handed, what: str) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{context.task} {context.attempt} {what}\n".encode())
    finally:
        os.close(descriptor)


def _raise() -> str:
    raise ValueError("the tool gave no answer for this order")


def _hang() -> str:
    time.sleep(3_600)
    return RIGHT


def _flood() -> str:
    line = "x" * 65_535 + "\n"
    for _ in range(_FLOOD // len(line)):
        sys.stdout.write(line)
    sys.stdout.flush()
    time.sleep(3_600)  # whoever floods does not end by himself
    return RIGHT


def _kill() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return RIGHT


def _exit() -> str:
    sys.exit(3)


_FAIL: dict[str, Callable[[], str]] = {
    "raise": _raise,
    "hang": _hang,
    "exit": _exit,
    "flood": _flood,
    "wrong": lambda: "wrong",
    "kill": _kill,
}
