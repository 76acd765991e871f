"""Finds the histories below the paths that a person names, and those that grew since they were read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ratchet.errors import BackendError, UsageError
from ratchet.files import walk
from ratchet.ports import Source, Store
from ratchet.recording.sources import claimant_of
from ratchet.recording.sources.databases import NAME as DATABASE
from ratchet.recording.sources.databases import holds_sessions
from ratchet.recording.sources.event_folder import events_in, is_event_folder
from ratchet.recording.sources.jsonl import NAME as LINES
from ratchet.recording.sources.lines import peek
from ratchet.recording.sources.textlog import NAME as LOG
from ratchet.records import Quarantined, whole_in

# Trees of other people's files: nobody keeps a history there, and they are large.
_PASSED_BY = frozenset(
    (".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".processed", ".rejected")
)
# A file so named was meant as a history: when nothing reads it, that is an error and not a file beside the others.
_MEANT = (".jsonl", ".ndjson", ".traj", ".log", ".jsonl.gz", ".jsonl.zst", ".log.gz")
# Prose and source code quote tracebacks without being logs.
_QUOTING = (".md", ".rst", ".adoc", ".html", ".py", ".js", ".ts", ".go", ".rs", ".java", ".rb", ".csv", ".tsv", ".json")


@dataclass(slots=True)
class FoundFiles:
    """Files and folders of events to read, in a stable order; what was left aside or could not be read, and why."""

    files: list[str] = field(default_factory=list)
    skipped: list[Quarantined] = field(default_factory=list)
    quarantined: list[Quarantined] = field(default_factory=list)


def grown(store: Store, folder: str) -> list[str]:
    """The histories below a folder whose size is another than what was read of them, the latest first. Only those are
    opened: a folder of years is looked at in moments."""
    if not folder or not Path(folder).is_dir():
        return []
    stood = {str(row["path"]): whole_in(row, "offset") for row in store.find("cursors").rows}
    changed: dict[str, float] = {}
    for path in _walked(str(Path(folder))):
        try:
            about = os.stat(path)  # noqa: PTH116  (thousands of them)
        except OSError:  # deleted meanwhile, or a link to nowhere
            continue
        if stat.S_ISREG(about.st_mode) and stood.get(path) != about.st_size:
            changed[path] = about.st_mtime
    found = FoundFiles()
    for name in sorted(changed, key=lambda name: -changed[name]):
        _sort_in(name, (), found, own=True)
    return found.files


def _walked(top: str) -> Iterator[str]:
    """The files below a home. Its links are a person's own: a folder may lie on another disk; one that was met is not
    gone into again."""
    met: set[str] = set()
    for folder, folders, names in walk(top, links=True):
        real = os.path.realpath(folder)
        if real in met:
            folders.clear()
            continue
        met.add(real)
        yield from (f"{folder}/{name}" for name in names)


def find(paths: Sequence[str], plugins: Iterable[Source] = (), *, own: bool = False) -> FoundFiles:
    """The histories below `paths`. A file that is named itself is always among them; below a folder, what is clearly
    no history (empty, binary, prose, settings) is left aside, and a link that leads out of all that is named is told of
    and not followed. With `own` they are homes of agents: their links are a person's own, and what nobody but the
    readers of any log and of any JSON would take is left aside, too.

    Raises UsageError for a path that does not exist.
    """
    asked = tuple(plugins)
    found = FoundFiles()
    met: set[tuple[int, int]] = set()
    named = () if own else tuple(os.path.realpath(path) for path in paths)
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError(f"no such file or folder: {path}")
        if Path(path).is_dir():
            _below(path, asked, met, found, named)
        elif _is_new(path, met, found):
            if Path(path).is_file():
                found.files.append(path)
            else:  # a pipe or a device may have no end
                found.quarantined.append(Quarantined(path=path, line=0, reason="a pipe or a device, no file"))
    return found


def _is_new(path: str, met: set[tuple[int, int]], found: FoundFiles) -> bool:
    """Tell whether a file or folder has not been met under another name (links may form a circle)."""
    try:
        about = Path(path).stat()
    except OSError as error:
        reason = "a link to what is not there" if Path(path).is_symlink() else _why(error)
        found.quarantined.append(Quarantined(path=path, line=0, reason=reason))
        return False
    key = (about.st_dev, about.st_ino)
    new = key not in met
    met.add(key)
    return new


def _below(
    top: str, plugins: tuple[Source, ...], met: set[tuple[int, int]], found: FoundFiles, named: tuple[str, ...]
) -> None:
    """Find what lies below a folder; links lead to what is `named`, or, where nothing is, anywhere."""
    folders = [top]
    while folders:
        folder = folders.pop()
        if not _is_new(folder, met, found):
            continue
        inner: list[str] = []
        entries = list(_entries(folder, found))
        events = events_in(entry.name for entry in entries)
        one = is_event_folder(folder, events)
        if one:
            found.files.append(folder)
        for entry in entries:
            if named and entry.is_symlink() and _leads_out(entry.path, named):
                found.quarantined.append(Quarantined(path=entry.path, line=0, reason=_OUT))
            elif _is_folder(entry):
                if entry.name not in _PASSED_BY:
                    inner.append(entry.path)
            elif not (one and entry.name in events) and _is_new(entry.path, met, found):
                _sort_in(entry.path, plugins, found, own=not named)
        folders += reversed(inner)


_OUT = "a link out of what was named; name it itself to read it"


def _leads_out(path: str, named: tuple[str, ...]) -> bool:
    real = os.path.realpath(path)
    return not any(real == each or real.startswith(f"{each.rstrip(os.sep)}{os.sep}") for each in named)


def _entries(folder: str, found: FoundFiles) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listed:
            yield from sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        found.quarantined.append(Quarantined(path=folder, line=0, reason=_why(error)))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, or into a folder that is closed: what is wrong is told where it is looked at
        return False


def _sort_in(path: str, plugins: tuple[Source, ...], found: FoundFiles, *, own: bool) -> None:
    """Put a file met on the way among those to read, or aside."""
    if not Path(path).is_file():  # a socket, a pipe: opening one may wait for ever
        return
    try:
        head = peek(path)
        source = claimant_of(path, head, plugins)
    except (OSError, BackendError) as error:
        found.quarantined.append(Quarantined(path=path, line=0, reason=_why(error)))
        return
    name = path.lower()
    quoted = source is not None and source.name == LOG and name.endswith(_QUOTING)
    foreign = own and source is not None and source.name in (LOG, LINES)
    if source is not None and not quoted and not foreign and (source.name != DATABASE or holds_sessions(path)):
        found.files.append(path)
    elif head.strip() and name.endswith(_MEANT) and not foreign:
        found.files.append(path)  # reading it names what is wrong with it
    else:
        reason = "empty" if not head.strip() else "no history"
        found.skipped.append(Quarantined(path=path, line=0, reason=reason))


def _why(error: OSError | BackendError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
