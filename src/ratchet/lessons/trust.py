"""Keeps which content of a repository's `.ratchet/` this home trusts: by repository and SHA-256, as direnv does.

What a person trusted, and what this home wrote itself. A file changed by one byte is another content, and is asked
about anew. Neither an author's name nor a folder's place is a proof.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ratchet import files
from ratchet.errors import BackendError, UsageError
from ratchet.lessons.reviewed import TRUSTED
from ratchet.ports import Store
from ratchet.records import Row, text_in, whole_in
from ratchet.sandbox import git

FOLDER = ".ratchet"
_FILES = 1000  # in one `.ratchet/`
_FILE_BYTES = 16_000_000

By = Literal["person", "own"]
Kind = Literal["shared", "skill"]
"""What a name stands for: a file below `.ratchet/`, or a skill by its folder in the repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedFile:
    """One file below `.ratchet/`. `trusted` says whether this very content was trusted before it was asked."""

    name: str
    sha256: str
    trusted: bool


def repository_of(project: Path) -> str:
    """The name under which trust is kept: the folder of the repository's objects, which all its worktrees share, else
    the project's own folder."""
    try:
        found = git.find(project)
        return str((found.common if found else project).resolve())
    except (OSError, ValueError, RuntimeError):  # unreadable, or links in a circle: its own folder, as it is named
        return str(project.absolute())


def is_trusted(home: Path, project: Path, name: str, content: bytes, *, kind: Kind = "shared") -> bool:
    """Tell whether this home trusts this content of what is named so. Raises BackendError."""
    return (name, files.version_of(content)) in held(home, project, kind=kind)


def held(home: Path, project: Path, *, kind: Kind = "shared") -> frozenset[tuple[str, str]]:
    """Tell which contents of one kind this home trusts of a repository: names, each with a SHA-256.

    Raises BackendError.
    """
    repository = repository_of(project)
    return frozenset((name, sha256) for named, of, name, sha256 in _held(home) if (named, of) == (repository, kind))


def remember(home: Path, project: Path, contents: Mapping[str, bytes], *, by: By, kind: Kind = "shared") -> None:
    """Trust these contents (name -> bytes) of one kind in this repository from now on. Raises BackendError."""
    repository, known = repository_of(project), held(home, project, kind=kind)
    fresh = [(name, files.version_of(content)) for name, content in contents.items()]
    _append(
        home,
        [
            {"repository": repository, "kind": kind, "file": name, "sha256": sha256, "by": by, "at": time.time()}
            for name, sha256 in fresh
            if (name, sha256) not in known
        ],
    )


def withdraw(home: Path, project: Path) -> bool:
    """Trust nothing any more of what this repository ever held; return whether anything was trusted. Raises
    BackendError."""
    repository = repository_of(project)
    if not any(named == repository for named, *_ in _held(home)):
        return False
    _append(home, [{"repository": repository, "withdrawn": True, "by": "person", "at": time.time()}])
    return True


def _append(home: Path, rows: Sequence[Row]) -> None:
    # On a line of its own, also behind one that a crash cut.
    left = "".join(f"\n{json.dumps(row)}\n" for row in rows).encode()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(home / TRUSTED, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while left:  # a disk that becomes full takes a part, and only then refuses
                left = left[os.write(descriptor, left) :]
        finally:
            os.close(descriptor)
    except OSError as error:
        raise BackendError(
            f"{home / TRUSTED} cannot be written ({error.strerror}): mend that, then say again what is to be trusted"
        ) from error


def contents(home: Path, project: Path) -> dict[str, bytes]:
    """Every file below the project's `.ratchet/`, by its name there; {} where that is this home itself. What is no file
    of the repository's own (a link, a pipe) is left out, and never read.

    Raises UsageError when there are too many or too large ones, BackendError.
    """
    folder = project / FOLDER
    if is_home(home, project) or folder.is_symlink():
        return {}
    found: dict[str, bytes] = {}
    for place, folders, names in files.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            if path.is_symlink() or not path.is_file():
                continue
            if len(found) >= _FILES or path.stat().st_size > _FILE_BYTES:
                raise UsageError(f"{folder} holds more than anybody can look through ({path}); clear it up first")
            found[str(path.relative_to(folder))] = files.read(path) or b""
    return found


def is_home(home: Path, project: Path) -> bool:
    """Tell whether the project's `.ratchet/` is this home: what lies there is no repository's."""
    return (project / FOLDER).resolve() == home.resolve()


def distrust(store: Store, project: Path) -> int:
    """Make candidates of the lessons that this repository's file made active, in whichever of its worktrees; return
    their number. What a person decided about one stays."""
    repository, count = repository_of(project), 0
    with store.transaction():
        for held in store.find("lessons", {"state": "active"}).rows:
            origin = Path(text_in(held, "origin"))
            place = text_in(held, "place")  # of a skill, the project or the home that it lies below
            if held.get("trusted") is not True or held.get("decided"):
                continue
            if not place and origin.parts[-2:-1] != (FOLDER,):
                continue
            if repository_of(Path(place) if place else origin.parents[1]) == repository:
                back: Row = {**held, "state": "candidate", "trusted": False, "approved": False}
                count += store.swap(
                    "lessons", str(held["id"]), whole_in(held, "revision"), {**back, "updated_at": time.time()}
                )
    return count


def _held(home: Path) -> set[tuple[str, str, str, str]]:
    try:
        content = (home / TRUSTED).read_bytes()
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise BackendError(f"{home / TRUSTED} cannot be read ({error.strerror}); check its permissions") from error
    found: set[tuple[str, str, str, str]] = set()
    for line in content.splitlines():
        try:
            row = json.loads(line)
            repository = str(row["repository"])
            if row.get("withdrawn"):
                found = {each for each in found if each[0] != repository}
            else:
                found.add((repository, str(row.get("kind", "shared")), str(row["file"]), str(row["sha256"])))
        except (ValueError, TypeError, KeyError, AttributeError):  # cut by a crash: that content is asked about again
            continue
    return found
