"""Finds the homes in which coding agents keep their histories on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ratchet import registry
from ratchet.ports import Store
from ratchet.recording.sources.find import find
from ratchet.records import Row, number_in, text_in, whole_in

_OTHERS = {
    "Amp": ("{data}/amp/threads",),
    "goose": ("{data}/goose/sessions",),
    "OpenHands": ("{user}/.openhands/conversations", "{user}/.openhands/sessions", "{user}/.openhands-state/sessions"),
}
"""Homes of agents into which nothing of ours is installed. `data` is XDG_DATA_HOME, or what
it is by default. aider has none: its histories lie in the folders of projects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryHome:
    """A folder or file in which an agent keeps histories. `files` are those that a reader understands, `unread` of them
    grew since they were read, or never were; `read_at` is when any was read last (None: never)."""

    agent: str
    path: str
    files: int = 0
    size_bytes: int = 0
    unread: int = 0
    read_at: float | None = None


def known_homes(environ: Mapping[str, str]) -> list[HistoryHome]:
    """List those that exist, without looking into them; what two names lead to, by a link, is one."""
    user = environ.get("HOME") or str(Path("~").expanduser())
    data = environ.get("XDG_DATA_HOME") or f"{user}/.local/share"
    found: dict[str, str] = {}
    for name in registry.names(registry.CLIENTS):
        client = registry.client(name)
        found |= dict.fromkeys(client.homes(user, environ), client.title)
    for title, places in _OTHERS.items():
        found |= {place.format(user=user, data=data): title for place in places}
    real: dict[Path, HistoryHome] = {}
    for place, title in found.items():
        if Path(place).exists():
            real.setdefault(Path(place).resolve(), HistoryHome(agent=title, path=place))
    return [*real.values()]


def listed(store: Store, environ: Mapping[str, str]) -> list[HistoryHome]:
    """List those that exist, with what is in them and what of that was read."""
    cursors = {text_in(row, "file"): row for row in store.find("cursors").rows if row.get("file")}
    plugins = tuple(registry.plugin_sources())
    return [_looked_into(home, find([home.path], plugins, own=True).files, cursors) for home in known_homes(environ)]


def _looked_into(home: HistoryHome, files: Sequence[str], cursors: Mapping[str, Row]) -> HistoryHome:
    sizes = {path: _size(path) for path in files}
    read = {path: row for path in files if (row := cursors.get(str(Path(path).absolute()))) is not None}
    return HistoryHome(
        agent=home.agent,
        path=home.path,
        files=len(files),
        size_bytes=sum(sizes.values()),
        unread=sum(path not in read or whole_in(read[path], "offset") != size for path, size in sizes.items()),
        read_at=max((number_in(row, "at") for row in read.values()), default=None),
    )


def _size(path: str) -> int:
    place = Path(path)
    try:
        return sum(each.stat().st_size for each in place.iterdir()) if place.is_dir() else place.stat().st_size
    except OSError:  # deleted meanwhile
        return 0
