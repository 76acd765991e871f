"""Moves the journal into the store: in batches, each line once, the offset in the transaction of its rows.

A crash at any moment repeats a batch or nothing, never half of one. A line that cannot be used costs itself: it goes to
quarantine with its reason. A segment is deleted when it is drained and nobody can be writing to it any more.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ratchet import files
from ratchet.errors import UsageError
from ratchet.recording.collecting import held_back
from ratchet.recording.journal import FOLDER, is_shared, may_be_written, segments
from ratchet.recording.journal_lines import Parsed, parsed
from ratchet.records import Quarantined, Row, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store

BATCH_BYTES = 1 << 21
"""Bytes a transaction, some 6,000 lines and an eighth of a second: 5 % less CPU a line than at half of it, since
tallies are written once a batch; twice as many save nothing more, and hold 30 MB more. Nobody who records waits for it.
A longer line is quarantined: what a recorder writes is a fraction of it."""
_SOURCE = "journal"
_GONE = -1  # `size` of the cursor of a segment that was deleted


class Taken(Protocol):
    """Answer of storing rows."""

    @property
    def new(self) -> Sequence[Row]:
        """The rows that were not known yet."""


Ingest: TypeAlias = "Callable[[Store, Sequence[Row]], Taken]"
Place: TypeAlias = "Callable[[Store, Sequence[Row]], Sequence[Row]]"
"""Puts exposures in their order, in the transaction that stores them."""


@dataclass(frozen=True, slots=True)
class Drained:
    """Report of one drain. `lost` counts records that their writers report as never written (a full disk); `whole` says
    that nothing was left which stood in the journal when it began."""

    outcomes: int = 0
    exposures: int = 0
    lost: int = 0
    quarantined: tuple[Quarantined, ...] = ()
    whole: bool = True


@dataclass(slots=True)
class _Tally:
    outcomes: int = 0
    exposures: int = 0
    lost: int = 0
    quarantined: list[Quarantined] = field(default_factory=list)


def _as_they_came(_store: Store, exposures: Sequence[Row]) -> Sequence[Row]:
    return exposures


def drain(
    store: Store, home: str, ingest: Ingest, now: float, *, place: Place = _as_they_came, until: float = inf
) -> Drained:
    """Move what was journalled in `home` so far into the store, outcomes through `ingest`. No batch begins after
    `until` (on the monotonic clock): then something may be left.

    May run in several processes at once: each line is counted once. Costs a directory listing and one query when there
    is nothing to move. Raises StoreError when the store cannot be written; the journal then keeps everything.
    """
    paths = segments(home)
    tally = _Tally()
    if not paths:
        return Drained()
    known = {str(row["path"]): row for row in store.find("cursors", {"source": _SOURCE}).rows}
    gone: list[str] = []
    whole = True
    for path in paths:
        if time.monotonic() > until:
            break
        try:
            if _Segment(store, path, ingest, place, now, tally, until).drain(known.get(_key(path))):
                gone.append(path)
        except FileNotFoundError:  # another drain was quicker
            continue
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            tally.quarantined.append(Quarantined(path=path, line=0, reason=reason))
            whole = False
    whole = whole and time.monotonic() <= until
    _forget(store, gone)
    return Drained(tally.outcomes, tally.exposures, tally.lost, tuple(tally.quarantined), whole)


def _key(path: str) -> str:
    """The name of a segment's cursor: a home may move. Bytes that are no UTF-8 are escaped: no database takes them."""
    return f"{FOLDER}/{Path(path).name}".encode("utf-8", "backslashreplace").decode()


def _forget(store: Store, paths: Sequence[str]) -> None:
    """Drop the cursors of deleted segments; their names never come back."""
    if not paths:
        return
    with store.transaction():
        for path in paths:
            cursor = store.get("cursors", _key(path))
            if cursor is not None:
                store.swap("cursors", _key(path), whole_in(cursor, "revision"), {**cursor, "size": _GONE})
        store.delete_before("cursors", "size", 0)


