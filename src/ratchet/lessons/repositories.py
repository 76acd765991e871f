"""Names the project of a folder that is not on this machine by the remote that git named in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ratchet.lessons.exposure import project_name, repository_of
from ratchet.ports import Store
from ratchet.recording.remotes import REMOTE
from ratchet.records import Row, text_in, whole_in


def known_as(store: Store, folder: str) -> str:
    """The name under which a folder's evidence counts: `exposure.project_name`, but of a folder that is no repository
    here the remote that git named there most often."""
    name = project_name(folder)
    return (name and not repository_of(folder) and _remote(store, name)) or name


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
