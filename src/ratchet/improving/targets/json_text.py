"""Edit JSON in place, with the comments and trailing commas that settings files have in practice (JSONC): what is not
added or removed keeps its bytes, order, spelling and indentation."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ratchet.errors import Refused
from ratchet.improving.targets.trees import Path, nested
from ratchet.records import Json, Row

_SPACE = " \t\r\n"
_BLANK = _SPACE + "\ufeff"
# A string, a comment, or a comma before a closing bracket: whichever comes first.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_ENDING = re.compile(r",[ \t\r\n]*[}\]]")
_TRAILING = re.compile(rf"{_STRING.pattern}|,(?=[ \t\r\n]*[}}\]])")
_KEPT = (
    4  # texts of which is known what was read of them: an edit asks a dozen times, and an agent's settings may be large
)
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Item:
    """A member of an object (with its key) or an element of an array: where it stands, where its value starts."""

    key: str
    start: int
    value_start: int
    end: int
    value: Json


def parsed(text: str, *, comments: bool = True) -> Row:
    """The object that a text holds; {} for a blank one. Raises Refused; without `comments` for them, too, and for
    trailing commas."""
    seen = (_seen(text) if comments else text).strip(_BLANK)
    try:
        found = json.loads(seen) if seen else {}
    except (ValueError, RecursionError) as error:
        raise Refused(f"it is not valid JSON ({error}); it is left as it is: mend it first") from error
    if not isinstance(found, dict):
        raise Refused("its root is no object; it is left as it is: mend it first")
    return found


@lru_cache(maxsize=_KEPT)
def items(text: str, start: int) -> Sequence[Item]:
    """The items of the object or array that begins at `start` of a text that parses."""
    text, found = _seen(text), []
    is_object = text[start] == "{"
    at = _behind_space(text, start + 1)
    while text[at] not in "}]":
        began, key = at, ""
        if is_object:
            key, at = _decode(text, at)
            at = _behind_space(text, _behind_space(text, at) + 1)  # the colon
        value, end = _decode(text, at)
        found.append(Item(key, began, at, end, value))
        at = _behind_space(text, end)
        if text[at] == ",":
            at = _behind_space(text, at + 1)
    return found


def member(text: str, start: int, key: str) -> Item | None:
    """The member of that name; the last one, as every parser takes it, where there are several."""
    found = [item for item in items(text, start) if item.key == key]
    return found[-1] if found else None


def root(text: str) -> int:
    """Find where the document's value starts (behind white space, comments and a byte order mark)."""
    return _behind_space(_seen(text), 1 if text.startswith("\ufeff") else 0)


def with_item(text: str, start: int, value: Json, *, key: str | None = None) -> str:
    """The text with one more item at the end, behind its comments, of the object (`key`) or array at `start`."""
    seen, held = _seen(text), items(text, start)
    behind = held[-1].end if held else start + 1
    closing = _behind_space(seen, behind)
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    newline, unit = newline_of(text), indent_of(text)
    line = name + json.dumps(value, ensure_ascii=False)
    if text[behind:closing] != seen[behind:closing]:
        above = text[text.rfind("\n", 0, held[-1].start if held else start) + 1 :]
        indent = above[: len(above) - len(above.lstrip(" \t"))] + ("" if held else unit)
        # A trailing comma may stand there already; it then parts the two.
        comma = "" if not held or "," in _without_comments(text)[behind:closing] else ","
        content = len(text[:closing].rstrip(_SPACE))
        return text[:behind] + comma + text[behind:content] + newline + indent + line + text[content:]
    if "\n" not in text[root(text) :].strip():  # a document of one line stays one
        return text[:closing].rstrip(_SPACE) + (", " if held else "") + line + text[closing:]
    depth = _depth_at(seen, start)
    inner, outer = newline + unit * (depth + 1), newline + unit * depth
    added = name + json.dumps(value, ensure_ascii=False, indent=unit or None).replace("\n", inner)
    return text[:behind] + ("," if held else "") + inner + added + outer + text[closing:]


