"""Hides a value that stands on another line than its name: `name: DB_PASSWORD` beside `value: ...` in either order, a
variable with its `default`, an element of XML around a line of its own.

Lean: a hook process imports this, and only for a text that may hold such lines.
"""

from __future__ import annotations

from itertools import islice

from ratchet.failures.expressions import compiled
from ratchet.failures.redaction.named import kind_under
from ratchet.failures.redaction.values import is_placeholder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

_FRONT = r"(?m)^(?:[ \t]{0,8}\d{1,6}(?:→|\t))?([ \t]{0,80}+(?:-[ \t]{1,4}+|\{[ \t]{0,4}+)?)"
_VALUE = (
    rf"(?i){_FRONT}[\"']?[a-z_]{{0,20}}(?:value|default)[\"']?[ \t]{{0,20}}[:=][ \t]{{0,20}}"
    r"(?:(?P<quote>[\"'])(?P<quoted>[^\r\n]{3,1000}?)(?P=quote)|(?P<bare>[^\s\"'#,{}\[\]][^\s\"',{}\[\]]{2,1000}+))"
    r"[ \t]{0,8}[,;})\]]{0,4}[ \t]{0,8}(?:#[^\r\n]{0,200})?\r?$"
)
_ATTRIBUTE = (
    rf"{_FRONT}[\"']?[\w.-]{{1,40}}[\"']?[ \t]{{0,20}}[:=][ \t]{{0,20}}[\"']?([\w.-]{{2,80}})[\"']?"
    r"[ \t]{0,4},?[ \t]{0,4}\r?$"
)
_LAST_NAME = r"([A-Za-z_][\w.-]{1,79})[\"']?(?:[ \t]{0,4}[,:={(\[]){0,3}[ \t]{0,4}\r?$"
_NEAR = 8  # lines between a value and its name
_REACH = 1000  # characters of them


def hide_entries(text: str) -> str:
    """The text without values that stand in the entry of a name that means a secret."""
    out: list[str] = []
    done = 0
    for value in compiled(_VALUE).finditer(text):
        part = "quoted" if value["quote"] else "bare"
        said = value[part]
        kinds = () if is_placeholder(said) else (kind_under(name, said) for name in _names(text, value))
        kind = next(filter(None, kinds), "")
        if not kind:
            continue
        out += (text[done : value.start(part)], f"[redacted:{kind}]")
        done = value.end(part)
    return "".join((*out, text[done:])) if out else text


def _names(text: str, value: re.Match[str]) -> Iterator[str]:
    """Find what the lines around a value call it: words alone beside it, and the line that it is indented below."""
    front, start, end = value[1], value.start(), value.end()
    margin = len(front)
    if front.strip() == "":  # else its own line begins the entry
        for line in islice(reversed(text[max(0, start - _REACH) : start].split("\n")[:-1]), _NEAR):
            found = compiled(_FRONT).match(line)
            indent = len(found[1]) if found else 0
            if not line.strip():
                break
            yield from _named(line, indent, margin)
            if indent < margin or (found and found[1].strip()):
                break
    for line in islice(text[end + 1 : end + _REACH].split("\n"), _NEAR):
        found = compiled(_FRONT).match(line)
        if found is None or len(found[1]) != margin or found[1].strip():
            return
        yield from _named(line, margin, margin)


def _named(line: str, indent: int, margin: int) -> Iterable[str]:
    found = compiled(_LAST_NAME).search(line) if indent < margin else compiled(_ATTRIBUTE).match(line)
    return (found[found.lastindex or 0],) if found else ()


_ELEMENT = r"<([\w.:-]{2,60})>[ \t]{0,8}\r?\n[ \t]{0,80}([^\s<>]{3,400})[ \t]{0,8}(?=\r?\n[ \t]{0,80}</\1>)"


def hide_elements(text: str) -> str:
    """The text without what stands on a line of its own in an element of XML whose name means a secret."""
    return compiled(_ELEMENT).sub(lambda found: _without(found, 1, 2), text)


def _without(found: re.Match[str], name: int, value: int) -> str:
    said = found[value]
    kind = "" if is_placeholder(said) else kind_under(found[name], said)
    return f"{found[0][: found.start(value) - found.start()]}[redacted:{kind}]" if kind else found[0]
