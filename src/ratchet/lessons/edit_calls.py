"""Reads what an edit was asked for, by any client's tool, and the file that it names. Lean: hooks import this."""

from __future__ import annotations

import os
import stat

from ratchet.failures.tool_call import FILE_KEYS, NEW_KEYS, OLD_KEYS, PATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ratchet.records import Json

FILE_BYTES = 500_000  # a larger file costs a hook more than it has
_OF_FILES = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** End Patch")
_ALL = ("replace_all", "replaceAll", "allow_multiple")


class AskedEdit:
    """One text of a file that a call wants replaced; `every` says that all places are meant. A `hunk` of a patch may
    stand in several, the first of which is meant, and with other white space."""

    __slots__ = ("every", "hunk", "new", "old", "path")

    def __init__(self, path: str, old: str, new: str, *, every: bool = False, hunk: bool = False) -> None:
        self.path, self.old, self.new, self.every, self.hunk = path, old, new, every, hunk

    def applied(self, text: str) -> str | None:
        """The text with the edit in it; None where it does not fit."""
        count = text.count(self.old)
        if count == 1 or (count and (self.every or self.hunk)):
            return text.replace(self.old, self.new, -1 if self.every else 1)
        return text if self.hunk and bare(self.old) in bare(text) else None


def edits_of(given: Json) -> list[AskedEdit]:
    """The edits that a tool was asked for, in order, by the fields that edit tools have or as a patch; [] of another
    call."""
    row = given if isinstance(given, dict) else {}
    path, listed = _first(row, FILE_KEYS), row.get("edits")
    found = [each for each in (row, *(listed if isinstance(listed, list) else ())) if isinstance(each, dict)]
    made = [
        AskedEdit(
            _first(each, FILE_KEYS) or path,
            old,
            _first(each, NEW_KEYS),
            every=any(each.get(name) is True for name in _ALL),
        )
        for each in found
        if (old := _first(each, OLD_KEYS))
    ]
    return [each for each in made if each.path] if made else [*_hunks(_patch_in(given))]


def bare(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


def _first(row: dict[str, Json], names: Sequence[str]) -> str:
    return next((value for name in names if isinstance(value := row.get(name), str) and value), "")


def _patch_in(given: Json) -> str:
    """The patch that a call is, or holds as a field or as a word of a command; "" for none."""
    held = [*given.values()] if isinstance(given, dict) else [given]
    words = [word for each in held for word in (each if isinstance(each, list) else [each])]
    return next((word[word.index(PATCH) :] for word in words if isinstance(word, str) and PATCH in word), "")


def _hunks(patch: str) -> Iterator[AskedEdit]:
    """The hunks of a patch that change a file."""
    path = ""
    old: list[str] = []
    new: list[str] = []
    for line in [*patch.split("\n"), "*** End Patch"]:
        sign = line[:1]
        if line.startswith(("*** ", "@@")):
            if path and old:
                yield AskedEdit(path, "\n".join(old), "\n".join(new), hunk=True)
            old, new = [], []
            if line.startswith(_OF_FILES):
                path = line.partition("*** Update File: ")[2].strip()
        elif path:
            if sign != "+":
                old.append(line[1:])
            if sign != "-":
                new.append(line[1:])


def text_of(path: str, project: str) -> str | None:
    """The text of a file of a project; None where there is none that may be read."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        top = _top(os.path.realpath(project)) if os.path.isabs(project) else ""
        whole = os.path.realpath(os.path.join(project, path))
        if not top.strip("/") or not whole.startswith(f"{top}/"):
            return None
        descriptor = os.open(whole, flags)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_BYTES:
            return None
        data = os.read(descriptor, FILE_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None if b"\0" in data else data.decode("utf-8", "replace").replace("\r\n", "\n")


def _top(folder: str) -> str:
    """The folder that a worktree begins in, else the folder itself."""
    here = folder
    while here != os.path.dirname(here):
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        here = os.path.dirname(here)
    return folder
