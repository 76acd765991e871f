"""Opens a file as its plain bytes, decompressed where its first bytes say so. A damaged one gives what it holds."""

from __future__ import annotations

import importlib
import io
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import BinaryIO, Literal, Protocol

from ratchet.errors import BackendError, UsageError
from ratchet.registry import adding

_CHUNK_BYTES = 1 << 16
# Decompressed at once: gzip makes a thousand times as much of it at most, zstandard thirty thousand times.
_GZIP_BYTES, _ZSTANDARD_BYTES = 1 << 14, 1 << 10
# Text packs to a fifth; a long line that packs so much better would fill memory and says nothing.
_SUSPECT_BYTES, _MOST_RATIO = 4 << 20, 200

Encoding = Literal["gzip", "deflate", "zstd"]


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class Unpacked(io.RawIOBase):
    """The plain bytes of a compressed file, which is closed with this. `damage` says, at their end, why they end before
    the file's own."""

    def __init__(
        self, file: BinaryIO, begin: Callable[[], _Decompressor], errors: tuple[type[Exception], ...], at_once: int
    ) -> None:
        super().__init__()
        self._file = file
        self._begin = begin
        self._errors = errors
        self._at_once = at_once
        self._restart()

    def _restart(self) -> None:
        self._file.seek(0)
        self._stream = self._begin()
        self._plain = b""
        self._given = 0  # bytes of it that were handed out: a chunk may be a thousand times as large once it is plain
        self._at = 0
        self._line = self._packed = 0  # bytes since the last line's end, plain and packed
        self.overlong = False
        self.damage = ""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        while self._given >= len(self._plain) and not self.damage and self._unpack():
            pass
        taken = self._plain[self._given : self._given + len(buffer)]
        buffer[: len(taken)] = taken
        self._given += len(taken)
        self._at += len(taken)
        return len(taken)

    def _unpack(self) -> bool:
        """Decompress one more chunk; False at the end."""
        ended = self._stream.eof  # a file may be several ones put together, and filled up with zeros
        packed = self._stream.unused_data.lstrip(b"\0") if ended else b""
        read = 0
        while not packed and (part := self._file.read(self._at_once)):
            read += len(part)
            packed = part.lstrip(b"\0") if ended else part
        if not packed:
            self.damage = "" if ended else "the compressed file is cut off"
            return False
        if ended:
            self._stream = self._begin()
        self._plain, self._given = b"", 0
        try:
            self._plain = self._stream.decompress(packed)
        except self._errors as error:
            self.damage = f"the compressed file is damaged ({error})"
        return not self._is_overlong(read)

    def _is_overlong(self, read: int) -> bool:
        """Tell whether the line that goes on is longer than one of a history would be; then nothing more is given."""
        ends = self._plain.rfind(b"\n")
        if ends >= 0:
            self._line = self._packed = 0
        self._line += len(self._plain) - ends - 1
        self._packed += read
        most = max(_SUSPECT_BYTES, _MOST_RATIO * self._packed)
        if self._line <= most:
            return False
        self._plain = self._plain[: ends + 1]
        self.overlong = True
        self.damage = f"a line of more than {most >> 20} MB, packed; nothing behind it was read"
        return True

    def seek(self, position: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a plain byte by reading up to it, or to the last one there is."""
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("only from the start: the size is known once all is decompressed")
        if position < self._at:
            self._restart()
        while self._at < position and self.read(min(position - self._at, _CHUNK_BYTES)):
            pass
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        self._file.close()
        super().close()


def open_plain(path: str) -> io.BufferedReader:
    """The file's plain bytes. Raises OSError, and BackendError for a compression that this Python cannot read."""
    file: io.BufferedReader = io.BufferedReader(io.FileIO(path), _CHUNK_BYTES)  # the caller closes it
    magic = file.peek(4)[:4]
    if magic[:2] != b"\x1f\x8b" and magic != b"\x28\xb5\x2f\xfd":
        return file
    file.close()
    if magic[:2] == b"\x1f\x8b":
        begin, errors, at_once = _GZIP
    else:
        remedy = f"{path} is compressed with zstandard, which this Python cannot read: run `zstd -d {path}` and learn "
        begin, errors, at_once = _zstandard(BackendError(f"{remedy}from the result, or {adding('zstd')}"))
    return io.BufferedReader(Unpacked(open(path, "rb"), begin, errors, at_once))  # noqa: PTH123  (as said)


def unpacked(
    body: bytes,
    encoding: Encoding,
    most: int,
    *,
    remedy: str = "Content-Encoding zstd needs the extra `zstd` here: {}; or send gzip",
) -> bytes:
    """At most `most` bytes and one more of a packed body. Raises UsageError for a broken one, for a line in it that is
    too long for how little it packs to, and where this Python cannot read zstd: then it says the remedy, with the
    command that installs what is missing."""
    how = _zstandard(UsageError(remedy.format(adding("zstd")))) if encoding == "zstd" else _GZIP
    with Unpacked(io.BytesIO(body), *how) as plain:
        found = bytearray()
        while len(found) <= most and (part := plain.read(_CHUNK_BYTES)):
            found += part
        if plain.damage:
            raise UsageError(f"the body's {encoding} cannot be read: {plain.damage}")
    return bytes(found[: most + 1])


_How = tuple[Callable[[], _Decompressor], tuple[type[Exception], ...], int]
_GZIP: _How = (lambda: zlib.decompressobj(zlib.MAX_WBITS | 32), (zlib.error,), _GZIP_BYTES)  # zlib's own form, too


def _zstandard(missing: Exception) -> _How:
    module = _zstandard_module()
    if module is None:
        raise missing
    begin = module.ZstdDecompressor
    if module.__name__ == "zstandard":  # its context is dear, and may be used again
        begin = begin().decompressobj
    return begin, (module.ZstdError,), _ZSTANDARD_BYTES


def _zstandard_module() -> ModuleType | None:
    """`compression.zstd` (Python 3.14) or the `zstandard` package, whichever is there."""
    for name in ("compression.zstd", "zstandard"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def damage_of(file: io.BufferedReader) -> str:
    """Why a file that was read to its end ends too early; "" when it does not."""
    raw = file.raw
    return raw.damage if isinstance(raw, Unpacked) else ""


def is_packed(file: io.BufferedReader) -> bool:
    """Tell whether an opened file is decompressed as it is read."""
    return isinstance(file.raw, Unpacked)


def is_overlong(file: io.BufferedReader) -> bool:
    """Tell whether a packed file was left at a line that is too long to be one of a history."""
    raw = file.raw
    return isinstance(raw, Unpacked) and raw.overlong
