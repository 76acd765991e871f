"""Git on a stranger's repository: it reads and makes what it should, and runs nothing that the repository names."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

import pytest

from ratchet.errors import BackendError, Conflict, NotFound
from ratchet.healing.landing import branch
from ratchet.sandbox import git
from ratchet.sandbox.command import FileChange
from ratchet.sandbox.copyin import copy_in

CALM = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"]}
WHO = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgSign=false", "-c", "init.defaultBranch=main")


def plain(folder: Path, *words: str, check: bool = True) -> str:
    """Git as anybody would call it."""
    done = subprocess.run(
        ["git", *WHO, *words],
        cwd=folder,
        env=CALM,
        capture_output=True,
        text=True,
        check=check,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.strip()


def change(path: str, before: bytes | None, after: bytes | None) -> FileChange:
    modes = (0 if before is None else 0o644, 0 if after is None else 0o644)
    return FileChange(path=path, before=before, after=after, before_mode=modes[0], after_mode=modes[1])


CHANGES = (change("a.py", b"a\n", b"A\n"), change("new/n.py", None, b"n\n"), change("sub/b.py", b"b\n", None))


def made(project: Path, *init: str) -> Path:
    project.mkdir(parents=True)
    plain(project, "init", "-q", *init)
    (project / "sub").mkdir()
    for path, said in (("a.py", "a\n"), ("sub/b.py", "b\n"), ("kept.txt", "k\n"), (".gitignore", "kept.txt\n*.log\n")):
        (project / path).write_text(said)
    plain(project, "add", "-A", "-f")
    plain(project, "commit", "-qm", "one")
    return project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return made(tmp_path / "project")


# -- it works wherever git would --------------------------------------------------------------------------------------


def worktree(project: Path) -> Path:
    plain(project, "worktree", "add", "-q", "-b", "side", "../linked")
    return project.parent / "linked"


def split_index(project: Path) -> Path:
    plain(project, "update-index", "--split-index")
    return project


def packed(project: Path) -> Path:
    plain(project, "gc", "-q")
    plain(project, "pack-refs", "--all")
    return project


def detached(project: Path) -> Path:
    plain(project, "checkout", "-q", "--detach")
    return project


def old_head(project: Path) -> Path:
    (project / ".git" / "HEAD").unlink()
    (project / ".git" / "HEAD").symlink_to("refs/heads/main")
    return project


def submodule(project: Path) -> Path:
    outer = made(project.parent / "outer")
    plain(outer, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(project), "inner")
    return outer / "inner"


def no_reflogs(project: Path) -> Path:
    plain(project, "config", "core.logAllRefUpdates", "false")
    subprocess.run(["rm", "-r", project / ".git" / "logs"], check=True)
    return project


def cone(project: Path) -> Path:
    plain(project, "sparse-checkout", "init", "--cone", "--sparse-index")
    return project


def borrowed(project: Path) -> Path:
    plain(project.parent, "clone", "-q", "--shared", "project", "borrower")
    return project.parent / "borrower"


LAYOUTS = (worktree, split_index, packed, detached, old_head, submodule, no_reflogs, cone, borrowed)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda each: each.__name__)
def test_it_reads_and_makes_what_plain_git_does_however_a_repository_is_laid_out(project: Path, layout) -> None:  # type: ignore[no-untyped-def]
    folder = layout(project)
    with git.opened(folder) as opened:
        assert opened.tracked() == {"a.py", "sub/b.py", "kept.txt", ".gitignore"}
    start, status = plain(folder, "rev-parse", "HEAD"), plain(folder, "status", "--porcelain")
    after = change("sub/b.py", b"b\n", None) if layout is not cone else CHANGES[0]
    commit = branch.commit(
        folder, "heal/it", (CHANGES[0], CHANGES[1], after)[: 2 if layout is cone else 3], message="m\n"
    )
    assert plain(folder, "rev-parse", "heal/it", "heal/it^").split() == [commit, start]
    assert plain(folder, "status", "--porcelain") == status
    listed = set(plain(folder, "ls-tree", "-r", "--name-only", "heal/it").split())
    assert listed == {"a.py", "kept.txt", ".gitignore", "new/n.py"} | ({"sub/b.py"} if layout is cone else set())
    assert plain(folder, "fsck", "--strict") == ""
    with pytest.raises(Conflict, match="exists"):
        branch.check(folder, "heal/it")


def test_objects_of_the_newer_hash_are_written_as_such(tmp_path: Path) -> None:
    project = made(tmp_path / "newer", "--object-format=sha256")
    commit = branch.commit(project, "b", CHANGES, message="m\n")
    assert len(commit) == 64
    assert plain(project, "show", "b:a.py") == "A"


def test_what_a_group_shares_stays_writable_to_it(tmp_path: Path) -> None:
    project = made(tmp_path / "shared", "--shared=group")
    branch.commit(project, "b", CHANGES, message="m\n")
    folders = [each for each in (project / ".git" / "objects").iterdir() if each.is_dir()]
    assert all(each.stat().st_mode & 0o020 for each in folders)


def test_a_reflog_tells_of_the_branch(project: Path) -> None:
    branch.commit(project, "b", CHANGES, message="m\n")
    assert len(plain(project, "reflog", "show", "b").splitlines()) == 1


@pytest.mark.parametrize("link", ["logs/refs/heads/b", "logs/refs/heads", "logs/refs", "refs/heads"])
def test_a_branch_is_written_through_no_link(project: Path, tmp_path: Path, link: str) -> None:
    outside, place = tmp_path / "outside", project / ".git" / link
    if place.is_dir():
        place.rename(outside)  # as it was: a HEAD is found there
    else:
        outside.write_bytes(b"mine\n") if link.endswith("/b") else outside.mkdir()
        place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside)
    before = sorted(outside.rglob("*")) if outside.is_dir() else outside.read_bytes()
    with pytest.raises((Conflict, NotFound)):
        branch.commit(project, "b", CHANGES, message="m\n")
    assert (sorted(outside.rglob("*")) if outside.is_dir() else outside.read_bytes()) == before


@pytest.mark.parametrize("owner", [65534])
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody")
def test_a_repository_of_somebody_else_is_read_too(project: Path, owner: int) -> None:
    for each in (project, *project.rglob("*")):
        os.chown(each, owner, owner, follow_symlinks=False)
    with git.opened(project) as opened:
        assert "a.py" in opened.tracked()


def test_a_folder_in_no_repository_is_told_and_an_index_that_is_none_too(project: Path, tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    with pytest.raises(NotFound, match="no git repository"):
        branch.check(tmp_path / "alone", "b")
    (project / ".git" / "index").write_bytes(b"DIRC but no index")
    with git.opened(project) as opened, pytest.raises(BackendError, match="cannot read"):
        opened.tracked()
    (tmp_path / "copy").mkdir()
    assert copy_in(project, tmp_path / "copy", None) == 3  # without what only git knew of


@pytest.mark.parametrize("name", ["HEAD", "index", "config", "packed-refs"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(project: Path, tmp_path: Path, name: str) -> None:
    (project / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(project / ".git" / name)
    (tmp_path / "copy").mkdir()
    assert copy_in(project, tmp_path / "copy", None) in (3, 4)


# -- it runs nothing --------------------------------------------------------------------------------------------------


class Canary:
    """A program that tells of each of its runs."""

    def __init__(self, folder: Path) -> None:
        self._mark = folder / "ran"
        self.hooks = folder / "hooks"
        self.hooks.mkdir(parents=True)
        self.program = folder / "canary"
        self._script(self.program)
        for name in HOOKS:
            self._script(self.hooks / name)

    def _script(self, place: Path) -> None:
        place.write_text(f'#!/bin/sh\necho "$0 $*" >> {self._mark}\n')
        place.chmod(0o755)

    def sang(self) -> list[str]:
        """The runs since the last question."""
        said = self._mark.read_text().splitlines() if self._mark.exists() else []
        self._mark.unlink(missing_ok=True)
        return said


HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update"),
    *("proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"),
    *("post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change"),
)


@pytest.fixture
def canary(tmp_path: Path) -> Canary:
    return Canary(tmp_path / "canary")


@pytest.fixture(scope="module")
def keys() -> list[str]:
    """Every setting that this git knows, with `o` in the place of what a person would name; and those that its list
    leaves out because they are said elsewhere."""
    listed = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True).stdout
    found = [each for each in listed.splitlines() if "." in each and " " not in each]
    assert len(found) > 300
    found += ["filter.<driver>.process", "include.path", "credential.<url>.helper", "hook.<name>.command"]
    found += [
        "remote.<name>.promisor",
        "extensions.partialClone",
        "extensions.worktreeConfig",
        "core.alternateRefsCommand",
    ]
    return [_filled(each) for each in found]


def _filled(key: str) -> str:
    first, *between, last = key.split(".")
    named = ".".join("o" if each[0] in "<*" else each for each in between)
    return ".".join(filter(None, (first, named, "o" if last[0] in "<*" else last)))


def written(config: Path, settings: Sequence[tuple[str, str]]) -> None:
    with config.open("a") as file:
        for key, value in settings:
            section, _, rest = key.partition(".")
            between, _, name = rest.rpartition(".")
            file.write(f'[{section} "{between}"]\n' if between else f"[{section}]\n")
            file.write(f'\t{name} = "{value}"\n')


def lured(project: Path, canary: Canary) -> None:
    """What makes a plain git run programs: objects that are missing and promised, attributes and hooks."""
    (project / ".gitattributes").write_text("* filter=o diff=o merge=o\n")
    (project / ".gitmodules").write_text('[submodule "o"]\n\tpath = o\n\turl = ext::canary\n\tupdate = !canary\n')
    for each in canary.hooks.iterdir():
        (project / ".git" / "hooks" / each.name).write_bytes(each.read_bytes())
        (project / ".git" / "hooks" / each.name).chmod(0o755)
    settings = [("core.repositoryformatversion", "1"), ("extensions.partialClone", "o"), ("remote.o.promisor", "true")]
    settings += [("remote.o.url", str(project)), ("remote.o.uploadpack", str(canary.program))]
    written(project / ".git" / "config", settings)


def loose(project: Path, what: str) -> Path:
    """The file of an object."""
    name = plain(project, "rev-parse", what)
    return project / ".git" / "objects" / name[:2] / name[2:]


LIMITS = git.RemoteLimits(files=9, each=9_999, total=99_999)


def used(project: Path, target: Path) -> list[str]:
    """Everything for which Ratchet starts git on a folder; a refusal is an answer. Returns the commands."""
    started: list[str] = []
    run = subprocess.run

    def told(argv: list[str], **options: object) -> object:
        started.append(argv[1])
        return run(argv, **options)  # type: ignore[call-overload]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(git.subprocess, "run", told)  # type: ignore[attr-defined]
        target.mkdir()
        copy_in(project, target, None)
        acts: tuple[Callable[[], object], ...] = (
            lambda: branch.check(project, "b"),
            lambda: branch.commit(project, "b", CHANGES, message="m\n"),
            lambda: git.remote_texts(f"file://{project}", wanted=re.compile("."), most=LIMITS, beside=(project,)),
        )
        for act in acts:
            try:
                act()
            except (BackendError, Conflict, NotFound):
                continue
    return started


@pytest.fixture(scope="module")
def borne(keys: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The settings that may have a program's path for a value without a plain git giving up."""
    folder = tmp_path_factory.mktemp("borne")
    project, canary = made(folder / "project"), Canary(folder / "canary")
    found = []
    for key in keys:
        # Some settings are looked at only where there is a monitor.
        words = ["git", "-c", f"core.fsmonitor={canary.program}", "-c", f"{key}={canary.program}", "status"]
        done = subprocess.run(words, cwd=project, env=CALM, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode == 0 and not key.startswith(
            ("core.worktree", "core.bare", "remote.o", "core.rep", "extens")
        ):
            found.append(key)
    return found


@pytest.mark.parametrize("form", ["program", "!program", "hooks", "include"])
def test_no_setting_of_git_runs_a_program(
    project: Path, tmp_path: Path, canary: Canary, keys: list[str], borne: list[str], form: str
) -> None:
    other = tmp_path / "other"
    written(other, [("core.fsmonitor", str(canary.program))])
    value = {
        "program": str(canary.program),
        "!program": f"!{canary.program}",
        "hooks": str(canary.hooks),
        "include": str(other),
    }[form]
    objects = [loose(project, what) for what in ("HEAD:sub", "HEAD:a.py", "HEAD")]
    lured(project, canary)
    config = project / ".git" / "config"
    before = config.read_text()
    # As much as plain git bears at once, with which it runs programs; then everything, which it does not bear.
    carried = {"hooks": ["core.hooksPath"], "include": ["include.path"]}.get(form, borne)
    written(config, [(key, value) for key in carried])
    sang = []
    for number in range(len(objects) + 1):
        started = used(project, tmp_path / f"copy{number}")
        assert canary.sang() == []
        assert "ls-files" in started
        for words in (("status",), ("rev-parse", "HEAD^{commit}"), ("o",)):  # the last is an alias
            plain(project, *words, check=False)
        sang += canary.sang()
        if number < len(objects):
            objects[number].unlink()
    assert sang, "the canary is dead"
    config.write_text(before)
    written(config, [(key, value) for key in keys])
    canary.sang()
    used(project, tmp_path / "last")
    assert canary.sang() == []


def test_whole_repositories_are_worked_on_whatever_their_settings_say(
    project: Path, tmp_path: Path, canary: Canary, keys: list[str]
) -> None:
    start = plain(project, "rev-parse", "HEAD")
    (project / ".git" / "config").rename(tmp_path / "config")
    lured(project, canary)
    written(project / ".git" / "config", [(key, str(canary.program)) for key in keys])
    started = used(project, tmp_path / "copy")
    assert canary.sang() == []
    # Every command that the starter takes was tried but what follows a fetch, which these settings end.
    assert set(started) == set(get_args(git.Verb)) - {"ls-tree"}
    assert (tmp_path / "copy" / "kept.txt").exists()  # tracked, though ignored
    (project / ".git" / "config").unlink()
    (tmp_path / "config").rename(project / ".git" / "config")
    assert plain(project, "rev-parse", "b^") == start
    assert canary.sang() == []


@pytest.mark.parametrize(
    "way",
    [
        {"remote.o.uploadpack": "PROGRAM"},
        {"remote.o.url": "ext::PROGRAM", "protocol.allow": "always", "protocol.ext.allow": "always"},
        {"remote.o.url": "ssh://localhost/x", "core.sshCommand": "PROGRAM"},
        {"remote.o.url": "git://localhost/x", "core.gitProxy": "PROGRAM"},
        {"url.ext::PROGRAM.insteadOf": "x", "remote.o.url": "x", "protocol.allow": "always"},
    ],
    ids=lambda each: " ".join(each),
)
@pytest.mark.parametrize("what", ["HEAD:sub", "HEAD:a.py", "HEAD"])
def test_what_is_missing_is_not_fetched(
    project: Path, tmp_path: Path, canary: Canary, way: dict[str, str], what: str
) -> None:
    cone(project)
    gone = loose(project, what)
    lured(project, canary)
    program = str(canary.program)
    named = [tuple(each.replace("PROGRAM", program) for each in told) for told in way.items()]
    written(project / ".git" / "config", [(key, value) for key, value in named])
    gone.unlink()
    used(project, tmp_path / "copy")
    assert canary.sang() == []
    plain(project, "cat-file", "-p", what, check=False)
    assert canary.sang(), "the canary is dead"


def test_a_bare_repository_that_a_clone_carries_is_none(project: Path, tmp_path: Path, canary: Canary) -> None:
    inner = project / "tool"
    plain(project, "clone", "-q", "--bare", ".", "tool")
    written(inner / "config", [("core.fsmonitor", str(canary.program)), ("core.hooksPath", str(canary.hooks))])
    plain(project, "add", "-A")
    plain(project, "commit", "-qm", "two")
    plain(tmp_path, "clone", "-q", "project", "clone")
    tool = tmp_path / "clone" / "tool"
    branch.commit(tool, "b", [change("x.py", None, b"x\n")], message="m\n")
    assert canary.sang() == []
    assert plain(tmp_path / "clone", "show", "b:tool/x.py") == "x"


@pytest.mark.parametrize("place", ["bin", ".venv/bin", "."])
def test_a_git_of_the_folder_itself_is_not_found(
    project: Path, tmp_path: Path, canary: Canary, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (project / place).mkdir(parents=True, exist_ok=True)
    (project / place / "git").write_bytes(canary.program.read_bytes())
    (project / place / "git").chmod(0o755)
    (tmp_path / "link").symlink_to(project / place)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{place}::{project / place}:{tmp_path / 'link'}:{os.environ['PATH']}")
    used(project, tmp_path / "copy")
    assert canary.sang() == []
    assert plain(project, "rev-parse", "--verify", "b")


def test_what_stands_in_the_callers_environment_does_not_reach_git(
    project: Path, tmp_path: Path, canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = made(tmp_path / "other")
    program = str(canary.program)
    named = "ASKPASS EDITOR EXTERNAL_DIFF PAGER PROXY_COMMAND SEQUENCE_EDITOR SSH SSH_COMMAND EXEC_PATH TEMPLATE_DIR"
    environ = {f"GIT_{each}": program for each in named.split()}
    environ |= {"GIT_DIR": f"{other}/.git", "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": f"{other}/.git/index"}
    environ |= {
        "GIT_OBJECT_DIRECTORY": f"{other}/.git/objects",
        "GIT_COMMON_DIR": f"{other}/.git",
        "GIT_NAMESPACE": "n",
    }
    environ |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": program}
    environ |= {"GIT_CONFIG_PARAMETERS": f"'core.hooksPath'='{canary.hooks}'", "GIT_TRACE": str(tmp_path / "trace")}
    environ |= {"GIT_CONFIG_GLOBAL": str(tmp_path / "global"), "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    environ |= {"EDITOR": program, "PAGER": program, "SSH_ASKPASS": program, "GIT_ALLOW_PROTOCOL": "ext:file"}
    written(tmp_path / "global", [("core.fsmonitor", program), ("core.hooksPath", str(canary.hooks))])
    (tmp_path / ".gitconfig").write_bytes((tmp_path / "global").read_bytes())
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    used(project, tmp_path / "copy")
    assert canary.sang() == []
    assert not (tmp_path / "trace").exists()
    assert plain(project, "rev-parse", "--verify", "b")
    assert plain(other, "branch", "--list", "b") == ""
