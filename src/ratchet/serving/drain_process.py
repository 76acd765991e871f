"""The process beside a server that moves the journal into the store, so that requests never wait for it.

`python -P -m ratchet.serving.drain_process HOME SECONDS`: drains every so often until its standard input ends, which is
when the server does, however it ends. A line of JSON on standard output tells of each drain that moved something.
It alerts people of patterns, too: at most once a minute, and only where something came since.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import time
from contextlib import suppress

from ratchet.errors import RatchetError
from ratchet.recording import wire
from ratchet.runtime import Runtime

log = logging.getLogger(__name__)

_NICE = 5  # who waits for an answer comes first
_ALERTS_S = 60.0  # between two looks at what there is to alert of
_TURN_S = 1.0  # longest turn: then it looks whether the server still lives


def main(arguments: list[str]) -> int:
    """Drain until standard input ends."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all of a terminal's processes; the server ends us
    home, every_s = arguments[0], float(arguments[1])
    with suppress(OSError):  # a system that does not let it: then it is as important as the server
        os.nice(_NICE)
    with Runtime.open(home=home) as runtime:
        runtime.patience_s = _TURN_S
        down, behind = "", False
        alerted_at, news = float("-inf"), True
        while not _ended(0.0 if behind else every_s):
            began = time.monotonic()
            try:
                drained = runtime.drain()
                runtime.retention.when_due()
                news = news or bool(drained.outcomes)
                if news and began - alerted_at >= _ALERTS_S:
                    runtime.alert()
                    alerted_at, news = began, False
            except RatchetError as error:
                if str(error) != down:
                    log.warning("drain.failed %s", error)
                down, behind = str(error), False
                continue
            down, behind = "", time.monotonic() - began >= _TURN_S
            if drained.outcomes:
                print(wire.written({"outcomes": drained.outcomes}), flush=True)
    return 0


def _ended(wait_s: float) -> bool:
    """Tell whether the server is gone; asks for `wait_s` at most."""
    ready, _, _ = select.select([sys.stdin], [], [], wait_s)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
