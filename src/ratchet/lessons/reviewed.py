"""Notices that a repository's own lessons, or what is trusted, changed since they were last read. Lean: hooks import
this."""

from __future__ import annotations

import os
from stat import S_ISDIR

from ratchet.ids import hex_of

_PLACES = (os.path.join(".ratchet", "lessons"), os.path.join(".ratchet", "lessons.jsonl"))
_MOST = 1000  # files that are looked at; with more of them none is read
TRUSTED = "trusted.jsonl"
"""Where a home keeps what it trusts (`lessons.trust`)."""


def is_there(project: str) -> bool:
    """Tell whether a repository has lessons of its own."""
    return any(os.path.lexists(os.path.join(project, place)) for place in _PLACES)


def changed(home: str, project: str) -> bool:
    """Tell whether the project's files are others than those that `note` was last told of; False where there are
    none."""
    return _state(home, project) not in ("", _noted(home, project))


def note(home: str, project: str) -> None:
    """Remember the files as they are now, before they are read: one that changes meanwhile is then read again.

    Raises OSError.
    """
    path = _note_path(home, project)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, _state(home, project).encode())
    finally:
        os.close(descriptor)


def _state(home: str, project: str) -> str:
    """The files and what is trusted, as they are now; "" without a file. A change time cannot be set by anybody."""
    found = [held for place in _PLACES for held in _held(os.path.join(project, place))]
    if not found:
        return ""
    try:
        trusted = os.stat(os.path.join(home, TRUSTED)).st_size  # it only grows
    except OSError:
        trusted = 0
    newest = max(held.st_ctime_ns for held in found)
    summed = sum(held.st_mtime_ns + held.st_size for held in found)
    return f"{len(found)} {newest} {summed} {trusted}"


def _held(place: str) -> list[os.stat_result]:
    """A file, or a folder and each file in it, as they are now, through no link; [] where there is none."""
    found: list[os.stat_result] = []
    try:
        found.append(os.lstat(place))
        if S_ISDIR(found[0].st_mode):
            with os.scandir(place) as entries:
                for entry in entries:
                    found.append(entry.stat(follow_symlinks=False))
                    if len(found) > _MOST:
                        break
    except (OSError, ValueError):  # taken away meanwhile: what is left is another state
        pass
    return found


def _noted(home: str, project: str) -> str:
    try:
        descriptor = os.open(_note_path(home, project), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 100).decode("ascii", "replace")
    finally:
        os.close(descriptor)


def _note_path(home: str, project: str) -> str:
    return os.path.join(home, "hook", "reviewed", hex_of(project)[:24])
