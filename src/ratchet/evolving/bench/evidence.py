"""Evidence that an agent kept to its own: what it must not change is hashed before and after, and what its output
shows of attempts is named. The sandbox makes them fail; this says so."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ratchet.evolving.job import Job

_MOST_NAMED = 8
_MOST_KNOWN = 20_000
_CHUNK = 1 << 20
_LOOKED_CHARS = 60_000
_DENIED = re.compile(
    r"(?:Read-only file system|Permission denied|Operation not permitted|No such file or directory|"
    r"Directory nonexistent|EROFS|EACCES|EPERM|ENOENT)",
)
_FORBIDDEN = ("Operation not permitted", "EPERM", "Permission denied", "EACCES")
_CLOCK = re.compile(r"set (?:the )?(?:date|time|clock)|clock_settime|settimeofday|adjtime|hwclock")
_MISSING = ("No such file or directory", "Directory nonexistent", "ENOENT")
_PATH = re.compile(r"(?<![\w.~-])/[^\s'\":,;()\[\]<>]{1,400}")
_SIGNS = tuple[int, int, int, int, int]

_lock = threading.Lock()
_known: dict[tuple[str, _SIGNS], bytes] = {}


def fingerprints(paths: Sequence[str]) -> dict[str, str]:
    """A hash of each file or folder with all that is in it: names, kinds, modes, contents. "" where there is none.

    A file is read again only if its size, times or number changed: the time of a change cannot be set by a program.
    """
    return {path: _of(path) for path in paths if path}


def differing(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Name what is no longer as it was."""
    return tuple(f"{path} changed while the agent ran" for path in before if before[path] != after.get(path, ""))


def tried(output: str, job: Job, guarded: Sequence[str], around: Sequence[str] = ()) -> tuple[str, ...]:
    """Find in an agent's output what it tried and was not let: to change its own folder, to reach what decides about it
    (`guarded`) or what else is Ratchet's (`around`), to write elsewhere, to set the clock."""
    found: dict[str, None] = {}
    places = dict.fromkeys(around, "Ratchet's own files")
    places = {job.version: "the agent's folder", **dict.fromkeys(guarded, "what decides about it"), **places}
    for line in output[-_LOOKED_CHARS:].split("\n"):
        denied = _DENIED.search(line)
        if denied is None:
            continue
        if denied.group() in _FORBIDDEN and _CLOCK.search(line):
            found[f"tried to set the clock: {denied.group()}"] = None
        for path in _PATH.findall(line):
            place = next((name for above, name in places.items() if above and _is_below(path, above)), "")
            missing = denied.group() in _MISSING
            if place and not (missing and place == "the agent's folder"):
                found[f"tried to reach {path} ({place}): {denied.group()}"] = None
            elif not place and denied.group() in ("Read-only file system", "EROFS"):
                found[f"tried to write {path}: {denied.group()}"] = None
    return tuple(found)[:_MOST_NAMED]


def _is_below(path: str, above: str) -> bool:
    return path == above or path.startswith(f"{above.rstrip('/')}/")


def _of(path: str) -> str:
    try:
        status = os.lstat(path)
    except OSError:
        return ""
    hashed = hashlib.sha256()
    for name, each in [("", status), *(_below(path) if stat.S_ISDIR(status.st_mode) else ())]:
        content = _content(f"{path}/{name}" if name else path, each)
        encoded = os.fsencode(name)
        hashed.update(b"%d:%s%o:%d:%s" % (len(encoded), encoded, each.st_mode, len(content), content))
    return hashed.hexdigest()


def _below(root: str) -> Iterator[tuple[str, os.stat_result]]:
    """All that is in a folder, by name; links are not followed."""
    pending = [""]
    while pending:
        above = pending.pop()
        with os.scandir(f"{root}/{above}") as found:
            inside = sorted(found, key=lambda entry: entry.name)
        for each in inside:
            name = f"{above}/{each.name}" if above else each.name
            yield name, each.stat(follow_symlinks=False)
            if each.is_dir(follow_symlinks=False):
                pending.append(name)


def _content(path: str, status: os.stat_result) -> bytes:
    if stat.S_ISLNK(status.st_mode):
        return os.fsencode(Path(path).readlink())
    if not stat.S_ISREG(status.st_mode):
        return b""
    signs = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    with _lock:
        held = _known.get((path, signs))
    if held is not None:
        return held
    hashed = hashlib.sha256()
    with Path(path).open("rb") as file:
        while part := file.read(_CHUNK):
            hashed.update(part)
    with _lock:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[path, signs] = hashed.digest()
    return hashed.digest()
