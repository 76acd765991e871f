"""The wire's JSON is that of `json`, without loading it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ratchet
from ratchet.recording import wire

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_what_json_writes_and_reads(value: object) -> None:
    text = wire.written(value)
    assert text == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert wire.written_in_ascii(value) == json.dumps(value, separators=(",", ":"))
    assert wire.read(text) == json.loads(text) == value
    assert wire.read(f" \n\t{json.dumps(value, indent=2)}\r\n") == value


@given(st.text() | st.text('{}[]",:0123456789.eE+-truefalsn\\u \n', max_size=30))
def test_a_text_is_read_as_json_reads_it_or_refused_as_it_is(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011  (the wording is the C half's)
            wire.read(text)
    else:
        assert repr(wire.read(text)) == repr(expected)


def test_what_no_database_takes_is_refused() -> None:
    for number in (float("nan"), [float("inf")]):
        with pytest.raises(ValueError):  # noqa: PT011
            wire.written(number)
    for value in (object(), {1, 2}, b"x"):
        with pytest.raises(TypeError):
            wire.written({"a": value})
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(RecursionError):
        wire.written(cycle)
    with pytest.raises(RecursionError):
        wire.read("[" * 200_000)


def test_reading_and_writing_loads_neither_json_nor_re() -> None:
    source = str(Path(ratchet.__file__).parent.parent)
    code = (
        f"import sys;sys.path.insert(0,{source!r});from ratchet.recording import wire;"
        "wire.written(wire.read('{\"a\": [1, 2.5, null]}'));print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, check=True, text=True)
    assert not {"json", "re", "enum"} & set(done.stdout.split())
