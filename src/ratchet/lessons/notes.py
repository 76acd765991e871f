"""Notes for coding agents without hooks: a file in the home that the agent reads when it starts, with what is told at a
session's start.

Who reads it cannot be told apart from who does not, so nothing is withheld, and no exposure is counted.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ratchet import files
from ratchet.ids import hex_of
from ratchet.lessons import exposure, lookup
from ratchet.lessons.fence import START_LIMIT, digest

_OF = "<!-- ratchet: notes of "
_EMPTY = "Nothing was learnt yet."


def path_of(home: Path, project: str) -> Path:
    """The notes of a project's folder; those of a whole machine ("") hold what is for every project."""
    return home / "notes" / f"{hex_of(project)[:12] if project else 'everywhere'}.md"


def make(home: Path, project: str) -> None:
    """Write the notes of a project. Raises OSError."""
    path = path_of(home, project)
    said = f"{_OF}{project or 'every project'} -->\n{_told(str(home), project) or _EMPTY}\n".encode("utf-8", "replace")
    if files.read(path) != said:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.replace(path, said, mode=0o600)


def refresh(home: Path) -> None:
    """Write the notes anew that somebody reads. Raises OSError."""
    for path in sorted((home / "notes").glob("*.md")):
        project = path.read_text("utf-8", "replace").partition("\n")[0].removeprefix(_OF).removesuffix(" -->")
        project = "" if path == path_of(home, "") else project
        if path == path_of(home, project):
            make(home, project)


def remove(home: Path, project: str) -> None:
    """Remove the notes of a project."""
    path_of(home, project).unlink(missing_ok=True)


def _told(home: str, project: str) -> str:
    facts = exposure.facts_told(home, project) if project else ""
    if exposure.published(home).active == 0 or not exposure.has_store(home):
        return facts
    try:
        lessons = digest(lookup.top(home, project), START_LIMIT - len(facts))[0]
    except sqlite3.Error:  # busy, or made by a later version: the next change of a lesson writes them
        lessons = ""
    return "\n".join(filter(None, (facts, lessons)))
