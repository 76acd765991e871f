"""Writes a project's active lessons into its repository, a file each, for git to carry and a team to review.

A file's name and bytes follow from its lesson alone: what two machines share alike is one file, what they say
differently are two. A lesson that was put aside is marked so where it stands; no file is deleted, since git takes a
deletion beside a new file for a renaming, and two of these conflict.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ratchet import files
from ratchet.errors import BackendError, UsageError
from ratchet.failures.redaction.text import clean
from ratchet.lessons import trust
from ratchet.lessons.exposure import concerns, vouched
from ratchet.lessons.portable import FORMAT, refused
from ratchet.lessons.rests import stale
from ratchet.lessons.rows import in_any_clone, lesson_of
from ratchet.lessons.team import (
    ENDING,
    OLD,
    PLACE,
    Key,
    LessonLine,
    contents,
    line_of,
    lines_of,
    load,
    open_folder,
    said_here,
    trusted_names,
)
from ratchet.ports import Store
from ratchet.records import Json, Quarantined, Row
from ratchet.sandbox import git

_SLUG_CHARS = 48
_ATTRIBUTES = "*.jsonl text eol=lf merge=union\n"
"""Of two edits of one line git keeps both, each a lesson; and a checkout has the same bytes everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Names files below `.ratchet/`: those that are new, and those in which a lesson was put aside.

    `known` lessons were there already, `moved` ones stood in the old file; `kept` names those of this home that the
    repository put aside or says otherwise, `quotes` counts the words of people that stayed here.
    """

    folder: str
    written: tuple[str, ...]
    retired: tuple[str, ...]
    known: int
    moved: int
    kept: tuple[str, ...]
    quotes: int
    rejected: tuple[Quarantined, ...]


def share(store: Store, project: Path, *, home: Path, with_evidence: bool = False) -> Shared:
    """Write the active lessons of a project into its repository, a file each, and mark those that were put aside here.

    What others wrote stays as it is, but for lessons of trusted files that a person put aside or reworded here. The old
    file is turned into files; what is refused of it stays in it. This home trusts what it wrote, but for lines of an
    old file that it did not trust. A person's words go in `with_evidence` only.

    Raises UsageError, Refused where a link leads away, Conflict, BackendError.
    """
    project = _root(project)
    if trust.is_home(home, project):
        raise UsageError(f"{project / trust.FOLDER} is this home itself; name a repository with --project")
    found, unread = contents(project)
    trusted, at = trusted_names(home, project, found), time.time()
    lines, rejected = lines_of(project, found, found.keys(), at)
    active, _, aside = said_here(store, project)
    plan = _Plan(
        found,
        {each.path.removeprefix(f"{trust.FOLDER}/") for each in unread},
        [line for line in lines if line.file != OLD],
    )
    quotes = 0
    for row in _own(store, project):
        if lesson_of(row).is_quote and not with_evidence:
            quotes += 1
        else:
            plan.add(project, _said(in_any_clone(row)), str(row["id"]), trusted=True)
    moved = sum(
        plan.add(project, _said(line.row, state=line.state), OLD, trusted=OLD in trusted)
        for line in lines
        if line.file == OLD
    )
    marked = _marked(lines, trusted, aside - active)
    unwritten = _write(project, found, {**plan.new, **marked}, lines)
    own = {name: content for name, content in {**plan.new, **marked}.items() if name not in plan.strangers}
    trust.remember(home, project, {**own, **plan.alike, **unwritten}, by="own")
    load(store, project, home=home)
    return Shared(
        folder=str(project / trust.FOLDER / PLACE),
        written=tuple(plan.new),
        retired=tuple(marked),
        known=plan.known,
        moved=moved,
        kept=tuple(plan.kept),
        quotes=quotes,
        rejected=(*unread, *rejected, *plan.rejected),
    )


class _Plan:
    """Collects the files to write, each lesson once, beside those that are there."""

    def __init__(self, found: Mapping[str, bytes], unread: Collection[str], lines: Sequence[LessonLine]) -> None:
        self._found = found
        self._unread = unread
        self._live = {line.key for line in lines if line.state != "retired"}
        self._aside = {line.key for line in lines if line.state == "retired"} - self._live
        self.new: dict[str, bytes] = {}
        self.alike: dict[str, bytes] = {}
        self.strangers: set[str] = set()
        self.kept: list[str] = []
        self.rejected: list[Quarantined] = []
        self.known = 0

    def add(self, project: Path, content: bytes, source: str, *, trusted: bool) -> bool:
        """Take a lesson in; return whether it gets a new file. `source` names where it stood."""
        name = f"{PLACE}/{_name(content)}"
        line = line_of(project, name, content.rstrip(b"\n"), trusted, 0.0)
        if isinstance(line, str):
            self.rejected.append(Quarantined(path=source, line=0, reason=line))
            return False
        if trusted and self._found.get(name) == content:
            self.alike[name] = content
        if line.key in self._live:
            self.known += 1
        elif line.key in self._aside or name in self._found or name in self._unread:
            self.kept.append(name)
        else:
            self._live.add(line.key)
            self.new[name] = content
            if not trusted:
                self.strangers.add(name)
            return True
        return False


def _root(project: Path) -> Path:
    """The folder whose `.ratchet/` sessions read: this one where it has one, else its repository's."""
    if not project.is_dir():
        raise UsageError(f"there is no folder {project}; name the repository with --project")
    found = None if (project / trust.FOLDER).is_dir() else git.find(project)
    return found.top if found else project.absolute()


