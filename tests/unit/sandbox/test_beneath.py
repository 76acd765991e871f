"""A walk below a folder finds everything once, and costs what is there, however deep it is nested."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.sandbox import kernel
from ratchet.sandbox.beneath import entries

DEPTH = 1_500


@pytest.fixture
def comb(tmp_path: Path) -> Iterator[Path]:
    """Folders within one another, each with a folder and a file beside the next."""
    above = os.open(tmp_path, os.O_RDONLY)
    for _ in range(DEPTH):
        for name in ("down", "beside"):
            os.mkdir(name, dir_fd=above)
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=above))
        below = os.open("down", os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)
    yield tmp_path
    subprocess.run(["rm", "-rf", str(tmp_path / "down")], check=True)  # pytest's own removal recurses


def walked(top: Path, skip: frozenset[bytes] = frozenset()) -> list[bytes]:
    root = os.open(top, os.O_RDONLY)
    try:
        return [each.path for each in entries(root, skip=skip)]
    finally:
        os.close(root)


def test_a_deep_tree_costs_steps_for_each_folder_and_not_for_each_above_it(
    comb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, opened = [0], kernel.openat2

    def counted(folder: int, path: bytes, flags: int, resolve: int) -> int:
        steps[0] += path.count(b"/") + 1
        return opened(folder, path, flags, resolve)

    monkeypatch.setattr(kernel, "openat2", counted)
    before = set(os.listdir("/proc/self/fd"))
    assert sorted(walked(comb)) == sorted(
        b"down/" * depth + name for depth in range(DEPTH) for name in (b"down", b"beside", b"file")
    )
    assert steps[0] < 2 * DEPTH * 100  # 2 * DEPTH * DEPTH / 2 from the root
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("seed", range(5))
def test_a_walk_finds_what_the_standard_one_finds(tmp_path: Path, seed: int) -> None:
    chance, folders = random.Random(seed), [tmp_path]
    for number in range(150):
        below = chance.choice(folders[-8:]) / f"d{number}"
        below.mkdir()
        folders.append(below)
        (chance.choice(folders) / f"f{number}").touch()
    (tmp_path / "link").symlink_to(folders[-1])
    there = [os.path.join(above, name) for above, below, names in os.walk(tmp_path) for name in (*below, *names)]
    assert sorted(walked(tmp_path)) == sorted(os.fsencode(os.path.relpath(each, tmp_path)) for each in there)
    left = os.fsencode(os.path.relpath(folders[3], tmp_path))
    kept = [each for each in walked(tmp_path) if not each.startswith(left + b"/")]
    assert sorted(walked(tmp_path, frozenset([left]))) == sorted(kept)


def test_a_walk_that_is_given_up_closes_what_it_held(comb: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    root = os.open(comb, os.O_RDONLY)
    walk = entries(root)
    for _ in range(2 * DEPTH):
        next(walk)
    walk.close()  # type: ignore[attr-defined]
    os.close(root)
    assert set(os.listdir("/proc/self/fd")) == before
