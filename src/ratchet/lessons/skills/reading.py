"""Reads skills that others wrote: candidates of which agents are told nothing until a person trusts their very content.

Nothing of a skill is run. What its files say is kept to be shown, cut where it is long; trust is in their hashes, and
is asked for anew whenever one of them changes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ratchet import files
from ratchet.errors import Refused, UsageError
from ratchet.failures.features import KEPT
from ratchet.failures.redaction.text import clean
from ratchet.failures.signature import sign, template_of
from ratchet.lessons import trust
from ratchet.lessons.fence import harmless
from ratchet.lessons.lessons import noted, put
from ratchet.lessons.mining.checks import forbidden
from ratchet.lessons.mining.triggers import lesson_id_of
from ratchet.lessons.rows import told as said_of
from ratchet.lessons.skills import rows
from ratchet.lessons.skills.places import folders
from ratchet.lessons.skills.skill import DESCRIPTION_CHARS, MAIN, Skill, digests, is_name
from ratchet.ports import Store
from ratchet.records import Quarantined, Row, Scope, text_in
from ratchet.registry import adding
from ratchet.sandbox.beneath import read_beneath

_SKILLS, _FILES = 500, 200  # of a place, of a skill
_FILE_BYTES = 1_000_000
_SKILL_BYTES = 50_000_000
_BODY_CHARS, _SHOWN_CHARS = 20_000, 400_000  # of a file, of a skill
_STEPS = 20
_HEADER = re.compile(r"\A---\r?\n(.*?)^---\s*$", re.DOTALL | re.MULTILINE)
_STEP = re.compile(r"(?:\d+[.)]|[-*])\s+(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSkill:
    """A skill in a folder of agents. `sha256` is that of `content`, the hash of each of its files; `lesson` names it in
    this home; `own` says whether this home exported it, `is_new` whether this content was not read before."""

    name: str
    description: str
    folder: str
    sha256: str
    lesson: str
    files: tuple[str, ...]
    content: bytes
    trusted: bool = False
    own: bool = False
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSkills:
    """Skills that were found in the folders of agents, and those that could not be read, with the reason."""

    skills: tuple[FoundSkill, ...]
    rejected: tuple[Quarantined, ...]


def read(store: Store, home: Path, place: Path, *, scope: Scope, now: float) -> ReadSkills:
    """Read the skills below a project (or, `scope` global, a person's home) as candidates; a trusted content is active.
    Those that this home exported are known as its own. Raises UsageError without PyYAML, BackendError, StoreError."""
    found: list[FoundSkill] = []
    rejected: list[Quarantined] = []
    for folder in _each(place, rejected):
        try:
            found.append(_taken(store, home, place, folder, scope, now))
        except (Refused, OSError, UnicodeError) as error:
            rejected.append(_rejected(folder, error))
    return ReadSkills(skills=tuple(found), rejected=tuple(rejected))


def _rejected(folder: Path, error: Exception) -> Quarantined:
    return Quarantined(path=os.fsencode(folder).decode("utf-8", "replace"), line=0, reason=str(error))


def _each(place: Path, rejected: list[Quarantined]) -> Iterator[Path]:
    count = 0
    for folder in folders(place):
        try:
            inside = sorted(folder.iterdir())
        except OSError as error:
            rejected.append(_rejected(folder, error))
            continue
        for each in inside:
            if os.path.lexists(each / MAIN) and not each.is_symlink():
                count += 1
                if count > _SKILLS:
                    raise UsageError(f"{place} has more than {_SKILLS} skills: name the folder of fewer with --project")
                yield each


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A skill as it lies in its folder: its hashes and its texts, as they may be shown, by their paths."""

    found: FoundSkill
    body: str
    digests: Mapping[str, str]
    texts: Mapping[str, str]


def _read(home: Path, place: Path, folder: Path) -> _Read:
    """Read a skill, and write nothing. Raises Refused, OSError, UnicodeError, BackendError."""
    hashes, texts, main = _contents(place, folder)
    where = str(folder.relative_to(place))
    front, body = parsed(main.decode("utf-8"), folder.name)
    content = "".join(f"{digest} {path}\0" for path, digest in hashes.items()).encode()
    found = FoundSkill(
        name=front["name"],
        description=front["description"],
        folder=str(folder),
        sha256=files.version_of(content),
        lesson=lesson_id_of("skill", str(place), where),
        trusted=trust.is_trusted(home, place, where, content, kind="skill"),
        files=tuple(hashes),
        content=content,
    )
    return _Read(found=found, body=body, digests=hashes, texts=texts)


def _taken(store: Store, home: Path, place: Path, folder: Path, scope: Scope, now: float) -> FoundSkill:
    read = _read(home, place, folder)
    found = read.found
    ours = (each for each in rows.listed(store, found.name) if not each.folder)
    own = next((each for each in ours if digests(each.files) == read.digests), None)
    if own is not None:
        return replace(found, lesson=own.lesson, trusted=True, own=True)
    held = store.get("lessons", found.lesson) or {}
    fresh = held.get("content") != found.sha256
    if fresh or held.get("trusted") is not found.trusted:
        with store.transaction():
            row = _lesson_row(read, place, scope, now)
            stays = held.get("decided") and (not fresh or held.get("state") == "retired")
            decided = {name: held[name] for name in ("state", "reason", "decided") if stays}
            before = {name: value for name, value in held.items() if name != "decided"}
            put(store, {**before, **row, **decided}, held or None)
            noted(store, found.lesson, "read", f"skill {found.name}", now)
            if fresh:
                rows.kept(store, _skill(store, read, now))
    return replace(found, is_new=fresh)


def _skill(store: Store, read: _Read, now: float) -> Skill:
    found = read.found
    before = rows.newest(store, found.lesson)
    return Skill(
        lesson=found.lesson,
        name=found.name,
        version=before.version + 1 if before else 1,
        description=found.description,
        files=read.texts,
        steps=_steps(read.body),
        made_at=now,
        folder=found.folder,
    )


def _contents(place: Path, folder: Path) -> tuple[dict[str, str], dict[str, str], bytes]:
    """(the hash of every file of a skill, its text to be shown, both by its path; SKILL.md), SKILL.md first, through no
    link. Raises Refused, OSError, BackendError."""
    hashes: dict[str, str] = {}
    texts: dict[str, str] = {}
    main, size, room = b"", 0, _SHOWN_CHARS
    for name in _names(folder):
        data = read_beneath(place, str(folder.relative_to(place) / name), _FILE_BYTES)
        main = main or data
        size += len(data)
        if size > _SKILL_BYTES:
            raise Refused(f"it has more than {_SKILL_BYTES:,} bytes, which nobody looks through")
        hashes[name] = files.version_of(data)
        texts[name] = _shown(data, room)
        room -= len(texts[name])
    return hashes, texts, main


def _names(folder: Path) -> list[str]:
    def unread(error: OSError) -> None:
        raise error

    if not folder.name.isprintable():
        raise Refused(f"the name of its folder cannot be shown: {folder.name!a:.80}")
    names = [MAIN]
    for above, below, beside in files.walk(folder, unread=unread):
        below.sort()
        for each in (*(each for each in below if Path(above, each).is_symlink()), *sorted(beside)):
            name = str(Path(above, each).relative_to(folder))
            if not name.isprintable():
                raise Refused(f"the name of its file cannot be shown: {name!a:.80}")
            if Path(above, each).is_symlink():
                raise Refused(f"its {name} is a link: what it leads to may change unseen")
            names.append(name)
        if len(names) > _FILES:
            raise Refused(f"it has more than {_FILES} files, which nobody looks through")
    return list(dict.fromkeys(names))


def _shown(data: bytes, room: int) -> str:
    """The text of a file as a person is shown it; what cannot be shown is said."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or room < _BODY_CHARS:
        return f"({len(data):,} bytes, {'no text' if chr(0) in text else 'not shown'}: look at it in its folder)"
    return clean(text, _BODY_CHARS)


def parsed(text: str, folder: str) -> tuple[dict[str, str], str]:
    """(front matter, body) of a SKILL.md; a name that it lacks is its folder's. Raises Refused, with the reason."""
    try:
        import yaml
    except ImportError as error:
        raise UsageError(f"to read skills a library is needed; install it: {adding('files')}") from error
    found = _HEADER.match(text)
    if found is None:
        raise Refused(f"its {MAIN} does not begin with front matter between two lines ---")
    try:
        held = yaml.BaseLoader(found[1]).get_single_data()  # texts only: nothing is made of a date or a number
    except (yaml.YAMLError, RecursionError, ValueError, ArithmeticError, LookupError) as error:
        raise Refused(f"the front matter of its {MAIN} is no YAML: {error}".split("\n")[0]) from error
    front = {str(key): value for key, value in held.items() if isinstance(value, str)} if isinstance(held, dict) else {}
    name = front.get("name", folder)
    if not is_name(name):
        raise Refused(f"its name {name!r:.80} is none: at most 64 lower-case letters, digits and single hyphens")
    if not front.get("description", "").strip():
        raise Refused(f"its {MAIN} has no description, by which it would be found")
    return {"name": name, "description": clean(front["description"].strip(), DESCRIPTION_CHARS)}, text[found.end() :]


def _steps(body: str) -> tuple[str, ...]:
    """The items of a skill's lists, as one may be told them."""
    items = (_STEP.match(line.strip()) for line in body.split("\n"))
    return tuple(said for item in items if item and (said := harmless(clean(item[1]), 300)))[:_STEPS]


def _lesson_row(read: _Read, place: Path, scope: Scope, now: float) -> Row:
    found = read.found
    template = template_of(found.description[:KEPT])
    reason = forbidden(clean(read.body, _BODY_CHARS)) or forbidden(found.description)
    return {
        "id": found.lesson,
        "state": "quarantined" if reason else "active" if found.trusted else "candidate",
        "scope": scope,
        "signature": sign("other", template),
        "kind": "other",
        "when_text": template,
        **said_of(found.description, "report"),
        "text": " ".join(found.description.split()),
        **dict.fromkeys(("pattern", "tool", "head", "target", "example"), ""),
        **dict.fromkeys(("tried", "worked", "uses", "wins"), 0),
        "created_at": now,
        "updated_at": now,
        "names": [],
        "projects": [str(place)] if scope == "project" else [],
        "reason": reason,
        "evidence": [],
        "provenance": f"skill {found.name}, written elsewhere",
        "foreign": not found.trusted,
        "parts": [],
        "origin": found.folder,
        "trusted": found.trusted,
        "approved": False,
        "content": found.sha256,
        "skill_files": {**read.digests},
        "place": str(place),
    }


def trust_skill(store: Store, home: Path, skill: Skill, *, now: float) -> FoundSkill:
    """Trust a skill as it was read: it is active until one of its files changes. Raises Refused for one that changed
    since, is gone, cannot be read or is quarantined, BackendError."""
    folder = Path(skill.folder)
    place = next((each for each in folder.parents if folder.parent in folders(each)), None)
    if place is None or not (folder / MAIN).is_file():
        raise Refused(f"{skill.folder} is gone; `ratchet lessons skills read` tells what there is")
    lesson = store.get("lessons", skill.lesson) or {}
    scope: Scope = "global" if lesson.get("scope") == "global" else "project"
    try:
        found = _read(home, place, folder).found
    except (OSError, UnicodeError) as error:
        raise Refused(f"{skill.folder} cannot be read: {error}") from error
    if found.sha256 != lesson.get("content"):
        raise Refused(
            f"{skill.folder} changed since it was read; read it again (ratchet lessons skills read), look at it "
            f"(ratchet lessons skills show {skill.lesson}), then trust it"
        )
    if lesson.get("state") in ("quarantined", "retired"):
        raise Refused(f"skill {skill.name} is {lesson['state']}: {text_in(lesson, 'reason')}")
    trust.remember(home, place, {str(folder.relative_to(place)): found.content}, by="person", kind="skill")
    return _taken(store, home, place, folder, scope, now)
