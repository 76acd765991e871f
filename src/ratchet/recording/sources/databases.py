"""Reads the SQLite databases in which agents keep their sessions: opencode's and goose's.

A session that changed is read anew as a whole, like a JSON document: ids come from the content, so what was read before
counts once. The database is only read, while its owner may write it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from ratchet.ports import Read
from ratchet.recording.sources import fields
from ratchet.recording.sources.messages import Conversations
from ratchet.recording.sources.reading import count, last_read, table
from ratchet.records import Json, Outcome, Quarantined, Row

NAME = "database"
_MAGIC = b"SQLite format 3\0"
_WAIT_S = 5.0  # for an owner that writes
Cells = tuple[str | int | float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One agent's tables. `sessions` selects (id, folder, revision), `messages` the rows of a session in order, which
    `records` turns into records of a conversation."""

    agent: str
    sessions: str
    messages: str
    records: Callable[[Iterator[Cells]], Iterator[Json]]


def _opencode(rows: Iterator[Cells]) -> Iterator[Json]:
    """A message with its parts, of (message, its JSON, the JSON of a part)."""
    for (key, data), parts in groupby(rows, lambda row: row[:2]):
        info = fields.row(_decoded(data))
        yield {
            "id": key,
            "info": info,
            "role": info.get("role"),
            "model": info.get("modelID"),
            "tokens": info.get("tokens"),
            "timestamp": fields.row(info.get("time")).get("created"),
            "parts": [part for row in parts if not (part := fields.row(_decoded(row[2]))).get("synthetic")],
        }


def _goose(rows: Iterator[Cells]) -> Iterator[Json]:
    """A message, of (id, role, the JSON of its blocks, time)."""
    for key, role, content, at in rows:
        yield {"id": key, "role": role, "content": _decoded(content), "timestamp": at}


SCHEMAS = (
    Schema(
        agent="opencode",
        sessions="SELECT s.id, s.directory, max(p.time_updated) FROM session s JOIN part p ON p.session_id = s.id "
        "GROUP BY s.id ORDER BY s.time_created, s.id",
        messages="SELECT m.id, m.data, p.data FROM message m JOIN part p ON p.message_id = m.id "
        "WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id",
        records=_opencode,
    ),
    Schema(
        agent="goose",
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
            with closing(_opened(path)) as held:
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
        with closing(_opened(path)) as held:
            return _schema_of(held) is not None
    except sqlite3.Error:
        return False


def _opened(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)


def _schema_of(held: sqlite3.Connection) -> Schema | None:
    """The schema whose statements this database understands."""
    for schema in SCHEMAS:
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
        if known.get(str(session)) == revision:
            continue
        about: Row = {"agent": schema.agent, "session": str(session), "project": fields.text(folder)}
        records = list(schema.records(iter(held.execute(schema.messages, (session,)))))
        items = Conversations(path, {}).take_session(records, about)
        known[str(session)] = revision
        count(carry, "known", len(records))
        count(carry, "steps", sum(isinstance(item, Outcome) for item in items))
        yield Read(items=tuple(items), offset=size, sessions=(str(session),))


def _decoded(data: object) -> Json:
    try:
        found: Json = json.loads(fields.text(data))
    except (ValueError, RecursionError):  # a row that was not written whole costs itself
        return None
    return found
