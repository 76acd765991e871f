"""Importers of foreign histories. A file's source is decided by its content, never by its name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ratchet.errors import BackendError
from ratchet.ports import Source
from ratchet.recording.sources.aider import Aider
from ratchet.recording.sources.claude_code import ClaudeCode
from ratchet.recording.sources.codex import Codex
from ratchet.recording.sources.databases import Databases
from ratchet.recording.sources.document import decode_document, is_document
from ratchet.recording.sources.event_folder import EventFolder
from ratchet.recording.sources.jsonl import Jsonl
from ratchet.recording.sources.lines import HEAD_BYTES, objects_in, peek, pieces_behind
from ratchet.recording.sources.messages import Messages
from ratchet.recording.sources.opencode_files import OpencodeFiles
from ratchet.recording.sources.otlp import Otlp
from ratchet.recording.sources.peers import HealingAgent, Reloop
from ratchet.recording.sources.textlog import NAME as LOG
from ratchet.recording.sources.textlog import TextLog

SOURCES: tuple[Source, ...] = (
    *(
        ClaudeCode(),
        Codex(),
        Otlp(),
        Reloop(),
        HealingAgent(),
        Databases(),
        OpencodeFiles(),
        Messages(),
        Aider(),
        Jsonl(),
        TextLog(),
    ),
)
"""In the order in which they are asked: the more particular a format, the earlier."""


def claimed_by(head: bytes, plugins: Iterable[Source] = ()) -> Source | None:
    """The first source that knows this content; plugins are asked before the built-in ones."""
    return next((source for source in (*plugins, *SOURCES) if source.claims(head)), None)


def claimant_of(path: str, head: bytes, plugins: Iterable[Source] = ()) -> Source | None:
    """The first source that knows a file: by its head, or where that says nothing, by the lines behind it.

    Raises OSError, BackendError.
    """
    asked = tuple(plugins)
    found = claimed_by(head, asked)
    if found is not None or not objects_in(head) or is_document(head):
        return found
    pieces = (claimed_by(piece, asked) for piece in pieces_behind(path, head))
    return next((source for source in pieces if source is not None and source.name != LOG), None)


def source_for(path: str, plugins: Iterable[Source] = ()) -> Source:
    """The source that reads a file, or a folder whose files are the events of one conversation. Lines of JSON that no
    source knows go to the generic one, which names each.

    Raises OSError, and BackendError when no source can make anything of the file.
    """
    if Path(path).is_dir():
        return EventFolder()
    head = peek(path)
    if not head.strip():
        raise BackendError(f"{path} is empty")
    found = claimant_of(path, head, plugins)
    if found is not None:
        return found
    if objects_in(head):
        return Jsonl()
    broken = decode_document(head)[1] if head.lstrip()[:1] in (b"{", b"[") else ""
    if broken and len(head) < HEAD_BYTES:
        raise BackendError(f"{path} holds no readable JSON: {broken}")
    raise BackendError(
        f"{path} is no history that Ratchet reads: neither a session of a known agent, nor JSON lines with "
        "success, ok, status or error, nor an OTLP trace, nor a log with levels or tracebacks"
    )


__all__ = ["SOURCES", "claimant_of", "claimed_by", "source_for"]
