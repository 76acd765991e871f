"""Reads files of JSON lines byte for byte: what is good is kept, what is bad costs itself and is named.

A line ends at a line feed only (texts hold raw U+2028 and U+2029). Several objects on one line are read one after
another. A last line without its line feed is consumed once it parses whole; until then a later read meets it again.
Files may be compressed (gzip, zstandard); offsets count the bytes of the plain text.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple

from ratchet.errors import BackendError
from ratchet.recording.decoding import Decoder, quick_decoder
from ratchet.recording.sources.unpacked import damage_of, is_overlong, is_packed, open_plain
from ratchet.records import Json, Row

HEAD_BYTES = 65536  # what a source sees of a file to decide whether it is its own
_SAME_FILE = ("head_bytes", "head", "lines", "first", "known", "steps", "bad")  # of a carry: no text
_PIECE_LINES = 64
_FAR_BYTES = 4 << 20
_HEADS = 4  # how many times as much is looked at where lines are broken
_LINE_LIMIT_BYTES = 256 << 20  # real lines reach 20 MB; one beyond this is no line of a history, and would fill memory
_PACKED_LINE_BYTES = 32 << 20  # of a packed file, which says nothing of its size before it is read
_IDENTITY_BYTES = 4096  # enough to tell a file from the one that replaced it: the first line holds a session's id
_BOM = b"\xef\xbb\xbf"
_decode = json.JSONDecoder().raw_decode
# An escaped backslash, a pair of surrogates, or half of one.
_HEX2 = "[0-9a-fA-F]{2}"
_SURROGATES = re.compile(rf"\\\\|\\u[dD][89abAB]{_HEX2}\\u[dD][c-fC-F]{_HEX2}|\\u[dD][89a-fA-F]{_HEX2}")
_NOT_BLANK = re.compile(r"[^ \t\r\n]")
_LONE_CHARS = 6  # `\ud83d`


class SourceLine(NamedTuple):
    """One line: the objects on it, and why the rest of it could not be read ("" when all was)."""

    number: int  # from 1
    objects: list[Row]
    reason: str
    offset: int  # byte up to which the file is consumed, this line included
    data: bytes = b""  # its bytes, with its line feed


def peek(path: str) -> bytes:
    """The first 64 kB of the plain file, and on to the end of the line that they cut; more where all of that is broken
    lines of JSON, since those say nothing of the ones behind them. Raises OSError, and BackendError, also where the
    first line of a packed file is too long to be one."""
    head = b""
    with open_plain(path) as file:
        for _ in range(_HEADS):
            piece = file.read(HEAD_BYTES)
            head += piece
            if len(piece) < HEAD_BYTES:
                break
            head += file.readline(_longest(file))
            if not head.lstrip().startswith(b"{") or objects_in(head):
                break
        if b"\n" not in head and is_overlong(file):
            raise BackendError(damage_of(file))
    return head


def pieces_behind(path: str, head: bytes) -> Iterator[bytes]:
    """The lines behind a head, some at a time, for a few MB: a client may begin with much that says nothing of
    it. Raises OSError, BackendError."""
    with open_plain(path) as file:
        file.read(len(head))
        behind = 0
        while behind < _FAR_BYTES:
            piece = b"".join(islice(iter(partial(file.readline, _longest(file)), b""), _PIECE_LINES))
            if not piece:
                return
            behind += len(piece)
            yield piece


@lru_cache(maxsize=1)  # every source is asked about the same head
def objects_in(head: bytes) -> tuple[Row, ...]:
    """The objects on the first 64 readable lines of a head: what `Source.claims` looks at."""
    found: list[Row] = []
    quick = quick_decoder(len(head))
    for raw in head.removeprefix(_BOM).split(b"\n"):
        if len(found) >= _PIECE_LINES:
            break
        found += decode(raw, quick)[0]
    return tuple(found)


def storable(text: str) -> str:
    """JSON text whose halves of characters (a tool cut one in two) are marked as lost: no store takes them."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _SURROGATES.sub(lambda found: "\\ufffd" if len(found[0]) == _LONE_CHARS else found[0], text)


def decode(raw: bytes, quick: Decoder | None = None) -> tuple[list[Row], str]:
    """(the objects on one line, why the rest of it cannot be read). What `quick` does not take is read without it."""
    may_be_cut = b"\\u" in raw and (b"\\ud" in raw or b"\\uD" in raw)
    if quick is not None and not may_be_cut:
        try:
            value = quick(raw)
            if isinstance(value, dict):
                return [value], ""
        except ValueError:
            pass  # told below
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return [], f"not UTF-8 (byte {error.start + 1} of the line)"
    return _objects_on(storable(text) if may_be_cut else text)


