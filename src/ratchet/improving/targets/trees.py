"""Keys in a document: where a path leads, and what the document must hold after an edit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, cast

from ratchet.errors import Refused, UsageError
from ratchet.records import Json

Path: TypeAlias = tuple[str, ...]
"""From the root, a key at each object; at a list, the number of an element that exists."""


class Format(Protocol):
    """One notation of documents, edited as text so that all else stays as its writer left it."""

    @property
    def name(self) -> str: ...

    def load(self, text: str) -> dict[str, object]:
        """The document; an empty text is an empty one. Raises Refused for what is no document of this notation."""

    def put(self, text: str, path: Path, value: Json) -> str:
        """The text with this value at this path; missing objects on the way are made. Raises Refused."""

    def remove(self, text: str, path: Path) -> str:
        """The text without this key, which is there. Raises Refused."""


def paths_of(keys: Sequence[str] | Mapping[str, Sequence[str]]) -> dict[str, Path]:
    """Key -> path: dotted names, or a mapping where names themselves hold dots. Raises UsageError."""
    if isinstance(keys, str) or not keys:
        raise UsageError('name the keys that may be changed: keys=("llm.timeout_s", "llm.model")')
    if isinstance(keys, Mapping):
        paths = {name: tuple(path) for name, path in keys.items()}
    else:
        paths = {name: tuple(name.split(".")) for name in keys}
    for name, path in paths.items():
        if not path or not all(path):
            raise UsageError(f"{name!r} is no key; write it as llm.timeout_s")
    for name, path in paths.items():
        inside = [other for other, longer in paths.items() if other != name and longer[: len(path)] == path]
        if inside:
            raise UsageError(f"{inside[0]} lies inside {name}; name either the one or the other")
    return paths


def find(tree: object, path: Path) -> tuple[bool, object]:
    """(whether something stands there, what)."""
    for step in path:
        if isinstance(tree, dict) and step in tree:
            tree = tree[step]
        elif isinstance(tree, list) and step.isdecimal() and int(step) < len(tree):
            tree = tree[int(step)]
        else:
            return False, None
    return True, tree


def with_value(tree: object, path: Path, value: Json) -> object:
    """Return the document with `value` at `path`. Raises Refused where the way there leads through a value.

    An absent object on the way is made; so is one of which only the name stands there (YAML's `llm:`). Only what lies
    on the way is copied: what the document says twice by one name (an alias) changes in the one place.
    """
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(tree, list) and step.isdecimal() and int(step) < len(tree):
        at = int(step)
        return [*tree[:at], with_value(tree[at], rest, value), *tree[at + 1 :]]
    if tree is not None and not isinstance(tree, dict):
        raise Refused(f"{step!r} has no place in {type(tree).__name__}; check the key's path")
    held = tree or {}
    return {**held, step: with_value(held.get(step), rest, value)}


def without(tree: object, path: Path) -> object:
    """Return the document without the key. An element of a list is never taken out."""
    step, rest = path[0], path[1:]
    if rest and isinstance(tree, list):
        at = int(step)
        return [*tree[:at], without(tree[at], rest), *tree[at + 1 :]]
    if not isinstance(tree, dict):
        raise Refused("an element cannot be taken out of a list; take it out by hand")
    if rest:
        return {**tree, step: without(tree[step], rest)}
    return {key: value for key, value in tree.items() if key != step}


def plain(value: object, where: str) -> Json:
    """A document's value as JSON. Raises Refused for one that JSON has not (a date)."""
    try:
        return cast("Json", json.loads(json.dumps(value)))
    except (TypeError, ValueError) as error:
        raise Refused(f"{where} holds a {type(value).__name__}, which cannot be tried; use text or a number") from error


def nested(path: Path, value: Json) -> Json:
    """The value inside one object for each step of the path."""
    for step in reversed(path):
        value = {step: value}
    return value
