"""Bodies packed with zstandard: read by whichever module is there, never beyond what is asked for."""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ratchet.errors import UsageError
from ratchet.recording.sources.find import find
from ratchet.recording.sources.lines import raw_lines
from ratchet.recording.sources.unpacked import unpacked_zstandard
from support.histories import claude


class _Packed:
    """A decompressor in the manner of Python 3.14's: `n:text` is n times the text, `!` is damage."""

    eof = False

    def decompress(self, data: bytes, most: int) -> bytes:
        if data == b"!":
            raise ValueError("damaged")
        times, _, text = data.partition(b":")
        found = text * int(times)
        self.eof = len(found) <= most and not data.endswith(b"~")
        return found[:most]


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("compression.zstd")
    module.ZstdDecompressor = _Packed  # type: ignore[attr-defined]
    module.ZstdError = ValueError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "compression", ModuleType("compression"))
    monkeypatch.setitem(sys.modules, "compression.zstd", module)


@pytest.mark.usefixtures("reader")
def test_a_body_is_read_up_to_the_limit_and_one_more() -> None:
    assert unpacked_zstandard(b"2:ab", 100) == b"abab"
    assert len(unpacked_zstandard(b"1000000:ab", 100)) == 101


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(("body", "said"), [(b"!", "no zstd: damaged"), (b"2:ab~", "cut short")])
def test_a_broken_body_says_so(body: bytes, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        unpacked_zstandard(body, 100)


def test_without_a_reader_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("compression", "compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=r"extra `zstd`.*ratchet-ai\[zstd\].*gzip"):
        unpacked_zstandard(b"x", 100)


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
