"""Names the project of a folder that is not on this machine by the remote that git named in it, and finds the project
that somebody means."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import NotFound, UsageError
from ratchet.lessons.exposure import folder_name, project_name, remote_of, repository_of
from ratchet.recording.remotes import REMOTE
from ratchet.records import Row, text_in, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store


def known_as(store: Store, folder: str) -> str:
    """The name under which a folder's evidence counts: `exposure.project_name`, but of a folder that is no repository
    here the remote that git named there most often."""
    name = project_name(folder)
    return (name and not repository_of(folder) and _remote(store, name)) or name


def project_of(store: Store, asked: str) -> str:
    """The name of the project that a folder, a project's name or the end of one means: `shop` is `github.com/dev/shop`,
    and `dev/shop` is it even where a folder ends so, too.
    Raises NotFound for a name that is none, UsageError where several end so."""
    if _is_folder(asked):
        return known_as(store, str(Path(asked).absolute()))
    counted = {text_in(row, "project") for row in store.sum_by("facts", ("project",), ())}
    known = sorted({*counted, *(known_as(store, folder) for folder in _folders(store))} - {""})
    ending = [name for name in known if name.endswith(f"/{asked}")]
    found = [name for name in known if name == asked] or [name for name in ending if _is_whole(name, asked)] or ending
    if len(found) == 1:
        return found[0]
    if found:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        named = ", ".join(f"`{name}`" for name in found[:_NAMED])
        raise UsageError(f"several projects end in {asked}; name the whole of one: {named}{more}")
    there = f"there are {', '.join(known[:_NAMED])}" if known else "none is known; next: ratchet learn"
    raise NotFound(f"no project {asked}; {there}")


def _is_whole(name: str, asked: str) -> bool:
    """Tell whether this is all of a remote's name but its host: `dev/shop` of `github.com/dev/shop`."""
    return not name.startswith("/") and name.partition("/")[2] == asked


def folder_of(store: Store, asked: str) -> str:
    """The folder that somebody means by a path, or by a project's name or the end of one: of a name the folder that it
    ran in, one that is on this machine first. Raises as `project_of`."""
    if _is_folder(asked):
        return str(Path(asked).absolute())
    name = project_of(store, asked)
    found = folders_of(store, name)
    return next((folder for folder in found if Path(folder).is_dir()), found[0] if found else name)


def folders_of(store: Store, project: str) -> list[str]:
    """The folders whose sessions count to a project, by its name."""
    return [folder for folder in _folders(store) if known_as(store, folder) == project]


def known_by(store: Store, remote: str) -> list[str]:
    """The folders, by name, that count to a remote because git named it in them."""
    named = (text_in(row, "folder") for row in store.find("remotes", {"remote": remote}).rows)
    return [name for name in named if _remote(store, name) == remote]


def _is_folder(asked: str) -> bool:
    return Path(asked).is_absolute() or os.path.isdir(asked)  # noqa: PTH112  (Path raises for a name that is too long)


def _folders(store: Store) -> list[str]:
    rows = store.sum_by("session_tallies", ("project",), ())
    return [folder for row in rows if (folder := text_in(row, "project"))]


_NAMED = 8  # projects in a message


def _remote(store: Store, name: str) -> str:
    best = max(_remotes(store, name), key=lambda row: (whole_in(row, "seen"), text_in(row, "remote")), default={})
    return text_in(best, "remote")


def _remotes(store: Store, name: str) -> Sequence[Row]:
    return store.find("remotes", {"folder": name}).rows


def keep_remotes(store: Store, new: Iterable[Row]) -> None:
    """Keep which remotes new outcomes name, and the one that a repository on this machine has now, which decides: its
    folder may be gone tomorrow, or have moved since. Sessions of a folder that has another name by that are searched
    again, as their evidence counts elsewhere now. Joins the caller's transaction."""
    told: Counter[tuple[str, str]] = Counter()
    here: dict[str, str] = {}
    for row in new:
        remote, folder = text_in(row.get("context"), REMOTE), text_in(row, "project")
        repository = repository_of(folder) if folder else ""
        if repository:
            here.setdefault(folder_name(folder), repository)
        elif remote and folder:
            told[project_name(folder), remote] += 1
    before = {name: _remote(store, name) for name in {*here, *(name for name, _ in told)}}
    for name, repository in here.items():
        remote = remote_of(repository)
        if remote and remote != before[name]:
            told[name, remote] = 1 + max((whole_in(row, "seen") for row in _remotes(store, name)), default=0)
    if not told:
        return
    store.add("remotes", [{"folder": name, "remote": remote, "seen": seen} for (name, remote), seen in told.items()])
    for name, remote in before.items():
        if _remote(store, name) != remote:
            _search_again(store, remote or name)


def _search_again(store: Store, project: str) -> None:
    for found in store.sum_by("facts", ("session",), (), {"project": project, "session": ("!=", "")}):
        held = store.get("sessions", text_in(found, "session"))
        if held is not None:
            again: Row = {**held, "pending": True, "new": whole_in(held, "mined")}
            store.swap("sessions", text_in(found, "session"), whole_in(held, "revision"), again)