def _objects_on(text: str) -> tuple[list[Row], str]:
    found: list[Row] = []
    try:
        value, at = _decode(text, 0)
        if isinstance(value, dict) and text[at : at + 2] in ("\n", ""):  # nearly every line
            return [value], ""
    except (ValueError, RecursionError):
        pass  # told below
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
    found = _NOT_BLANK.search(text, at)
    return len(text) if found is None else found.start()


def _broken(text: str, error: json.JSONDecodeError, before: int) -> str:
    if "\0" in text:
        return "holds NUL bytes (the file was not written out before a crash)"
    start = f"after {before} good object(s): " if before else ""
    return f"{start}not valid JSON ({error.msg.removesuffix(' at')} at character {error.pos + 1})"


def _named(value: Json) -> str:
    return "a list" if isinstance(value, list) else "null" if value is None else f"a {type(value).__name__}"


def start_of(file: io.BufferedReader, offset: int, carry: Row) -> int:
    """Find where to continue: `offset`, or 0 (with an emptied `carry`) when the file was replaced or cut since."""
    head = file.read(_IDENTITY_BYTES)
    if offset:
        length = carry.get("head_bytes")
        known = carry.get("head")
        same = isinstance(length, int) and _digest(head[:length]) == known
        if not same or file.seek(offset - 1) != offset - 1 or not file.read(1):
            carry.clear()
            offset = 0
    if not offset:
        carry["head_bytes"] = len(head)
        carry["head"] = _digest(head)
    file.seek(offset)
    return offset


def bare_carry(carry: Row) -> Row:
    """Keep of a carry what tells that a file is the same, and how much was read; nothing that stood in it."""
    return {name: carry[name] for name in _SAME_FILE if name in carry}


def _digest(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()[:16]


class Raw(NamedTuple):
    """One line's bytes, the line feed included where it has one; or why nothing behind `end` can be read."""

    number: int  # from 1
    data: bytes
    end: int  # byte behind it
    damage: str = ""


def raw_lines(path: str, offset: int, carry: Row) -> Iterator[Raw]:
    """The bytes of each line from `offset` on. Raises OSError, BackendError when the file cannot be opened.

    `carry` keeps what the next read needs: the count of whole `lines`, and what the file begins with (`first` is the
    hash of its first line, the same however far the file has grown). While a line is out, it stands for the file up to
    the end of that line.
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
            bare = data
            if end == 0:
                bare = data.removeprefix(_BOM)
                carry["first"] = _digest(bare.rstrip(b"\r\n"))
            end += len(data)
            if data.endswith(b"\n"):
                carry["lines"] = number + 1
            yield Raw(number + 1, bare, end)
            number += 1


def lines_of(path: str, offset: int, carry: Row) -> Iterator[SourceLine]:
    """The objects of each line from `offset` on, blank lines left out. See `raw_lines`."""
    consumed = offset
    quick = quick_decoder(os.stat(path).st_size - offset)  # noqa: PTH116  (once a file, of which there are thousands)
    for raw in raw_lines(path, offset, carry):
        if raw.damage:
            yield SourceLine(raw.number, [], raw.damage, consumed)
            return
        objects, reason = decode(raw.data, quick)
        if reason and not raw.data.endswith(b"\n"):
            consumed = raw.end - len(raw.data)
            reason = f"cut off at the end of the file; read again once it grows ({reason})"
            yield SourceLine(raw.number, [], reason, consumed)
            continue
        consumed = raw.end
        if objects or reason:
            yield SourceLine(raw.number, objects, reason, consumed, raw.data)


def digest_of(line: bytes) -> str:
    """The hash by which a line is known again, with or without its line feed."""
    return hashlib.sha256(line.rstrip(b"\r\n")).hexdigest()[:16]


def _longest(file: io.BufferedReader) -> int:
    return _PACKED_LINE_BYTES if is_packed(file) else _LINE_LIMIT_BYTES


def _next_raw(file: io.BufferedReader) -> tuple[bytes, str]:
    """(the next line with its line feed, why nothing more can be read)."""
    try:
        raw = file.readline(longest := _longest(file))
    except OSError as error:
        return b"", f"cannot be read from here on ({error.strerror})"
    if len(raw) == longest and not raw.endswith(b"\n"):
        return b"", f"a line of more than {longest >> 20} MB; nothing behind it was read"
    if raw.endswith(b"\n") or (raw and not is_overlong(file)):
        return raw, ""
    return b"", damage_of(file)
