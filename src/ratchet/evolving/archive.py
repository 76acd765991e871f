"""Every version of an agent that a run proposed: its files as git objects, and folders of them to measure.

    objects/ab/REST   git objects, as git has them (`git --git-dir` can read them beside a HEAD)
    versions/TREE/    the files of a tree, read-only; made when first needed, checked by their hash

Only what a version is made of lies here; what is known of it are rows of the store.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from ratchet.errors import BackendError, NotFound
from ratchet.files import walk
from ratchet.healing.patches import LINK_MODE, carried_over
from ratchet.sandbox import gittree
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.command import FileChange

Files: TypeAlias = "dict[str, tuple[int, bytes]]"
"""Path -> mode as git has it (0o644, 0o755, 0o120000 for a link), content (a link's target)."""

_MODES = {b"100644": 0o644, b"100755": 0o755, b"120000": LINK_MODE}
_FOLDER_MODE = b"40000"


class Archive:
    """The versions of one run."""

    def __init__(self, folder: Path) -> None:
        self.objects = folder / "objects"
        self._versions = folder / "versions"

    def add(self, files: Files) -> str:
        """Keep a version's files; return the id of their tree."""
        return gittree.write_tree(self.objects, files)

    def files(self, tree: str) -> Files:
        """The files of a tree. Raises NotFound, BackendError for an object that is not what its name says."""
        return dict(self._walked(tree, ""))

    def _walked(self, tree: str, above: str) -> Iterator[tuple[str, tuple[int, bytes]]]:
        content = self._object(tree, b"tree")
        at = 0
        while at < len(content):
            end = content.index(b"\0", at)
            mode, _, name = content[at:end].partition(b" ")
            child = content[end + 1 : end + 21].hex()
            at = end + 21
            path = above + os.fsdecode(name)
            if mode == _FOLDER_MODE:
                yield from self._walked(child, f"{path}/")
            else:
                yield path, (_MODES[mode], self._object(child, b"blob"))

    def _object(self, id_: str, kind: bytes) -> bytes:
        try:
            whole = zlib.decompress((self.objects / id_[:2] / id_[2:]).read_bytes())
        except FileNotFoundError as error:
            raise NotFound(f"the archive holds no object {id_}: its folder {self.objects} was changed") from error
        except zlib.error as error:
            raise BackendError(
                f"object {id_} of the archive cannot be read: {error}; restore it from a copy"
            ) from error
        head, _, content = whole.partition(b"\0")
        if hashlib.sha1(whole, usedforsecurity=False).hexdigest() != id_ or not head.startswith(kind + b" "):
            raise BackendError(f"object {id_} of the archive is not what its name says; restore it from a copy")
        return content

    def amended(self, tree: str, changes: Iterable[FileChange]) -> str:
        """A tree with these changes made to it, whatever they were made against; its id."""
        files = self.files(tree)
        for change in changes:
            if change.after is None:
                files.pop(change.path, None)
            else:
                files[change.path] = (change.after_mode, change.after)
        return self.add(files)

    def changes(self, old: str, new: str) -> tuple[FileChange, ...]:
        """Compare two trees, by path."""
        return differences(self.files(old), self.files(new))

    def carried_over(self, old: str, new: str, onto: str) -> str | None:
        """The change from `old` to `new`, made to the tree `onto`; None where both changed the same lines."""
        present = self.files(onto)
        for change in self.changes(old, new):
            held = present.get(change.path)
            was = None if change.before is None else (change.before_mode, change.before)
            becomes = None if change.after is None else (change.after_mode, change.after)
            if held == becomes:
                continue
            if held != was:
                if held is None or was is None or becomes is None or LINK_MODE in (held[0], was[0], becomes[0]):
                    return None
                merged = carried_over(was[1], becomes[1], held[1])
                if merged is None:
                    return None
                becomes = (becomes[0] if becomes[0] != was[0] else held[0], merged)
            if becomes is None:
                present.pop(change.path)
            else:
                present[change.path] = becomes
        return self.add(present)

    # -- folders -------------------------------------------------------------------------------------------------------

    def folder(self, tree: str) -> Path:
        """A folder that holds a tree's files, to be read only."""
        place = self._versions / tree
        if not place.is_dir():
            self._versions.mkdir(parents=True, exist_ok=True, mode=0o711)
            fresh = self._versions / f".{secrets.token_hex(4)}"
            _laid(fresh, self.files(tree))
            try:
                fresh.rename(place)
            except OSError:
                remove_tree(fresh)
                if not place.is_dir():  # else another thread was first
                    raise
        return place

    def intact(self, tree: str) -> bool:
        """Tell whether the folder of a tree, where there is one, still holds just that."""
        place = self._versions / tree
        return not place.exists() or self.add(read_files(place)) == tree


def differences(old: Files, new: Files) -> tuple[FileChange, ...]:
    """Compare two sets of files, by path."""
    found = []
    for path in sorted({*old, *new}):
        was, now = old.get(path), new.get(path)
        if was != now:
            found.append(
                FileChange(
                    path=path,
                    before=was[1] if was else None,
                    after=now[1] if now else None,
                    before_mode=was[0] if was else 0,
                    after_mode=now[0] if now else 0,
                )
            )
    return tuple(found)


def read_files(folder: Path) -> Files:
    """All files and links in a folder, as they are."""
    found: Files = {}
    for above, folders, names in walk(folder):
        for full in (Path(above, name) for name in (*names, *folders)):
            status = full.lstat()
            path = str(full.relative_to(folder))
            if stat.S_ISLNK(status.st_mode):
                found[path] = (LINK_MODE, os.fsencode(full.readlink()))
            elif stat.S_ISREG(status.st_mode):
                found[path] = (0o755 if status.st_mode & 0o100 else 0o644, full.read_bytes())
    return found


def _laid(folder: Path, files: Files) -> None:
    folder.mkdir(mode=0o755)
    made = {folder}
    for path, (mode, content) in files.items():
        target = folder / path
        for above in reversed(target.relative_to(folder).parents):
            if folder / above not in made:
                (folder / above).mkdir(mode=0o755, exist_ok=True)
                made.add(folder / above)
        if mode == LINK_MODE:
            target.symlink_to(os.fsdecode(content))
        else:
            target.write_bytes(content)
            target.chmod(0o555 if mode == 0o755 else 0o444)
    for each in made:
        each.chmod(0o555)
