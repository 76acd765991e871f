"""Puts a result onto a new git branch, without touching the work tree, the index or what is checked out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from ratchet.errors import Conflict, NotFound, UsageError
from ratchet.healing.patches import carried_over
from ratchet.sandbox import git
from ratchet.sandbox.command import FileChange
from ratchet.sandbox.git import Git
from ratchet.sandbox.gitfiles import is_within

_WHO = "Ratchet"


def commit(project: Path, name: str, changes: Sequence[FileChange], *, message: str) -> str:
    """Make the branch `name` from what is checked out, with one commit of these changes; return the commit's id.

    Uncommitted edits of the project stay out of it. Raises NotFound where the project is in no repository with a
    commit, UsageError for a name that git does not take, Conflict where the branch exists or what is committed differs
    in the same lines.
    """
    with _opened(project) as opened:
        head, ref = _start(opened, project, name)
        prefix = project.resolve().relative_to(opened.repository.top)
        opened.ask("read-tree", head)
        staged = b"".join(_staged(opened, each, str(prefix / each.path), head) for each in changes)
        opened.ask("update-index", "-z", "--index-info", content=staged)
        # The rest is as it was committed, whether its contents are here or at a remote.
        tree = opened.ask("write-tree", "--missing-ok")
        made = opened.ask("commit-tree", tree, "-p", head, content=message.encode(), who=_WHO)
        opened.ask("update-ref", ref, made, "0" * len(made), who=_WHO)
        return made


def check(project: Path, name: str) -> None:
    """Raise what `commit` would raise whatever the changes are."""
    with _opened(project) as opened:
        _start(opened, project, name)


def _opened(project: Path) -> AbstractContextManager[Git]:
    if git.find(project) is None:
        raise NotFound(
            f"{project} is in no git repository, so no branch can be made there: take the result as a patch (--patch "
            "FILE) or into the folder (--apply), or make it a repository with a commit first"
        )
    return git.opened(project)


def _start(opened: Git, project: Path, name: str) -> tuple[str, str]:
    """The commit that the branch starts from, and the branch's reference."""
    found = opened.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if found.returncode != 0:
        raise NotFound(f"{project} is in a git repository without a commit to start from: commit first")
    if opened.run("check-ref-format", "--branch", name).returncode != 0:
        raise UsageError(f"{name!r} is no name for a branch")
    ref = f"refs/heads/{name}"
    if opened.run("show-ref", "--verify", "--quiet", ref).returncode == 0:
        raise Conflict(f"the branch {name} exists already; name another one")
    common = opened.repository.common
    if not all(is_within(str(common / each / ref), str(common)) for each in ("", "logs")):
        raise Conflict(f"the branch {name} would be written outside of {common}, where a link leads; name another one")
    return found.stdout.decode().strip(), ref


def _staged(opened: Git, change: FileChange, path: str, head: str) -> bytes:
    """The line that brings a change into the index, as `git update-index -z --index-info` takes it."""
    committed = opened.run("cat-file", "blob", f"{head}:{path}")
    held = committed.stdout if committed.returncode == 0 else None
    new = change.after
    if held is not None and change.before is not None and change.after is not None:
        new = carried_over(change.before, change.after, held)
    elif held != change.before and held != change.after:
        raise Conflict(f"{change.path} is committed otherwise than it was worked on; commit it first")
    if new is None and change.after is not None:
        raise Conflict(f"{change.path} is committed with other lines than it was worked on; commit it first")
    mode, blob = 0, "0" * len(head)
    if new is not None:
        mode = 0o100755 if change.after_mode & 0o111 else 0o100644
        blob = opened.ask("hash-object", "-w", "--no-filters", "--stdin", content=new)
    return f"{mode:o} {blob}\t{path}\0".encode("utf-8", "surrogateescape")
