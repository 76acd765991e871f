"""A folder that a stranger wrote names no project but itself: each way to name a place, times each place of mine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ratchet.lessons import exposure
from ratchet.lessons.exposure import concerns, project_name, repository_of
from ratchet.records import Row
from ratchet.sandbox.git import find, opened

SECRET = "https://example.test/me/secret.git"
NAMED = "example.test/me/secret"

PLACES = (
    "plain", "plain/.git", "plain/.git/worktrees/fix", "plain/.git/worktrees/nope", "plain/.git/modules/inner",
    "plain/.git/modules/nope", "plain/inner", "fix", "remote", "remote/.git", "bare.git", "bare.git/worktrees/tree",
    "tree", "objects", "apart", "", "nowhere",
)  # fmt: skip
"""Of mine: repositories of each kind, what git keeps of them, what is none of these, and what is not there."""

Layout = Callable[[Path, str], Path]


def git(folder: Path, *words: str) -> None:
    said = ("-c", "user.name=a", "-c", "user.email=a@example.test", "-c", "protocol.file.allow=always")
    subprocess.run(["git", "-C", str(folder), *said, *words], check=True, capture_output=True)


def commit(folder: Path) -> None:
    (folder / "Makefile").write_text("deploy:\n\tdeploy\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("me")
    for name in ("plain", "remote"):
        git(root, "init", "-q", name)
        commit(root / name)
    git(root / "remote", "remote", "add", "origin", SECRET)
    git(root, "init", "-q", "--separate-git-dir", "objects", "apart")
    git(root / "apart", "remote", "add", "origin", SECRET)
    commit(root / "apart")
    git(root, "clone", "-q", "--bare", "remote", "bare.git")
    git(root / "bare.git", "remote", "set-url", "origin", SECRET)
    git(root / "bare.git", "worktree", "add", "-q", "../tree", "-b", "other")
    git(root / "plain", "worktree", "add", "-q", "../fix")
    git(root / "plain", "submodule", "add", "-q", str(root / "remote"), "inner")
    git(root / "plain/inner", "remote", "set-url", "origin", SECRET)
    return root


@pytest.fixture(autouse=True)
def _another_process() -> Iterator[None]:
    exposure._repositories.clear()
    yield
    exposure._repositories.clear()


@pytest.fixture(params=["beside", "plain/downloads", "remote/vendor"])
def outside(mine: Path, request: pytest.FixtureRequest) -> Path:
    """Where what a stranger wrote is unpacked: elsewhere, and within a project of mine."""
    return mine / str(request.param)


@contextmanager
def unpacked(outside: Path) -> Iterator[Path]:
    folder = outside / "ev"
    folder.mkdir(parents=True)
    (folder / "Makefile").write_text("deploy:\n\tdeploy\n")
    yield folder
    shutil.rmtree(folder)


def bare(folder: Path, config: str) -> Path:
    (folder / "objects" / "aa").mkdir(parents=True)
    (folder / "objects" / "aa" / "x").write_text("")
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(config)
    return folder


def by_file(folder: Path, place: str) -> Path:
    (folder / ".git").write_text(f"gitdir: {place}\n")
    return folder


def by_relative_file(folder: Path, place: str) -> Path:
    return by_file(folder, os.path.relpath(place, folder))


def by_file_through_a_link(folder: Path, place: str) -> Path:
    (folder / "link").symlink_to(place)
    return by_file(folder, "link")


def by_link(folder: Path, place: str) -> Path:
    (folder / ".git").symlink_to(place)
    return folder


def by_link_to_a_file(folder: Path, place: str) -> Path:
    (folder / ".git").symlink_to(f"{place}/.git")
    return folder


def by_linked_config(folder: Path, place: str) -> Path:
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").symlink_to(f"{place}/config")
    (folder / ".git" / "commondir").write_text(f"{place}\n")
    return folder


def by_linked_refs(folder: Path, place: str) -> Path:
    git(folder, "init", "-q")
    shutil.rmtree(folder / ".git" / "refs")
    for name in ("refs", "logs", "packed-refs"):
        (folder / ".git" / name).symlink_to(f"{place}/{name}")
    return folder


def by_linked_objects(folder: Path, place: str) -> Path:
    git(folder, "init", "-q")
    shutil.rmtree(folder / ".git" / "objects")
    (folder / ".git" / "objects").symlink_to(f"{place}/objects")
    return folder


def by_a_work_tree_of_its_own(folder: Path, place: str) -> Path:
    own = folder / "store" / "worktrees" / "x"
    own.mkdir(parents=True)
    (folder / "store" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "store" / "config").symlink_to(f"{place}/config")
    for name, said in (("gitdir", f"{folder}/.git"), ("commondir", place), ("HEAD", "ref: refs/heads/main")):
        (own / name).write_text(f"{said}\n")
    return by_file(folder, "store/worktrees/x")


def by_objects_of_its_own(folder: Path, place: str) -> Path:
    bare(folder / "store", f"[core]\n\tworktree = {place}\n[include]\n\tpath = {place}/config\n")
    (folder / "store" / "commondir").write_text(f"{place}\n")
    (folder / "store" / "objects" / "info").mkdir()
    (folder / "store" / "objects" / "info" / "alternates").write_text(f"{place}/objects\n")
    return by_file(folder, "store")


def by_a_file_above(folder: Path, place: str) -> Path:
    (folder / "sub" / "deep").mkdir(parents=True)
    by_file(folder, place)
    return folder / "sub" / "deep"


def by_words_of_no_form(folder: Path, place: str) -> Path:
    (folder / ".git").write_text(f"{place}\0\n")
    return folder


def by_a_configuration_beside_it(folder: Path, place: str) -> Path:
    (folder / ".git").mkdir()
    bare(folder, f'[remote "origin"]\n\turl = {place}\n')
    return folder


def cloned(folder: Path, inside: str, config: str) -> Path:
    git(folder, "init", "-q")
    bare(folder / inside, config)
    return folder / inside


def by_a_tracked_path(folder: Path, place: str) -> Path:
    return cloned(folder, "sub", f'[core]\n\tbare = true\n[remote "origin"]\n\turl = {place}\n')


def by_a_tracked_file_url(folder: Path, place: str) -> Path:
    return cloned(folder, "a/b", f'[remote "origin"]\n\turl = "file://{place}"\n')


def by_a_tracked_remote(folder: Path, place: str) -> Path:
    return cloned(folder, "sub", f'[remote "origin"]\n\turl = {SECRET}\n[core]\n\tworktree = {place}\n')


def by_a_host_that_is_none(folder: Path, place: str) -> Path:
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = ssh://{place}\n')
    return folder


def by_a_path_below(folder: Path, place: str) -> Path:
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {place}/downloads/gone\n')
    return folder


LAYOUTS: tuple[Layout, ...] = (
    by_file, by_relative_file, by_file_through_a_link, by_link, by_link_to_a_file, by_linked_config, by_linked_refs,
    by_linked_objects, by_a_work_tree_of_its_own, by_objects_of_its_own, by_a_file_above, by_words_of_no_form,
    by_a_configuration_beside_it, by_a_tracked_path, by_a_tracked_file_url, by_a_tracked_remote,
    by_a_host_that_is_none, by_a_path_below,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_what_a_stranger_wrote_names_only_itself_and_git_is_started_on_nothing_else(
    mine: Path, outside: Path, layout: Layout
) -> None:
    for place in PLACES:
        exposure._repositories.clear()
        with unpacked(outside) as folder:
            here = layout(folder, str(mine / place))
            name = project_name(str(here))
            assert Path(name).is_relative_to(folder), (place, name)
            learnt: Row = {"scope": "project", "projects": [str(here)], "project": name}
            for each in ("plain", "remote", "fix", "tree", "apart", "bare.git", "plain/inner"):
                own: Row = {"scope": "project", "projects": [str(mine / each)], "project": NAMED}
                assert not concerns(learnt, str(mine / each)), (place, each)
                assert not concerns(own, str(here)), (place, each)
            found = find(here)
            if found is not None:
                for of_git in (found.top, found.own, found.common, found.common / "refs", found.common / "objects"):
                    assert of_git.resolve().is_relative_to(folder), (place, of_git)


def test_git_is_started_on_my_own(mine: Path) -> None:
    for name in ("plain", "remote", "fix", "apart", "tree", "plain/inner"):
        found = find(mine / name)
        assert found is not None, name
        with opened(mine / name) as git_there:
            said = subprocess.run(
                ["git", "-C", str(mine / name), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
            )
            assert git_there.ask("rev-parse", "HEAD") == said.stdout.strip()


def test_my_own_are_known_by_what_points_back(mine: Path) -> None:
    plain = {project_name(str(mine / each)) for each in ("plain", "fix", "plain/.git", "plain/.git/worktrees/fix")}
    assert plain == {str(mine / "plain")}
    secret = ("remote", "apart", "objects", "bare.git", "tree", "plain/inner")
    assert {project_name(str(mine / each)) for each in secret} == {NAMED}


def test_a_link_to_a_repository_is_that_repository(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(mine / "remote")
    assert project_name(str(tmp_path / "link")) == NAMED


def test_a_folder_of_objects_knows_its_files_also_when_one_was_edited(mine: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--separate-git-dir", "store", str(mine / "remote"), "work")
    for name in ("a", "b"):
        (tmp_path / "work" / name).write_text(name)
    commit(tmp_path / "work")
    (tmp_path / "work" / "Makefile").unlink()
    (tmp_path / "work" / "a").write_text("another")
    assert repository_of(str(tmp_path / "work")) == str(tmp_path / "store")
    shutil.copytree(tmp_path / "work", tmp_path / "copy")
    assert repository_of(str(tmp_path / "copy")) == str(tmp_path / "copy"), "a copy of each byte is another place"


def test_a_folder_with_its_objects_in_it_is_one_project_with_its_worktrees(mine: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(mine / "plain"), "work/.bare")
    (tmp_path / "work" / ".git").write_text("gitdir: ./.bare\n")
    git(tmp_path / "work", "worktree", "add", "-q", "main", "-b", "topic")
    git(tmp_path / "work", "remote", "set-url", "origin", SECRET)
    assert {project_name(str(tmp_path / "work" / each)) for each in ("", ".bare", "main", "main/sub")} == {NAMED}


@pytest.mark.parametrize(
    "url",
    [
        SECRET, f'"{SECRET}"', f"{SECRET} # mine", "https://me:token@example.test/Me/Secret",
        "git@example.test:me/secret", "ssh://git@example.test/me/secret.git/",
        f"{SECRET}\n\turl = https://example.test/other/one",
        f"{SECRET}\n[URL \"https://evil.test/\"]\n\tinsteadOf = https://example.test/",
    ],
)  # fmt: skip
@pytest.mark.parametrize("head", ['[remote "origin"]\n\turl = ', '[Remote "origin"] URL=', '[remote  "origin"]\nurl='])
def test_an_address_is_the_same_however_it_is_written(tmp_path: Path, head: str, url: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[remote "fork"]\n\turl = https://evil.test/x\n{head}{url}\n')
    assert project_name(str(tmp_path)) == NAMED


@pytest.mark.parametrize("url", ["", "/", ".", "..", "//", "file://", "file:///", ":", ":/", "://", "\0", "%00", '"'])
def test_an_address_of_nothing_leaves_a_folder_its_own(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.chdir(mine / "remote")
    monkeypatch.setenv("GIT_DIR", str(mine / "remote" / ".git"))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {url}\n')
    assert project_name(str(tmp_path)) == str(tmp_path)


@pytest.mark.parametrize("path", ["my work/shop", "100%/shop"])
def test_a_clone_by_a_files_address_is_that_repository(tmp_path: Path, path: str) -> None:
    shop = tmp_path / path
    git(tmp_path, "init", "-q", str(shop))
    commit(shop)
    git(tmp_path, "clone", "-q", shop.as_uri(), "clone")
    git(tmp_path, "clone", "-q", f"{shop}/.git", "of-its-objects")
    git(tmp_path, "clone", "-q", "--bare", str(shop), "shop.git")
    git(tmp_path, "clone", "-q", "shop", "of-a-short-name")
    for each in ("clone", "of-its-objects", "of-a-short-name"):
        assert project_name(str(tmp_path / each)) == str(shop)


def test_a_clone_of_what_lies_in_a_project_is_not_that_project(mine: Path, tmp_path: Path) -> None:
    inside = mine / "plain" / "tmp"
    git(tmp_path, "init", "-q", "evil")
    commit(tmp_path / "evil")
    inside.mkdir()
    git(tmp_path / "evil", "bundle", "create", "-q", str(inside / "evil.bundle"), "HEAD")
    git(tmp_path, "clone", "-q", str(inside / "evil.bundle"), "of-a-file")
    git(tmp_path, "clone", "-q", "evil", str(inside / "ev"))
    git(tmp_path, "clone", "-q", str(inside / "ev"), "of-a-clone")
    assert project_name(str(tmp_path / "of-a-clone")) == str(tmp_path / "evil")
    shutil.rmtree(inside / "ev")
    exposure._repositories.clear()
    for each in ("of-a-file", "of-a-clone"):
        assert project_name(str(tmp_path / each)) == str(tmp_path / each)
    shutil.rmtree(inside)


def test_a_pipe_where_a_file_of_gits_is_looked_for_is_not_waited_for(tmp_path: Path) -> None:
    bare(tmp_path / "store", "")
    (tmp_path / "work").mkdir()
    os.mkfifo(tmp_path / "store" / "index")
    by_file(tmp_path / "work", "../store")
    assert repository_of(str(tmp_path / "work")) == str(tmp_path / "work")
    exposure._repositories.clear()
    (tmp_path / "work" / ".git").unlink()
    os.mkfifo(tmp_path / "work" / ".git")
    assert repository_of(str(tmp_path / "work" / "deep")) == str(tmp_path / "work")
