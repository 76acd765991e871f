"""Land a healed function: a patch for people, or its file, by compare-and-swap."""

from __future__ import annotations

from pathlib import Path

from ratchet import files
from ratchet.errors import Conflict, Refused
from ratchet.healing.landing import patch
from ratchet.healing.patches import carried_over
from ratchet.sandbox.command import FileChange

_TRIES = 5  # other processes and editors that write meanwhile


def write_patch(folder: Path, path: str, before: bytes, after: bytes, name: str) -> Path:
    """Write the change as a patch for `git apply -p1` in the project's folder; return its file."""
    place = folder / ".ratchet" / "patches"
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"{name}.patch"
    change = FileChange(path=path, before=before, after=after, before_mode=0o644, after_mode=0o644)
    patch.write(file, [change])
    return file


def write_file(file: Path, before: bytes, after: bytes) -> bytes:
    """Bring the change into the file as it is now; return what it holds then. What somebody else changed elsewhere in
    it stays. Raises Refused where the same lines were changed, and Conflict: nothing was written then."""
    for _ in range(_TRIES):
        present = files.read(file)
        held = present or b""
        merged = carried_over(before, after, held)
        if merged is None:
            raise Refused(f"{file} was edited meanwhile where the patch would go; it is left alone")
        if merged == held:  # another process arrived at the same
            return held
        try:
            files.swap(file, files.version_of(present), merged)
        except Conflict:
            continue
        return merged
    raise Conflict(f"{file} is being changed all the time; nothing was written")
