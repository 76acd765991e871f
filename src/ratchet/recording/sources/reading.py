"""The loop that every source of JSON lines shares: line by line, what each record teaches, and a word when none did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ratchet.ports import Read
from ratchet.recording.sources import fields
from ratchet.recording.sources.lines import digest_of, lines_of
from ratchet.records import MessageTokens, Outcome, Quarantined, Row, Saying

Item = Outcome | Saying | MessageTokens | Quarantined
Take = Callable[[Row, int], Iterable[Item] | None]
"""What one record (with its line number) holds; None when it is no record of this format."""

_FRAMES_OF_MANY = "messages"  # some of these clients begin and end a file with lines like Claude Code's
_GENERIC, _LOG = "jsonl", "log"  # what any program may write: a record is never one of a text log
_TICK_S = 0.001  # apart enough to keep the order of records that bear no time


def read_records(path: str, offset: int, carry: Row, take: Take, *, name: str) -> Iterator[Read]:
    """A Read per line that holds anything, and a last one at the end of the file.

    `carry` counts what was met: `known` records of the format, `steps` among them that became outcomes. Records that
    another client wrote are not read: a Quarantined names the first of them, and says how many there are.
    """
    others: dict[str, list[int]] = {}
    for line in lines_of(path, offset, carry):
        items: list[Item] = []
        steps = 0
        for record in line.objects:
            found = take(record, line.number)
            if found is None:
                writer = _writer_of(record)
                if writer not in ("", name) and (name != _FRAMES_OF_MANY or writer == _GENERIC):
                    others.setdefault(writer, []).append(line.number)
                continue
            count(carry, "known")
            items += found
        if items:
            steps = sum([isinstance(item, Outcome) for item in items])
            count(carry, "steps", steps)
        if line.reason:
            count(carry, "bad")
            items.append(Quarantined(path=path, line=line.number, reason=line.reason))
        offset = line.offset
        if steps:
            start = offset - len(line.data)
            yield Read(items=tuple(items), offset=offset, start=start, digest=digest_of(line.data))
        elif items:
            yield Read(items=tuple(items), offset=offset)
    if others:
        yield Read(items=tuple(_unread(path, name, others)), offset=offset)
    yield last_read(path, offset, carry, name=name)


def _writer_of(record: Row) -> str:
    """The source that knows a record that the file's own does not, "" for none."""
    from ratchet.recording.sources import claimed_by  # it names all sources, this module's users among them

    found = claimed_by(json.dumps(record).encode())
    return "" if found is None or found.name == _LOG else found.name


def _unread(path: str, name: str, others: Mapping[str, list[int]]) -> Iterator[Quarantined]:
    for other, lines in others.items():
        many = f"{len(lines):,} records" if len(lines) > 1 else "1 record"
        reason = f"{many} of {other} in a file of {name}, not read: give each client's lines a file of their own"
        yield Quarantined(path=path, line=lines[0], reason=reason)


def read_whole(
    path: str, size: int, carry: Row, items: Sequence[Item], *, name: str, known: int, sessions: tuple[str, ...] = ()
) -> Iterator[Read]:
    """All that a file holds which is always read from its start, and the Read that ends it."""
    count(carry, "known", known)
    count(carry, "bad", sum(isinstance(item, Quarantined) for item in items))
    count(carry, "steps", sum(isinstance(item, Outcome) for item in items))
    if items:
        yield Read(items=tuple(items), offset=size, sessions=sessions)
    yield last_read(path, size, carry, name=name)


def last_read(path: str, offset: int, carry: Row, *, name: str) -> Read:
    """The Read that ends a file: an error when nothing in it was understood, a note when it taught nothing."""
    known, steps, bad = (tally(carry, of) for of in ("known", "steps", "bad"))
    if known == 0 and bad == 0 and Path(path).stat().st_size:
        reason = f"read as {name}, but no record in it is one that {name} writes, so nothing was learnt from it"
        return Read(items=(Quarantined(path=path, line=0, reason=reason),), offset=offset)
    note = (
        f"{known} {'record' if known == 1 else 'records'} of {name}, none of them a finished step"
        if known and not steps
        else ""
    )
    return Read(items=(), offset=offset, sessions=tuple(table(carry, "sessions")), note=note)


def count(carry: Row, name: str, by: int = 1) -> None:
    """Add to a tally in the carry."""
    carry[name] = tally(carry, name) + by


def tally(carry: Row, name: str) -> int:
    """A tally of the carry, 0 when it was never added to."""
    found = carry.get(name)
    return found if type(found) is int else fields.whole(found) or 0


def table(carry: Row, name: str) -> Row:
    """An object of the carry, put there when it is absent."""
    found = carry.get(name)
    if not isinstance(found, dict):
        found = carry[name] = {}
    return found


def moment(at: float | None, path: str, carry: Row) -> float:
    """A record's time. One without a time follows the record before it; the first of all, the file's own time."""
    if at is None:
        before = fields.number(carry.get("at"))
        at = (Path(path).stat().st_mtime if before is None else before) + _TICK_S
    carry["at"] = at
    return at
