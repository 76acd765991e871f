"""Diffs that git takes, and changes carried over to later edits."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.healing.patches import carried_over, diff_text, file_diff
from ratchet.sandbox.command import FileChange


def change(path: str, before: bytes | None, after: bytes | None, modes: tuple[int, int] = (0o644, 0o644)) -> FileChange:
    return FileChange(
        path=path,
        before=before,
        after=after,
        before_mode=0 if before is None else modes[0],
        after_mode=0 if after is None else modes[1],
    )


CHANGES = [
    change("a.txt", b"one\ntwo\n", b"one\n2\n"),
    change("crlf.txt", b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
    change("no-end.txt", b"x\ny", b"x\nz"),
    change("end-gone.txt", b"x\ny\n", b"x\ny"),
    change("new/deep.py", None, b"print(1)\n"),
    change("empty.py", None, b""),
    change("gone.py", b"x = 1\n", None),
    change("tool.sh", b"#!/bin/sh\n", b"#!/bin/sh\n", (0o644, 0o755)),
    change("picture.png", bytes(range(256)), bytes(range(255, -1, -1)) * 3),
    change("latin.txt", "é\n".encode("latin-1"), "è\n".encode("latin-1")),
    change('od"d näme\t.txt', b"1\n", b"2\n"),
    change("form\x0cfeed.txt", b"a\x0cb\nc\n", b"a\x0cb\nd\n"),
]


def test_git_applies_a_diff_to_exactly_the_bytes_that_were_meant(tmp_path: Path) -> None:
    for each in CHANGES:
        path = tmp_path / each.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if each.before is not None:
            path.write_bytes(each.before)
    patch = diff_text(CHANGES).encode()
    done = subprocess.run(["git", "apply", "-p1", "-"], cwd=tmp_path, input=patch, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    for each in CHANGES:
        path = tmp_path / each.path
        assert (path.read_bytes() if path.exists() else None) == each.after, each.path
    assert (tmp_path / "tool.sh").stat().st_mode & 0o111


def test_a_change_of_nothing_is_an_empty_diff() -> None:
    assert diff_text([]) == ""


def test_a_later_edit_elsewhere_stays_and_ours_is_made() -> None:
    before, after = b"a\nb\nc\nd\ne\n", b"a\nB\nc\nd\ne\n"
    assert carried_over(before, after, b"# mine\na\nb\nc\nd\ne\n") == b"# mine\na\nB\nc\nd\ne\n"
    assert carried_over(before, after, b"a\nb\nc\nd\ne\nmine\n") == b"a\nB\nc\nd\ne\nmine\n"


def test_an_edit_at_the_edge_of_ours_has_its_order() -> None:
    before, after = b"a\nb\nc\n", b"a\nB\nc\n"
    assert carried_over(before, after, b"a\nmine\nb\nc\n") == b"a\nmine\nB\nc\n"
    assert carried_over(before, after, b"a\nb\nmine\nc\n") == b"a\nB\nmine\nc\n"
    assert carried_over(before, after, b"a\nb\nC\n") == b"a\nB\nC\n"
    assert carried_over(b"a\n", b"A\n", b"a\nmine\n") == b"A\nmine\n"
    assert carried_over(b"a\n", b"a\nours\n", b"a\nmine\n") is None


def test_an_edit_of_the_same_lines_is_a_conflict() -> None:
    assert carried_over(b"x\ny\nz\n", b"x\nours\nz\n", b"x\ntheirs\nz\n") is None


def test_what_somebody_else_fixed_the_same_way_is_no_conflict() -> None:
    assert carried_over(b"x\ny\n", b"x\nz\n", b"x\nz\n") == b"x\nz\n"


@pytest.mark.parametrize("ours_crlf", [True, False])
def test_line_ends_are_those_of_the_present_file(ours_crlf: bool) -> None:
    before, after, present = b"a\nb\nc\nd\n", b"a\nB\nc\nd\n", b"a\nb\nc\nd\n"
    crlf = present.replace(b"\n", b"\r\n")
    if ours_crlf:
        assert carried_over(before.replace(b"\n", b"\r\n"), after.replace(b"\n", b"\r\n"), present) == after
    else:
        assert carried_over(before, after, crlf) == after.replace(b"\n", b"\r\n")


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"x"]), max_size=12).map(b"".join)


@given(LINES, LINES, LINES)
def test_carrying_over_never_loses_one_of_two_edits(before: bytes, after: bytes, present: bytes) -> None:
    merged = carried_over(before, after, present)
    assert carried_over(before, after, before) == after
    assert carried_over(before, before, present) == present
    if merged is not None and before != after != present != before:
        assert carried_over(before, present, after) == merged


@given(LINES, LINES)
def test_a_diff_of_text_is_text_and_starts_with_its_file(before: bytes, after: bytes) -> None:
    assert file_diff(change("f", before, after)).startswith("diff --git a/f b/f\n")
