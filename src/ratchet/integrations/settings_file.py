"""A settings file that belongs to a person and their agent: read whole, replaced whole, and kept from before us."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ratchet import files
from ratchet.errors import BackendError, Refused
from ratchet.improving.targets import json_text
from ratchet.records import Json

InstallScope = Literal["user", "project"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """Change that was (or with `dry_run` would be) made to a settings file. `diff` is a unified diff, `entries` names
    what of the file changes, `backup` is the file that keeps its content from before, "" where there was none;
    `refused` says why a file was left as it is, "" where it was not."""

    path: str
    changed: bool
    diff: str
    entries: tuple[str, ...] = ()
    backup: str = ""
    refused: str = ""

    @classmethod
    def of(cls, path: Path, before: str | None, after: str | None, *, backup: str = "") -> Installed:
        lines = diff(path, before, after)
        named = _entries(before, after, lines)
        return cls(path=str(path), changed=before != after, diff=lines, entries=named, backup=backup)


class KeptOriginal:
    """Content of a settings file before us, as we left it, and the folders that were made for it: in HOME/backups, for
    `uninstall`."""

    def __init__(self, backup: Path, note: Path) -> None:
        self._backup, self._note = backup, note
        self.original: str | None = None
        self._left = ""
        self._made: list[str] = []  # the innermost first
        self.is_known = False

    @classmethod
    def of(cls, home: Path, path: Path) -> KeptOriginal:
        name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:12]
        kept = cls(home / "backups" / f"settings-{name}.json", home / "backups" / f"settings-{name}.note")
        kept._made = [str(each) for each in path.resolve().parents if not each.exists()]
        try:
            note = json.loads(kept._note.read_bytes())
            kept._made = kept._made or [str(each) for each in note.get("made", ())]
            kept._left = str(note["left_sha256"])
            kept.original = files.text_of(kept._backup.read_bytes()) if note["existed"] else None
            kept.is_known = True
        except FileNotFoundError:
            return kept
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BackendError(
                f"{kept._note} cannot be read ({error}); delete it: the hooks are then taken out one by one"
            ) from error
        return kept

    def is_as_left(self, text: str) -> bool:
        return self.is_known and files.version_of(files.bytes_of(text)) == self._left

    def remember(self, original: str | None, left: str) -> None:
        try:
            self._backup.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if original is not None:
                files.replace(self._backup, files.bytes_of(original), mode=0o600)
            sha256 = files.version_of(files.bytes_of(left))
            note = {"left_sha256": sha256, "existed": original is not None, "made": self._made}
            files.replace(self._note, json.dumps(note).encode(), mode=0o600)
        except OSError as error:
            raise BackendError(f"no backup can be kept in {self._backup.parent} ({error}); nothing changed") from error
        self.original = original

    def forget(self) -> None:
        """The backup itself stays: it costs nothing and may be wanted."""
        self._note.unlink(missing_ok=True)

    def remove_folders(self) -> None:
        """Remove the folders that were made for the file, as far as nothing else is in them."""
        with suppress(OSError):
            for each in self._made:
                Path(each).rmdir()

    def backup_if_any(self) -> str:
        return str(self._backup) if self.original is not None and self._backup.exists() else ""


def read(path: Path) -> str | None:
    """The text of a file; bytes that are no UTF-8 stay as they are: inside a string they are the person's matter."""
    content = files.read(path)
    return None if content is None else files.text_of(content)


def replace(path: Path, before: str | None, after: str | None, *, mode: int = 0o600) -> None:
    """Write the file whole or not at all, following links and keeping its mode; None deletes it."""
    real = path.resolve()
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BackendError(f"{real.parent} cannot be made ({error.strerror}); give write access above it") from error
    old, new = (None if text is None else files.bytes_of(text) for text in (before, after))
    files.swap(real, files.version_of(old), new, mode=mode if before is None else None)


_TABLE = r"(?m)^[+-]\[{1,2}([\w.\"-]{1,80})\]"


def _entries(before: str | None, after: str | None, changed: str) -> tuple[str, ...]:
    """Name the keys of a JSON file whose values differ, and the keys below them; else the tables of a `changed`."""
    try:
        old, new = (json_text.parsed(text or "") for text in (before, after))
    except Refused:
        return tuple(dict.fromkeys(re.findall(_TABLE, changed)))
    return tuple(dict.fromkeys(name for key in _differing(old, new) for name in (key, *_below(old, new, key))))


def _below(old: Json, new: Json, key: str) -> list[str]:
    return _differing(*(held.get(key) if isinstance(held, dict) else None for held in (old, new)))


def _differing(old: Json, new: Json) -> list[str]:
    one, other = (held if isinstance(held, dict) else {} for held in (old, new))
    return [key for key in {**one, **other} if one.get(key) != other.get(key)]


def named(path: Path) -> str:
    """Name a settings file, and the one that is written in its place where it, or its folder, is a link."""
    linked = path.is_symlink() or path.parent.is_symlink()
    return f"{path} (a link to {path.resolve()})" if linked else str(path)


def diff(path: Path, before: str | None, after: str | None) -> str:
    lines = difflib.unified_diff(
        (before or "").splitlines(),
        (after or "").splitlines(),
        fromfile=named(path) if before is not None else "/dev/null",
        tofile=named(path) if after is not None else "/dev/null",
        lineterm="",
    )
    return "\n".join(lines)
