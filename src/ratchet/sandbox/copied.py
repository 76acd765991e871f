"""Workspaces where overlays are not to be had: plain files, and checkpoints as lists of contents kept once each.

    files/          what commands work on        contents/ab/REST  every content, by hash, never changed
    tokens/NAME     JSON: path -> [mode, hash]

A file is read again only if its size, times or number changed: the time of a change cannot be set by a program.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import TypeAlias

from ratchet.errors import NotFound, Refused
from ratchet.ports import Workspace
from ratchet.sandbox import copyin, gittree, layers
from ratchet.sandbox.beneath import entries, read_beneath, remove_tree
from ratchet.sandbox.command import FileChange, View
from ratchet.sandbox.environments import SETTINGS
from ratchet.sandbox.git import names_repository
from ratchet.sandbox.ignore import Ignore
from ratchet.sandbox.plan import sandbox_uid

_START = "start"
Manifest: TypeAlias = "dict[str, tuple[int, str]]"
"""Path -> mode as git has it, hash of the content (of a link: of its target)."""


class CopiedWorkspace:
    """A workspace (port `Workspace`) of plain files, for any sandbox."""

    def __init__(self, place: Path, project: Path) -> None:
        self._place = place
        self._project = project
        self._ignore = Ignore(project)
        self._seen: dict[str, tuple[tuple[int, ...], str]] = {}

    @classmethod
    def create(cls, project: Path, place: Path) -> CopiedWorkspace:
        """Copy a project in, to a place that does not exist yet. Raises Refused."""
        made = cls._empty(place, project.resolve())
        copyin.copy_in(project, place / "files", sandbox_uid())
        made.checkpoint(_START)
        return made

    @classmethod
    def _empty(cls, place: Path, project: Path) -> CopiedWorkspace:
        place.mkdir(parents=True, mode=0o711)
        for name in ("files", "contents", "tokens"):
            (place / name).mkdir(mode=0o755)
        (place / "project").write_text(str(project), encoding="utf-8", errors="surrogateescape")
        uid = sandbox_uid()
        if uid is not None:
            os.chown(place / "files", uid, uid)
        return cls(place, project)

    @classmethod
    def open(cls, place: Path) -> CopiedWorkspace:
        """A workspace that an earlier process made. Raises NotFound."""
        try:
            project = (place / "project").read_text(encoding="utf-8", errors="surrogateescape")
        except FileNotFoundError as error:
            raise NotFound(f"no workspace in {place}") from error
        return cls(place, Path(project))

    @property
    def id(self) -> str:
        return self._place.name

    def view(self) -> View:
        beside = copyin.shown_beside(self._project)
        return View(folder=self._place / "files", overlaid=beside, known_as=self._project)

    def checkpoint(self, name: str = "") -> str:
        token = name or secrets.token_hex(4)
        manifest = self._scanned(keep=True)
        fresh = self._place / "tokens" / f".{token}"
        fresh.write_text(json.dumps(manifest), encoding="utf-8")
        fresh.replace(self._place / "tokens" / token)
        return token

    def restore(self, token: str) -> None:
        wanted, found = self._marked(token), self._scanned(keep=False)
        self._remove_others(wanted)
        for path, (mode, content) in wanted.items():
            if found.get(path) != (mode, content):
                self._put(path, mode, content)

    def fork(self, token: str) -> CopiedWorkspace:
        wanted = self._marked(token)
        other = self._empty(self._place.with_name(f"{self.id}-{secrets.token_hex(3)}"), self._project)
        shutil.copytree(self._place / "contents", other._place / "contents", copy_function=os.link, dirs_exist_ok=True)
        for name in {token, _START}:
            shutil.copy(self._place / "tokens" / name, other._place / "tokens" / name)
        for path, (mode, content) in wanted.items():
            other._put(path, mode, content)
        return other

    def forks(self, token: str, count: int) -> list[Workspace]:
        made: list[Workspace] = []
        try:
            made.extend(self.fork(token) for _ in range(count))
        except BaseException:  # a part of them is of no use, and may be what fills the disk
            for each in made:
                each.close()
            raise
        return made

    def diff(self, since: str | None = None) -> list[FileChange]:
        before, after = self._marked(since or _START), self._scanned(keep=True)
        left_out = self._left_out(before, after)
        return [
            FileChange(
                path=path,
                before=self._content(before, path),
                after=self._content(after, path),
                before_mode=before[path][0] if path in before else 0,
                after_mode=after[path][0] if path in after else 0,
            )
            for path in sorted({*before, *after})
            if before.get(path) != after.get(path) and path not in left_out
        ]

    def read(self, path: str, *, limit_bytes: int = 1_048_576) -> bytes:
        try:
            return read_beneath(self._place / "files", path, limit_bytes)
        except FileNotFoundError as error:
            raise NotFound(f"no file {path!r} in workspace {self.id}") from error

    def write(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        if not path or any(part in ("", ".", "..") or names_repository(part) for part in path.split("/")):
            raise Refused(f"{path!r} is not a path within the workspace")
        if (self._place / "files" / path).is_dir():
            raise Refused(f"{path!r} is a folder")
        self._put(path, mode, self._keep(content))

    def export(self, objects: Path) -> str:
        manifest = self._scanned(keep=True)
        start = self._marked(_START)
        left_out = self._left_out(start, manifest)
        chosen = (path for path in manifest if path not in left_out)
        files = {path: (manifest[path][0], self._content(manifest, path) or b"") for path in chosen}
        return gittree.write_tree(objects, files)

    def close(self) -> None:
        remove_tree(self._place)

    def _left_out(self, before: Manifest, after: Manifest) -> set[str]:
        """Those that are no part of the project: the settings of an environment, and whatever is new and ignored."""
        never = {path for path in (*before, *after) if path.rpartition("/")[2] == SETTINGS}
        return never | self._ignore.among((path, False) for path in after if path not in before)

    def _scanned(self, *, keep: bool) -> Manifest:
        """Scan the files as they are now; `keep`: their contents are kept, too."""
        found: Manifest = {}
        root = os.open(self._place / "files", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for each in entries(root):
                path, status = os.fsdecode(each.path), each.status
                if any(map(names_repository, path.split("/"))) or not layers.is_file(status):
                    continue
                found[path] = (layers.git_mode(status), self._hashed(path, status, keep=keep))
        finally:
            os.close(root)
        return found

    def _hashed(self, path: str, status: os.stat_result, *, keep: bool) -> str:
        sign = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        seen = self._seen.get(path)
        if seen is not None and seen[0] == sign and (not keep or self._kept(seen[1]).exists()):
            return seen[1]
        found = layers.LayerEntry(self._place / "files", status)
        try:
            content = layers.content(found, path)
        except PermissionError:  # closed to its owner: it is the workspace's own, so it is opened
            os.chmod(self._place / "files" / path, stat.S_IMODE(status.st_mode) | 0o400)
            content = layers.content(found, path)
        hashed = self._keep(content) if keep else hashlib.sha256(content).hexdigest()
        self._seen[path] = (sign, hashed)
        return hashed

    def _kept(self, hashed: str) -> Path:
        return self._place / "contents" / hashed[:2] / hashed[2:]

    def _keep(self, content: bytes) -> str:
        hashed = hashlib.sha256(content).hexdigest()
        path = self._kept(hashed)
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            fresh = path.with_name(f".{secrets.token_hex(4)}")
            fresh.write_bytes(content)
            fresh.replace(path)
        return hashed

    def _content(self, manifest: Manifest, path: str) -> bytes | None:
        return self._kept(manifest[path][1]).read_bytes() if path in manifest else None

    def _marked(self, token: str) -> Manifest:
        file = self._place / "tokens" / token
        if not token.isalnum() or not file.is_file():
            raise NotFound(f"no checkpoint {token!r} in workspace {self.id}")
        held: dict[str, list[object]] = json.loads(file.read_text(encoding="utf-8"))
        return {path: (int(str(mode)), str(hashed)) for path, (mode, hashed) in held.items()}

    # -- files -----------------------------------------------------------------------------------------------------

    def _put(self, path: str, mode: int, hashed: str) -> None:
        """Make a path hold a content. A copy, never a second name: a program may write it in place."""
        target, uid = self._place / "files" / path, sandbox_uid()
        for above in reversed(target.relative_to(self._place / "files").parents):
            folder = self._place / "files" / above
            if folder.is_symlink() or not folder.is_dir():
                folder.unlink(missing_ok=True)
                folder.mkdir(mode=0o755)
                if uid is not None:
                    os.chown(folder, uid, uid)
        fresh = target.with_name(f".{secrets.token_hex(6)}")
        if mode == 0o120000:
            fresh.symlink_to(os.fsdecode(self._kept(hashed).read_bytes()))
        else:
            shutil.copyfile(self._kept(hashed), fresh)
            fresh.chmod(mode & 0o777)
        if uid is not None:
            os.chown(fresh, uid, uid, follow_symlinks=False)
        if target.is_dir() and not target.is_symlink():
            remove_tree(target)
        fresh.replace(target)

    def _remove_others(self, wanted: Manifest) -> None:
        """Take away what a state does not have: files, and folders that hold none of its files."""
        folders = {path[:at] for path in wanted for at, letter in enumerate(path) if letter == "/"}
        root = os.open(self._place / "files", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            doomed = [
                os.fsdecode(each.path)
                for each in entries(root)
                if os.fsdecode(each.path) not in (folders if stat.S_ISDIR(each.status.st_mode) else wanted)
            ]
        finally:
            os.close(root)
        for path in doomed:
            full = self._place / "files" / path
            if full.is_dir() and not full.is_symlink():
                remove_tree(full)
            elif os.path.lexists(full):
                full.unlink()
