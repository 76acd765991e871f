"""Copying a file into a workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.errors import Refused
from ratchet.sandbox import copyin
from ratchet.sandbox.copyin import copy_content, copy_in

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


def base_of(tmp_path: Path) -> Path:
    base = tmp_path / "base"
    base.mkdir()
    return base


def test_what_ratchet_keeps_is_not_copied_with_the_project_that_it_lies_in(tmp_path: Path) -> None:
    project = tmp_path / "project"
    home = project / ".ratchet"
    (home / "journal").mkdir(parents=True)
    (home / "salt").write_text("0" * 32)
    (home / "ratchet.db").write_text("tokens")
    (project / "a.py").write_text("a = 1\n")
    base = base_of(tmp_path)
    assert copy_in(project, base, None) == 1
    assert [each.name for each in base.iterdir()] == ["a.py"]
    with pytest.raises(Refused, match="what it knows"):
        copy_in(home, tmp_path, None)


def test_a_disk_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for number in range(9):
        (project / str(number)).write_text("x")
    monkeypatch.setattr(copyin, "_MOST_FILES", 5)
    base = base_of(tmp_path)
    with pytest.raises(Refused, match="too large"):
        copy_in(project, base, None)
    assert not list(base.iterdir())  # known before a byte of it was copied


def test_a_file_that_a_build_takes_away_meanwhile_ends_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name in ("a.py", "b.py.tmp", "c.py"):
        (project / name).write_text("x")
    look = copyin.chosen

    def taken_away(folder: Path) -> list[tuple[str, bool]]:
        found = list(look(folder))
        (folder / "b.py.tmp").unlink()
        return found

    monkeypatch.setattr(copyin, "chosen", taken_away)
    base = base_of(tmp_path)
    assert copy_in(project, base, None) == 2
    assert sorted(each.name for each in base.iterdir()) == ["a.py", "c.py"]


def test_a_folder_that_a_build_takes_away_meanwhile_ends_no_copy(tmp_path: Path) -> None:
    project = tmp_path / "project"
    for name in ("a", "b"):
        (project / name).mkdir(parents=True)
        (project / name / "file").write_text(name)
    seen = copyin.chosen(project)
    first = next(seen)
    for name in ("a", "b"):
        (project / name / "file").unlink()
        (project / name).rmdir()
    assert [first, *seen] == [("a", True), ("b", True)]


def test_what_the_kernel_shows_of_the_machine_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self")
    for project in (Path("/proc"), Path("/sys/kernel"), tmp_path / "link"):
        if project.is_dir():
            with pytest.raises(Refused, match="the machine"):
                copy_in(project, tmp_path, None)
