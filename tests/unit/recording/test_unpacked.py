"""Bodies packed with zstandard: read by whichever module is there, never beyond what is asked for."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from ratchet.errors import UsageError
from ratchet.recording.sources.unpacked import unpacked_zstandard


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
