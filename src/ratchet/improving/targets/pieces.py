"""A piece of somebody's file as a target: a line of notes, a hook of an agent, a git setting. Nothing else is touched.

A target's name says all about it (`notes:PATH#MARK`), so that any process can undo what another one did.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from ratchet import files
from ratchet.errors import Refused, UsageError
from ratchet.improving.targets import edit as edits
from ratchet.improving.targets import json_text
from ratchet.improving.targets.edit import splice, undone
from ratchet.ports import Edit, Held, Restored
from ratchet.records import Json

KEY = "piece"
"""The one key of such a target: the piece's text."""


class PieceForm(Protocol):
    """Finds one piece of a text by its mark, puts it in, takes it out."""

    def find(self, text: str, mark: str) -> str | None: ...

    def put(self, text: str, mark: str, piece: str) -> str:
        """The text with the piece in the place of the one that had the mark. Raises Refused."""

    def out(self, text: str, mark: str) -> str: ...


class Line:
    """A line of a text that holds the mark. `first` puts it behind the first line (a script's `#!`), else at the end;
    `empty` is what a file that is not there begins with."""

    def __init__(self, *, first: bool = False, empty: str = "") -> None:
        self._first = first
        self._empty = empty

    def find(self, text: str, mark: str) -> str | None:
        return next((line.rstrip("\r") for line in text.split("\n") if mark in line), None)

    def put(self, text: str, mark: str, piece: str) -> str:
        text = self.out(text, mark) or self._empty
        newline = json_text.newline_of(text)
        if self._first:
            head, _, rest = text.partition("\n")
            return f"{head.rstrip()}{newline}{piece}{newline}{rest}"
        gap = "" if not text or text.endswith("\n") else newline
        return f"{text}{gap}{piece}{newline}"

    def out(self, text: str, mark: str) -> str:
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if mark not in line)


class ListItem:
    """An element of a list in a JSON document, at `path`; the list and what is above it are made where they lack."""

    def __init__(self, *path: str) -> None:
        self._path = path

    def find(self, text: str, mark: str) -> str | None:
        start = self._list(text)
        several = json_text.items(text, start) if start is not None else ()
        return next((written(each.value) for each in several if mark in written(each.value)), None)

    def put(self, text: str, mark: str, piece: str) -> str:
        text = self.out(text, mark) if text.strip() else "{\n}\n"
        return json_text.with_element(text, self._path, json.loads(piece))

    def out(self, text: str, mark: str) -> str:
        start = self._list(text)
        several = list(json_text.items(text, start)) if start is not None else []
        at = next((at for at, each in enumerate(several) if mark in written(each.value)), None)
        return text if at is None or start is None else json_text.without_item(text, start, at)

    def _list(self, text: str) -> int | None:
        """Find where the list begins, None where there is none. Raises Refused for a document of another shape."""
        value: Json = json_text.parsed(text) if text.strip() else {}
        for name in self._path:
            if not isinstance(value, dict):
                raise Refused(f'"{name}" stands in no object; mend the file, then try again')
            value = value.get(name, {} if name != self._path[-1] else None)
        if value is None or not text.strip():
            return None
        if not isinstance(value, list):
            raise Refused(f'"{self._path[-1]}" is no list; mend the file, then try again')
        start = json_text.root(text)
        for name in self._path:
            held = json_text.member(text, start, name)
            assert held is not None
            start = held.value_start
        return start


class GitSetting:
    """A setting of a repository (`pull.rebase`), whose name is the mark, in the text of its `config`. Git itself is not
    asked: a repository's settings may name programs."""

    def find(self, text: str, mark: str) -> str | None:
        found = None
        for section, line in _config_lines(text):
            name, is_set, value = line.partition("=")
            if is_set and f"{section}.{name.strip()}".lower() == mark.lower():
                found = value.strip().strip('"')
        return found

    def put(self, text: str, mark: str, piece: str) -> str:
        section, _, name = mark.partition(".")
        text, newline = self.out(text, mark), json_text.newline_of(text)
        gap = "" if not text or text.endswith("\n") else newline
        return f"{text}{gap}[{section}]{newline}\t{name} = {piece}{newline}"

    def out(self, text: str, mark: str) -> str:
        """The text without the lines that set it, and without a section that it was alone in, as `put` makes one."""
        section, _, name = mark.partition(".")
        alone = re.compile(rf"(?m)^\[{re.escape(section)}\]\r?\n\t{re.escape(name)} = .*\r?\n(?=\[|\Z)")
        text = alone.sub("", text)
        kept = [
            line
            for (within, bare), line in zip(_config_lines(text), text.splitlines(keepends=True), strict=True)
            if "=" not in bare or f"{within}.{bare.partition('=')[0].strip()}".lower() != mark.lower()
        ]
        return "".join(kept)


