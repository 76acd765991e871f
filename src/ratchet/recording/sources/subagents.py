"""Finds the limit that stopped a Claude Code subagent where only the subagent's own file tells of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ratchet.failures.kinds.kind import kind_of
from ratchet.recording.sources import fields
from ratchet.recording.sources.lines import decode
from ratchet.records import Row

_TAIL_BYTES = 65_536  # a limit is among the last lines of the file that it ended
_MOST_FILES = 500
_STATUS = re.compile(r"\AAPI Error: (\d{3})\b")


def limits_beside(path: str, session: str) -> list[tuple[float, str]]:
    """(when, what was said) of each limit that ended a subagent of this session, oldest first: in the files beside the
    session's own, or in the folder of its name. Files that cannot be read tell nothing."""
    own = Path(path)
    folders = (own.with_suffix("") / "subagents", own.parent)
    places = [place for folder in folders for place in sorted(folder.glob("*.jsonl"))]
    return sorted(found for place in places[:_MOST_FILES] if place != own for found in _limits_in(place, session))


def _limits_in(place: Path, session: str) -> Iterator[tuple[float, str]]:
    try:
        if not place.is_file():  # a pipe has no end
            return
        with place.open("rb") as file:
            file.seek(max(0, place.stat().st_size - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES)
    except OSError:
        return
    if b"isApiErrorMessage" not in tail:
        return
    for line in tail.split(b"\n"):
        for record in decode(line)[0] if b"isApiErrorMessage" in line else ():
            at = fields.instant(record.get("timestamp"))
            said = _said(record)
            if at is not None and said and record.get("sessionId") == session:
                yield at, said


def _said(record: Row) -> str:
    """The text of a record that says that a limit was reached; "" of any other."""
    if record.get("isApiErrorMessage") is not True:
        return ""
    said = fields.blocks_text(fields.row(record.get("message")).get("content"))
    status = _STATUS.match(said)
    limited = kind_of(said, status=int(status[1]) if status else None) == "quota_exhausted"
    return said if limited else ""
