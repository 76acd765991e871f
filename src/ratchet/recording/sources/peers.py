"""Reads what other packages remembered: reloop's SQLite file and export, healing-agent's saved exceptions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ratchet import ids
from ratchet.errors import BackendError
from ratchet.failures import tool_call as toolcall
from ratchet.failures.redaction.text import redact_json
from ratchet.ports import Read
from ratchet.recording.sources import fields
from ratchet.recording.sources.document import decode_document, is_document, read_document
from ratchet.recording.sources.jsonl import Runs
from ratchet.recording.sources.lines import peek
from ratchet.recording.sources.reading import Item, read_whole
from ratchet.recording.sources.sqlite_files import has_tables, opened
from ratchet.records import Failure, Json, Outcome, Quarantined, Row, text_in
from ratchet.registry import adding

NAME = "reloop"
_SQLITE = b"SQLite format 3\0"
_TABLES = (b"failures", b"successes", b"error_hash")
_SAVED = (b'"capture_type"', b'"function_info"', b'"timestamp"')
_NONE: tuple[Json, str] = (None, "")
_YAML = (b"failures:", b"signature:", b"error_type:", b"error_message:")
_KEYS = (b'"failures"', b'"signature"', b'"error_type"', b'"analysis"')


class Reloop:
    """The Source of reloop's memories."""

    name = NAME

    def claims(self, head: bytes) -> bool:
        """Tell whether the head is a database with reloop's tables, or a document with failures of its form."""
        if head.startswith(_SQLITE):
            return all(name in head for name in _TABLES)
        if _is_yaml(head):
            return True
        return is_document(head) and all(name in head for name in _KEYS)

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:
        """See `ports.Source`. A database is read whole where it grew; ids are reloop's own."""
        head = peek(path)
        if not head.startswith(_SQLITE):
            decode = _decoder() if _is_yaml(head) else None
            yield from read_document(path, carry, lambda document: _failures(document, path), name=NAME, decode=decode)
            return
        size = Path(path).stat().st_size
        if size == offset:
            return
        yield from read_whole(path, size, carry, [*_rows(path)], name=NAME, known=1)


def _is_yaml(head: bytes) -> bool:
    """Tell whether a head begins reloop's playbook, which its `export` writes as YAML."""
    return not head.lstrip().startswith((b"{", b"[")) and all(name in head for name in _YAML)


def _decoder() -> Callable[[bytes], tuple[Json, str]]:
    """Read YAML that says what JSON can: no tags, so that no time and no code is made of it, and nothing that stands
    for more than is written there. Raises BackendError without the package that reads it."""
    try:
        import yaml
    except ImportError as error:
        raise BackendError(f"this is YAML, which needs the extra `files`: {adding('files')}") from error

    class Plain(yaml.SafeLoader):
        """Values of JSON, each where it is written."""

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
            if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
                raise yaml.YAMLError("it holds a tag, or refers to another part of itself, which no export does")
            return super().compose_node(parent, index)

    Plain.yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in held if not tag.endswith(":timestamp")]
        for first, held in Plain.yaml_implicit_resolvers.items()
    }

    def decode(raw: bytes) -> tuple[Json, str]:
        try:
            return yaml.load(raw.decode("utf-8"), Loader=Plain), ""  # noqa: S506  (a SafeLoader)
        except UnicodeDecodeError as error:
            return None, f"not UTF-8 (byte {error.start + 1})"
        except (yaml.YAMLError, ValueError) as error:
            return None, f"not valid YAML ({' '.join(str(error).split())[:200]})"
        except RecursionError:
            return None, "nested too deeply to be read"

    return decode


class HealingAgent:
    """The Source of the exceptions that healing-agent saves, one a file, in `_healing_agent_exceptions`."""

    name = "healing-agent"

    def claims(self, head: bytes) -> bool:
        """Tell whether the head begins such a file."""
        return is_document(head) and all(name in head for name in _SAVED)

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:
        """See `ports.Source`. The agent is the module whose function failed."""
        del offset
        yield from read_document(path, carry, lambda document: _saved(document, path, carry), name=self.name)


def _saved(document: Json, path: str, carry: Row) -> list[Item] | None:
    if not isinstance(document, dict):
        return None
    function = document.get("function_info")
    named: Row = {"agent": text_in(function, "module"), "task": text_in(function, "qualname")}
    known: Row = {name: document.get(name) for name in ("timestamp", "error")}
    return Runs(path, carry).take({**known, **named}, 1)


def _rows(path: str) -> Iterator[Item]:
    try:
        with opened(path) as held:
            for table, take in (("failures", _failed), ("successes", _succeeded)):
                if not has_tables(held, (table,)):
                    yield Quarantined(path=path, line=0, reason=f"{table} is no table, so nothing of it was read")
                    continue
                for number, (data,) in enumerate(held.execute(f"SELECT data FROM {table}"), 1):  # noqa: S608
                    record, reason = (
                        decode_document(data.encode("utf-8", "replace")) if isinstance(data, str) else _NONE
                    )
                    yield _taken(take, record, path, number, reason or f"a row of {table} is no record")
    except sqlite3.Error as error:
        yield Quarantined(path=path, line=0, reason=f"cannot be read as reloop's memory ({error})")


def _failures(document: Json, path: str) -> list[Item] | None:
    held = document.get("failures") if isinstance(document, dict) else None
    if not isinstance(held, list):
        return None
    unsigned = "no failure of reloop: it bears no signature"
    return [
        _taken(_failed, each if isinstance(fields.row(each).get("signature"), dict) else None, path, number, unsigned)
        for number, each in enumerate(held, 1)
    ]


def _taken(take: Callable[[Row], Outcome], record: Json, path: str, number: int, otherwise: str) -> Item:
    """Take one record; name what is none, and why."""
    try:
        if isinstance(record, dict):
            return take(record)
    except RecursionError:  # short of what the decoder refuses
        otherwise = "nested too deeply to be read"
    return Quarantined(path=path, line=number, reason=otherwise)


def _failed(record: Row) -> Outcome:
    signature = record.get("signature")
    kind, message = text_in(signature, "error_type"), text_in(signature, "error_message")
    said = f"{kind}: {message}" if kind and not message.startswith(kind) else message
    failure = Failure(message=toolcall.message_text(said), type=kind[:200])
    return _outcome(record, ok=False, failure=failure, context={"failure": _plain(record)})


def _succeeded(record: Row) -> Outcome:
    return _outcome(record, ok=True, failure=None, context={"success": _plain(record)})


def _outcome(record: Row, *, ok: bool, failure: Failure | None, context: Mapping[str, Json]) -> Outcome:
    own = text_in(record, "id")
    return Outcome(
        id=ids.outcome_id(NAME, "", own or json.dumps(record, sort_keys=True)),
        agent=NAME,
        task=toolcall.safe(text_in(record, "task_id"), 300),
        ok=ok,
        started_at=fields.instant(record.get("timestamp")) or 0.0,
        cost_usd=fields.number(record.get("cost_usd")),
        source=NAME,
        failure=failure,
        context=context,
    )


def _plain(record: Row) -> Json:
    return redact_json({name: value for name, value in record.items() if name != "embedding"})
