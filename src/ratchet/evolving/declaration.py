"""Puts settings that were proven into an agent's own declaration, as an edit like any other."""

from __future__ import annotations

from collections.abc import Mapping

from ratchet.errors import Refused
from ratchet.evolving.archive import Files
from ratchet.evolving.bench.agents import FILE_NAME
from ratchet.records import Json
from ratchet.registry import adding
from ratchet.sandbox.command import FileChange


def declared(files: Files, old: Mapping[str, Json], new: Mapping[str, Json]) -> tuple[FileChange, ...]:
    """The edit of `ratchet-agent.toml` that brings its `[settings]` from `old` to `new`; nothing where they are alike.
    Every other byte of it stays. Raises Refused where the agent has no such file, or one that cannot be edited."""
    changed = {name: value for name, value in new.items() if old.get(name) != value}
    if not changed:
        return ()
    if FILE_NAME not in files:
        told = ", ".join(f"{name} = {value!r}" for name, value in changed.items())
        raise Refused(f"the result is settings, and the agent has no {FILE_NAME} to put them into: {told}")
    try:
        from ratchet.improving.targets.toml_text import TomlText
    except ImportError as error:
        raise Refused(f"{FILE_NAME} is edited with tomlkit: {adding('files')}") from error
    mode, content = files[FILE_NAME]
    text = content.decode()
    for name, value in changed.items():
        text = TomlText().put(text, ("settings", name), value)
    return (FileChange(path=FILE_NAME, before=content, after=text.encode(), before_mode=mode, after_mode=mode),)
