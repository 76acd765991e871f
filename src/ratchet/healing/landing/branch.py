"""Puts a result onto a new git branch, without touching the work tree, the index or what is checked out."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ratchet.errors import BackendError, Conflict, NotFound, UsageError
from ratchet.healing.patches import carried_over
from ratchet.sandbox.command import FileChange

# What a repository names is not run: neither monitors nor hooks nor filters, and nobody's settings are read.
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false")
_TIMEOUT_S = 60.0
_WHO = {"NAME": "Ratchet", "EMAIL": "ratchet@localhost"}


def commit(project: Path, name: str, changes: Sequence[FileChange], *, message: str) -> str:
    """Make the branch `name` from what is checked out, with one commit of these changes; return the commit's id.

    Uncommitted edits of the project stay out of it. Raises NotFound where the project is in no repository with a
    commit, UsageError for a name that git does not take, Conflict where the branch exists or what is committed differs
    in the same lines.
    """
    git = _Git(project)
    head, ref = _start(git, project, name)
    prefix = git.ask("rev-parse", "--show-prefix")
    with tempfile.TemporaryDirectory(prefix="ratchet-") as scratch:
        git.index = str(Path(scratch, "index"))
        git.ask("read-tree", head)
        for change in changes:
            _staged(git, change, prefix + change.path, head)
        tree = git.ask("write-tree")
    made = git.ask("commit-tree", tree, "-p", head, content=message.encode())
    git.ask("update-ref", ref, made, "0" * len(made))
    return made


def check(project: Path, name: str) -> None:
    """Raise what `commit` would raise whatever the changes are."""
    _start(_Git(project), project, name)


def _start(git: _Git, project: Path, name: str) -> tuple[str, str]:
    """The commit that the branch starts from, and the branch's reference."""
    head = git.ask(
        "rev-parse", "--verify", "--quiet", "HEAD^{commit}", missing=f"{project} is in no git repository yet"
    )
    if git.run("check-ref-format", "--branch", name).returncode != 0:
        raise UsageError(f"{name!r} is no name for a branch")
    ref = f"refs/heads/{name}"
    if git.run("show-ref", "--verify", "--quiet", ref).returncode == 0:
        raise Conflict(f"the branch {name} exists already; name another one")
    return head, ref


def _staged(git: _Git, change: FileChange, path: str, head: str) -> None:
    committed = git.run("cat-file", "blob", f"{head}:{path}")
    held = committed.stdout if committed.returncode == 0 else None
    new = change.after
    if held is not None and change.before is not None and change.after is not None:
        new = carried_over(change.before, change.after, held)
    elif held != change.before and held != change.after:
        raise Conflict(f"{change.path} is committed otherwise than it was worked on; commit it first")
    if new is None and change.after is not None:
        raise Conflict(f"{change.path} is committed with other lines than it was worked on; commit it first")
    if new is None:
        gone = f"0 {'0' * len(head)}\t{path}\n"
        git.ask("update-index", "--index-info", content=gone.encode("utf-8", "surrogateescape"))
        return
    blob = git.ask("hash-object", "-w", "--no-filters", "--stdin", content=new)
    mode = "100755" if change.after_mode & 0o111 else "100644"
    git.ask("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}")


class _Git:
    """Git plumbing on the host, from the project's folder."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self.index = ""

    def ask(self, *words: str, content: bytes = b"", missing: str = "") -> str:
        """What a command says. Raises BackendError, or NotFound with the sentence `missing`."""
        done = self.run(*words, content=content)
        if done.returncode != 0:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())
            if missing:
                raise NotFound(f"{missing}: {said}" if said else missing)
            raise BackendError(f"git {words[0]} failed: {said}; the branch was not made")
        return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def run(self, *words: str, content: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            **{f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in _WHO.items()},
        }
        if self.index:
            environ["GIT_INDEX_FILE"] = self.index
        try:
            return subprocess.run(  # noqa: S603  (fixed subcommands; the repository can make none of them run anything)
                ["git", "-C", str(self._project), *_SAFE, *words],  # noqa: S607
                env=environ,
                input=content,
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BackendError(f"git cannot be run: {error}") from error
