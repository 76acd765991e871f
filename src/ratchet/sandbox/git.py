"""Starts git, for the whole product: on a repository's objects, refs and index, never with its settings.

Git obeys what stands in a repository: some eighty settings name programs (monitors, filters, helpers, transports), and
hooks are programs. So git is never shown the repository. It gets a git folder of our own, with our settings and without
hooks, whose objects and refs are those of the repository (as `git worktree` shares them). What the repository's own
settings say is not read, but for the few that say how it is laid out. The environment is built anew, too: nothing of
the caller's reaches git, and no protocol is allowed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ratchet.errors import BackendError, NotFound, Refused
from ratchet.failures.redaction.forms import hide_url_credentials
from ratchet.sandbox import gitfiles
from ratchet.sandbox.beneath import plain_content

Verb = Literal[
    "cat-file",
    "check-ignore",
    "check-ref-format",
    "commit-tree",
    "config",
    "fetch",
    "hash-object",
    "ls-files",
    "ls-tree",
    "read-tree",
    "rev-parse",
    "show-ref",
    "update-index",
    "update-ref",
    "write-tree",
]
"""Plumbing that checks nothing out: the only git that is needed. `remote_texts` alone fetches, into its own folder."""

_REPOSITORY = re.compile(r"(?:\.git|git~\d+)[. ]*(?::.*)?", re.IGNORECASE | re.ASCII | re.DOTALL)
_TIMEOUT_S = 60.0
_FETCH_TIMEOUT_S = 300.0
_ASKED_TIMEOUT_S = 5.0  # some rules cost git hours (`**/a/**/a/...`), none costs our own reading of them so much
_SMALL_BYTES = 1 << 20
_SHARED = ("refs", "packed-refs", "logs", "reftable", "shallow")
_LAYOUT = {
    "core.sharedrepository": re.compile(r"\w{1,16}"),
    "extensions.objectformat": re.compile(r"sha1|sha256"),
    "extensions.refstorage": re.compile(r"files|reftable"),
}
"""The settings of a repository that are obeyed -> the values that they may have. None can name anything."""
_SETTINGS = """[core]
\trepositoryFormatVersion = 1
\tbare = true
\thooksPath = /dev/null
\tlogAllRefUpdates = true
"""
_ENVIRON = {
    "GIT_ALLOW_PROTOCOL": "none",  # `-c protocol.allow=never` does not hold: a repository may allow more
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository as it lies on the disk."""

    top: Path
    """The root of its work tree."""
    own: Path
    """The folder of this work tree's HEAD and index."""
    common: Path
    """The folder of its objects and refs; another one than `own` in a linked work tree."""


def names_repository(name: str) -> bool:
    """Tell whether a name is `.git` to some file system: in any case, with signs that are not seen (HFS+), with dots,
    spaces or a stream behind it, or as its short name (NTFS)."""
    seen = name if name.isascii() else "".join(each for each in name if unicodedata.category(each) != "Cf")
    return _REPOSITORY.fullmatch(seen) is not None


def find(folder: Path) -> Repository | None:
    """Find the repository that a folder belongs to, by its `.git`. A bare repository is never taken for one: a clone
    may carry it as plain files. Of what lies in a folder a stranger may have written each word, so a `.git` names
    another place only where that one points back."""
    here = folder.resolve()
    for top in (here, *here.parents):
        mark = top / ".git"
        if not os.path.lexists(mark):
            continue
        git = gitfiles.git_by(str(top), str(mark))
        common = gitfiles.main_of(git) or git
        said = os.path.join(git, _named(Path(git, "commondir"), ""))
        agreed = bool(git) and os.path.realpath(said) == os.path.realpath(common) and _text(Path(git, "HEAD")) != ""
        own = agreed and all(gitfiles.is_within(os.path.join(common, name), common) for name in (*_SHARED, "objects"))
        return Repository(top=top, own=Path(git), common=Path(common)) if own else None
    return None


@contextmanager
def opened(folder: Path) -> Iterator[Git]:
    """Open the repository that a folder belongs to. Raises NotFound where there is none."""
    repository = find(folder)
    if repository is None:
        raise NotFound(f"{folder} is in no git repository yet")
    with tempfile.TemporaryDirectory(prefix="ratchet-git-") as scratch:
        yield Git(repository, Path(scratch))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLimits:
    """Bounds of what is read of a foreign project: files, bytes of each (larger ones are left out), bytes of all."""

    files: int
    each: int
    total: int

    def refusal(self, place: str) -> Refused:
        """The error where all of it together is too large."""
        return Refused(
            f"{place} holds more than {self.total >> 20} MiB of code and docs: name a folder that is a part of it"
        )


