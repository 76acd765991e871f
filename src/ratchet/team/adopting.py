"""Takes a run over from a driver that died: its workers' processes end first, then what they left is read."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from ratchet import files
from ratchet.errors import Conflict
from ratchet.records import Row
from ratchet.team.attempting import Attempting
from ratchet.team.hands.process import reply_from
from ratchet.team.held import HeldTask
from ratchet.team.worker import Worker

LOCKS = "*.lock"
_LOOK_S = 0.02
_BEYOND_S = 10.0  # a process looks at its deadline every 50 ms, and a busy machine may be late


async def adopt(attempting: Attempting, held: Iterable[HeldTask], workers: Mapping[str, Worker]) -> None:
    """Settle every task that was under way. Raises Conflict where an old process does not end, StoreError."""
    begun = [each for each in held if each.record.state == "running"]
    if not begun:
        return
    await _alone(Path(attempting.folder), max(each.task.timeout_s for each in begun))
    for each in begun:
        attempt = each.record.attempts[-1]
        spool = Path(attempting.spool(each.task.id, attempt.n))
        worker = workers.get(attempt.worker)
        outlives = worker is not None and worker.outlives
        # A worker inside its driver leaves no file: one that lies there is somebody else's word.
        left = _left(spool) if worker is None or outlives else None
        if left is not None:
            await attempting.adopt(each, reply_from(left), spool.stat().st_mtime)
        else:
            await attempting.lost(each, began=not outlives or Path(f"{spool}.began").exists())


async def _alone(folder: Path, longest_s: float) -> None:
    """Wait until no process of the driver before is left. They begin nothing new, and end with their work or at its
    deadline."""
    until = time.monotonic() + longest_s + _BEYOND_S
    for path in sorted(folder.glob(LOCKS)):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            while files.lock(descriptor) is False:
                if time.monotonic() > until:
                    raise Conflict(
                        f"a worker's process of an earlier driver still runs and holds {path}: end it, then run again"
                    )
                await asyncio.sleep(_LOOK_S)
        finally:
            os.close(descriptor)
        path.unlink(missing_ok=True)


def _left(spool: Path) -> Row | None:
    try:
        found = json.loads(spool.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
