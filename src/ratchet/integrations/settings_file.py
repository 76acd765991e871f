"""A settings file that belongs to a person and their agent: read whole, replaced whole, and kept from before us."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ratchet.errors import BackendError, Conflict, Refused

InstallScope = Literal["user", "project"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What was (or with `dry_run` would be) done to a settings file. `diff` is a unified diff, `backup` the file that
    keeps its content from before, "" where there was none."""

    path: str
    changed: bool
    diff: str
    backup: str = ""


class Kept:
    """What stood in a settings file before us, and what we left there: in HOME/backups, for `uninstall`."""

    def __init__(self, backup: Path, note: Path) -> None:
        self._backup, self._note = backup, note
        self.original: str | None = None
        self._left = ""
        self.is_known = False

    @classmethod
    def of(cls, home: Path, path: Path) -> Kept:
        name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:12]
        kept = cls(home / "backups" / f"settings-{name}.json", home / "backups" / f"settings-{name}.note")
        try:
            note = json.loads(kept._note.read_bytes())
            kept._left = str(note["left_sha256"])
            kept.original = kept._backup.read_bytes().decode("utf-8", "surrogateescape") if note["existed"] else None
            kept.is_known = True
        except FileNotFoundError:
            return kept
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BackendError(
                f"{kept._note} cannot be read ({error}); delete it: the hooks are then taken out one by one"
            ) from error
        return kept

    def is_as_left(self, text: str) -> bool:
        return self.is_known and _digest(text) == self._left

    def remember(self, original: str | None, left: str) -> None:
        try:
            self._backup.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if original is not None:
                _write(self._backup, original, 0o600)
            _write(self._note, json.dumps({"left_sha256": _digest(left), "existed": original is not None}), 0o600)
        except OSError as error:
            raise BackendError(f"no backup can be kept in {self._backup.parent} ({error}); nothing changed") from error
        self.original = original

    def forget(self) -> None:
        """The backup itself stays: it costs nothing and may be wanted."""
        self._note.unlink(missing_ok=True)

    def backup_if_any(self) -> str:
        return str(self._backup) if self.original is not None and self._backup.exists() else ""


def read(path: Path) -> str | None:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or a device may have no end
            raise Refused(
                f"{path} is no regular file; it is left as it is: put a file in its place, then install again"
            )
        # Surrogate escapes keep bytes that are no UTF-8 as they are; inside a string they are the person's matter.
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BackendError(
            f"{path} cannot be read ({error.strerror}); nothing changed: mend its permissions"
        ) from error


def replace(path: Path, before: str | None, after: str | None) -> None:
    """Write the file whole or not at all, following links and keeping its mode; None deletes it."""
    real = path.resolve()
    try:
        if read(real) != before:
            raise Conflict(f"{path} changed while it was being edited; nothing was written, run the command again")
        if after is None:
            real.unlink(missing_ok=True)
            return
        real.parent.mkdir(parents=True, exist_ok=True)
        _write(real, after, real.stat().st_mode & 0o7777 if before is not None else 0o600)
    except OSError as error:
        raise BackendError(
            f"{real} cannot be written ({error.strerror}); nothing changed: give write access to it and its folder"
        ) from error


def _write(path: Path, text: str, mode: int) -> None:
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        scratch.chmod(mode)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def diff(path: Path, before: str | None, after: str | None) -> str:
    lines = difflib.unified_diff(
        (before or "").splitlines(),
        (after or "").splitlines(),
        fromfile=str(path) if before is not None else "/dev/null",
        tofile=str(path) if after is not None else "/dev/null",
        lineterm="",
    )
    return "\n".join(lines)
