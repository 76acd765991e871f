"""Hears that anybody wrote to the store, so that a page shows at once what another server, or a command, did."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from ratchet.errors import RatchetError
from ratchet.failures.redaction.text import clean
from ratchet.ports import Changes

log = logging.getLogger(__name__)

_SLICE_S = 0.5  # of a wait: then it looks whether anybody still wants to hear
_AGAIN_S = 1.0  # until a store that is down is asked again


@asynccontextmanager
async def hearing(changes: Callable[[], Changes], heard: Callable[[], None]) -> AsyncIterator[None]:
    """Call `heard` in this loop's thread whenever anybody may have written, and when the store goes down or comes back,
    while this is open."""
    loop = asyncio.get_running_loop()
    ended = threading.Event()

    def tell() -> None:
        with suppress(RuntimeError):  # the loop has closed: nobody is left to tell
            loop.call_soon_threadsafe(heard)

    # A daemon, and not waited for: it ends within a slice, and a server that ends has better to do.
    threading.Thread(target=_hear, args=(changes, tell, ended), name="ratchet-hearing", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _hear(changes: Callable[[], Changes], tell: Callable[[], None], ended: threading.Event) -> None:
    while not ended.is_set():
        try:
            _until_lost(changes(), tell, ended)
        except RatchetError as error:
            log.warning("hearing.lost", extra={"why": clean(str(error))})
            tell()
            ended.wait(_AGAIN_S)


def _until_lost(source: Changes, tell: Callable[[], None], ended: threading.Event) -> None:
    tell()  # what was written before it listened
    try:
        while not ended.is_set():
            if source.wait(_SLICE_S):
                tell()
    finally:
        source.close()
