"""Reads files of JSON lines byte for byte: what is good is kept, what is bad costs itself and is named.

A line ends at a line feed only (texts hold raw U+2028 and U+2029). Several objects on one line are read one after
another. A last line without its line feed is consumed once it parses whole; until then a later read meets it again.
Files may be compressed (gzip, zstandard); offsets count the bytes of the plain text.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import io
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, cast

from ratchet.errors import BackendError
from ratchet.records import Json, Row

HEAD_BYTES = 65536  # what a source sees of a file to decide whether it is its own
_LINE_LIMIT_BYTES = 256 << 20  # real lines reach 20 MB; one beyond this is no line of a history, and would fill memory
_IDENTITY_BYTES = 4096  # enough to tell a file from the one that replaced it: the first line holds a session's id
_BOM = b"\xef\xbb\xbf"
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Line:
    """One line: the objects on it, and why the rest of it could not be read ("" when all was)."""

    number: int  # from 1
    objects: list[Row]
    reason: str
    offset: int  # byte up to which the file is consumed, this line included


def open_plain(path: str) -> IO[bytes]:
    """The file's plain bytes, decompressed where its first bytes say so. Raises OSError, BackendError."""
    with open(path, "rb") as probe:  # noqa: PTH123  (a path may hold bytes that pathlib's str forms refuse)
        magic = probe.read(4)
    if magic[:2] == b"\x1f\x8b":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if magic == b"\x28\xb5\x2f\xfd":
        return _open_zstd(path)
    return open(path, "rb")  # noqa: PTH123


def _open_zstd(path: str) -> IO[bytes]:
    """Through `compression.zstd` (Python 3.14) or the `zstandard` package, whichever is there."""
    for module in ("compression.zstd", "zstandard"):
        try:
            return cast("IO[bytes]", importlib.import_module(module).open(path, "rb"))
        except ImportError:
            continue
    raise BackendError(
        f"{path} is compressed with zstandard, which this Python cannot read: "
        f"run `zstd -d {path}` and learn from the result, or `pip install zstandard`"
    )


def peek(path: str) -> bytes:
    """The first 64 kB of the plain file, and on to the end of the line that they cut. Raises OSError, BackendError."""
    with open_plain(path) as file:
        try:
            head = file.read(HEAD_BYTES)
            return head + file.readline(_LINE_LIMIT_BYTES) if len(head) == HEAD_BYTES else head
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BackendError(f"{path} is damaged ({error}); decompress it by hand to save what it holds") from error


@lru_cache(maxsize=8)
def objects_in(head: bytes) -> tuple[Row, ...]:
    """The objects on the first 64 readable lines of a head: what `Source.claims` looks at."""
    found: list[Row] = []
    for raw in head.split(b"\n"):
        if len(found) >= 64:
            break
        found += decode(raw)[0]
    return tuple(found)


def decode(raw: bytes) -> tuple[list[Row], str]:
    """(the objects on one line, why the rest of it cannot be read)."""
    found: list[Row] = []
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return found, f"not UTF-8 (byte {error.start + 1} of the line)"
    reason = ""
    at = 0
    while not reason:
        at = _skip_blank(text, at)
        if at == len(text):
            break
        try:
            value, at = _decode(text, at)
        except json.JSONDecodeError as error:
            reason = _broken(text, error, len(found))
        except RecursionError:
            reason = "nested too deeply to be read"
        except ValueError as error:  # a number of more than 4,300 digits
            reason = f"a value cannot be read ({error})"
        else:
            if isinstance(value, dict):
                found.append(value)
            else:
                reason = f"not an object but {_named(value)}"
    return found, reason


def _skip_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _broken(text: str, error: json.JSONDecodeError, before: int) -> str:
    if "\0" in text:
        return "holds NUL bytes (the file was not written out before a crash)"
    start = f"after {before} good object(s): " if before else ""
    return f"{start}not valid JSON ({error.msg} at character {error.pos + 1})"


def _named(value: Json) -> str:
    return "a list" if isinstance(value, list) else "null" if value is None else f"a {type(value).__name__}"


def start_of(file: IO[bytes], offset: int, carry: Row) -> int:
    """Where to continue: `offset`, or 0 (with an emptied `carry`) when the file was replaced or cut since."""
    head = file.read(_IDENTITY_BYTES)
    if offset:
        length = carry.get("head_bytes")
        known = carry.get("head")
        same = isinstance(length, int) and _digest(head[:length]) == known
        if not same or file.seek(offset) != offset or not _reaches(file, offset):
            carry.clear()
            offset = 0
    if not offset:
        carry["head_bytes"] = len(head)
        carry["head"] = _digest(head)
    file.seek(offset)
    return offset


def _reaches(file: IO[bytes], offset: int) -> bool:
    """Whether the file is at least `offset` bytes long (a plain file lets one seek past its end)."""
    end = file.seek(0, os.SEEK_END) if file.seekable() and isinstance(file, io.BufferedReader) else file.tell()
    return end >= offset


def _digest(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Raw:
    """One line's bytes, the line feed included where it has one; or why nothing behind `end` can be read."""

    number: int  # from 1
    data: bytes
    end: int  # byte behind it
    damage: str = ""


def raw_lines(path: str, offset: int, carry: Row) -> Iterator[Raw]:
    """The bytes of each line from `offset` on. Raises OSError, BackendError when the file cannot be opened.

    `carry` keeps what the next read needs: the count of whole lines, and what the file begins with. While a line is
    out, it stands for the file up to the end of that line.
    """
    with open_plain(path) as file:
        end = start_of(file, offset, carry)
        done = carry.get("lines")
        number = done if isinstance(done, int) else 0
        while True:
            data, damage = _next_raw(file)
            if damage:
                yield Raw(number + 1, b"", end, damage)
            if damage or not data:
                return
            bare = data.removeprefix(_BOM) if end == 0 else data
            end += len(data)
            if data.endswith(b"\n"):
                carry["lines"] = number + 1
            yield Raw(number + 1, bare, end)
            number += 1


def lines_of(path: str, offset: int, carry: Row) -> Iterator[Line]:
    """The objects of each line from `offset` on, blank lines left out. See `raw_lines`."""
    for raw in raw_lines(path, offset, carry):
        if raw.damage:
            yield Line(raw.number, [], raw.damage, raw.end)
            return
        objects, reason = decode(raw.data)
        if reason and not raw.data.endswith(b"\n"):
            start = raw.end - len(raw.data)
            yield Line(raw.number, [], f"cut off at the end of the file; read again once it grows ({reason})", start)
            return
        if objects or reason:
            yield Line(raw.number, objects, reason, raw.end)


def _next_raw(file: IO[bytes]) -> tuple[bytes, str]:
    """(the next line with its line feed, why nothing more can be read)."""
    try:
        raw = file.readline(_LINE_LIMIT_BYTES)
    except (EOFError, zlib.error, OSError) as error:
        return b"", f"the file is damaged from here on ({error})"
    if len(raw) == _LINE_LIMIT_BYTES and not raw.endswith(b"\n"):
        return b"", f"a line of more than {_LINE_LIMIT_BYTES >> 20} MB; nothing behind it was read"
    return raw, ""
