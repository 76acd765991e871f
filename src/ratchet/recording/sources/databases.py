"""Reads the SQLite databases in which agents keep their sessions: opencode's and goose's.

A session that changed is read anew as a whole, like a JSON document: ids come from the content, so what was read before
counts once. The database is only read, while its owner may write it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from ratchet.ports import Read
from ratchet.recording.sources import fields
from ratchet.recording.sources.document import decode_document
from ratchet.recording.sources.messages import Conversations
from ratchet.recording.sources.reading import Item, count, last_read, table
from ratchet.recording.sources.sqlite_files import has_tables, opened
from ratchet.records import Json, Outcome, Quarantined, Row

NAME = "database"
_SEEN = 80  # letters of an odd cell
_MAGIC = b"SQLite format 3\0"
Cells = tuple[str | int | float | None, ...]
Decode = Callable[[object], Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One agent's `tables`. `sessions` selects (id, folder, revision), `messages` the rows of a session in order, which
    `records` turns into records of a conversation."""

    agent: str
    tables: tuple[str, ...]
    sessions: str
    messages: str
    records: Callable[[Iterator[Cells], Decode], Iterator[Json]]


def _opencode(rows: Iterator[Cells], decoded: Decode) -> Iterator[Json]:
    """A message with its parts, of (message, its JSON, the JSON of a part)."""
    for (key, data), parts in groupby(rows, lambda row: row[:2]):
        yield opencode_message(str(key), fields.row(decoded(data)), (fields.row(decoded(row[2])) for row in parts))


def opencode_message(key: str, info: Row, parts: Iterable[Row]) -> Row:
    """A message of opencode's as a record of a conversation."""
    return {
        "id": key,
        "info": info,
        "role": info.get("role"),
        "model": info.get("modelID"),
        "tokens": info.get("tokens"),
        "timestamp": fields.row(info.get("time")).get("created"),
        "parts": [part for part in parts if not part.get("synthetic")],
    }


def _goose(rows: Iterator[Cells], decoded: Decode) -> Iterator[Json]:
    """A message, of (id, role, the JSON of its blocks, time)."""
    for key, role, content, at in rows:
        yield {"id": key, "role": role, "content": decoded(content), "timestamp": at}


SCHEMAS = (
    Schema(
        agent="opencode",
        tables=("session", "message", "part"),
        sessions="SELECT s.id, s.directory, max(p.time_updated) FROM session s JOIN part p ON p.session_id = s.id "
        "GROUP BY s.id ORDER BY s.time_created, s.id",
        messages="SELECT m.id, m.data, p.data FROM message m JOIN part p ON p.message_id = m.id "
        "WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id",
        records=_opencode,
    ),
    Schema(
        agent="goose",
        tables=("sessions", "messages"),
        sessions="SELECT s.id, s.working_dir, max(m.id) FROM sessions s JOIN messages m ON m.session_id = s.id "
        "GROUP BY s.id ORDER BY min(m.id)",
        messages="SELECT id, role, content_json, created_timestamp FROM messages WHERE session_id = ? ORDER BY id",
        records=_goose,
    ),
)


class Databases:
    """The Source of such databases."""

    name = NAME

    def claims(self, head: bytes) -> bool:
        """Tell whether it is a database; `holds_sessions` tells whose."""
        return head.startswith(_MAGIC)

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:  # noqa: ARG002  (sessions have revisions)
        """See `ports.Source`. A session whose revision was read before is passed by."""
        size = Path(path).stat().st_size
        try:
            with opened(path) as held:
                schema = _schema_of(held)
                if schema is not None:
                    yield from _read(held, schema, path, size, carry)
            reason = "" if schema is not None else "a database, but with the tables of no agent that is known"
        except sqlite3.Error as error:
            reason = f"cannot be read as a database ({error})"
        if reason:
            yield Read(items=(Quarantined(path=path, line=0, reason=reason),), offset=size)
        else:
            yield last_read(path, size, carry, name=NAME)


def holds_sessions(path: str) -> bool:
    """Tell whether a database is one of these."""
    try:
        with opened(path) as held:
            return _schema_of(held) is not None
    except sqlite3.Error:
        return False


def _schema_of(held: sqlite3.Connection) -> Schema | None:
    """The schema whose statements this database understands."""
    for schema in SCHEMAS:
        if not has_tables(held, schema.tables):
            continue
        try:
            for statement, given in ((schema.sessions, ()), (schema.messages, ("",))):
                held.execute(f"EXPLAIN {statement}", given)
        except sqlite3.OperationalError as error:
            if "no such" not in str(error):  # busy, or damaged
                raise
        else:
            return schema
    return None


def _read(held: sqlite3.Connection, schema: Schema, path: str, size: int, carry: Row) -> Iterator[Read]:
    """A Read for each session that changed."""
    known = table(carry, "revisions")
    for session, folder, revision in held.execute(schema.sessions).fetchall():
        seen = revision if isinstance(revision, int | str) else repr(revision)[:_SEEN]  # JSON holds it, whatever it is
        if known.get(str(session)) == seen:
            continue
        about: Row = {"agent": schema.agent, "session": str(session), "project": fields.text(folder)}
        unread: list[str] = []
        if isinstance(revision, bytes):
            unread.append("its time is a BLOB")
        rows = _sound(held.execute(schema.messages, (session,)), unread)
        records = list(schema.records(rows, lambda data, unread=unread: _decoded(data, unread)))  # type: ignore[misc]
        items = _taken(records, about, path, unread)
        count(carry, "bad", len(unread))
        known[str(session)] = seen
        count(carry, "known", len(records))
        count(carry, "steps", sum(isinstance(item, Outcome) for item in items))
        named = f"session {ascii(session)[:_SEEN]}"
        wrong = [Quarantined(path=path, line=0, reason=f"{named}: {why}") for why in dict.fromkeys(unread)]
        yield Read(items=(*items, *wrong), offset=size, sessions=(str(session),))


def _taken(records: list[Json], about: Row, path: str, unread: list[str]) -> list[Item]:
    try:
        return Conversations(path, {}).take_session(records, about)
    except RecursionError:  # short of what the decoder refuses
        unread.append("nested too deeply to be read")
        return []


def _sound(rows: Iterable[tuple[object, ...]], unread: list[str]) -> Iterator[Cells]:
    """The rows, without the cells that no agent writes."""
    for row in rows:
        if any(isinstance(cell, bytes) for cell in row):
            unread.append("a row of it holds a BLOB")
        yield tuple(cell if isinstance(cell, str | int | float) else None for cell in row)


def _decoded(data: object, unread: list[str]) -> Json:
    """The JSON of a cell; one that was not written whole costs itself, and `unread` has the reason."""
    if not isinstance(data, str):
        return None
    found, reason = decode_document(data.encode("utf-8", "replace"))
    if reason:
        unread.append(f"a row of it is {reason}")
    return found