def remote_texts(
    address: str, *, wanted: re.Pattern[str], most: RemoteLimits, beside: Sequence[Path]
) -> dict[str, bytes]:
    """The files of a repository's newest commit whose paths are wanted, by path: fetched into a folder that is gone
    afterwards. Nothing is checked out, no hook, filter or setting of theirs is read; programs in the folders `beside`
    are not found. Raises BackendError, Refused where they are too large."""
    with tempfile.TemporaryDirectory(prefix="ratchet-git-") as scratch:
        own = Path(scratch)
        _prepare(own, "ref: refs/heads/none\n", bare=True)
        (own / "refs").mkdir()

        def run(verb: Verb, *words: str, content: bytes = b"") -> bytes:
            reach = {"GIT_ALLOW_PROTOCOL": "https:ssh:file"}
            done = _started(
                own, (own, *beside), verb, *words, environ=reach, content=content, timeout_s=_FETCH_TIMEOUT_S
            )
            if done.returncode:
                said = f"{address} cannot be read: {_said(done)[:300]}; clone it and name the folder"
                raise BackendError(hide_url_credentials(said))
            return done.stdout

        run("fetch", "--quiet", "--depth=1", "--no-tags", "--", address, "HEAD")
        blobs: dict[str, str] = {}
        total = 0
        for entry in run("ls-tree", "-r", "-z", "-l", "FETCH_HEAD").decode("utf-8", "surrogateescape").split("\0"):
            about, _, path = entry.partition("\t")
            mode, kind, name, size = (*about.split(), "", "", "", "")[:4]
            plain = kind == "blob" and mode != "120000" and size.isdecimal() and int(size) <= most.each
            if plain and wanted.search(path) and len(blobs) < most.files:
                blobs[path] = name
                total += int(size)
        if total > most.total:
            raise most.refusal(hide_url_credentials(address))
        said = run("cat-file", "--batch", content="".join(f"{name}\n" for name in blobs.values()).encode())
    return dict(zip(blobs, _contents(said), strict=True))


def _contents(said: bytes) -> Iterator[bytes]:
    """The contents in the answer of `cat-file --batch`: a line with the size, then so many bytes and a line's end."""
    at = 0
    while at < len(said):
        ends = said.index(b"\n", at)
        size = int(said[at:ends].rsplit(b" ", 1)[1])
        yield said[ends + 1 : ends + 1 + size]
        at = ends + 2 + size


def ignored(top: Path, paths: Iterable[str], *, exclude: bytes) -> frozenset[str]:
    """Those of these paths below a folder that its .gitignore files, and the rules `exclude`, leave out. It need not be
    a repository. Raises BackendError where git cannot tell."""
    top = top.resolve()
    with tempfile.TemporaryDirectory(prefix="ratchet-git-") as scratch:
        own = Path(scratch)
        _prepare(own, "ref: refs/heads/none\n", bare=False)
        for name in ("refs", "info"):
            (own / name).mkdir()
        (own / "info" / "exclude").write_bytes(exclude)
        # A path that began with a colon would be a question of another kind.
        asked = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
        environ = {"GIT_WORK_TREE": str(top)}
        done = _started(
            own,
            (top,),
            "check-ignore",
            "-z",
            "--stdin",
            "--no-index",
            environ=environ,
            content=asked,
            timeout_s=_ASKED_TIMEOUT_S,
        )
    if done.returncode not in (0, 1):
        raise BackendError(f"git cannot say what is ignored in {top}: {_said(done)}")
    return frozenset(os.fsdecode(path)[2:] for path in done.stdout.split(b"\0") if path)


