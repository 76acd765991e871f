"""Where a lesson may be shown: in its project, and in every worktree of the same repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ratchet.lessons.exposure import concerns, project_name, repository_of
from ratchet.records import Row


def repository(folder: Path) -> Path:
    (folder / ".git" / "worktrees").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def worktree(folder: Path, main: Path) -> Path:
    folder.mkdir(parents=True)
    own = main / ".git" / "worktrees" / folder.name
    own.mkdir()
    (own / "gitdir").write_text(f"{folder}/.git\n")
    (folder / ".git").write_text(f"gitdir: {own}\n")
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


def test_clones_and_worktrees_of_a_repository_without_a_remote_are_one_project(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        said = ("-c", "user.name=a", "-c", "user.email=a@example.test", "-c", "protocol.file.allow=always")
        subprocess.run(["git", *said, *words], cwd=tmp_path, check=True, capture_output=True)

    shop = tmp_path / "Work" / "Shop"
    git("init", "-q", str(shop))
    (shop / "sub").mkdir()
    git("-C", str(shop), "commit", "-q", "--allow-empty", "-m", "one")
    git("-C", str(shop), "worktree", "add", "-q", "../fix")
    git("clone", "-q", str(shop), "clone")
    git("clone", "-q", "clone", "clone-of-it")
    git("clone", "-q", shop.as_uri(), "by-address")
    git("clone", "-q", "--bare", str(shop), "bare.git")
    git("-C", "bare.git", "worktree", "add", "-q", "../beside-bare", "-b", "other")
    git("-C", "clone", "remote", "set-url", "origin", "../Work/Shop")
    same = ("Work/Shop", "Work/Shop/sub", "Work/fix", "clone", "clone-of-it", "by-address", "bare.git", "beside-bare")
    assert {project_name(str(tmp_path / each)) for each in same} == {str(shop)}

    git("clone", "-q", str(shop), "fork")
    git("-C", "fork", "remote", "set-url", "origin", "https://example.test/ann/shop.git")
    git("init", "-q", "--separate-git-dir", "objects", "apart")
    git("-C", "apart", "commit", "-q", "--allow-empty", "-m", "one")
    git("-C", "apart", "worktree", "add", "-q", "../apart-too")
    git("-C", "apart", "submodule", "add", "-q", str(tmp_path / "fork"), "inner")
    git("-C", "apart/inner", "remote", "set-url", "origin", "git@example.test:ann/shop.git")
    assert {project_name(str(tmp_path / each)) for each in ("fork", "apart/inner")} == {"example.test/ann/shop"}
    assert {project_name(str(tmp_path / each)) for each in ("apart", "apart-too")} == {str(tmp_path / "objects")}


def test_clones_that_name_each_other_and_one_whose_origin_is_gone_have_a_name(tmp_path: Path) -> None:
    for name, origin in (("one", "../two"), ("two", "../one"), ("left", "/gone/Shop")):
        config = repository(tmp_path / name) / ".git" / "config"
        config.write_text(f'[remote "origin"]\n\turl = {origin}\n')
    assert project_name(str(tmp_path / "one")) in {str(tmp_path / "one"), str(tmp_path / "two")}
    assert project_name(str(tmp_path / "left")) == str(tmp_path / "left")
