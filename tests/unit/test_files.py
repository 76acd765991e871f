"""The one guarantee for files that are replaced, and for locks."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from ratchet import files
from ratchet.errors import BackendError, Conflict, Refused
from support.folders import deeply_nested


def test_a_replaced_file_keeps_its_mode_and_the_link_that_leads_to_it(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    files.replace(link, b"new")
    assert link.is_symlink()
    assert (real.read_bytes(), real.stat().st_mode & 0o777) == (b"new", 0o640)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "real"]


def test_in_an_open_folder_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(Refused):
        files.read("link", folder=folder)
    files.replace("link", b"new", folder=folder)
    files.swap("real", files.version_of(b"old"), b"old", folder=folder)
    os.close(folder)
    assert (real.read_bytes(), link.read_bytes(), link.is_symlink()) == (b"old", b"new", False)


def test_a_name_of_full_length_can_be_replaced(tmp_path: Path) -> None:
    long = tmp_path / ("n" * 255)
    files.replace(long, b"1", mode=0o600)
    assert (long.read_bytes(), long.stat().st_mode & 0o777) == (b"1", 0o600)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = tmp_path / "a"
    held.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BackendError, match="No space left"):
        files.swap(held, files.version_of(b"old"), b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
    assert held.read_bytes() == b"old"


def test_of_many_who_swap_from_one_version_one_wins(tmp_path: Path) -> None:
    held, won = tmp_path / "a", []

    def swap(n: int) -> None:
        try:
            files.swap(held, files.ABSENT, str(n).encode())
        except Conflict:
            return
        won.append(n)

    threads = [threading.Thread(target=swap, args=(n,)) for n in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [str(n).encode() for n in won] == [held.read_bytes()]


def test_a_swap_can_delete_and_says_when_somebody_else_did(tmp_path: Path) -> None:
    held = tmp_path / "a"
    held.write_bytes(b"1")
    files.swap(held, files.version_of(b"1"), None)
    files.swap(held, files.ABSENT, None)
    with pytest.raises(Conflict, match="changed by somebody else"):
        files.swap(held, files.version_of(b"1"), None)
    assert files.read(held) is None


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refused, match="no regular file"):
        files.read(tmp_path / "pipe")


def test_a_device_behind_a_link_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "zero"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes a device")
    (tmp_path / "state").symlink_to(device)
    with pytest.raises(OSError, match="is a device"):
        files.replace(tmp_path / "state", b"active 8\n")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert {each.name for each in tmp_path.iterdir()} == {"zero", "state"}


def a_tree(top: Path) -> Path:
    for name in ("a/b/c", "a/d", "e"):
        (top / name).mkdir(parents=True)
        (top / name / "file").touch()
    (top / "a" / "to-e").symlink_to(top / "e")
    (top / "itself").symlink_to(top / "itself")
    (top / "nowhere").symlink_to(top / "nothing")
    os.mkfifo(top / "e" / "pipe")
    return top


@pytest.mark.parametrize("links", [False, True])
def test_a_walk_finds_what_the_standard_one_finds(tmp_path: Path, links: bool) -> None:
    def shown(walked: Iterable[tuple[str, list[str], list[str]]]) -> list[tuple[str, list[str], list[str]]]:
        return [(above, sorted(folders), sorted(names)) for above, folders, names in walked]

    top = a_tree(tmp_path)
    assert sorted(shown(files.walk(top, links=links))) == sorted(shown(os.walk(top, followlinks=links)))


def test_a_walk_leaves_out_what_is_taken_out_and_tells_of_what_cannot_be_read(tmp_path: Path) -> None:
    told: list[OSError] = []
    assert list(files.walk(tmp_path / "none", unread=told.append)) == []
    assert isinstance(told[0], FileNotFoundError)
    seen = []
    for above, folders, _names in files.walk(a_tree(tmp_path)):
        folders[:] = [each for each in folders if each != "b"]
        seen.append(Path(above).name)
    assert {"a", "d", "e"} <= set(seen)
    assert not {"b", "c"} & set(seen)


def test_a_folder_may_be_nested_deeper_than_python_recurses(tmp_path: Path) -> None:
    with deeply_nested(tmp_path) as deep:
        assert max(above.count("/x") for above, _folders, _names in files.walk(tmp_path)) == deep


def test_what_is_written_once_stays_as_the_first_one_wrote_it(tmp_path: Path) -> None:
    assert files.settled(tmp_path / "a", b"1") == b"1"
    assert files.settled(tmp_path / "a", b"2") == b"1"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_a_lock_is_held_by_one_and_free_again_after_it(tmp_path: Path) -> None:
    with files.claimed(tmp_path / "locks" / "one", "this"):
        with pytest.raises(Conflict, match="works on this"), files.claimed(tmp_path / "locks" / "one", "this"):
            pass
        waiting = files.Locked(tmp_path / "locks" / "one", Conflict("busy"), wait_s=60, stopped=lambda: True)
        with pytest.raises(Conflict, match="busy"), waiting:
            pass
    with files.claimed(tmp_path / "locks" / "one", "this"):
        pass