class _Segment:
    """One drain of one segment."""

    def __init__(
        self, store: Store, path: str, ingest: Ingest, place: Place, now: float, tally: _Tally, until: float
    ) -> None:
        self.store = store
        self.path = path
        self.ingest = ingest
        self.place = place
        self.now = now
        self.tally = tally
        self.until = until

    def drain(self, cursor: Row | None) -> bool:
        """Move what is new; True when the segment was deleted."""
        name = Path(self.path).name
        in_use = is_shared(name) and may_be_written(name, self.now)
        if in_use and whole_in(cursor, "offset") >= Path(self.path).stat().st_size:
            return False
        # A pipe has nothing to wait for, and a link may lead to what has no end.
        fd = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        try:
            # Held to the end: nobody may begin to write what is about to be deleted.
            abandoned = not in_use if is_shared(name) else _is_abandoned(fd)
            drained = self._drain(fd, cursor, abandoned)
            return abandoned and drained and self._delete()
        finally:
            os.close(fd)

    def _drain(self, fd: int, cursor: Row | None, abandoned: bool) -> bool:
        """Batch after batch; True when every byte was consumed. What is written meanwhile is left: somebody who writes
        quicker than a small batch is stored would hold a drain up for good."""
        end = inf if abandoned else os.fstat(fd).st_size
        while time.monotonic() <= self.until:
            offset, lines = whole_in(cursor, "offset"), whole_in(cursor, "lines")
            if offset >= end:
                return False
            chunk = os.pread(fd, BATCH_BYTES, offset)
            if not chunk:
                return True
            with held_back():
                batch = self._batch(fd, chunk, offset, lines, abandoned)
                if batch is None:
                    return False
                cursor = self._keep(cursor, batch)
                del batch  # its rows go while no collector would walk through them
        return False

    def _batch(self, fd: int, chunk: bytes, offset: int, lines: int, abandoned: bool) -> _Batch | None:
        """The whole lines of a chunk; None when its only line is still being written."""
        end = chunk.rfind(b"\n") + 1
        if end:
            found = parsed(chunk[:end], self.path, lines + 1)
            return _Batch(found, offset + end, lines + chunk.count(b"\n", 0, end))
        if len(chunk) < BATCH_BYTES:
            if not abandoned:
                return None
            reason = "torn: the writer died or the disk was full"
            return self._refused(reason, offset + len(chunk), lines)
        end = _line_end(fd, offset + len(chunk))
        if end == 0 and not abandoned:
            return None
        size = (end or os.fstat(fd).st_size) - offset
        return self._refused(f"a line of {size:,} bytes: more than {BATCH_BYTES:,}", offset + size, lines)

    def _refused(self, reason: str, offset: int, lines: int) -> _Batch:
        bad = Quarantined(path=self.path, line=lines + 1, reason=reason)
        return _Batch(Parsed(quarantined=[bad]), offset, lines + 1)

    def _keep(self, cursor: Row | None, batch: _Batch) -> Row | None:
        """Store a batch and move the cursor, or return the cursor as another drain has moved it."""
        try:
            return self._moved(cursor, batch)
        except UsageError:  # a row that the store cannot hold, which must not hold up the others
            self._sift(batch)
            return self._moved(cursor, batch)

    def _sift(self, batch: _Batch) -> None:
        """Put the outcomes of a batch that the store refuses into quarantine, trying each by itself."""
        found = batch.found
        fit: list[Row] = []
        if found.exposures:  # before the outcomes that settle them
            self.tally.exposures += self._exposed(found.exposures)
        for row in found.outcomes:
            try:
                self.ingest(self.store, [row])
            except UsageError as error:
                reason = f"outcome {str(row['id'])[:60]!r} cannot be stored: {error}"
                found.quarantined.append(Quarantined(path=self.path, line=batch.lines, reason=reason))
            else:
                fit.append(row)
        found.outcomes[:] = fit

    def _moved(self, cursor: Row | None, batch: _Batch) -> Row | None:
        key = _key(self.path)
        found = batch.found
        with self.store.transaction():
            newest = self.store.get("cursors", key)
            if whole_in(newest, "revision") != whole_in(cursor, "revision"):
                return newest
            # Exposures first: an outcome settles the exposure that was journalled before it.
            exposures = self._exposed(found.exposures) if found.exposures else 0
            if found.events:
                self.store.insert_new("events", found.events)
            taken = self.ingest(self.store, found.outcomes) if found.outcomes else None
            self._quarantine(found.quarantined)
            moved: Row = {"source": _SOURCE, "offset": batch.offset, "lines": batch.lines, "at": self.now}
            revision = whole_in(newest, "revision")
            self.store.swap("cursors", key, revision, moved)
        self.tally.outcomes += len(taken.new) if taken is not None else 0
        self.tally.exposures += exposures
        self.tally.lost += found.lost
        self.tally.quarantined += found.quarantined
        return {**moved, "revision": revision + 1}

    def _exposed(self, exposures: Sequence[Row]) -> int:
        with self.store.transaction():
            return len(self.store.insert_new("exposures", self.place(self.store, exposures)))

    def _quarantine(self, bad: Sequence[Quarantined]) -> None:
        rows: list[Row] = [
            {"path": piece.path, "line": piece.line, "reason": piece.reason, "source": _SOURCE, "at": self.now}
            for piece in bad
        ]
        if rows:
            self.store.insert_new("quarantine", rows)

    def _delete(self) -> bool:
        try:
            Path(self.path).unlink()
        except FileNotFoundError:
            return True
        except PermissionError:  # Windows: somebody has it open
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Batch:
    found: Parsed
    offset: int
    lines: int


def _is_abandoned(fd: int) -> bool:
    """Tell whether no process writes to this segment (writers hold a shared lock while they live). Takes the lock."""
    locked = files.lock(fd)
    # Without locks it is left where it is; but Windows refuses to delete an open file by itself.
    return sys.platform == "win32" if locked is None else locked


def _line_end(fd: int, offset: int) -> int:
    """The offset behind the next line end, 0 when there is none yet."""
    while chunk := os.pread(fd, BATCH_BYTES, offset):
        end = chunk.find(b"\n")
        if end >= 0:
            return offset + end + 1
        offset += len(chunk)
    return 0
