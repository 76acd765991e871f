"""Says where the files of a project are, of a path that is not there. Lean: hook processes import this.

One lesson a project holds the files that its sessions opened, by folder; at a failure it says no more than the one file
of the missing one's name, or those of the missing one's folder. In three public histories, each session told by what
the earlier ones opened, it named a file that was opened next in 10 cases of 13, and in no other another one was.
"""

from __future__ import annotations

import os

from ratchet.lessons.grounding import missing_in, not_there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ratchet.records import Row

GROUP = "paths"
"""The group of such a lesson, and its key: it answers every path that is not there."""
_LEAST, _TOLD = 2, 6  # files of a folder that are named: one alone is no list of what is there
_SAID_CHARS = 600  # of a message that says only this; a longer output is about something else
_FIELDS = ("file_path", "path", "notebook_path")


def missing_path(message: str, asked: str = "") -> str:
    """The path of which a message says that it is not there, and nothing else; of a tool that does not name it the one
    that it was called with (`asked`: its input). "" for none."""
    said = message.strip().removeprefix("<tool_use_error>")
    if said.startswith("Exit code "):
        said = said.partition("\n")[2].strip()
    if "\n" in said or len(said) > _SAID_CHARS or not not_there(said):
        return ""
    found = missing_in(said)
    if found or asked[:1] != "{":
        return found[0] if found else ""
    import json

    try:
        given = json.loads(asked)
    except ValueError:
        return ""
    return next((str(given[name]) for name in _FIELDS if given.get(name)), "") if isinstance(given, dict) else ""


def placed(rows: Iterable[Row], missing: str, root: str) -> list[Row]:
    """The lessons; that of the project's files with what it knows of a missing path, left out where that is nothing, or
    is no more in the folder `root` of the project."""
    told = [{**row, "text": _told(row, missing, root)} if row.get("group") == GROUP else row for row in rows]
    return [row for row in told if row["text"]]


def _told(row: Row, missing: str, root: str) -> str:
    files = row.get("lines")
    if not missing or not isinstance(files, dict):
        return ""
    path = missing.replace("\\", "/").rstrip("/")
    parent, _, name = path.rpartition("/")
    holders = [folder for folder, names in files.items() if isinstance(names, list) and name in names]
    known = [f"{folder}/{name}".lstrip("/") for folder in holders]
    if len(known) == 1 and not _ends_with(path, known[0]):
        return f"`{name}` is `{known[0]}` here." if _is_there(root, known[0]) else ""
    folder = _folder(path, files) or _folder(parent, files)
    names = files.get(folder) if folder else None
    if known or folder == path or not isinstance(names, list) or len(names) < _LEAST or not _is_there(root, folder):
        return ""
    near = sorted(map(str, names), key=lambda other: -_alike(name, other))[:_TOLD]
    return f"Of `{folder}` sessions opened {', '.join([f'`{each}`' for each in near])}."


def _is_there(root: str, path: str) -> bool:
    """Tell whether a path is in a project's folder, or nobody can say."""
    return not os.path.isdir(root) or os.path.exists(os.path.join(root, path))


def _folder(path: str, files: Mapping[str, object]) -> str:
    """The longest known folder with which a path ends: its beginning may be another machine's."""
    return max([folder for folder in files if folder and _ends_with(path, folder)], key=len, default="")


def _ends_with(path: str, end: str) -> bool:
    return path == end or path.endswith(f"/{end}")


def _alike(one: str, other: str) -> int:
    """Count the letters with which two names begin alike; of equals the order of the list, by use, stays."""
    pairs: Sequence[tuple[str, str]] = [*zip(one, other, strict=False)]
    return next((at for at, (a, b) in enumerate(pairs) if a != b), len(pairs))
