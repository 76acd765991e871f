"""The archive of versions: what goes in comes out, and what was tampered with is named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.errors import BackendError, NotFound
from ratchet.evolving.archive import Archive, Files, differences, read_files
from ratchet.healing.patches import LINK_MODE
from ratchet.sandbox.beneath import remove_tree

NAMES = st.text("abc-.é ", min_size=1, max_size=6).filter(lambda name: name.strip(".") != "")
FILES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=3).map("/".join),
    st.tuples(st.sampled_from([0o644, 0o755]), st.binary(max_size=40)),
    max_size=8,
).filter(lambda files: not any(other.startswith(f"{path}/") for path in files for other in files))


@given(FILES)
def test_what_goes_in_comes_out(tmp_path_factory: pytest.TempPathFactory, files: Files) -> None:
    archive = Archive(tmp_path_factory.mktemp("archive"))
    tree = archive.add(files)
    assert archive.files(tree) == files
    assert read_files(archive.folder(tree)) == files
    assert archive.intact(tree)
    assert archive.add(dict(reversed(files.items()))) == tree


@given(FILES, FILES)
def test_a_change_carried_over_to_where_it_came_from_is_the_change(
    tmp_path_factory: pytest.TempPathFactory, old: Files, new: Files
) -> None:
    archive = Archive(tmp_path_factory.mktemp("archive"))
    one, two = archive.add(old), archive.add(new)
    assert archive.carried_over(one, two, one) == two
    assert archive.carried_over(one, two, two) == two
    assert archive.carried_over(one, one, two) == two
    assert archive.changes(one, two) == differences(old, new)
    if not any(path.startswith(f"{other}/") for path in new for other in old):
        assert archive.amended(one, archive.changes(one, two)) == two


def test_it_is_as_git_has_it(tmp_path: Path) -> None:
    files: Files = {"a/b.py": (0o644, b"x\n"), "run": (0o755, b"#!/bin/sh\n"), "l": (LINK_MODE, b"run")}
    archive = Archive(tmp_path / "run")
    tree = archive.add(files)
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "git"], check=True)
    listed = subprocess.run(
        ["git", "--git-dir", tmp_path / "git", "ls-tree", "-r", tree],
        env={"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(archive.objects), "PATH": "/usr/bin:/bin:/usr/local/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert [line.split()[0] + line.split("\t")[1] for line in listed.splitlines()] == [
        "100644a/b.py",
        "120000l",
        "100755run",
    ]


def test_changes_of_other_lines_go_together_and_of_the_same_lines_do_not(tmp_path: Path) -> None:
    archive = Archive(tmp_path)

    def text(*lines: str) -> str:
        return archive.add({"a": (0o644, "".join(f"{line}\n" for line in lines).encode())})

    start = text("1", "2", "3", "4")
    merged = archive.carried_over(start, text("one", "2", "3", "4"), text("1", "2", "3", "four"))
    assert merged == text("one", "2", "3", "four")
    assert archive.carried_over(start, text("one", "2", "3", "4"), text("eins", "2", "3", "4")) is None
    gone = archive.add({})
    assert archive.carried_over(start, text("one", "2", "3", "4"), gone) is None
    assert archive.carried_over(start, gone, text("1", "2", "3", "four")) is None


def test_a_folder_that_was_changed_is_not_intact_and_is_made_anew(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    tree = archive.add({"a": (0o644, b"1")})
    place = archive.folder(tree) / "a"
    place.chmod(0o644)
    place.write_bytes(b"2")
    assert not archive.intact(tree)
    remove_tree(archive.folder(tree))
    assert archive.intact(tree)
    assert (archive.folder(tree) / "a").read_bytes() == b"1"


def test_a_folder_that_cannot_be_laid_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive(tmp_path)
    tree = archive.add({"a": (0o644, b"1")})

    def full(_self: Path, _target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", full)
        with pytest.raises(OSError, match="No space left"):
            archive.folder(tree)
    assert (archive.folder(tree) / "a").read_bytes() == b"1"


def test_an_object_that_is_gone_or_forged_is_named(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    tree = archive.add({"a": (0o644, b"1")})
    other = archive.add({"a": (0o644, b"2")})
    place = archive.objects / tree[:2] / tree[2:]
    forged = (archive.objects / other[:2] / other[2:]).read_bytes()
    place.chmod(0o644)
    place.write_bytes(forged)
    with pytest.raises(BackendError, match="not what its name says"):
        archive.files(tree)
    place.write_bytes(b"x")
    with pytest.raises(BackendError, match="cannot be read"):
        archive.files(tree)
    place.unlink()
    with pytest.raises(NotFound, match=tree):
        archive.files(tree)
