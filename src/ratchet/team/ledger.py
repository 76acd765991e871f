"""Writes a run's rows from one thread: what waits together goes to disk in one transaction."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ratchet.errors import Conflict
from ratchet.ports import Store
from ratchet.records import Row

log = logging.getLogger(__name__)

_MOST = 500
"""Rows of one transaction: a few milliseconds."""


@dataclass(frozen=True, slots=True)
class _Entry:
    table: str
    rows: Sequence[Row]
    new: bool
    written: asyncio.Future[None]


class Ledger:
    """A group commit: eight workers that end together wait for one commit, and the loop for none. Close it at the end.

    Not every attempt could have a transaction of its own and stay below the 2 ms that a task may cost: a commit takes
    a tenth of a millisecond to a millisecond, and the loop would stand still meanwhile.
    """

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="ratchet-team-ledger", daemon=True)
        self._thread.start()

    def put(self, table: str, rows: Sequence[Row], *, new: bool = False) -> asyncio.Future[None]:
        """Write rows (`new`: where their key is new; else by the revisions they hold). The future is done once they are
        on disk; it raises StoreError, and Conflict where somebody else wrote one."""
        written: asyncio.Future[None] = self._loop.create_future()
        self._waiting.put(_Entry(table, rows, new, written))
        return written

    def note(self, table: str, rows: Sequence[Row], *, new: bool = False) -> None:
        """`put` for rows that nobody waits for: a fault is logged, and met again by whoever writes next."""
        self.put(table, rows, new=new).add_done_callback(_look_at)

    async def close(self) -> None:
        """Write what waits, and end."""
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while True:
            entries, over = self._taken()
            if entries:
                self._write(entries)
            if over:
                return

    def _taken(self) -> tuple[list[_Entry], bool]:
        """Take what waits, at least one; and whether the end was asked for."""
        entries: list[_Entry] = []
        first = self._waiting.get()
        while first is not None:
            entries.append(first)
            if sum(len(each.rows) for each in entries) >= _MOST:
                return entries, False
            try:
                first = self._waiting.get_nowait()
            except queue.Empty:
                return entries, False
        return entries, True

    def _write(self, entries: Sequence[_Entry]) -> None:
        error: BaseException | None = None
        try:
            store = self._store()
            with store.transaction():
                for each in entries:
                    if each.new:
                        store.insert_new(each.table, each.rows)
                    elif store.swap_many(each.table, each.rows) != len(each.rows):
                        raise Conflict(f"a row of {each.table} was written by somebody else: is the run driven twice?")
        except Exception as fault:  # noqa: BLE001  (handed to whoever waits for the rows)
            error = fault
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_settle, entries, error)


def _settle(entries: Sequence[_Entry], error: BaseException | None) -> None:
    for each in entries:
        if each.written.done():
            continue
        if error is None:
            each.written.set_result(None)
        else:
            each.written.set_exception(error)


def _look_at(written: asyncio.Future[None]) -> None:
    if not written.cancelled() and (error := written.exception()) is not None:
        log.error("team.row_not_written", exc_info=error)
