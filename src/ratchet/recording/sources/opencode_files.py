"""Reads the sessions that opencode kept as files before it had a database: `storage/session/PROJECT/SESSION.json` names
a session, its messages lie in `storage/message/SESSION/`, what each says and calls in `storage/part/MESSAGE/`.

A session that changed is read anew as a whole: ids come from the content, so what was read before counts once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ratchet import ids
from ratchet.ports import Read
from ratchet.recording.sources import fields
from ratchet.recording.sources.databases import opencode_message
from ratchet.recording.sources.document import decode_document, whole_document
from ratchet.recording.sources.lines import objects_in
from ratchet.recording.sources.messages import Conversations
from ratchet.recording.sources.reading import Item, read_whole
from ratchet.records import Json, Quarantined, Row

NAME = "opencode-files"
_SESSION = re.compile(r"ses_\w{1,80}")
_LIMIT_BYTES = 64 << 20  # of one file


class OpencodeFiles:
    """The Source of such sessions; a path is that of the file that names one."""

    name = NAME

    def claims(self, head: bytes) -> bool:
        """Tell whether it names a session."""
        document = whole_document(head)
        found = fields.row(document if document is not None else next(iter(objects_in(head)), None))
        named = _SESSION.fullmatch(fields.text(found.get("id")))
        return named is not None and "projectID" in found and "directory" in found

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:  # noqa: ARG002  (a session has a revision)
        """See `ports.Source`. A session of which nothing was written since it was read is passed by."""
        named = Path(path)
        size = named.stat().st_size
        session = fields.row(_document(named, []))
        name = fields.text(session.get("id"))
        storage = named.absolute().parents[2] if len(named.absolute().parents) > 2 else named.parent
        messages = _files(storage / "message" / name) if _SESSION.fullmatch(name) else []
        parts = {message: _files(storage / "part" / message.stem) for message in messages}
        revision = _revision([*messages, *(each for held in parts.values() for each in held)])
        if messages and carry.get("revision") == revision:
            yield Read(items=(), offset=size)
            return
        carry.clear()
        carry["revision"] = revision
        unread: list[Quarantined] = []
        records: list[Json] = sorted(
            (
                opencode_message(
                    message.stem,
                    fields.row(_document(message, unread)),
                    (fields.row(_document(each, unread)) for each in held),
                )
                for message, held in parts.items()
            ),
            key=_when,
        )
        items = _taken(records, name, fields.text(session.get("directory")), path, unread)
        yield from read_whole(path, size, carry, [*items, *unread], name=NAME, known=1, sessions=(name,))


def _taken(records: list[Json], name: str, folder: str, path: str, unread: list[Quarantined]) -> list[Item]:
    try:
        return Conversations(path, {}).take_session(records, {"agent": "opencode", "session": name, "project": folder})
    except RecursionError:  # short of what the decoder refuses
        unread.append(Quarantined(path=path, line=0, reason="nested too deeply to be read"))
        return []


def _when(record: Json) -> tuple[float, str]:
    held = fields.row(record)
    return fields.number(held.get("timestamp")) or 0.0, fields.text(held.get("id"))


def _files(folder: Path) -> list[Path]:
    """The files of JSON in a folder, in their order; a link is none, since it may lead anywhere."""
    try:
        held = sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []
    except OSError:  # closed to us: what is in it is read once it is not
        return []
    return [each for each in held if each.suffix == ".json" and each.is_file() and not each.is_symlink()]


def _revision(paths: list[Path]) -> str:
    """The names, sizes and times of files as one word."""
    said = []
    for path in paths:
        try:
            about = path.stat()
        except OSError:  # deleted meanwhile
            continue
        said.append(f"{path.name} {about.st_size} {about.st_mtime_ns}")
    return ids.hex_of("\n".join(said))[:24]


def _document(path: Path, unread: list[Quarantined]) -> Json:
    """The JSON of a file; one that cannot be read costs itself, and `unread` says why."""
    try:
        with path.open("rb") as file:
            raw = file.read(_LIMIT_BYTES + 1)
    except OSError as error:
        unread.append(Quarantined(path=str(path), line=0, reason=error.strerror or str(error)))
        return None
    found, reason = decode_document(raw) if len(raw) <= _LIMIT_BYTES else (None, "too large for one message")
    if reason:
        unread.append(Quarantined(path=str(path), line=0, reason=reason))
    return found
