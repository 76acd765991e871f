"""Reads skills that others wrote: candidates of which agents are told nothing until a person trusts their very content.

Nothing of a skill is run. Only SKILL.md is kept; its other files count for its hash, by which trust is asked for anew
whenever one of them changes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
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
from ratchet.lessons.mining.advice import forbidden
from ratchet.lessons.mining.triggers import lesson_id_of
from ratchet.lessons.rows import told as said_of
from ratchet.lessons.skills import rows
from ratchet.lessons.skills.places import folders
from ratchet.lessons.skills.skill import DESCRIPTION_CHARS, MAIN, Skill, is_name
from ratchet.ports import Store
from ratchet.records import Quarantined, Row, Scope, text_in
from ratchet.sandbox.beneath import read_beneath

_SKILLS, _FILES = 500, 200  # of a place, of a skill
_FILE_BYTES = 1_000_000
_BODY_CHARS = 20_000
_STEPS = 20
_HEADER = re.compile(r"\A---\r?\n(.*?)^---\s*$", re.DOTALL | re.MULTILINE)
_STEP = re.compile(r"(?:\d+[.)]|[-*])\s+(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSkill:
    """A skill in a folder of agents. `sha256` is that of `content`, all its files; `lesson` names it in this home;
    `own` says whether this home exported it, `is_new` whether this content was not read before."""

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
    for folder in _each(place):
        try:
            found.append(_taken(store, home, place, folder, scope, now))
        except (Refused, UnicodeDecodeError) as error:
            rejected.append(Quarantined(path=str(folder), line=0, reason=str(error)))
    return ReadSkills(skills=tuple(found), rejected=tuple(rejected))


def _each(place: Path) -> Iterator[Path]:
    count = 0
    for folder in folders(place):
        for each in sorted(folder.iterdir()):
            if each.is_dir() and not each.is_symlink() and (each / MAIN).is_file():
                count += 1
                if count > _SKILLS:
                    raise UsageError(f"{place} has more than {_SKILLS} skills: name the folder of fewer with --project")
                yield each


def _taken(store: Store, home: Path, place: Path, folder: Path, scope: Scope, now: float) -> FoundSkill:
    contents, where = _contents(place, folder), str(folder.relative_to(place))
    front, body = parsed(contents[MAIN].decode("utf-8"), folder.name)
    whole = b"\0".join(b"%s\0%d\0%s" % (path.encode(), len(data), data) for path, data in contents.items())
    found = FoundSkill(
        name=front["name"],
        description=front["description"],
        folder=str(folder),
        sha256=files.version_of(whole),
        lesson=lesson_id_of("skill", str(place), where),
        trusted=trust.is_trusted(home, place, where, whole),
        files=tuple(contents),
        content=whole,
    )
    texts = {path: data.decode("utf-8", "replace") for path, data in contents.items()}
    own = next((each for each in rows.listed(store) if each.name == found.name and dict(each.files) == texts), None)
    if own is not None and not own.folder:
        return replace(found, lesson=own.lesson, trusted=True, own=True)
    held = store.get("lessons", found.lesson) or {}
    fresh = held.get("content") != found.sha256
    if fresh or held.get("trusted") is not found.trusted:
        with store.transaction():
            row = _lesson_row(found, body, place, scope, now)
            decided = {name: held[name] for name in ("state", "reason") if held.get("decided")}
            put(store, {**held, **row, **decided}, held or None)
            noted(store, found.lesson, "read", f"skill {found.name}", now)
            if fresh:
                rows.kept(store, _skill(store, found, texts[MAIN], body, now))
    return replace(found, is_new=fresh)


def _skill(store: Store, found: FoundSkill, main: str, body: str, now: float) -> Skill:
    before = rows.newest(store, found.lesson)
    return Skill(
        lesson=found.lesson,
        name=found.name,
        version=before.version + 1 if before else 1,
        description=found.description,
        files={MAIN: clean(main, _BODY_CHARS)},
        steps=_steps(body),
        made_at=now,
        folder=found.folder,
    )


def _contents(place: Path, folder: Path) -> dict[str, bytes]:
    """All files of a skill by their paths in it, SKILL.md first, through no link. Raises Refused, BackendError."""
    names = [MAIN]
    for above, below, beside in os.walk(folder):
        below.sort()
        names += [str(Path(above, each).relative_to(folder)) for each in sorted(beside)]
        if len(names) > _FILES:
            raise Refused(f"it has more than {_FILES} files, which nobody looks through")
    return {
        name: read_beneath(place, str(folder.relative_to(place) / name), _FILE_BYTES) for name in dict.fromkeys(names)
    }


def parsed(text: str, folder: str) -> tuple[dict[str, str], str]:
    """(front matter, body) of a SKILL.md; a name that it lacks is its folder's. Raises Refused, with the reason."""
    try:
        import yaml
    except ImportError as error:
        raise UsageError("to read skills a library is needed; install it: pip install 'ratchet-ai[files]'") from error
    found = _HEADER.match(text)
    if found is None:
        raise Refused(f"its {MAIN} does not begin with front matter between two lines ---")
    try:
        held = yaml.safe_load(found[1])
    except (yaml.YAMLError, RecursionError) as error:
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


def _lesson_row(found: FoundSkill, body: str, place: Path, scope: Scope, now: float) -> Row:
    template = template_of(found.description[:KEPT])
    reason = forbidden(clean(body, _BODY_CHARS)) or forbidden(found.description)
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
        "place": str(place),
    }


def trust_skill(store: Store, home: Path, skill: Skill, *, now: float) -> FoundSkill:
    """Trust a skill as it lies in its folder at this moment: it is active until one of its files changes. Raises
    Refused for one that is gone, cannot be read or is quarantined, BackendError."""
    folder = Path(skill.folder)
    place = next((each for each in folder.parents if folder.parent in folders(each)), None)
    if place is None or not (folder / MAIN).is_file():
        raise Refused(f"{skill.folder} is gone; `ratchet lessons skills read` tells what there is")
    lesson = store.get("lessons", skill.lesson) or {}
    scope: Scope = "global" if lesson.get("scope") == "global" else "project"
    found = _taken(store, home, place, folder, scope, now)
    lesson = store.get("lessons", skill.lesson) or {}
    if lesson.get("state") in ("quarantined", "retired"):
        raise Refused(f"skill {skill.name} is {lesson['state']}: {text_in(lesson, 'reason')}")
    trust.remember(home, place, {str(folder.relative_to(place)): found.content}, by="person")
    return _taken(store, home, place, folder, scope, now)
