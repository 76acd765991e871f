"""Keeps the process alive that moves the journal into the store beside this one (`ratchet.serving.drain_process`)."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from ratchet.config import SERVE_TOKEN
from ratchet.recording import wire
from ratchet.serving.api.serving import Served

log = logging.getLogger(__name__)

_AGAIN_S = 1.0  # until a process that died is started again
_END_S = 2.0  # for its turn under way; then it is killed, and its transaction undone


@asynccontextmanager
async def beside(held: Served) -> AsyncIterator[None]:
    """Drain beside the server while this is open, where it is wanted."""
    if not held.serving.drain_s:
        yield
        return
    task = asyncio.create_task(_keep(held), name="ratchet-drainer")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _keep(held: Served) -> None:
    while True:
        try:
            await _listen(held, await _started(held))
        except OSError as error:  # no memory, or no more processes: later there may be
            log.warning("drainer.not_started", extra={"why": str(error)})
        await asyncio.sleep(_AGAIN_S)


async def _listen(held: Served, process: Process) -> None:
    """Tell what it moved, until it ends."""
    try:
        assert process.stdout is not None
        async for line in process.stdout:
            told = wire.read(line.decode())
            if isinstance(told, dict):
                held.feed.tell({"noun": "outcome", "verb": "stored", "count": told.get("outcomes")})
        log.warning("drainer.ended", extra={"code": await process.wait()})
    finally:
        await _end(process)


def command(held: Served) -> list[str]:
    """Return the command that starts it. -P: with no module of the folder that the server runs in, which may be a
    stranger's."""
    words = [str(held.runtime.home), str(held.serving.drain_s)]
    return [sys.executable, "-P", "-m", "ratchet.serving.drain_process", *words]


async def _started(held: Served) -> Process:
    environ = {name: value for name, value in os.environ.items() if name != SERVE_TOKEN}
    return await asyncio.create_subprocess_exec(
        *command(held), stdin=PIPE, stdout=PIPE, env=environ, start_new_session=True
    )


async def _end(process: Process) -> None:
    """It ends when its standard input does."""
    if process.returncode is not None:
        return
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _END_S)
    except TimeoutError:
        process.kill()
        await process.wait()
