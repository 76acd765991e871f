"""JSON, with the comments and trailing commas that settings files have in practice (JSONC)."""

from __future__ import annotations

import json
import re

from ratchet.errors import Refused
from ratchet.improving.targets import json_edit as jsontext
from ratchet.improving.targets.json_edit import Item
from ratchet.improving.targets.trees import Path, nested
from ratchet.records import Json

_SPACE = " \t\r\n"
# A string, a comment, or a comma before a closing bracket: whichever comes first.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=[ \t\r\n]*[}\]])')


class JsonText:
    """`trees.Format` for JSON. Comments are looked through: blanked out for reading, their places kept."""

    name = "json"

    def load(self, text: str) -> dict[str, object]:
        seen = _seen(text)
        if not seen.strip(_SPACE + "\ufeff"):
            return {}
        try:
            found = json.loads(seen.removeprefix("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise Refused(f"it is not valid JSON ({error}); it is left as it is: mend it first") from error
        if not isinstance(found, dict):
            raise Refused("its root is no object; it is left as it is")
        return found

    def put(self, text: str, path: Path, value: Json) -> str:
        if not _seen(text).strip(_SPACE + "\ufeff"):
            return text + "{\n  " + _member(path, value) + "\n}\n"
        start, depth = jsontext.root(_seen(text)), 0
        while True:
            held = _item(_seen(text), start, path[depth])
            last = depth == len(path) - 1
            if held is None:
                return _with_member(text, start, path[depth:], value)
            if last or held.value is None:
                inner = nested(path[depth + 1 :], value)
                return text[: held.value_start] + json.dumps(inner, ensure_ascii=False) + text[held.end :]
            start, depth = held.value_start, depth + 1

    def remove(self, text: str, path: Path) -> str:
        seen = _seen(text)
        start = jsontext.root(seen)
        for step in path[:-1]:
            held = _item(seen, start, step)
            assert held is not None
            start = held.value_start
        items = list(jsontext.items(seen, start))
        position = max(i for i, item in enumerate(items) if item.key == path[-1])
        return _without(text, items, position)


def _without(text: str, items: list[Item], position: int) -> str:
    """The text without an item and one comma; the comments of its neighbours stay."""
    item, bare = items[position], _without_comments(text)
    if position < len(items) - 1:
        comma = bare.index(",", item.end)
        return text[: item.start] + text[comma + 1 :].lstrip(_SPACE)
    before = len(text[: item.start].rstrip(_SPACE))
    # Behind a comment that ends with its line, what follows needs a line of its own.
    head, gap = text[:before], "" if bare[:before] == bare[:before].rstrip(_SPACE) else jsontext.newline_of(text)
    if position:
        comma = bare.index(",", items[position - 1].end)
        return head[:comma] + head[comma + 1 :] + gap + text[item.end :]
    behind = item.end + len(bare[item.end :]) - len(bare[item.end :].lstrip(_SPACE + ","))
    if text[item.end : behind].strip(_SPACE + ","):  # comments
        return head + gap + text[item.end :].lstrip(",")
    return head + gap + text[item.end :].lstrip(_SPACE + ",")


def _seen(text: str) -> str:
    """The text without comments and trailing commas, of the same length: every place keeps its number."""
    return _TRAILING.sub(lambda found: found[0] if found[0][0] == '"' else " ", _without_comments(text))


def _item(seen: str, start: int, step: str) -> Item | None:
    if seen[start] == "{":
        return jsontext.member(seen, start, step)
    items = list(jsontext.items(seen, start)) if seen[start] == "[" else []
    if not step.isdecimal() or int(step) >= len(items):
        raise Refused(f"there is no place for {step!r}; check the key's path")
    return items[int(step)]


def _with_member(text: str, start: int, path: Path, value: Json) -> str:
    """The text with one more member at the end of an object, behind its comments."""
    seen = _seen(text)
    items = list(jsontext.items(seen, start))
    behind = items[-1].end if items else start + 1
    closing = behind + len(seen[behind:]) - len(seen[behind:].lstrip(_SPACE))
    if text[behind:closing] == seen[behind:closing]:
        return _same_but(text, seen, jsontext.with_item(seen, start, nested(path[1:], value), key=path[0]))
    newline, unit = jsontext.newline_of(text), jsontext.indent_of(text)
    line = text[text.rfind("\n", 0, items[-1].start if items else start) + 1 :]
    indent = line[: len(line) - len(line.lstrip(" \t"))] + ("" if items else unit)
    # A trailing comma may stand there already; it then parts the two.
    comma = "" if not items or "," in _without_comments(text)[behind:closing] else ","
    content = len(text[:closing].rstrip(_SPACE))
    return text[:behind] + comma + text[behind:content] + newline + indent + _member(path, value) + text[content:]


def _without_comments(text: str) -> str:
    if "//" not in text and "/*" not in text:
        return text
    return _TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\r\n]", " ", found[0]), text)


def _same_but(text: str, seen: str, changed: str) -> str:
    """`text` with the difference between `seen` and `changed`, which lies where the first two agree."""
    start = len(_common(seen, changed))
    end = len(_common(seen[start:][::-1], changed[start:][::-1]))
    return text[:start] + changed[start : len(changed) - end] + text[len(text) - end :]


def _common(one: str, other: str) -> str:
    length = min(len(one), len(other))
    at = next((i for i in range(length) if one[i] != other[i]), length)
    return one[:at]


def _member(path: Path, value: Json) -> str:
    inner = json.dumps(nested(path[1:], value), ensure_ascii=False)
    return f"{json.dumps(path[0], ensure_ascii=False)}: {inner}"
