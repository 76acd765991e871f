"""Reads files that are one JSON document. Such a file is rewritten as it grows, so it is always read from its start."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator

from ratchet.ports import Read
from ratchet.recording.sources.lines import decode, storable
from ratchet.recording.sources.reading import Item, read_whole
from ratchet.recording.sources.unpacked import open_plain
from ratchet.records import Json, Quarantined, Row

_LIMIT_BYTES = 512 << 20  # a document must be held whole; the largest real ones have some 100 MB
_OPENED = re.compile(rb'\A[\s\xef\xbb\xbf]*(?:\{\s*(?:"|\Z)|\[\s*(?:[\[{"]|\Z))')


def is_document(head: bytes) -> bool:
    """Tell whether a head begins a JSON document over several lines (or a list), rather than a record a line."""
    if not _OPENED.match(head):
        return False
    bare = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if bare.startswith(b"["):
        return True
    return not any(line.startswith(b"{") and not decode(line)[1] for line in bare.split(b"\n", 64)[:64])


def whole_document(head: bytes) -> Json:
    """The document, when the head holds all of it; None when it is longer (or none)."""
    return decode_document(head)[0] if is_document(head) else None


def read_document(
    path: str,
    carry: Row,
    take: Callable[[Json], Iterable[Item] | None],
    *,
    name: str,
    decode: Callable[[bytes], tuple[Json, str]] | None = None,
) -> Iterator[Read]:
    """One Read with all that the document holds, none when it has not changed since. `take` gives None for a document
    that is not of this format, `decode` reads one that is no JSON."""
    with open_plain(path) as file:
        raw = file.read(_LIMIT_BYTES + 1)
    digest = hashlib.sha256(raw).hexdigest()
    if carry.get("document") == digest:
        yield Read(items=(), offset=len(raw))
        return
    carry.clear()
    carry["document"] = digest
    items: list[Item] = []
    found: Iterable[Item] | None = None
    if len(raw) > _LIMIT_BYTES:
        reason = f"one JSON document of more than {_LIMIT_BYTES >> 20} MB; export it as JSON lines"
    else:
        document, reason = (decode or decode_document)(raw)
        if not reason:
            found = take(document)
            items += found or ()
    if reason:
        items.append(Quarantined(path=path, line=0, reason=reason))
    yield from read_whole(path, len(raw), carry, items, name=name, known=found is not None)


def decode_document(raw: bytes) -> tuple[Json, str]:
    """(the document, why it cannot be read)."""
    try:
        return json.loads(storable(raw.decode("utf-8-sig"))), ""
    except UnicodeDecodeError as error:
        return None, f"not UTF-8 (byte {error.start + 1})"
    except json.JSONDecodeError as error:
        return None, f"not a whole JSON document ({error.msg} at line {error.lineno})"
    except RecursionError:
        return None, "nested too deeply to be read"
    except ValueError as error:
        return None, f"a value cannot be read ({error})"
