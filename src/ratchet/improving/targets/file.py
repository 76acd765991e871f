"""Keys of a JSON, YAML or TOML file as a target. Comments, order, spelling and every other key stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import cast

from ratchet import files
from ratchet.errors import Refused, UsageError
from ratchet.improving.targets import edit as edits
from ratchet.improving.targets import trees
from ratchet.improving.targets.edit import splice, undone
from ratchet.improving.targets.json_text import JsonText
from ratchet.improving.targets.trees import Format
from ratchet.ports import Edit, Held, Restored
from ratchet.records import Json
from ratchet.registry import adding

FORMATS = {".json": "json", ".jsonc": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}


def format_of(name: str) -> Format:
    """The notation of that name (json, yaml, toml). Raises UsageError for another or where its library is missing."""
    if name == "json":
        return JsonText()
    try:
        if name == "yaml":
            from ratchet.improving.targets.yaml_text import YamlText

            return YamlText()
        if name == "toml":
            from ratchet.improving.targets.toml_text import TomlText

            return TomlText()
    except ImportError as error:
        raise UsageError(f"{name} files need a library; install it: {adding('files')}") from error
    raise UsageError(f"no notation {name!r}; known: json, yaml, toml")


class FileTarget:
    """Some keys of a file: `ports.Target`.

    `keys` are dotted (`llm.timeout_s`; a number leads to an element of a list), or a mapping of names to paths where
    names hold dots. `notation` is json, yaml or toml, by default that of the file's suffix. The version is the hash of
    the whole file, so any edit of it in between is noticed; an edit that nobody touched since is undone byte for byte.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        keys: Sequence[str] | Mapping[str, Sequence[str]],
        *,
        notation: str | None = None,
    ) -> None:
        self.path = Path(path).absolute()
        self._paths = trees.paths_of(keys)
        chosen = notation or FORMATS.get(self.path.suffix.lower())
        if chosen is None:
            raise UsageError(f"{self.path} has no known suffix; say notation='json', 'yaml' or 'toml'")
        self._format = format_of(chosen)

    @property
    def name(self) -> str:
        return f"file:{self.path.resolve()}"

    def read(self) -> Held:
        text, version = self._held()
        return Held(values=self._values(text), version=version)

    def plan(self, change: Mapping[str, Json]) -> Edit:
        values = edits.plain_values(change, str(self.path))
        for key in values:
            if key not in self._paths:
                raise UsageError(f"{self.path}: {key!r} is not among the target's keys {', '.join(self._paths)}")
        text, version = self._held()
        held = self._values(text)
        after, undo = self._edited(text, values, ())
        return Edit(
            target=self.name,
            before={key: held[key] for key in values if key in held},
            after=values,
            version=version,
            result=files.version_of(files.bytes_of(after)) if after != text else version,
            undo=undo,
        )

    def apply(self, edit: Edit) -> None:
        text, version = self._held()
        if version == edit.result:
            return
        out = [key for key in edit.before if key not in edit.after]
        after, _ = self._edited(text, edit.after, out) if version == edit.version else (text, None)
        files.swap(self.path, edit.version, files.bytes_of(after))

    def restore(self, edit: Edit) -> Restored:
        text, version = self._held()
        if version == edit.result and version != edit.version:
            before = undone(text, edit.undo)
            content = None if edit.version == files.ABSENT else files.bytes_of(before)
            if files.version_of(content) == edit.version:
                files.swap(self.path, version, content)
                return Restored(version=edit.version, restored=edits.keys_of(edit), kept={})
        back = edits.way_back(edit, self._values(text))
        if back.restored:
            text, _ = self._edited(text, back.put, back.out)
            files.swap(self.path, version, content := files.bytes_of(text))
            version = files.version_of(content)
        return Restored(version=version, restored=back.restored, kept=back.kept)

    def _held(self) -> tuple[str, str]:
        """(text, version)"""
        content = files.read(self.path)
        return files.text_of(content), files.version_of(content)

    def _values(self, text: str) -> dict[str, Json]:
        tree = self._loaded(text)
        found = {key: trees.find(tree, path) for key, path in self._paths.items()}
        return {key: trees.plain(value, f"{self.path}: {key}") for key, (there, value) in found.items() if there}

    def _loaded(self, text: str) -> dict[str, object]:
        try:
            return self._format.load(text)
        except Refused as error:
            raise Refused(f"{self.path}: {error}") from error

    def _edited(self, text: str, put: Mapping[str, Json], out: Iterable[str]) -> tuple[str, Json]:
        """The text with these values and without those keys, and the way back from it (see `edit.undone`).

        Every step is read again and compared with what the document must now hold: an edit that would come to anything
        else, because of a notation's rarer corners, is refused.
        """
        undo: list[Json] = []
        for key, value in [*put.items(), *((key, None) for key in out)]:
            path, tree = self._paths[key], self._loaded(text)
            there, now = trees.find(tree, path)
            try:
                if key in put:
                    if there and edits.same(cast("Json", now), value):
                        continue
                    wanted, changed = trees.with_value(tree, path, value), self._format.put(text, path, value)
                else:
                    wanted, changed = trees.without(tree, path), self._format.remove(text, path)
                holds = edits.same(cast("Json", self._format.load(changed)), cast("Json", wanted))
            except Refused as error:
                raise Refused(f"{self.path}: {key}: {error}") from error
            if not holds:
                raise Refused(f"{self.path}: {key} cannot be edited without changing more than it; edit it by hand")
            undo.insert(0, splice(changed, text))
            text = changed
        return text, undo
