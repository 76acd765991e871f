"""Results in the user's files and on a branch: by compare-and-swap, all of it or nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
from functools import partial
from pathlib import Path

import pytest

from ratchet.errors import Conflict, NotFound, Refused, UsageError
from ratchet.healing.landing import branch, files
from ratchet.sandbox.command import FileChange

BEFORE = b"# sums\r\ndef add(a, b):\r\n    return a - b\r\n\r\n\r\nLAST = 1\r\n"
AFTER = BEFORE.replace(b"a - b", b"a + b")


def change(path: str = "calc.py", before: bytes | None = BEFORE, after: bytes | None = AFTER) -> FileChange:
    modes = (0 if before is None else 0o644, 0 if after is None else 0o644)
    return FileChange(path=path, before=before, after=after, before_mode=modes[0], after_mode=modes[1])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "calc.py").write_bytes(BEFORE)
    return folder


def apply(project: Path, *changes: FileChange) -> tuple[str, ...]:
    return files.apply(project, changes, lock=project.parent / "locks" / "one")


def test_a_result_is_written_once_with_its_line_ends_and_comments(project: Path) -> None:
    assert apply(project, change()) == ("calc.py",)
    assert (project / "calc.py").read_bytes() == AFTER
    assert apply(project, change()) == ()


def test_an_edit_made_meanwhile_stays(project: Path) -> None:
    (project / "calc.py").write_bytes(BEFORE.replace(b"LAST = 1", b"LAST = 2"))
    apply(project, change())
    assert (project / "calc.py").read_bytes() == AFTER.replace(b"LAST = 1", b"LAST = 2")


def test_an_edit_of_the_same_lines_leaves_everything_as_it_is(project: Path) -> None:
    mine = BEFORE.replace(b"a - b", b"sum((a, b))")
    (project / "calc.py").write_bytes(mine)
    with pytest.raises(Conflict, match="same lines"):
        apply(project, change("new.py", None, b"x = 1\n"), change())
    assert (project / "calc.py").read_bytes() == mine
    assert not (project / "new.py").exists()


def test_files_come_and_go_and_a_file_of_somebody_else_is_not_overwritten(project: Path) -> None:
    apply(project, change("pkg/new.py", None, b"x = 1\n"), change(after=None))
    assert (project / "pkg" / "new.py").read_bytes() == b"x = 1\n"
    assert not (project / "calc.py").exists()
    (project / "other.py").write_bytes(b"theirs\n")
    with pytest.raises(Conflict):
        apply(project, change("other.py", None, b"ours\n"))


def test_permissions_of_a_file_stay(project: Path) -> None:
    (project / "calc.py").chmod(0o640)
    apply(project, change())
    assert (project / "calc.py").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("path", ["../out.py", "/etc/x", ".git/hooks/post-checkout", "a//b", "", "link/x.py"])
def test_nothing_is_written_outside_the_project(project: Path, path: str) -> None:
    (project / "link").symlink_to(project.parent)
    with pytest.raises(Refused):
        apply(project, change(path, None, b"x\n"))
    assert sorted(each.name for each in project.iterdir()) == ["calc.py", "link"]


@pytest.mark.parametrize(
    "path",
    [".GIT/hooks/post-checkout", "a/.Git/config", ".git./config", "GIT~1/config", ".g\u200cit/config", ".git::$DATA"],
)
def test_what_some_disk_takes_for_a_repository_is_not_written_to(project: Path, path: str) -> None:
    with pytest.raises(Refused):
        apply(project, change(path, None, b"x\n"))
    assert [each.name for each in project.iterdir()] == ["calc.py"]


CALLS = ("open", "stat", "lstat", "mkdir", "chmod", "chown", "replace", "rename", "unlink")


@pytest.mark.parametrize(
    ("before", "after"), [(None, AFTER), (BEFORE, AFTER), (BEFORE, None)], ids=["new", "changed", "removed"]
)
def test_a_folder_that_becomes_a_link_at_any_moment_leads_nowhere(
    project: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None, after: bytes | None
) -> None:
    """Before each call of the system in its turn, somebody puts a link in the place of the folder."""
    outside = project.parent / "outside"
    outside.mkdir()
    real = {name: getattr(os, name) for name in CALLS}
    turn = left = 0

    def told(name: str, *given: object, **named: object) -> object:
        nonlocal left
        left -= 1
        if left == 0:
            real["rename"](project / "sub", project / "was")
            os.symlink(outside, project / "sub")
        return real[name](*given, **named)

    while left <= 0:
        turn = left = turn + 1
        shutil.rmtree(project)
        for folder in (outside, project / "sub"):
            folder.mkdir(parents=True, exist_ok=True)
            if before is not None:
                (folder / "calc.py").write_bytes(before)
        with monkeypatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, partial(told, name))
            with contextlib.suppress(Refused, Conflict):
                apply(project, change("sub/calc.py", before, after))
        assert [(each.name, each.read_bytes()) for each in outside.iterdir()] == [("calc.py", before)] * bool(before)
    assert turn > 8


def test_what_was_written_before_a_link_was_met_is_put_back(project: Path) -> None:
    (project / "link").symlink_to(project.parent)
    todo = [(change(), BEFORE, AFTER), (change("link/x.py", None, b"x"), None, b"x")]
    with pytest.raises(Refused):
        files._written(project, todo)
    assert (project / "calc.py").read_bytes() == BEFORE


def test_a_pipe_or_a_link_in_place_of_the_file_is_refused(project: Path) -> None:
    os.mkfifo(project / "pipe.py")
    (project / "link.py").symlink_to(project / "calc.py")
    for name in ("pipe.py", "link.py"):
        with pytest.raises(Refused):
            apply(project, change(name))


def test_two_processes_that_apply_to_one_file_both_count(project: Path) -> None:
    second = change(after=BEFORE.replace(b"LAST = 1", b"LAST = 3"))
    threads = [threading.Thread(target=apply, args=(project, each)) for each in (change(), second)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (project / "calc.py").read_bytes() == AFTER.replace(b"LAST = 1", b"LAST = 3")


def git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=a", "-c", "user.email=b", "-c", "core.autocrlf=false")
    done = subprocess.run(["git", "-C", str(folder), *named, *words], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def repository(project: Path) -> Path:
    inner = project / "inner"
    inner.mkdir()
    (inner / "calc.py").write_bytes(BEFORE)
    (inner / "old.py").write_bytes(b"x\n")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    return project


def test_a_branch_has_the_result_and_nothing_else_moved(repository: Path) -> None:
    inner = repository / "inner"
    (inner / "calc.py").write_bytes(BEFORE + b"UNCOMMITTED = 1\r\n")
    changes = [change(), change("pkg/new.py", None, b"n\n"), change("old.py", b"x\n", None)]
    made = branch.commit(inner, "heal/it", changes, message="mend it\n")
    assert git(repository, "rev-parse", "heal/it").strip() == made
    assert git(repository, "show", "heal/it:inner/calc.py").encode() == AFTER.replace(b"\r\n", b"\n")
    assert git(repository, "ls-tree", "-r", "--name-only", "heal/it").split() == [
        "calc.py",
        "inner/calc.py",
        "inner/pkg/new.py",
    ]
    assert git(repository, "branch", "--show-current").strip() == "main"
    assert git(repository, "status", "--porcelain").split() == ["M", "inner/calc.py"]


def test_a_repository_makes_the_host_run_nothing(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for name in ("reference-transaction", "post-commit", "pre-commit", "post-index-change"):
        hook = repository / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    git(repository, "config", "core.fsmonitor", f"touch {mark}; false")
    mark.unlink(missing_ok=True)
    branch.commit(repository / "inner", "b", [change()], message="m\n")
    assert not mark.exists()


def test_a_branch_that_exists_or_a_bad_name_or_no_repository_is_refused(repository: Path, tmp_path: Path) -> None:
    inner = repository / "inner"
    with pytest.raises(Conflict, match="exists"):
        branch.commit(inner, "main", [change()], message="m\n")
    with pytest.raises(UsageError):
        branch.commit(inner, "a..b", [change()], message="m\n")
    with pytest.raises(Conflict, match="commit"):
        branch.commit(inner, "c", [change(before=b"never committed\n", after=b"x\n")], message="m\n")
    alone = tmp_path / "alone"
    alone.mkdir()
    with pytest.raises(NotFound, match=r"--patch FILE.*--apply"):
        branch.commit(alone, "x", [change()], message="m\n")
    with pytest.raises(NotFound, match=r"--patch FILE.*--apply"):
        branch.check(alone, "x")
