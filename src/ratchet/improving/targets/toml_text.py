"""TOML, edited by tomlkit, which writes back every byte that it was not asked to change."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable, Table

from ratchet.errors import Refused
from ratchet.improving.targets.trees import Path
from ratchet.records import Json


class TomlText:
    """`trees.Format` for TOML."""

    name = "toml"

    def load(self, text: str) -> dict[str, object]:
        try:
            return tomllib.loads(text.removeprefix("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise Refused(f"it is not valid TOML ({error}); it is left as it is: mend it first") from error

    def put(self, text: str, path: Path, value: Json) -> str:
        if _has_null(value):
            raise Refused("TOML has no null; take the key out instead")
        document = _parsed(text)
        with _edited():
            at: Any = document
            for step in path[:-1]:
                if isinstance(at, dict) and step not in at:
                    at[step] = tomlkit.inline_table() if isinstance(at, InlineTable) else tomlkit.table()
                at = at[int(step)] if isinstance(at, list) else at[step]
            key: Any = int(path[-1]) if isinstance(at, list) else path[-1]
            if isinstance(at, AoT) or isinstance(at.get(key) if isinstance(at, dict) else None, Table | AoT):
                raise Refused("it is a table of its own; edit it by hand")
            at[key] = _item(value)
            return _written(document, text)

    def remove(self, text: str, path: Path) -> str:
        document = _parsed(text)
        with _edited():
            at: Any = document
            for step in path[:-1]:
                at = at[int(step)] if isinstance(at, list) else at[step]
            del at[path[-1]]
            return _written(document, text)


@contextmanager
def _edited() -> Iterator[None]:
    """Layouts that tomlkit has no way to edit (tables out of order, dotted keys) come as errors of any class."""
    try:
        yield
    except (TOMLKitError, AttributeError, LookupError, TypeError, ValueError, AssertionError) as error:
        raise Refused(f"it cannot be edited ({type(error).__name__}); edit it by hand") from error


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        document = tomlkit.parse(text)
    except (TOMLKitError, RecursionError) as error:
        raise Refused(f"it cannot be edited ({error}); edit it by hand") from error
    if tomlkit.dumps(document) != text:
        raise Refused("it cannot be written back as it is; edit it by hand")
    return document


def _written(document: tomlkit.TOMLDocument, before: str) -> str:
    text = tomlkit.dumps(document)
    if "\r\n" in before and not re.search(r"(?<!\r)\n", before):
        text = re.sub(r"(?<!\r)\n", "\r\n", text)
    return text


def _item(value: Json) -> Any:
    """The value as TOML in its own place: objects inline. A text of several lines reads better as such, where it
    survives that."""
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update({key: _item(held) for key, held in value.items()})
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(map(_item, value))
        return array
    if isinstance(value, str) and "\n" in value.strip("\n") and "\r" not in value and not value.startswith("\n"):
        return tomlkit.string(value, multiline=True)
    return tomlkit.item(cast("Any", value))


def _has_null(value: Json) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    return any(map(_has_null, value)) if isinstance(value, list) else value is None
