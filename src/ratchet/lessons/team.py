"""Reads lessons of a repository: a file each below its `.ratchet/lessons/`, candidates until they are trusted.

A file holds a lesson, or several, a line each: of one that was edited by hand on both sides a merge keeps both lines.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ratchet import files
from ratchet.errors import BackendError, Refused, UsageError
from ratchet.lessons import trust
from ratchet.lessons.exposure import concerns
from ratchet.lessons.portable import Imported, lesson_row, with_pattern
from ratchet.lessons.rows import in_any_clone, lesson_of
from ratchet.ports import Store
from ratchet.records import Json, Lesson, Quarantined, Row, whole_in
from ratchet.sandbox.beneath import open_beneath, read_beneath

OLD = "lessons.jsonl"
"""Where a repository kept all of its lessons in one file, below `.ratchet/`; still read."""
PLACE = "lessons"
"""Where it keeps a file each, below `.ratchet/`."""
ENDING = ".jsonl"
_MOST = 1000  # lessons, which have a file or a line each: as many as anybody looks through before trusting them
_OLD_BYTES = 16_000_000
_FILE_BYTES = 256_000
_MARKS = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
_SEVERAL_LINKS = frozenset((errno.ELOOP, errno.EXDEV, errno.ENOTDIR))

Key: TypeAlias = tuple[Json, Json]
"""A lesson's advice and its trigger: what makes it the same lesson on every machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonLine:
    """One lesson of a file. `state` is the one that the line says, not the one that it gets."""

    file: str
    content: bytes
    row: Row
    state: str

    @property
    def key(self) -> Key:
        return self.row["text"], self.row["when_text"]


def load(store: Store, project: Path, *, home: Path | None = None, now: float | None = None) -> Imported:
    """Read a repository's own lessons, if it has any: candidates until this home trusts the very content of their
    file, then active in that project. One that is in no file any more, or marked as put aside, is retired.

    A file that is torn, holds the marks of a merge or is none of the repository's own is refused whole, with its place.
    Raises UsageError, BackendError.
    """
    if home is not None and trust.is_home(home, project):
        return Imported(imported=0, known=0, rejected=())
    found, unread = contents(project)
    if not found and not unread:
        return Imported(imported=0, known=0, rejected=())
    at = time.time() if now is None else now
    trusted = trusted_names(home, project, found)
    lines, rejected = lines_of(project, found, trusted, at)
    rows: dict[str, Row] = {}
    for line in sorted(lines, key=lambda each: each.row["state"] != "active"):  # the same lesson in two files
        if line.state != "retired":
            rows.setdefault(str(line.row["id"]), line.row)
    with store.transaction():
        _follow(store, project, aside_in(lines, trusted), at)
        active, waiting, aside = said_here(store, project)
        new = 0
        for row in rows.values():
            key = row["text"], row["when_text"]
            if not (key in active or key in aside or (row["state"] == "candidate" and key in waiting)):
                new += _put(store, with_pattern(store, row))
        _retire_removed(store, project, rows.keys(), at)
    return Imported(imported=new, known=len(rows) - new, rejected=(*unread, *rejected))


