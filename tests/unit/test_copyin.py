"""Copying a file into a workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.sandbox.copyin import copy_content

MB = 1 << 20


def copied(source: Path) -> Path:
    target = source.with_name("copy")
    with source.open("rb") as reading, target.open("wb") as writing:
        copy_content(reading.fileno(), writing.fileno())
    return target


@given(st.lists(st.tuples(st.integers(0, 300), st.binary(min_size=1, max_size=9)), max_size=6), st.integers(0, 400))
def test_a_copy_is_the_file_wherever_its_holes_are(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[int, bytes]], size_kb: int
) -> None:
    source = tmp_path_factory.mktemp("copy") / "source"
    with source.open("wb") as file:
        for at_kb, said in parts:
            file.seek(at_kb * 1024)
            file.write(said)
        file.truncate(max(size_kb * 1024, file.seek(0, os.SEEK_END)))
    assert copied(source).read_bytes() == source.read_bytes()


def test_a_hole_takes_no_room_in_the_copy(tmp_path: Path) -> None:
    source = tmp_path / "source"
    with source.open("wb") as file:
        file.seek(64 * MB)
        file.write(b"end")
        file.truncate(256 * MB)
    if source.stat().st_blocks * 512 > MB:
        pytest.skip("this file system has no holes")
    copy = copied(source)
    assert copy.stat().st_size == 256 * MB
    assert copy.stat().st_blocks * 512 <= MB
