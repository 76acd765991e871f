"""Workspaces of overlay layers: a checkpoint is a new folder, a restore mounts without the later ones.

One place holds a base (the project as it was copied in), layers, and the workspaces that share them:

    base/           never changed        layers/ID/fs, layers/ID/work    one set of changes each
    spaces/ID       a workspace's layers, lowest first, the last one being written
    tokens/ID-NAME  the layers of one of its checkpoints

Layers below the last one are never changed, so workspaces share them, and a crash between two writes loses nothing.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ratchet.errors import NotFound, Refused
from ratchet.files import lock
from ratchet.ports import Workspace
from ratchet.sandbox import copyin, gittree, layers
from ratchet.sandbox.beneath import read_beneath, remove_tree
from ratchet.sandbox.command import FileChange, View
from ratchet.sandbox.environments import SETTINGS
from ratchet.sandbox.git import names_repository
from ratchet.sandbox.ignore import Ignore
from ratchet.sandbox.layers import Stack
from ratchet.sandbox.plan import sandbox_uid

START = "start"
MOST_LAYERS = 64
"""Measured: 64 layers mount, 200 do not."""
_MOUNT_OPTION_BYTES = 3_600  # a mount takes 4,096 bytes of options, in which every layer's path stands
_FORGOTTEN = 8  # unused layers that may lie about before they are cleared away


class LayeredWorkspace:
    """A workspace (port `Workspace`) for sandboxes that mount overlays."""

    def __init__(self, place: Path, id_: str, project: Path) -> None:
        self._place = place
        self._id = id_
        self._project = project
        self._ignore = Ignore(place / "base")
        self._beside = copyin.shown_beside(project)

    @classmethod
    def create(cls, project: Path, place: Path) -> LayeredWorkspace:
        """Copy a project in, to a place that does not exist yet. Raises Refused."""
        for name in ("base", "layers", "spaces", "tokens"):
            (place / name).mkdir(parents=True, mode=0o700)
        (place / "base").chmod(0o755)
        copyin.copy_in(project, place / "base", sandbox_uid())
        (place / "project").write_text(str(project.resolve()), encoding="utf-8", errors="surrogateescape")
        made = cls(place, secrets.token_hex(4), project.resolve())
        made._save([made._new_layer()])
        made._mark([], START)
        return made

    @classmethod
    def open(cls, place: Path, id_: str) -> LayeredWorkspace:
        """A workspace that an earlier process made. Raises NotFound."""
        if not (place / "spaces" / id_).is_file():
            raise NotFound(f"no workspace {id_} in {place}")
        project = (place / "project").read_text(encoding="utf-8", errors="surrogateescape")
        return cls(place, id_, Path(project))

    @property
    def id(self) -> str:
        return self._id

    def view(self) -> View:
        *below, top = self._load()
        folder = self._place / "layers" / top
        return View(
            folder=folder / "fs",
            layers=(self._place / "base", *map(self._layer, below)),
            scratch=folder / "work",
            overlaid=self._beside,
            known_as=self._project,
        )

    def checkpoint(self) -> str:
        with self._locked():
            held = self._load()
            if any(self._layer(held[-1]).iterdir()):
                held = self._flattened(held)
                self._save([*held, self._new_layer()])
            else:
                held = held[:-1]
            self._clear_away(_FORGOTTEN)
            return self._mark(held)

    def restore(self, token: str) -> None:
        with self._locked():
            self._save([*self._marked(token), self._new_layer()])

    def fork(self, token: str) -> LayeredWorkspace:
        return self._forked(token, 1)[0]

    def forks(self, token: str, count: int) -> list[Workspace]:
        return [*self._forked(token, count)]

    def _forked(self, token: str, count: int) -> list[LayeredWorkspace]:
        """A layer of its own for each, over layers that they share: no file is copied."""
        with self._locked():
            held = self._marked(token)
            made = [type(self)(self._place, secrets.token_hex(4), self._project) for _ in range(count)]
            for each in made:
                each._save([*held, each._new_layer()])
        return made

    def diff(self, since: str | None = None) -> list[FileChange]:
        old, new = self._marked(since or START), self._load()
        before = Stack(self._place / "base", tuple(map(self._layer, old)), live=False)
        after = Stack(self._place / "base", tuple(map(self._layer, new)), live=True)
        shared = 0
        while shared < len(old) and old[shared] == new[shared]:
            shared += 1
        names: set[str] = set()
        for path in before.touched(shared) | after.touched(shared):
            names.add(path)
            for stack, other in ((before, after), (after, before)):
                if other.replaces_folder(path, shared):
                    names.update(stack.files_below(path))
        names -= self._left_out(names, {path for path in names if before.file(path) is None})
        return [each for path in sorted(names) if (each := self._change(path, before, after)) is not None]

    def read(self, path: str, *, limit_bytes: int = 1_048_576) -> bytes:
        found = self._now().find(path)
        if found is None:
            raise NotFound(f"no file {path!r} in workspace {self._id}")
        return read_beneath(found.layer, path, limit_bytes)

    def write(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        uid = sandbox_uid()
        parts = path.split("/")
        if not path or any(part in ("", ".", "..") or names_repository(part) for part in parts):
            raise Refused(f"{path!r} is not a path within the workspace")
        now, top = self._now(), self._layer(self._load()[-1])
        for depth in range(1, len(parts)):
            self._make_folder(now, top, "/".join(parts[:depth]), uid)
        found = now.find(path)
        if found is not None and found.is_folder:
            raise Refused(f"{path!r} is a folder")
        target = top / path
        fresh = target.with_name(f"{target.name[:40]}.{secrets.token_hex(4)}")  # a name may be as long as a name can be
        fresh.write_bytes(content)
        fresh.chmod(mode & 0o777)
        if uid is not None:
            os.chown(fresh, uid, uid)
        fresh.replace(target)  # in one step, whatever stood there: a file, a link, or the mark of a removed one

    def export(self, objects: Path) -> str:
        now = self._now()
        found = {path: held for path in now.files_below("") if (held := now.find(path)) is not None}
        left_out = self._left_out(found, {path for path, held in found.items() if held.layer != now.base})
        files = {
            path: (layers.git_mode(held.status), layers.content(held, path))
            for path, held in found.items()
            if path not in left_out
        }
        return gittree.write_tree(objects, files)

    def close(self) -> None:
        with self._locked():
            for token in (self._place / "tokens").glob(f"{self._id}-*"):
                token.unlink()
            (self._place / "spaces" / self._id).unlink(missing_ok=True)
            last = not any((self._place / "spaces").iterdir())
            if not last:
                self._clear_away(0)
        if last:
            remove_tree(self._place)

    # -- layers ----------------------------------------------------------------------------------------------------

    def _layer(self, id_: str) -> Path:
        return self._place / "layers" / id_ / "fs"

    def _new_layer(self) -> str:
        id_, uid = secrets.token_hex(3), sandbox_uid()
        folder = self._place / "layers" / id_
        folder.mkdir(mode=0o700)
        for name in ("fs", "work"):
            (folder / name).mkdir(mode=0o755)
        if uid is not None:
            for each in (folder, folder / "fs", folder / "work"):
                os.chown(each, uid, uid)
        return id_

    def _flattened(self, held: list[str]) -> list[str]:
        """The same layers, folded into one where there would be too many to mount."""
        path_bytes = len(str(self._layer(held[0]))) + len(":/oldroot")
        if len(held) + 2 <= min(MOST_LAYERS, _MOUNT_OPTION_BYTES // path_bytes):
            return held
        id_ = self._new_layer()
        layers.merged(tuple(map(self._layer, held)), self._layer(id_))
        return [id_]

    def _clear_away(self, allowed: int) -> None:
        """Remove layers that no workspace and no checkpoint names, once there are more than `allowed`."""
        named = {id_ for kind in ("spaces", "tokens") for file in (self._place / kind).iterdir() for id_ in _ids(file)}
        unnamed = [each for each in (self._place / "layers").iterdir() if each.name not in named]
        if len(unnamed) > allowed:
            for each in unnamed:
                remove_tree(each)

    def _now(self) -> Stack:
        return Stack(self._place / "base", tuple(map(self._layer, self._load())), live=True)

    def _change(self, path: str, before: Stack, after: Stack) -> FileChange | None:
        old, new = before.file(path), after.file(path)
        was, was_mode = (None, 0) if old is None else (layers.content(old, path), layers.git_mode(old.status))
        now, now_mode = (None, 0) if new is None else (layers.content(new, path), layers.git_mode(new.status))
        if (was, was_mode) == (now, now_mode):
            return None
        return FileChange(path=path, before=was, after=now, before_mode=was_mode, after_mode=now_mode)

    def _left_out(self, paths: Iterable[str], new: Collection[str]) -> set[str]:
        """Those that are no part of the project: repositories, environments, and whatever is new and ignored."""
        never = {
            path
            for path in paths
            if (parts := path.split("/"))[0] in self._beside
            or parts[-1] == SETTINGS
            or any(map(names_repository, parts))
        }
        return never | self._ignore.among((path, False) for path in new)

    def _make_folder(self, now: Stack, top: Path, path: str, uid: int | None) -> None:
        found = now.find(path)
        if found is not None and not found.is_folder:
            raise Refused(f"{path!r} is not a folder")
        folder = top / path
        if folder.is_dir() and not folder.is_symlink():
            return
        was_removed = os.path.lexists(folder)
        if was_removed:
            folder.unlink()
        folder.mkdir(mode=0o755)
        if was_removed:
            layers.make_opaque(folder)
        if found is not None:
            folder.chmod(found.status.st_mode & 0o777)
        if uid is not None:
            os.chown(folder, uid, uid)

    # -- what is written down --------------------------------------------------------------------------------------

    def _load(self) -> list[str]:
        return _ids(self._place / "spaces" / self._id)

    def _save(self, held: list[str]) -> None:
        _write(self._place / "spaces" / self._id, held)

    def _mark(self, held: list[str], name: str = "") -> str:
        token = name or secrets.token_hex(4)
        _write(self._place / "tokens" / f"{self._id}-{token}", held)
        return token

    def _marked(self, token: str) -> list[str]:
        if token == START:
            return []
        if not token.isalnum():
            raise NotFound(f"no checkpoint {token!r}")
        found = next((self._place / "tokens").glob(f"*-{token}"), None)
        if found is None:
            raise NotFound(f"no checkpoint {token} in workspace {self._id}")
        return _ids(found)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Workspaces of one place may be used by several processes; a layer is made before it is named."""
        opened = os.open(self._place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            lock(opened, wait=True)
            yield
        finally:
            os.close(opened)


def _ids(file: Path) -> list[str]:
    return file.read_text(encoding="ascii").split()


def _write(file: Path, ids: list[str]) -> None:
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    fresh.write_text(" ".join(ids), encoding="ascii")
    fresh.replace(file)
