"""Edits a JSON text in place: what is not added or removed keeps its bytes, order, spelling and indentation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ratchet.records import Json

_SPACE = " \t\r\n"
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Item:
    """A member of an object (with its key) or an element of an array: where it stands, where its value starts."""

    key: str
    start: int
    value_start: int
    end: int
    value: Json


def items(text: str, start: int) -> Iterator[Item]:
    """The items of the object or array that begins at `start` of a text that parses."""
    is_object = text[start] == "{"
    at = _behind_space(text, start + 1)
    while text[at] not in "}]":
        began, key = at, ""
        if is_object:
            key, at = _decode(text, at)
            at = _behind_space(text, _behind_space(text, at) + 1)  # the colon
        value, end = _decode(text, at)
        yield Item(key, began, at, end, value)
        at = _behind_space(text, end)
        if text[at] == ",":
            at = _behind_space(text, at + 1)


def member(text: str, start: int, key: str) -> Item | None:
    """The member of that name; the last one, as every parser takes it, where there are several."""
    found = [item for item in items(text, start) if item.key == key]
    return found[-1] if found else None


def root(text: str) -> int:
    """Where the document's value starts (behind white space and a byte order mark)."""
    return _behind_space(text, 1 if text.startswith("\ufeff") else 0)


def with_item(text: str, start: int, value: Json, *, key: str | None = None) -> str:
    """The text with one more item at the end of the object (`key`) or array that begins at `start`."""
    held = list(items(text, start))
    closing = _behind_space(text, held[-1].end if held else start + 1)
    newline, unit = newline_of(text), indent_of(text)
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if "\n" not in text[root(text) :].strip():  # a document of one line stays one
        added = name + json.dumps(value, ensure_ascii=False)
        return text[:closing].rstrip(_SPACE) + (", " if held else "") + added + text[closing:]
    depth = _depth_at(text, start)
    inner, outer = newline + unit * (depth + 1), newline + unit * depth
    added = name + json.dumps(value, ensure_ascii=False, indent=unit or None).replace("\n", inner)
    before = text[: held[-1].end if held else start + 1]
    return before + ("," if held else "") + inner + added + outer + text[closing:]


def without_item(text: str, start: int, position: int) -> str:
    """The text without the item at `position` of the object or array that begins at `start`, and without its comma."""
    held = list(items(text, start))
    if len(held) == 1:
        closing = _behind_space(text, held[0].end)
        return text[: start + 1] + text[closing:]
    if position == 0:
        return text[: held[0].start] + text[held[1].start :]
    return text[: held[position - 1].end] + text[held[position].end :]


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def indent_of(text: str) -> str:
    """One step of this text's indentation: that of its first indented line, else two blanks."""
    for line in text.split("\n"):
        bare = line.lstrip(" \t")
        if bare.strip() and len(bare) < len(line):
            return line[: len(line) - len(bare)]
    return "  "


def _depth_at(text: str, position: int) -> int:
    """How many objects and arrays are open before `position`."""
    depth, at = 0, root(text)
    while at < position:
        if text[at] == '"':
            _, at = _decode(text, at)
            continue
        depth += (text[at] in "{[") - (text[at] in "}]")
        at += 1
    return depth


def _behind_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