def _own(store: Store, project: Path) -> Iterator[Row]:
    """Lessons that are active here and of this project: learnt in it or written for it, and not what merely counts
    everywhere, which other projects taught."""
    for row in store.find("lessons", {"state": "active"}, order=("id",)).rows:
        ours = concerns({**row, "scope": "project"}, str(project)) and vouched(row)
        if ours and not refused(row) and not stale(row, str(project)) and str(row.get("text") or "").strip():
            yield row


def _said(row: Row, *, state: str = "active") -> bytes:
    """A lesson as the content of its file: what is the same on every machine, and nothing that a run changes. What does
    not show is escaped, so that a reviewer sees all of it."""
    lesson = lesson_of(row)
    said: dict[str, Json] = {"when": clean(lesson.when), "do": clean(lesson.text).strip("\n"), "kind": lesson.kind}
    said |= {name: value for name, value in (("tool", lesson.tool), ("head", lesson.head)) if value}
    if state != "active":
        said["state"] = "candidate"
    if refused({"text": said["do"]}):  # it passes only for what the failed step had too
        said["failed"] = clean(str(row.get("failed") or ""))
    return _plain({"ratchet": FORMAT, **said}) + b"\n"


def _plain(said: Mapping[str, Json]) -> bytes:
    text = json.dumps(said, ensure_ascii=False)
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text).encode()


def _name(content: bytes) -> str:
    """The name of a lesson's file: words of its trigger for people, and a hash for all that it says."""
    words = re.sub(r"[^a-z0-9]+", "-", str(json.loads(content)["when"]).lower())[:_SLUG_CHARS].strip("-")
    return f"{words or 'lesson'}-{hashlib.sha256(content).hexdigest()[:16]}{ENDING}"


def _marked(lines: Sequence[LessonLine], trusted: Collection[str], aside: Collection[Key]) -> dict[str, bytes]:
    """The trusted files that hold lessons which were put aside here, with these marked `retired`."""
    found: dict[str, list[bytes]] = {}
    changed: set[str] = set()
    for line in lines:
        content = line.content
        if line.key in aside and line.state != "retired":
            changed.add(line.file)
            content = _plain({**json.loads(content), "state": "retired"})
        found.setdefault(line.file, []).append(content.rstrip(b"\r") + b"\n")
    return {name: b"".join(found[name]) for name in sorted(changed) if name in trusted and name != OLD}


def _write(
    project: Path, found: Mapping[str, bytes], wanted: Mapping[str, bytes], lines: Sequence[LessonLine]
) -> dict[str, bytes]:
    """Write the files, each whole or not at all, then take what became files out of the old one; return what was
    written beside them. The order matters: a crash in between leaves a lesson in both, which is one."""
    if not wanted and OLD not in found:
        return {}
    beside: dict[str, bytes] = {}
    with _made(project) as folder:
        if not os.path.lexists(project / trust.FOLDER / PLACE / ".gitattributes"):
            beside[f"{PLACE}/.gitattributes"] = _ATTRIBUTES.encode()
        for name, content in {**beside, **wanted}.items():
            files.swap(name.rpartition("/")[2], files.version_of(found.get(name)), content, folder=folder)
    if OLD in found:
        taken = {line.content for line in lines if line.file == OLD}
        rest = [each for each in found[OLD].split(b"\n") if each.strip() and each not in taken]
        left = b"".join(each + b"\n" for each in rest) or None
        with open_folder(project) as above:
            files.swap(OLD, files.version_of(found[OLD]), left, folder=above)
    return beside


@contextmanager
def _made(project: Path) -> Iterator[int]:
    """The folder of lessons, made where it is missing, reached through no link. Raises Refused, BackendError."""
    try:
        (project / trust.FOLDER).mkdir(exist_ok=True)
        with open_folder(project) as above:
            if not os.path.lexists(project / trust.FOLDER / PLACE):
                os.mkdir(PLACE, dir_fd=above)
    except OSError as error:
        place = project / trust.FOLDER / PLACE
        raise BackendError(f"{place} cannot be made ({error.strerror}); give write access to {project}") from error
    with open_folder(project, PLACE) as folder:
        yield folder
