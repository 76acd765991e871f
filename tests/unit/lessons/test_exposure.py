"""Where a lesson may be shown: in its project, and in every worktree of the same repository."""

from __future__ import annotations

from pathlib import Path

from ratchet.lessons.exposure import concerns, repository_of
from ratchet.records import Row


def repository(folder: Path) -> Path:
    (folder / ".git" / "worktrees").mkdir(parents=True)
    return folder


def worktree(folder: Path, main: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {main}/.git/worktrees/{folder.name}\n")
    return folder


def test_worktrees_of_one_repository_are_one_project(tmp_path: Path) -> None:
    main = repository(tmp_path / "shop")
    one, other = worktree(tmp_path / "trees" / "one", main), worktree(tmp_path / "trees" / "other", main)
    foreign = worktree(tmp_path / "trees" / "foreign", repository(tmp_path / "else"))
    learnt: Row = {"scope": "project", "projects": [str(one)]}
    assert concerns(learnt, str(other))
    assert concerns(learnt, str(main / "src"))
    assert not concerns(learnt, str(foreign))
    assert repository_of(str(one / "deep" / "below")) == str(main)


def test_folders_that_are_gone_or_in_no_repository_compare_by_their_paths(tmp_path: Path) -> None:
    learnt: Row = {"scope": "project", "projects": ["/gone/shop"]}
    assert concerns(learnt, "/gone/shop/src")
    assert not concerns(learnt, "/gone/other")
    assert not concerns({"scope": "project", "projects": [str(tmp_path / "a")]}, str(tmp_path / "b"))
    assert repository_of("") == ""
    assert repository_of("bad\0path") == ""


def test_a_global_lesson_is_shown_everywhere() -> None:
    assert concerns({"scope": "global"}, "/anywhere")
