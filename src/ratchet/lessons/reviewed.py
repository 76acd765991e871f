"""Notices that a repository's own lessons, or what is trusted, changed since they were last read. Lean: hooks import
this."""

from __future__ import annotations

import os

from ratchet.ids import hex_of

FILE = os.path.join(".ratchet", "lessons.jsonl")
TRUSTED = "trusted.jsonl"
"""Where a home keeps what it trusts (`lessons.trust`)."""


def changed(home: str, project: str) -> bool:
    """Tell whether the project's file is another than the one that `note` was last told of; False where there is
    none."""
    return _state(home, project) not in ("", _noted(home, project))


def note(home: str, project: str) -> None:
    """Remember the file as it is now, before it is read: one that changes meanwhile is then read again.

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
    """The file and what is trusted, as they are now; "" without the file. A change time cannot be set by anybody."""
    try:
        held = os.stat(os.path.join(project, FILE))
    except (OSError, ValueError):
        return ""
    try:
        trusted = os.stat(os.path.join(home, TRUSTED)).st_size  # it only grows
    except OSError:
        trusted = 0
    return f"{held.st_mtime_ns} {held.st_ctime_ns} {held.st_size} {trusted}"


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