def is_there(project: Path) -> bool:
    """Tell whether a repository has lessons of its own. Raises UsageError for a folder that cannot be looked at."""
    for name in (OLD, PLACE):
        try:
            os.lstat(project / trust.FOLDER / name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:  # too long a name, or NUL in it
            raise UsageError(f"the project cannot be looked at ({error.args[-1]}); name its folder") from error
        return True
    return False


def proposed(
    found: Mapping[str, bytes], project: Path
) -> tuple[list[Lesson], tuple[Quarantined, ...], tuple[str, ...]]:
    """Read what these files (name below `.ratchet/` -> content) would make active once they are trusted, what is
    refused even then, and the advice that they put aside."""
    ours = {name: content for name, content in found.items() if name == OLD or _is_ours(name)}
    lines, rejected = lines_of(project, ours, ours.keys(), time.time())
    rows = {str(line.row["id"]): line.row for line in lines if line.row["state"] == "active"}
    aside = tuple(sorted(str(text) for text, _ in aside_in(lines, ours.keys())))
    return [lesson_of(row) for row in rows.values()], rejected, aside


def contents(project: Path) -> tuple[dict[str, bytes], tuple[Quarantined, ...]]:
    """Each file of lessons by its name below `.ratchet/`, and those that are not read: links, pipes, what is too large.

    Raises UsageError when there are too many lessons, BackendError.
    """
    names = [OLD] if os.path.lexists(project / trust.FOLDER / OLD) else []
    unread: list[Quarantined] = []
    try:
        with open_folder(project, PLACE) as folder:
            names += sorted(f"{PLACE}/{name}" for name in _names(folder) if name.endswith(ENDING))
    except FileNotFoundError:
        pass
    except Refused as error:
        unread.append(Quarantined(path=f"{trust.FOLDER}/{PLACE}", line=0, reason=str(error)))
    found: dict[str, bytes] = {}
    if len(names) > _MOST:
        raise _too_many(project)
    for name in names:
        try:
            most = _OLD_BYTES if name == OLD else _FILE_BYTES
            found[name] = read_beneath(project, f"{trust.FOLDER}/{name}", most)
        except FileNotFoundError:  # taken away meanwhile
            continue
        except Refused as error:
            unread.append(Quarantined(path=f"{trust.FOLDER}/{name}", line=0, reason=str(error)))
    if sum(each.count(b"\n") for each in found.values()) > _MOST:
        raise _too_many(project)
    return found, tuple(unread)


def _too_many(project: Path) -> UsageError:
    return UsageError(
        f"{project / trust.FOLDER} holds more than {_MOST:,} lessons, which nobody looks through: clear it up"
    )


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


@contextmanager
def open_folder(project: Path, name: str = ".") -> Iterator[int]:
    """The folder of this name below `.ratchet/`, reached through no link. Raises FileNotFoundError, Refused,
    BackendError."""
    opened = -1
    try:
        root = os.open(project, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            opened = open_beneath(root, os.fsencode(f"{trust.FOLDER}/{name}"), os.O_RDONLY | os.O_DIRECTORY)
        finally:
            os.close(root)
    except FileNotFoundError:
        raise
    except OSError as error:
        place = project / trust.FOLDER / name
        if error.errno in _SEVERAL_LINKS:
            raise Refused(f"{place} is no folder of the repository's own but a link or a file; take it away") from error
        raise BackendError(f"{place} cannot be read ({error.strerror}); check its permissions") from error
    try:
        yield opened
    finally:
        os.close(opened)


def _is_ours(name: str) -> bool:
    folder, _, file = name.replace(os.sep, "/").rpartition("/")
    return folder == PLACE and file.endswith(ENDING)


def trusted_names(home: Path | None, project: Path, found: Mapping[str, bytes]) -> set[str]:
    held = trust.held(home, project) if home is not None and found else frozenset()
    return {name for name, content in found.items() if (name, files.version_of(content)) in held}


def lines_of(
    project: Path, found: Mapping[str, bytes], trusted: Collection[str], now: float
) -> tuple[list[LessonLine], tuple[Quarantined, ...]]:
    """The lessons of these files, and what is refused: of the old file a line, of the others the whole file."""
    lines: list[LessonLine] = []
    rejected: list[Quarantined] = []
    for name, content in found.items():
        good: list[LessonLine] = []
        bad: list[Quarantined] = []
        for number, each in enumerate(content.split(b"\n"), 1):
            if each.strip():
                line = line_of(project, name, each, name in trusted, now)
                if isinstance(line, LessonLine):
                    good.append(line)
                else:
                    bad.append(Quarantined(path=f"{trust.FOLDER}/{name}", line=number, reason=line))
        lines += good if name == OLD or not bad else ()
        rejected += bad if name == OLD else bad[:1]
    return lines, tuple(rejected)


def line_of(project: Path, name: str, content: bytes, trusted: bool, now: float) -> LessonLine | str:
    """One line of a file, or why it is none."""
    if content.startswith(_MARKS):
        return "a merge left its marks here: keep the lines that are right, each whole, and take the marks out"
    path = project / trust.FOLDER / name
    row = lesson_row(content, path, "reviewed", str(project), now, trusted=trusted)
    if isinstance(row, str):
        return row
    state = str(json.loads(content).get("state", "active"))
    row["origin"] = str(path if name == OLD else path.parent)
    return LessonLine(file=name, content=content, row=row, state=state)


def said_here(store: Store, project: Path) -> tuple[set[Key], set[Key], set[Key]]:
    """Keys of a project's lessons that were mined here or decided by a person: the active ones, the candidates, and
    those that were put aside or said otherwise since, but for what a trusted file put aside."""
    active: set[Key] = set()
    waiting: set[Key] = set()
    aside: set[Key] = set()
    for row in store.find("lessons").rows:
        if (
            (row.get("removed") and row["state"] == "retired")
            or (row.get("origin") and not row.get("decided"))
            or not concerns(row, str(project))
        ):
            continue
        said = active if row["state"] == "active" else waiting if row["state"] == "candidate" else aside
        shared = in_any_clone(row)
        said.add((shared.get("text"), shared.get("when_text")))
        earlier = row.get("earlier")
        before = [in_any_clone({**row, "text": text}) for text in (earlier if isinstance(earlier, list) else ())]
        aside.update((each.get("text"), each.get("when_text")) for each in before)
    return active, active | waiting, aside - active - waiting


def _put(store: Store, row: Row) -> bool:
    """Store a lesson of a file; return whether it was new. What a person decided about a known one stays; else it is
    what the file says now, and active only while that content is trusted."""
    held = store.get("lessons", str(row["id"]))
    if held is None:
        return store.swap("lessons", str(row["id"]), 0, row)
    lives = held.get("state") in ("active", "candidate") or held.get("removed")
    if lives and not held.get("decided"):
        said = {name: value for name, value in row.items() if name not in _OURS}
        if held.get("removed") or any(held.get(name) != value for name, value in said.items()):
            back: Row = {**held, **said, "removed": False, "updated_at": row["updated_at"]}
            store.swap("lessons", str(row["id"]), whole_in(held, "revision"), back)
    return False


_OURS = frozenset(("tried", "worked", "uses", "wins", "created_at", "updated_at", "evidence"))
"""What only this home can say of a lesson."""


def aside_in(lines: Sequence[LessonLine], trusted: Collection[str]) -> set[Key]:
    """Keys of lessons that are marked as put aside in a trusted file, and live in none."""
    live = {line.key for line in lines if line.state != "retired"}
    return {line.key for line in lines if line.state == "retired" and line.file in trusted} - live


def _follow(store: Store, project: Path, aside: Collection[Key], now: float) -> None:
    """Retire what this home taught a project and its trusted files put aside or reworded since. What a person decided
    here stays."""
    for held in store.find("lessons", {"state": ("in", ["active", "candidate"])}).rows if aside else ():
        ours = not held.get("origin") and not held.get("decided") and held.get("scope") == "project"
        shared = in_any_clone(held)
        if ours and (shared.get("text"), shared.get("when_text")) in aside and concerns(held, str(project)):
            _retire(store, held, f"put aside in {trust.FOLDER}/{PLACE}", now)


def _retire(store: Store, held: Row, reason: str, now: float) -> None:
    gone: Row = {**held, "state": "retired", "removed": True, "reason": reason, "approved": False, "updated_at": now}
    store.swap("lessons", str(held["id"]), whole_in(held, "revision"), gone)


def _retire_removed(store: Store, project: Path, ids: Collection[str], now: float) -> None:
    places = {str(project / trust.FOLDER / name) for name in (OLD, PLACE)}
    for held in store.find("lessons", {"state": ("in", ["active", "candidate"])}).rows:
        if held.get("origin") in places and held["id"] not in ids and not held.get("decided"):
            _retire(store, held, f"no longer in {trust.FOLDER}/{PLACE}", now)
