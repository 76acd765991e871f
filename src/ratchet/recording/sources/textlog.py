"""Plain logs: lines of a failing level, and tracebacks of Python, Java, Node, Go and Rust; each is one failed Outcome.

Lines that belong together (a message, its traceback, the exceptions it was caused by) are one entry.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ratchet import ids
from ratchet.failures import tool_call as toolcall
from ratchet.ports import Read
from ratchet.recording.sources.lines import raw_lines
from ratchet.recording.sources.logline import LogEntry, entry_of
from ratchet.recording.sources.reading import count, moment, tally
from ratchet.records import Failure, Outcome, Quarantined, Row

NAME = "log"
_ENTRY_LINES = 400  # a longer entry keeps its head; its last lines are kept by the cap on texts
_TRACE_STARTS = ("Traceback (most recent call last)", "panic: ", "fatal error: ", "Exception in thread ", "thread '")
_GO_STARTS = ("panic: ", "fatal error: ")
_CHAIN_STARTS = ("During handling of the above exception", "The above exception was the direct cause")
_CONTINUES = (
    *_CHAIN_STARTS,
    "Caused by:",
    "Suppressed:",
    "goroutine ",
    "created by ",
    "exit status ",
    "[signal ",
    "note: run with",
    "stack backtrace:",
    "... ",
)
_FRAME = re.compile(r"\s+(?:at |File \"|\.\.\. \d+ more)")
_GO_FRAME = re.compile(r"[\w./*()\[\]-]{1,300}\(.{0,300}\)\Z")
_EXCEPTION = re.compile(
    r"([A-Za-z_][\w.$]{0,200}(?:Error|Exception|Exit|Interrupt|Fault|Timeout|Failure|Warning))\b(?::|\s|\Z)"
)
_NAMED = re.compile(r"([A-Za-z_][\w.]{0,200})(?:: |\Z)")
_RUST = re.compile(r"thread '[^'\n]{0,200}' (?:\(\d+\) )?panicked at ")


class TextLog:
    """The Source of plain logs."""

    name = NAME

    def claims(self, head: bytes) -> bool:
        """Tell whether any of the first lines begins a log entry with a level, or a traceback."""
        if b"\0" in head:
            return False
        lines = head.decode("utf-8", "replace").split("\n")[:2000]
        return any(
            _begins_trace(line, after) or _is_entry(line) for line, after in zip(lines, [*lines[1:], ""], strict=True)
        )

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:
        """See `ports.Source`. The last entry is read again when the file grows: more of it may come."""
        log = _Log(path, carry)
        end = offset
        for raw in raw_lines(path, offset, carry):
            if raw.damage:
                yield Read(items=(Quarantined(path=path, line=raw.number, reason=raw.damage),), offset=raw.end)
                break
            end = raw.end
            text = raw.data.decode("utf-8", "replace").rstrip("\r\n")
            closed = log.take(_Line(raw.number, raw.end - len(raw.data), text))
            if closed is not None:
                held, start = log.waiting()
                yield from self._consistent(carry, closed, held, start)
        for closed in log.finish():
            yield Read(items=(closed,), offset=log.resume(end))
        yield log.last(end)

    @staticmethod
    def _consistent(carry: Row, closed: Outcome, before: int, start: int) -> Iterator[Read]:
        """While a Read is out, the carry stands for the file up to its offset: the start of what is still open."""
        lines, carry["lines"] = carry.get("lines"), before
        yield Read(items=(closed,), offset=start)
        carry["lines"] = lines


def _is_entry(line: str) -> bool:
    entry = entry_of(line, 2000)
    return entry is not None and (entry.level != "" or entry.at is not None)


def _begins_trace(line: str, after: str) -> bool:
    """Tell whether a line begins a traceback: by its own words, or an exception's name above a frame."""
    if line.startswith("thread '"):
        return _RUST.match(line) is not None
    if line.startswith(_TRACE_STARTS):
        return True
    return bool(_FRAME.match(after)) and _EXCEPTION.match(line.removeprefix("Uncaught ")) is not None


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    start: int
    text: str


@dataclass(slots=True)
class _Open:
    """An entry whose end has not been seen."""

    first: _Line
    entry: LogEntry | None
    lines: list[str] = field(default_factory=list)
    traced: bool = False  # holds a traceback
    expects: int = 0  # unindented lines that the traceback still needs: the one that names its exception
    blank: int = 0  # blank lines held back: they belong to it only when more of it follows

    @property
    def fails(self) -> bool:
        return self.traced or (self.entry is not None and self.entry.fails)

    def add(self, text: str) -> None:
        if len(self.lines) < _ENTRY_LINES:
            self.lines += [""] * self.blank
            self.lines.append(text)
        self.blank = 0

    def add_trace(self, head: str) -> None:
        self.traced = True
        self.expects = int(head.startswith("Traceback") or (head.startswith("thread '") and head.endswith(":")))


