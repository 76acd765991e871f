"""Takes JSON files that others drop into a folder: read, delivered, moved aside with the reason when they are bad.

A file is delivered before it is moved. When the process dies between the two, the next poll delivers it again; ids
come from the content, so it is stored once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ratchet.errors import BackendError, UsageError
from ratchet.ports import Read, Source
from ratchet.recording.sources import source_for
from ratchet.recording.sources.document import is_document, read_document
from ratchet.recording.sources.jsonl import NAME as GENERIC
from ratchet.recording.sources.jsonl import Runs
from ratchet.recording.sources.lines import objects_in, peek
from ratchet.recording.sources.reading import read_records
from ratchet.records import Outcome, Quarantined, Row

PROCESSED, REJECTED = ".processed", ".rejected"
_REASON = ".reason.txt"
_LONGEST_NAME = 255 - len(_REASON)
_LINES = (".jsonl", ".ndjson")  # one object so named may be the first of more
SETTLE_S = 1.0  # a file that is still written to changes within it; writers that rename into place need none


@dataclass(slots=True)
class Polled:
    """Report of one look at the folder: files taken, outcomes delivered, files (or lines of them) refused."""

    processed: int = 0
    outcomes: int = 0
    rejected: list[Quarantined] = field(default_factory=list)
    waiting: int = 0  # files still being written


def poll(
    folder: str,
    deliver: Callable[[Sequence[Outcome]], None],
    *,
    settle_s: float = SETTLE_S,
    plugins: Sequence[Source] = (),
) -> Polled:
    """Take each finished file of the folder, in order of name. `deliver` stores outcomes; what it raises stops the
    poll with the file left in place. A file is finished when it is one whole JSON value, or lines that have not
    changed for `settle_s`, which is waited for once; what is written to for longer waits for the next poll.

    Raises UsageError when the folder does not exist, OSError when files cannot be moved in it.
    """
    if not Path(folder).is_dir():
        raise UsageError(f"no such folder: {folder}; make it, or name the one that files are dropped into")
    done = Polled()
    _pass(folder, deliver, settle_s, plugins, done)
    if done.waiting:
        time.sleep(settle_s)
        done.waiting = 0
        _pass(folder, deliver, settle_s, plugins, done)
    return done


def _pass(
    folder: str, deliver: Callable[[Sequence[Outcome]], None], settle_s: float, plugins: Sequence[Source], done: Polled
) -> None:
    with os.scandir(folder) as listed:
        names = sorted(entry.name for entry in listed if _is_file(entry) and not entry.name.startswith("."))
    for name in names:
        try:
            _take(Path(folder) / name, deliver, settle_s, plugins, done)
        except FileNotFoundError:  # another watcher was quicker; what both delivered is stored once
            continue


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link to itself, or to what is closed to us: it stays, as a folder does
        return False


def _take(
    path: Path, deliver: Callable[[Sequence[Outcome]], None], settle_s: float, plugins: Sequence[Source], done: Polled
) -> None:
    before = path.stat()
    outcomes, bad, whole = _content(path, plugins)
    now = path.stat()
    changed = (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns)
    fresh = abs(time.time() - now.st_mtime) < settle_s
    if changed or (fresh and not (whole and outcomes and not bad)):
        done.waiting += 1
        return
    if outcomes:
        deliver(outcomes)
        done.outcomes += len(outcomes)
    if outcomes and not bad:
        _move(path, PROCESSED)
        done.processed += 1
        return
    reasons = bad or [Quarantined(path=str(path), line=0, reason="holds no finished run")]
    moved = _move(path, REJECTED)
    note = "".join(f"line {each.line}: {each.reason}\n" if each.line else f"{each.reason}\n" for each in reasons)
    if outcomes:
        note += f"{len(outcomes)} runs in it were good and are recorded; do not drop those again\n"
    name = os.fsdecode(os.fsencode(moved.name)[:_LONGEST_NAME])  # a name is 255 bytes at most
    moved.with_name(name + _REASON).write_text(note, encoding="utf-8")
    done.rejected += reasons


def _content(path: Path, plugins: Sequence[Source]) -> tuple[list[Outcome], list[Quarantined], bool]:
    """(its outcomes, what is bad in it, whether it is one JSON value and not lines that may become more)."""
    outcomes: list[Outcome] = []
    bad: list[Quarantined] = []
    whole = False
    try:
        source = source_for(str(path), plugins)
        head = peek(str(path))
        single = len(head) == path.stat().st_size and len(objects_in(head)) == 1
        whole = is_document(head) or (single and path.suffix not in _LINES)
        reads = _runs(path, is_document(head)) if source.name == GENERIC else source.read(str(path), 0, {})
        for read in reads:
            outcomes += [item for item in read.items if isinstance(item, Outcome)]
            bad += [item for item in read.items if isinstance(item, Quarantined)]
    except FileNotFoundError:
        raise
    except (OSError, BackendError) as error:
        bad.append(Quarantined(path=str(path), line=0, reason=str(error)))
    return outcomes, bad, whole


def _runs(path: Path, document: bool) -> Iterator[Read]:
    """Generic runs. What bears no time of its own is told apart by the time of its file: the same words dropped twice
    are two runs."""
    carry: Row = {}
    runs = Runs(str(path), carry, salt=f":{path.stat().st_mtime_ns}")
    if document:
        return read_document(str(path), carry, runs.take_document, name=GENERIC)
    return read_records(str(path), 0, carry, runs.take, name=GENERIC)


def _move(path: Path, aside: str) -> Path:
    """Move a file into a folder beside it; a name that is taken there gets a number."""
    folder = path.parent / aside
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / path.name
    number = 1
    while target.exists():
        target = folder / f"{path.stem}.{number}{path.suffix}"
        number += 1
    return path.rename(target)
