"""A worker's folder on its machine: versions by the id of their tree, working copies, cancels and answers."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ratchet.errors import BackendError
from ratchet.evolving.archive import Archive, Files


class WorkerRoom:
    """The folder at `place`; "" is one of this user's own among the system's temporary ones.

    Raises BackendError where that belongs to somebody else."""

    def __init__(self, place: str) -> None:
        self._folder = Path(place) if place else Path(tempfile.gettempdir(), f"ratchet-worker-{os.getuid()}")
        self._folder.mkdir(parents=bool(place), exist_ok=True, mode=0o711)
        found = self._folder.lstat()
        if self._folder.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o022:
            raise BackendError(f"{self._folder} is another user's: remove it, or set TMPDIR for the workers")
        self._archive = Archive(self._folder)

    def version(self, tree: str, files: Files | None) -> Path | None:
        """The folder of a tree, laid from its files where it is not there yet; None where they have to be sent.

        Raises BackendError where they are others than those of the tree."""
        held = self._folder / "versions" / tree
        if held.is_dir():
            return held
        if files is None:
            return None
        if self._archive.add(files) != tree:
            raise BackendError(f"a worker was sent other files than those of {tree}: run it anew")
        return self._archive.folder(tree)

    def part(self, name: str) -> Path:
        """A folder in it, made when first needed."""
        made = self._folder / name
        made.mkdir(exist_ok=True, mode=0o711)
        return made
