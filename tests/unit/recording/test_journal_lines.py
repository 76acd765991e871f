"""Lines of a journal, read all at once or one by one: the same rows either way."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.recording import journal_lines
from ratchet.recording.decoding import quick_decoder
from ratchet.recording.journal_lines import parsed
from ratchet.recording.sources.lines import decode

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
ROWS = st.lists(st.dictionaries(st.text(max_size=8), VALUES, max_size=6), min_size=1, max_size=5)


def by_each(text: bytes) -> list[object]:
    """As the standard library reads it, and as pydantic does."""
    pytest.importorskip("pydantic_core")
    found: list[object] = []
    for quick in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if not quick:
                patch.delitem(sys.modules, "pydantic_core")
            try:
                found.append(repr(journal_lines._array(text)))
            except (ValueError, RecursionError):
                found.append(ValueError)
    return found


@given(ROWS)
def test_both_decoders_read_the_same(rows: list[dict[str, object]]) -> None:
    plain, quick = by_each(json.dumps(rows, ensure_ascii=False).encode("utf-8", "replace"))
    assert plain == quick


@pytest.mark.parametrize(
    "value",
    [
        "-0",
        "1E5",
        "1e-400",
        "0.1",
        "1.7976931348623157e308",
        "123456789012345678901234567890",
        '{"a":1,"a":2}',
        '"\\u00e9"',
    ],
)
def test_both_decoders_read_odd_values_alike(value: str) -> None:
    plain, quick = by_each(f"[{value}]".encode())
    assert plain == quick


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "01", "1.", "[1,]", '"\x01"', "'a'", "\xff"])
def test_both_decoders_refuse_the_same(value: str) -> None:
    assert by_each(f"[{value}]".encode("latin-1")) == [ValueError, ValueError]


def test_a_large_chunk_is_read_as_a_small_one_is() -> None:
    row = {"r": "outcome", "id": "o1", "agent": "a", "ok": True, "started_at": 1.5, "task": "x" * 2_000}
    line = json.dumps(row).encode() + b"\n"
    assert parsed(line * 600, "s", 1).outcomes == parsed(line, "s", 1).outcomes * 600


@pytest.mark.parametrize(
    "line",
    [
        b'{"a": [1, -0.0, 1e400, "\\u00e9\\u0000"], "a": {"b": null}}\r\n',
        b'{"a": 1} {"b": 2}\n',
        b'{"a": "\\ud83d\\ude00"}\n',
        b'{"a": "\\ud83d"}\n',
        b'{"a": NaN}',
        b'{"a": ' + b"9" * 5_000 + b"}",
        b'{"a": ' + b"[" * 400 + b"]" * 400 + b"}",
        b'{"a": "\xff"}',
        b'{"a": "\t"}',
        b"[1]",
        b"",
        b'{"a": 1',
    ],
)
def test_a_line_of_a_history_says_the_same_to_both_decoders(line: bytes) -> None:
    pytest.importorskip("pydantic_core")
    quick = quick_decoder(1 << 30)
    assert quick is not None
    assert repr(decode(line, quick)) == repr(decode(line))
