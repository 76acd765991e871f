"""Names the project of a folder that is not on this machine by the remote that git named in it, and finds the project
that somebody means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ratchet.errors import NotFound, UsageError
from ratchet.lessons.exposure import project_name, repository_of
from ratchet.ports import Store
from ratchet.recording.remotes import REMOTE
from ratchet.records import Row, text_in, whole_in


def known_as(store: Store, folder: str) -> str:
    """The name under which a folder's evidence counts: `exposure.project_name`, but of a folder that is no repository
    here the remote that git named there most often."""
    name = project_name(folder)
    return (name and not repository_of(folder) and _remote(store, name)) or name


def project_of(store: Store, asked: str) -> str:
    """The name of the project that a folder, a project's name or the end of one means: `shop` is `github.com/dev/shop`.
    Raises NotFound for a name that is none, UsageError where several end so."""
    if Path(asked).is_absolute():
        return known_as(store, asked)
    known = sorted({name for folder in _folders(store) if (name := known_as(store, folder))})
    found = [name for name in known if name == asked] or [name for name in known if name.endswith(f"/{asked}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"several projects end in {asked}: {', '.join(found[:_NAMED])}; name one of them")
    there = f"there are {', '.join(known[:_NAMED])}" if known else "none is known; next: ratchet learn"
    raise NotFound(f"no project {asked}; {there}")


def folders_of(store: Store, project: str) -> list[str]:
    """The folders whose sessions count to a project, by its name."""
    return [folder for folder in _folders(store) if known_as(store, folder) == project]


def _folders(store: Store) -> list[str]:
    rows = store.sum_by("session_tallies", ("project",), ())
    return [folder for row in rows if (folder := text_in(row, "project"))]


_NAMED = 8  # projects in a message


def _remote(store: Store, name: str) -> str:
    rows = store.find("remotes", {"folder": name}).rows
    best = max(rows, key=lambda row: (whole_in(row, "seen"), text_in(row, "remote")), default={})
    return text_in(best, "remote")


def keep_remotes(store: Store, new: Iterable[Row]) -> None:
    """Keep which remotes new outcomes name. Sessions of a folder that has another name by that are searched again, as
    their evidence counts elsewhere now. Joins the caller's transaction."""
    told: Counter[tuple[str, str]] = Counter()
    for row in new:
        remote = text_in(row.get("context"), REMOTE)
        folder = text_in(row, "project")
        if remote and folder and not repository_of(folder):
            told[project_name(folder), remote] += 1
    if not told:
        return
    before = {name: _remote(store, name) for name, _ in told}
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
