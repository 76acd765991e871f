"""Lays the files of a task into a folder: for the agent that works on them, and for the graders that judge it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ratchet.errors import Refused


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts by path below a folder; one that begins with `#!` can be run. Raises Refused for a path that leads
    out of it."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts or not pure.parts:
            raise Refused(f"{path!r} is no path within a task: give one relative to its folder, without '..'")
        target = folder / pure
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "surrogateescape"))
        if text.startswith("#!"):
            target.chmod(0o755)