def with_element(text: str, path: Path, value: Json) -> str:
    """The text with one more element at the end of the array at `path`, which is made where it lacks."""
    start = root(text)
    for depth, name in enumerate(path):
        held = member(text, start, name)
        if held is None:
            return with_item(text, start, nested(path[depth + 1 :], [value]), key=name)
        start = held.value_start
    return with_item(text, start, value)


def without_item(text: str, start: int, position: int) -> str:
    """The text without the item at `position` of the object or array at `start`, and without one comma; the comments of
    its neighbours stay."""
    held, bare = items(text, start), _without_comments(text)
    item = held[position]
    if position < len(held) - 1:
        comma = bare.index(",", item.end)
        return text[: item.start] + text[comma + 1 :].lstrip(_SPACE)
    before = len(text[: item.start].rstrip(_SPACE))
    # Behind a comment that ends with its line, what follows needs a line of its own.
    head, gap = text[:before], "" if bare[:before] == bare[:before].rstrip(_SPACE) else newline_of(text)
    if position:
        comma = bare.index(",", held[position - 1].end)
        return head[:comma] + head[comma + 1 :] + gap + text[item.end :]
    behind = item.end + len(bare[item.end :]) - len(bare[item.end :].lstrip(_SPACE + ","))
    if text[item.end : behind].strip(_SPACE + ","):  # comments
        return head + gap + text[item.end :].lstrip(",")
    return head + gap + text[item.end :].lstrip(_SPACE + ",")


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def indent_of(text: str) -> str:
    """One step of this text's indentation: that of its first indented line, else two blanks."""
    for line in text.split("\n"):
        bare = line.lstrip(" \t")
        if bare.strip() and len(bare) < len(line):
            return line[: len(line) - len(bare)]
    return "  "


class JsonText:
    """`trees.Format` for JSON."""

    name = "json"

    def load(self, text: str) -> dict[str, object]:
        return {**parsed(text)}

    def put(self, text: str, path: Path, value: Json) -> str:
        if not _seen(text).strip(_BLANK):
            return f"{text}{{\n  {json.dumps(path[0], ensure_ascii=False)}: {_inner(path[1:], value)}\n}}\n"
        start, depth = root(text), 0
        while True:
            held = _item(text, start, path[depth])
            if held is None:
                return with_item(text, start, nested(path[depth + 1 :], value), key=path[depth])
            if depth == len(path) - 1 or held.value is None:
                return text[: held.value_start] + _inner(path[depth + 1 :], value) + text[held.end :]
            start, depth = held.value_start, depth + 1

    def remove(self, text: str, path: Path) -> str:
        start = root(text)
        for step in path[:-1]:
            held = _item(text, start, step)
            assert held is not None
            start = held.value_start
        position = max(i for i, item in enumerate(items(text, start)) if item.key == path[-1])
        return without_item(text, start, position)


def _item(text: str, start: int, step: str) -> Item | None:
    if text[start] == "{":
        return member(text, start, step)
    held = items(text, start) if text[start] == "[" else []
    if not step.isdecimal() or int(step) >= len(held):
        raise Refused(f"there is no place for {step!r}; check the key's path")
    return held[int(step)]


def _inner(path: Path, value: Json) -> str:
    return json.dumps(nested(path, value), ensure_ascii=False)


@lru_cache(maxsize=_KEPT)
def _seen(text: str) -> str:
    """The text without comments and trailing commas, of the same length: every place keeps its number."""
    bare = _without_comments(text)
    return _TRAILING.sub(lambda found: found[0] if found[0][0] == '"' else " ", bare) if _ENDING.search(bare) else bare


def _without_comments(text: str) -> str:
    if "//" not in text and "/*" not in text:
        return text
    return _TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\r\n]", " ", found[0]), text)


def _depth_at(text: str, position: int) -> int:
    """Count the objects and arrays that are open before `position`."""
    marks = _STRING.sub("", text[root(text) : position])
    return sum(map(marks.count, "{[")) - sum(map(marks.count, "}]"))


def _behind_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