def _config_lines(text: str) -> list[tuple[str, str]]:
    """(section, line without space around it) of each line of a git config; a section with a name of its own, such as a
    branch's, is none of those asked for."""
    section, found = "", []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("["):
            section = bare.strip("[]")
        found.append((section, bare))
    return found


PIECES: Mapping[str, PieceForm] = {
    "notes": Line(),
    "pre-commit": Line(first=True, empty="#!/bin/sh\n"),
    "check": ListItem("hooks", "PreToolUse"),
    "permission": ListItem("permissions", "deny"),
    "git": GitSetting(),
}
"""What a piece may be, by the first word of its target's name."""
_EXECUTABLE = 0o755


class PieceTarget:
    """Port `Target` over one piece of one file. An edit that nobody touched since is undone byte for byte, and a file
    that was not there is gone again."""

    def __init__(self, kind: str, path: Path, mark: str) -> None:
        if kind not in PIECES or not mark:
            raise UsageError(f"no target {kind}:{path}#{mark}; its kind is one of {', '.join(PIECES)}")
        self.path = path.absolute()
        self._kind = kind
        self._mark = mark
        self._piece = PIECES[kind]

    @property
    def name(self) -> str:
        return f"{self._kind}:{self.path}#{self._mark}"

    def read(self) -> Held:
        text, version = self._held()
        return Held(values=self._values(text), version=version)

    def plan(self, change: Mapping[str, Json]) -> Edit:
        values = edits.plain_values(change, self.name)
        if set(values) != {KEY} or not isinstance(values[KEY], str):
            raise UsageError(f"{self.name}: it has one key, {KEY!r}, a text")
        text, version = self._held()
        after = self._put(text, str(values[KEY]))
        return Edit(
            target=self.name,
            before=self._values(text),
            after=values,
            version=version,
            result=files.version_of(files.bytes_of(after)) if after != text else version,
            undo=[splice(after, text)],
        )

    def diff(self, piece: str) -> str:
        """Tell what putting a piece there would change, as a unified diff."""
        text, version = self._held()
        before = "/dev/null" if version == files.ABSENT else str(self.path)
        after = self._put(text, piece)
        lines = difflib.unified_diff(
            text.splitlines(), after.splitlines(), fromfile=before, tofile=str(self.path), lineterm="", n=1
        )
        return "\n".join(lines)

    def apply(self, edit: Edit) -> None:
        text, version = self._held()
        if version != edit.result:
            self._swap(edit.version, self._put(text, str(edit.after[KEY])))

    def restore(self, edit: Edit) -> Restored:
        text, version = self._held()
        if version == edit.result and version != edit.version:
            before = undone(text, edit.undo)
            content = None if edit.version == files.ABSENT else before
            if files.version_of(None if content is None else files.bytes_of(content)) == edit.version:
                self._swap(version, content)
                return Restored(version=edit.version, restored=(KEY,), kept={})
        back = edits.way_back(edit, self._values(text))
        if back.restored:
            put = back.put.get(KEY)
            text = self._put(text, str(put)) if put is not None else self._piece.out(text, self._mark)
            self._swap(version, text)
            version = files.version_of(files.bytes_of(text))
        return Restored(version=version, restored=back.restored, kept=back.kept)

    def _put(self, text: str, piece: str) -> str:
        after = self._piece.put(text, self._mark, piece)
        if self._values(after).get(KEY) != piece:
            raise Refused(f"{self.path} cannot take it without changing more; edit it by hand")
        return after

    def _values(self, text: str) -> dict[str, Json]:
        found = self._piece.find(text, self._mark)
        return {} if found is None else {KEY: found}

    def _held(self) -> tuple[str, str]:
        content = files.read(self.path)
        return files.text_of(content), files.version_of(content)

    def _swap(self, version: str, text: str | None) -> None:
        files.need_inside(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = version == files.ABSENT and self._kind == "pre-commit"
        content = None if text is None else files.bytes_of(text)
        files.swap(self.path, version, content, mode=_EXECUTABLE if fresh else None)


def piece_named(name: str) -> PieceTarget | None:
    """The target of a name that a `PieceTarget` gave, None for another's."""
    kind, found, rest = name.partition(":")
    path, marked, mark = rest.rpartition("#")
    if not found or not marked or kind not in PIECES:
        return None
    return PieceTarget(kind, Path(path), mark)


def written(value: Json) -> str:
    """A JSON value as a piece of a list."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
