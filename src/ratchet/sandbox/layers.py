"""Reads a stack of overlay layers as one tree, on the host, without mounting it.

A layer says what differs from those below: a character device 0/0 takes a name away, a folder marked opaque hides what
lies below it (kernel: Documentation/filesystems/overlayfs.rst). Frozen layers are looked through once.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ratchet.sandbox.beneath import entries

_OPAQUE = "user.overlay.opaque"
_ONE_READ = 1 << 20
_KEPT_INDEXES = 256


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """One name in a layer: its layer's folder, and its status there. `gone`: the layer takes it away."""

    layer: Path
    status: os.stat_result
    gone: bool = False
    opaque: bool = False

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


Index = dict[str, LayerEntry]


@lru_cache(maxsize=_KEPT_INDEXES)
def frozen_index(layer: Path) -> Index:
    """Index a layer that nobody changes any more, by path."""
    return index(layer)


def index(layer: Path) -> Index:
    """Index what a layer holds now, by path."""
    found: Index = {}
    root = os.open(layer, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for each in entries(root):
            path = os.fsdecode(each.path)
            status = each.status
            gone = stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
            opaque = stat.S_ISDIR(status.st_mode) and _is_opaque(layer / path)
            found[path] = LayerEntry(layer, status, gone, opaque)
    finally:
        os.close(root)
    return found


def _is_opaque(folder: Path) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


class Stack:
    """A base and layers above it (lowest first), read as one tree. `live`: the last layer may still change."""

    def __init__(self, base: Path, layers: tuple[Path, ...], *, live: bool) -> None:
        self.base = base
        self.layers = layers
        self._prefix = f"{base}/"
        self._base_folders: dict[str, bool] = {"": True}
        self._indexes = [frozen_index(each) for each in (layers[:-1] if live else layers)]
        if live:
            self._indexes.append(index(layers[-1]))

    def find(self, path: str) -> LayerEntry | None:
        """Find where a path comes from, None where the tree does not have it."""
        above = list(_above(path))
        for held in reversed(self._indexes):
            hidden = False
            for folder in above:
                found = held.get(folder)
                if found is not None:
                    if not found.is_folder:
                        return None
                    hidden = hidden or found.opaque
            found = held.get(path)
            if found is not None:
                return None if found.gone else found
            if hidden:
                return None
        if above and not self._is_base_folder(above[-1]):
            return None
        try:
            return LayerEntry(self.base, os.lstat(self._prefix + path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _is_base_folder(self, path: str) -> bool:
        """Tell whether the base, which never changes, has a folder there, and no link on the way."""
        known = self._base_folders.get(path)
        if known is None:
            known = self._is_base_folder(path.rpartition("/")[0])
            if known:
                try:
                    known = stat.S_ISDIR(os.lstat(self._prefix + path).st_mode)
                except FileNotFoundError:
                    known = False
            self._base_folders[path] = known
        return known

    def file(self, path: str) -> LayerEntry | None:
        """The same, for plain files and links only."""
        found = self.find(path)
        return found if found is not None and is_file(found.status) else None

    def touched(self, first: int) -> set[str]:
        """Paths that the layers from `first` on speak about."""
        return {path for held in self._indexes[first:] for path in held}

    def replaces_folder(self, path: str, first: int) -> bool:
        """Tell whether one of those layers hides what lies below a path."""
        found = [held[path] for held in self._indexes[first:] if path in held]
        return any(each.opaque or not each.is_folder for each in found)

    def files_below(self, path: str) -> Iterator[str]:
        """Every file and link at or below a path ("" for all), in the tree as it is."""
        prefix = f"{path}/" if path else ""
        names = {each for held in self._indexes for each in held if each.startswith(prefix) or each == path}
        names.update(_base_files(self.base, path))
        for name in sorted(names):
            found = self.find(name)
            if found is not None and is_file(found.status):
                yield name


def _base_files(base: Path, path: str) -> Iterator[str]:
    start = base / path
    if start.is_symlink() or not start.is_dir():
        yield path
        return
    root = os.open(start, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for each in entries(root):
            name = os.fsdecode(each.path)
            yield f"{path}/{name}" if path else name
    finally:
        os.close(root)


def _above(path: str) -> Iterator[str]:
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def content(found: LayerEntry, path: str) -> bytes:
    """A file's content, or a link's target."""
    full = f"{found.layer}/{path}"
    if stat.S_ISLNK(found.status.st_mode):
        return os.fsencode(os.readlink(full))
    opened = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(opened, found.status.st_size + 1) if found.status.st_size < _ONE_READ else _whole(opened)
    finally:
        os.close(opened)


def _whole(opened: int) -> bytes:
    return b"".join(iter(lambda: os.read(opened, _ONE_READ), b""))


def git_mode(status: os.stat_result) -> int:
    """A file's mode as git has it."""
    if stat.S_ISLNK(status.st_mode):
        return 0o120000
    return 0o755 if status.st_mode & 0o100 else 0o644


def merged(layers: tuple[Path, ...], target: Path) -> None:
    """Fold frozen layers (lowest first) into one empty folder that says the same to what lies below them.

    Files are linked, not copied: a frozen layer is never written in place, an overlay copies before it changes.
    """
    root = str(target)
    for layer in layers:
        held = frozen_index(layer)
        for path in sorted(held):  # folders before what is in them
            found, full = held[path], os.path.join(root, path)
            if found.is_folder:
                _merge_folder(os.path.join(layer, path), full, found)
            else:
                _removed(full)
                os.link(os.path.join(layer, path), full, follow_symlinks=False)


def _merge_folder(source: str, full: str, found: LayerEntry) -> None:
    hides = found.opaque or (os.path.lexists(full) and not os.path.isdir(full))
    if hides:
        _removed(full)
    if os.path.islink(full) or not os.path.isdir(full):
        os.mkdir(full)
    if hides:
        os.setxattr(full, _OPAQUE, b"y")
    os.chmod(full, stat.S_IMODE(found.status.st_mode) | 0o700)
    os.chown(full, found.status.st_uid, found.status.st_gid)
    del source


def _removed(path: str) -> None:
    from ratchet.sandbox.beneath import remove_tree

    if os.path.isdir(path) and not os.path.islink(path):
        remove_tree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def make_opaque(folder: Path) -> None:
    """Let nothing below shine through a folder of a layer."""
    os.setxattr(folder, _OPAQUE, b"y")


def is_file(status: os.stat_result) -> bool:
    """A plain file or a link: what a change can speak of."""
    return stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
