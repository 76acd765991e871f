"""Packed bodies and files: read whole, never beyond what is asked for, zstandard by whichever module is there."""

from __future__ import annotations

import gzip
import json
import random
import sys
import zlib
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from ratchet.errors import UsageError
from ratchet.recording.sources.find import find
from ratchet.recording.sources.lines import raw_lines
from ratchet.recording.sources.unpacked import Encoding, unpacked
from support.histories import claude


class _Packed:
    """A decompressor in the manner of Python 3.14's: `n:text.` is n times the text, `!` is damage."""

    def __init__(self) -> None:
        self.eof, self.unused_data, self._held = False, b"", b""

    def decompress(self, data: bytes) -> bytes:
        if b"!" in data:
            raise ValueError("damaged")
        self._held += data
        told, ended, rest = self._held.partition(b".")
        self.eof, self.unused_data = bool(ended), rest
        times, _, text = told.partition(b":")
        return text * int(times) if ended else b""


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("compression.zstd")
    module.ZstdDecompressor = _Packed  # type: ignore[attr-defined]
    module.ZstdError = ValueError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "compression", ModuleType("compression"))
    monkeypatch.setitem(sys.modules, "compression.zstd", module)


@pytest.mark.usefixtures("reader")
def test_a_body_is_read_up_to_the_limit_and_one_more() -> None:
    assert unpacked(b"2:ab.", "zstd", 100) == b"abab"
    assert len(unpacked(b"1000000:ab\n.", "zstd", 100)) == 101


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(("body", "said"), [(b"!", r"damaged \(damaged"), (b"2:ab", "cut off")])
def test_a_broken_body_says_so(body: bytes, said: str) -> None:
    with pytest.raises(UsageError, match=f"the body's zstd cannot be read: .*{said}"):
        unpacked(body, "zstd", 100)


def _packed(encoding: Encoding, text: bytes) -> bytes:
    if encoding == "gzip":
        return gzip.compress(text)
    return zlib.compress(text) if encoding == "deflate" else bytes(zstandard.ZstdCompressor().compress(text))


@pytest.mark.parametrize("encoding", get_args(Encoding))
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=6), st.integers(0, 3))
def test_a_body_of_several_packed_ones_is_all_of_them(encoding: Encoding, parts: list[bytes], zeros: int) -> None:
    body = bytes(zeros).join(_packed(encoding, part) for part in parts)
    assert unpacked(body + bytes(zeros), encoding, 1_000) == b"".join(parts)


@pytest.mark.parametrize("encoding", get_args(Encoding))
@given(st.binary(min_size=1, max_size=200), st.data())
def test_a_body_that_is_cut_or_goes_on_with_something_else_is_refused(
    encoding: Encoding, text: bytes, data: st.DataObject
) -> None:
    body = _packed(encoding, text)
    cut = body[: data.draw(st.integers(0, len(body) - 1))]
    for wrong in (cut, body + b"more"):
        with pytest.raises(UsageError, match=f"the body's {encoding} cannot be read"):
            unpacked(wrong, encoding, 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", get_args(Encoding))
def test_a_small_body_does_not_become_one_line_that_takes_gigabytes_as_objects(encoding: Encoding) -> None:
    """64 MB of JSON are 22 million objects: 63 kB of gzip would keep a server busy for a minute."""
    body = _packed(encoding, b'{"resourceSpans": [' + b"{}," * (12 << 20) + b"{}]}")
    with pytest.raises(UsageError, match="a line of more than"):
        unpacked(body, encoding, 64 << 20)


def test_thousands_of_packed_nothings_are_read_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left behind one of them is not joined to all that follows, again and again."""
    seen: list[int] = []
    begin = zlib.decompressobj

    class Counting:
        def __init__(self, bits: int) -> None:
            self._held = begin(bits)

        def __getattr__(self, name: str) -> object:
            return getattr(self._held, name)

        def decompress(self, part: bytes) -> bytes:
            seen.append(len(part))
            return self._held.decompress(part)

    monkeypatch.setattr(zlib, "decompressobj", Counting)
    assert unpacked(gzip.compress(b"") * 3_000, "gzip", 10) == b""
    assert max(seen) <= 2 << 14


def test_without_a_reader_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("compression", "compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=r"extra `zstd`.*\[zstd\].*gzip"):
        unpacked(b"x", "zstd", 100)


@pytest.mark.slow
@pytest.mark.parametrize("filler", [b" ", b"x"])
def test_a_packed_line_that_would_fill_memory_is_named_and_what_stands_before_it_is_read(
    tmp_path: Path, filler: bytes
) -> None:
    talk = json.dumps(claude("user", 1, message={"role": "user", "content": "hi"})).encode() + b"\n"
    alone, behind = tmp_path / "alone.jsonl.gz", tmp_path / "behind.jsonl.gz"
    alone.write_bytes(gzip.compress(b'{"a": "' + filler * (40 << 20)))
    behind.write_bytes(gzip.compress(talk + b'{"a": "' + filler * (40 << 20) + b'"}\n' + talk))
    found = find([str(tmp_path)])
    assert found.files == [str(behind)]
    assert [(each.path, "a line of more than" in each.reason) for each in found.quarantined] == [(str(alone), True)]
    read = list(raw_lines(str(behind), 0, {}))
    assert [each.data for each in read] == [talk, b""]
    assert "a line of more than 4 MB" in read[-1].damage


def test_a_long_packed_line_of_a_picture_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    line = b'{"a": "' + random.Random(1).randbytes(3 << 20).hex().encode() + b'"}\n'
    path.write_bytes(gzip.compress(line, 1))
    assert [each.data for each in raw_lines(str(path), 0, {})] == [line]