class Git:
    """Git on one repository, with an index of its own."""

    def __init__(self, repository: Repository, scratch: Path) -> None:
        self.repository = repository
        self._own = scratch
        # A link of that name is an old way to say `ref:`; git takes no other link for a HEAD.
        head = repository.own / "HEAD"
        _prepare(scratch, f"ref: {head.readlink()}\n" if head.is_symlink() else _text(head), bare=True)
        shared = (repository.common / name for name in _SHARED)
        for each in (*filter(Path.exists, shared), *repository.own.glob("sharedindex.*")):
            (scratch / each.name).symlink_to(each)
        with (scratch / "config").open("a", encoding="utf-8") as settings:
            settings.write(self._layout())

    def tracked(self) -> frozenset[str]:
        """Paths that the repository's own index names, relative to its root. Raises BackendError where git cannot read
        it."""
        index = self.repository.own / "index"
        if not index.is_file():
            return frozenset()
        listed = self._run("ls-files", "-z", environ={"GIT_INDEX_FILE": str(index)})
        if listed.returncode != 0:
            raise BackendError(f"git cannot read {index}: {_said(listed)}")
        return frozenset(os.fsdecode(path) for path in listed.stdout.split(b"\0") if path)

    def ask(self, verb: Verb, *words: str, content: bytes = b"", who: str = "") -> str:
        """Return what a command says. Raises BackendError where it fails."""
        done = self.run(verb, *words, content=content, who=who)
        if done.returncode != 0:
            raise BackendError(f"git {verb} failed: {_said(done)}")
        return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def run(self, verb: Verb, *words: str, content: bytes = b"", who: str = "") -> subprocess.CompletedProcess[bytes]:
        """Run a command to its end. `who` is the author of what it makes. Raises BackendError where git is missing or
        takes more than a minute."""
        named = {f"GIT_{role}_NAME": who for role in ("AUTHOR", "COMMITTER") if who}
        mails = {f"GIT_{role}_EMAIL": f"{who.lower()}@localhost" for role in ("AUTHOR", "COMMITTER") if who}
        index = {"GIT_INDEX_FILE": str(self._own / "index")}
        return self._run(verb, *words, content=content, environ=named | mails | index)

    def _layout(self) -> str:
        """Those settings of the repository that say how it is laid out, each with a value that is known."""
        file = self.repository.common / "config"
        if not any(key.partition(".")[2] in _text(file).lower() for key in _LAYOUT):
            return ""
        listed = self._run("config", "--file", str(file), "--no-includes", "--null", "--list", environ={})
        found = ""
        for line in listed.stdout.decode("utf-8", "replace").split("\0"):
            key, _, value = line.partition("\n")
            if key == "extensions.refstorage" and value != "files" and self.repository.own != self.repository.common:
                raise BackendError(
                    f"{self.repository.top} keeps its refs in a {value}, which is not read from a linked work tree"
                )
            if key in _LAYOUT and _LAYOUT[key].fullmatch(value):
                section, _, name = key.partition(".")
                found += f"[{section}]\n\t{name} = {value}\n"
        return found

    def _run(
        self, verb: Verb, *words: str, environ: dict[str, str], content: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        objects = {"GIT_OBJECT_DIRECTORY": str(self.repository.common / "objects")}
        return _started(self._own, (self.repository.top,), verb, *words, environ=objects | environ, content=content)


def _prepare(own: Path, head: str, *, bare: bool) -> None:
    """Make a git folder of our own, without hooks."""
    for name in ("hooks", "objects"):
        (own / name).mkdir()
    (own / "HEAD").write_text(head, encoding="utf-8", errors="surrogateescape")
    (own / "config").write_text(f"{_SETTINGS}\tbare = {str(bare).lower()}\n", encoding="utf-8")


def _started(
    own: Path,
    tops: Sequence[Path],
    verb: Verb,
    *words: str,
    environ: dict[str, str],
    content: bytes = b"",
    timeout_s: float = _TIMEOUT_S,
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a git folder of our own. Programs below `tops`, the work tree first of all, are not found."""
    path = _path(tops)
    program = shutil.which("git", path=path)
    if program is None:
        raise BackendError("there is no git on this machine: install it, or ask for a patch")
    try:
        return subprocess.run(  # noqa: S603  (our git folder names nothing that could be run)
            [program, verb, *words],
            cwd=own,
            env={**_ENVIRON, "PATH": path, "GIT_DIR": str(own), **environ},
            input=content,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendError(f"git cannot be run: {error}") from error


def _path(tops: Sequence[Path]) -> str:
    """Return where programs are found: the caller's PATH without what lies in these folders or depends on where one
    stands."""
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(
        each
        for each in places
        if os.path.isabs(each) and not any(Path(each).resolve().is_relative_to(top) for top in tops)
    )


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return " ".join(done.stderr.decode("utf-8", "replace").split())


def _named(file: Path, mark: str) -> str:
    """The path that a small file names after a mark, "" where it names none."""
    text = _text(file)
    return text.removeprefix(mark).strip() if text.startswith(mark) else ""


def _text(file: Path) -> str:
    return plain_content(file, _SMALL_BYTES).decode("utf-8", "surrogateescape")