class _Log:
    """Groups lines into entries, one line ahead of the one it decides on."""

    def __init__(self, path: str, carry: Row) -> None:
        self._path = path
        self._carry = carry
        self._year = datetime.fromtimestamp(Path(path).stat().st_mtime, tz=UTC).year
        self._open: _Open | None = None
        self._ahead: _Line | None = None

    def take(self, line: _Line) -> Outcome | None:
        """Take one more line; the entry that it ends, when that reports a failure."""
        current, self._ahead = self._ahead, line
        return self._decide(current, line.text) if current else None

    def finish(self) -> Iterator[Outcome]:
        """The entries that the end of the file ends."""
        if self._ahead is not None:
            closed = self._decide(self._ahead, "")
            if closed:
                yield closed
            self._ahead = None
        held = self._outcome(self._open)
        if held:
            yield held

    def waiting(self) -> tuple[int, int]:
        """(lines before what is still open, the byte where it starts)."""
        first = self._open.first if self._open and self._open.fails else self._ahead
        return (first.number - 1, first.start) if first else (0, 0)

    def resume(self, end: int) -> int:
        """Find where the next read begins: a failure at the end of the file is read again with what follows it."""
        if self._open is None or not self._open.fails:
            return end
        self._carry["lines"] = self._open.first.number - 1
        return self._open.first.start

    def last(self, end: int) -> Read:
        """The Read that ends the file."""
        known, steps = tally(self._carry, "known"), tally(self._carry, "steps")
        if not known and not steps and end:
            reason = "read as a plain log, but it holds no log line and no traceback, so nothing was learnt from it"
            return Read(items=(Quarantined(path=self._path, line=0, reason=reason),), offset=end)
        note = "" if steps else f"{known} lines of a log, none reports a failure"
        return Read(items=(), offset=self.resume(end), note=note)

    def _decide(self, line: _Line, after: str) -> Outcome | None:
        entry = entry_of(line.text, self._year)
        if entry is not None and (entry.level or entry.at is not None):
            count(self._carry, "known")
        else:
            entry = None
        body = entry.message if entry else line.text
        if self._belongs(entry, body, after):
            return None
        closed = self._outcome(self._open)
        self._open = None
        traced = _begins_trace(body, after)
        if entry is not None or traced:
            self._open = _Open(line, entry, [body])
        if traced and self._open:
            self._open.add_trace(body)
        return closed

    def _belongs(self, entry: LogEntry | None, body: str, after: str) -> bool:
        """Tell whether a line continues the open entry; if so it is added to it."""
        held = self._open
        if held is None or not held.fails:
            return False
        bare = entry is None or not entry.level
        if not body.strip():
            held.blank += bare
            return bare
        starts = _begins_trace(body, after)
        if starts and bare and (not held.traced or held.lines[-1].startswith(_CHAIN_STARTS)):
            held.add_trace(body)
        elif starts or not self._continues(held, entry, body):
            return False
        held.add(body)
        return True

    @staticmethod
    def _continues(held: _Open, entry: LogEntry | None, body: str) -> bool:
        if held.traced and (body[:1] in " \t" or body.startswith(_CONTINUES)):
            return True
        if held.traced and (entry is None or not entry.level):
            if held.expects and not held.blank:
                held.expects -= 1
                return True
            if held.lines[0].startswith(_GO_STARTS) and _GO_FRAME.match(body):
                return True
        # In a stamped log, what bears no stamp belongs to the entry above it.
        return entry is None and held.entry is not None and held.entry.at is not None

    def _outcome(self, held: _Open | None) -> Outcome | None:
        if held is None or not held.fails:
            return None
        count(self._carry, "steps")
        digest = hashlib.sha256(held.first.text.encode("utf-8", "replace")).hexdigest()
        writer = held.entry.writer if held.entry else ""
        text = "\n".join(held.lines)
        return Outcome(
            id=ids.outcome_id(NAME, "", f"{digest}:{held.first.number}"),
            agent=(Path(self._path).name.partition(".")[0] or NAME)[:200],
            task=writer[:200],
            ok=False,
            started_at=moment(held.entry.at if held.entry else None, self._path, self._carry),
            source=NAME,
            failure=Failure(message=toolcall.message_text(text), type=_exception_of(held.lines) if held.traced else ""),
        )


def _exception_of(lines: list[str]) -> str:
    """The class of the exception: Python names it behind its frames, the others above them."""
    python = any(line.startswith("Traceback") for line in lines)
    named = [found[1] for line in lines if (found := _EXCEPTION.match(line.removeprefix("Uncaught ")))]
    if python and lines and not named:
        last = _NAMED.match(lines[-1])
        named = [last[1]] if last else []
    return (named[-1] if python else named[0])[:200] if named else ""
