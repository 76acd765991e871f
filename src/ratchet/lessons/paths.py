"""Says where the files of a project are, of a path that is not there. Lean: hook processes import this.

One lesson a project holds the files that its sessions opened, by folder; at a failure it says no more than the files of
the missing one's name, three at most, or those of the missing one's folder. In a public history, each session told by
what the earlier ones opened, one that it named was opened by one of the next eight calls in 11 cases of 14
(`benchmarks/lessons.py`).
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
_MOST_FILES = 400  # of one project, those that were opened most
_SAME_LETTERS = 4  # with which names begin that are called alike
_CHOICES = 3  # files of one name that are named; more is no answer
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
    found = []
    for row in rows:
        if row.get("group") != GROUP:
            found.append(row)
        elif (said := told(row.get("lines"), missing, root))[0]:
            found.append({**row, "text": said[0], "files": [*said[1]]})
    return found


def folders_of(opened: Mapping[str, int]) -> dict[str, list[str]]:
    """The files that were opened most, by folder, of how often each was: those below the root, none hidden."""
    inside = [file for file, times in opened.items() if times > 0 and file and file[0] not in "/~." and ":" not in file]
    folders: dict[str, list[str]] = {}
    for file in sorted(inside, key=lambda file: (-opened[file], file))[:_MOST_FILES]:
        folder, _, name = file.rpartition("/")
        folders.setdefault(folder, []).append(name)
    return {folder: folders[folder] for folder in sorted(folders)}


def said_of_all(opened: Mapping[str, int]) -> str:
    """Say to a person what the lesson of a project's files tells, with the file that was opened most as the example."""
    folders = folders_of(opened)
    names = [name for held in folders.values() for name in held]
    files = [f"{folder}/{name}" for folder, held in folders.items() for name in held if folder]
    alone = [file for file in files if names.count(file.rpartition("/")[2]) == 1]
    most = min(alone, key=lambda file: (-opened[file], file), default="")
    example = f"`{most.rpartition('/')[2]}` is `{most}` here." if most else "a file of that name in another folder."
    known = f"It knows the files that sessions opened: {len(names)} in {len(folders)} folders."
    return f"Of a path that is not there, say where this project has that file. For example: {example} {known}"


def is_told(path: str, files: Iterable[str]) -> bool:
    """Tell whether a path is one of these files, or lies in one of these folders."""
    return any(_ends_with(path, file) or f"/{file}/" in f"/{path}" for file in files)


def told(files: object, missing: str, root: str) -> tuple[str, list[str]]:
    """Say what the files of a project, by folder, tell of a missing path, and which it may be; ("", []) for nothing."""
    if not missing or not isinstance(files, dict):
        return "", []
    path = missing.replace("\\", "/").rstrip("/")
    parent, _, name = path.rpartition("/")
    holders = [folder for folder, names in files.items() if isinstance(names, list) and name in names]
    known = [each for folder in holders if not _ends_with(path, each := f"{folder}/{name}".lstrip("/"))]
    known = [each for each in known if _is_there(root, each) and not _is_beside(each, path)]
    known = [each for each in known if _ends_with(each, path)] or known  # of a relative path only that is meant
    if 0 < len(known) <= _CHOICES and len(holders) <= _CHOICES:
        return f"`{name}` is {' or '.join([f'`{each}`' for each in known])} here.", known
    whole = _folder(path, files)
    folder = whole or _folder(parent, files)
    names = files.get(folder) if folder else None
    if holders or folder == path or not isinstance(names, list) or not _is_there(root, folder):
        return "", []
    if whole:
        inside = not root or path.startswith(f"{root.rstrip('/')}/")
        return ("", []) if inside else (f"`{whole}` is in this project; the path begins elsewhere.", [whole])
    near = sorted(map(str, names), key=lambda other: -_alike(name, other))[:_TOLD]
    if "." not in name:  # a folder: its files may have become some that are called alike
        near = [each for each in near if _alike(name, each) >= _SAME_LETTERS]
    if len(near) < _LEAST:
        return "", []
    said = ", ".join([f"`{each}`" for each in near])
    return f"Of `{folder}` sessions opened {said}.", [f"{folder}/{each}" for each in near]


def _is_there(root: str, path: str) -> bool:
    """Tell whether a path is in a project's folder, or nobody can say."""
    return not os.path.isdir(root) or os.path.exists(os.path.join(root, path))


def _folder(path: str, files: Mapping[str, object]) -> str:
    """The longest known folder with which a path ends: its beginning may be another machine's."""
    return max([folder for folder in files if folder and _ends_with(path, folder)], key=len, default="")


def _is_beside(file: str, path: str) -> bool:
    """Tell whether a file lies in a folder beside the one where a path of its name is missing, which is called quite
    otherwise: what every folder may have (`home/page.tsx`, `settings/page.tsx`) was not meant by another's name."""
    *above, folder, _ = file.rsplit("/", 2)
    *missed, other, _ = path.rsplit("/", 2) if path.count("/") > 1 else ("", "")
    beside = bool(above) and bool(missed) and _ends_with(missed[0], above[0])
    return beside and 2 * _alike(folder, other) < min(len(folder), len(other))


def _ends_with(path: str, end: str) -> bool:
    return path == end or path.endswith(f"/{end}")


def _alike(one: str, other: str) -> int:
    """Count the letters with which two names begin alike; of equals the order of the list, by use, stays."""
    pairs: Sequence[tuple[str, str]] = [*zip(one, other, strict=False)]
    return next((at for at, (a, b) in enumerate(pairs) if a != b), len(pairs))
