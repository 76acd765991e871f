"""Keeps which content of a repository's `.ratchet/` this home trusts: by repository and SHA-256, as direnv does.

What a person trusted, and what this home wrote itself. A file changed by one byte is another content, and is asked
about anew. Neither an author's name nor a folder's place is a proof.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ratchet import files
from ratchet.errors import BackendError, UsageError
from ratchet.lessons.reviewed import TRUSTED
from ratchet.sandbox import git

FOLDER = ".ratchet"
_FILES = 1000  # in one `.ratchet/`
_FILE_BYTES = 16_000_000

By = Literal["person", "own"]


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


def is_trusted(home: Path, project: Path, name: str, content: bytes) -> bool:
    """Tell whether this home trusts this content of `.ratchet/NAME`. Raises BackendError."""
    return (repository_of(project), name, files.version_of(content)) in _held(home)


def remember(home: Path, project: Path, contents: Mapping[str, bytes], *, by: By) -> None:
    """Trust these contents (name below `.ratchet/` -> bytes) in this repository from now on. Raises BackendError."""
    repository, held = repository_of(project), _held(home)
    lines = ""
    for name, content in contents.items():
        sha256 = files.version_of(content)
        if (repository, name, sha256) not in held:
            row = {"repository": repository, "file": name, "sha256": sha256, "by": by, "at": time.time()}
            lines += f"\n{json.dumps(row)}\n"  # on a line of its own, also behind one that a crash cut
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(home / TRUSTED, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, lines.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise BackendError(f"{home / TRUSTED} cannot be written ({error.strerror}); nothing is trusted") from error


def contents(home: Path, project: Path) -> dict[str, bytes]:
    """Every file below the project's `.ratchet/`, by its name there; {} where that is this home itself.

    Raises UsageError when there are too many or too large ones, BackendError.
    """
    folder = project / FOLDER
    if is_home(home, project):
        return {}
    found: dict[str, bytes] = {}
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            if not path.is_file():
                continue
            if len(found) >= _FILES or path.stat().st_size > _FILE_BYTES:
                raise UsageError(f"{folder} holds more than anybody can look through ({path}); clear it up first")
            found[str(path.relative_to(folder))] = files.read(path) or b""
    return found


def is_home(home: Path, project: Path) -> bool:
    """Tell whether the project's `.ratchet/` is this home: what lies there is no repository's."""
    return (project / FOLDER).resolve() == home.resolve()


def _held(home: Path) -> set[tuple[str, str, str]]:
    try:
        content = (home / TRUSTED).read_bytes()
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise BackendError(f"{home / TRUSTED} cannot be read ({error.strerror}); check its permissions") from error
    found: set[tuple[str, str, str]] = set()
    for line in content.splitlines():
        try:
            row = json.loads(line)
            found.add((str(row["repository"]), str(row["file"]), str(row["sha256"])))
        except (ValueError, TypeError, KeyError):  # cut by a crash: that content is asked about again
            continue
    return found
