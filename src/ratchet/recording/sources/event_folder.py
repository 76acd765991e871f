"""Reads a folder that holds one conversation, an event a file (OpenHands), in the order of their numbers."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ratchet.errors import BackendError
from ratchet.ports import Read
from ratchet.recording.sources import fields
from ratchet.recording.sources.document import decode_document, whole_document
from ratchet.recording.sources.lines import HEAD_BYTES
from ratchet.recording.sources.messages import NAME, Conversations
from ratchet.recording.sources.reading import Item, read_whole
from ratchet.recording.sources.unpacked import open_plain
from ratchet.recording.sources.whose import is_event
from ratchet.records import Json, Quarantined, Row

_NUMBERED = re.compile(r"(?:[A-Za-z]{1,20}[-_])?(\d{1,12})(?:[-_][\w-]{1,80})?\.json")
_LIMIT_BYTES = 64 << 20  # of one event
_LEAST = 2  # files; a single one is a document like any other


def events_in(names: Iterable[str]) -> list[str]:
    """The names that can be those of numbered events, in their order; none where there is only one."""
    numbered = [(int(found[1]), name) for name in names if (found := _NUMBERED.fullmatch(name)) is not None]
    return [name for _, name in sorted(numbered)] if len(numbered) >= _LEAST else []


def is_event_folder(folder: str, names: list[str]) -> bool:
    """Tell whether these files, the first and the last of a folder's events, are events by their content."""
    return bool(names) and all(_begins_event(Path(folder) / name) for name in (names[0], names[-1]))


def _opened(path: Path) -> io.BufferedReader:
    """The file, if it is one: a pipe has no end. Raises OSError, BackendError."""
    if not path.is_file():
        raise BackendError("no regular file")
    return open_plain(str(path))


def _begins_event(path: Path) -> bool:
    try:
        with _opened(path) as file:
            head = file.read(HEAD_BYTES)
    except (OSError, BackendError):  # it is told where its file is looked at
        return False
    document = whole_document(head) or decode_document(head)[0]
    # An event that is longer than what is looked at is known by how it begins.
    return is_event(document) if isinstance(document, dict) else _BEGUN.match(head) is not None


_BEGUN = re.compile(rb'\s*\{\s*"(?:kind"\s*:\s*"\w{1,60}Event"|id"\s*:\s*\d{1,12},\s*"timestamp")')


class EventFolder:
    """The Source of such folders, which `source_for` asks for a path that is one."""

    name = NAME

    def claims(self, head: bytes) -> bool:  # noqa: ARG002  (a folder has no head)
        return False

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:  # noqa: ARG002  (events are few and small)
        """See `ports.Source`. All events are read anew when one was added or changed; ids come from the events."""
        folder = Path(path)
        names = events_in(entry.name for entry in folder.iterdir())
        pieces = [(name, (folder / name).stat()) for name in names]
        state = hashlib.sha256(repr([(n, s.st_size, s.st_mtime_ns) for n, s in pieces]).encode()).hexdigest()
        size = sum(about.st_size for _, about in pieces)
        if carry.get("document") == state:
            yield Read(items=(), offset=size)
            return
        carry.clear()
        carry["document"] = state
        bad: list[Item] = []
        events: list[Json] = []
        for name in names:
            event, reason = _event(folder / name)
            if reason:
                bad.append(Quarantined(path=str(folder / name), line=0, reason=reason))
            else:
                events.append(event)
        found = Conversations(str(folder / names[0]) if names else path, carry).take_events(events, _session_of(folder))
        known = len(events) if found is not None else 0
        yield from read_whole(path, size, carry, [*bad, *(found or ())], name=NAME, known=known)


def _event(path: Path) -> tuple[Json, str]:
    """(the event of a file, why there is none)."""
    try:
        with _opened(path) as file:
            raw = file.read(_LIMIT_BYTES + 1)
    except (OSError, BackendError) as error:
        return None, getattr(error, "strerror", None) or str(error)
    if len(raw) > _LIMIT_BYTES:
        return None, f"one event of more than {_LIMIT_BYTES >> 20} MB"
    event, reason = decode_document(raw)
    return event, reason or ("" if fields.row(event) else "no event")


def _session_of(folder: Path) -> str:
    """The conversation's name: OpenHands names the folder around `events` after it."""
    around = folder.resolve()
    return around.parent.name if around.name == "events" else around.name
