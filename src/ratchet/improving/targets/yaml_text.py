"""YAML, edited as text at the places that PyYAML's parser tells: all else keeps its bytes.

PyYAML reads YAML 1.1, as the agents that use it do. What this cannot edit safely (aliases, block collections replaced
whole, several documents) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from ratchet.errors import Refused
from ratchet.improving.targets.json_text import newline_of
from ratchet.improving.targets.trees import Path, nested
from ratchet.records import Json

_ALIAS = re.compile(r"\s*:\s*\*[^\s,\[\]{}]+")
_WIDE = 2**30  # characters before a line is folded


class YamlText:
    """`trees.Format` for YAML."""

    name = "yaml"

    def load(self, text: str) -> dict[str, object]:
        try:
            found = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            said = " ".join(str(error).split())
            raise Refused(f"it is not valid YAML ({said}); it is left as it is: mend it first") from error
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise Refused("its root is no mapping; it is left as it is")
        return found

    def put(self, text: str, path: Path, value: Json) -> str:
        node = _composed(text)
        if node is None or not isinstance(node, MappingNode):
            return _appended(text, path, value)
        for depth, step in enumerate(path):
            rest = path[depth + 1 :]
            if isinstance(node, SequenceNode):
                if not step.isdecimal() or int(step) >= len(node.value):
                    raise Refused(f"there is no place for {step!r}; check the key's path")
                held, key = node.value[int(step)], None
            else:
                assert isinstance(node, MappingNode)
                pair = _pair(node, step)
                if pair is None:
                    return _with_pair(text, node, step, nested(rest, value))
                key, held = pair
            if not rest or _is_null(held):
                return _replaced(text, node, key, held, nested(rest, value))
            if not isinstance(held, CollectionNode):
                raise Refused(f"there is no place for {rest[0]!r}; check the key's path")
            _check_own(key or node, held)
            node = held
        raise AssertionError("a path has at least one step")

    def remove(self, text: str, path: Path) -> str:
        node = _composed(text)
        for step in path[:-1]:
            if isinstance(node, MappingNode):
                before, held = _pair(node, step) or (node, None)
            elif isinstance(node, SequenceNode):
                before, held = node, node.value[int(step)]
            else:
                held = None
            if held is None:
                raise Refused("it comes from elsewhere in the file (a merge key); edit it by hand")
            _check_own(before, held)
            node = held
        if not isinstance(node, MappingNode) or _pair(node, path[-1]) is None:
            raise Refused("it comes from elsewhere in the file (a merge key); edit it by hand")
        return _without_pair(text, node, path[-1])


def _composed(text: str) -> Node | None:
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise Refused(f"it cannot be edited ({' '.join(str(error).split())}); edit it by hand") from error


def _pair(node: MappingNode, key: str) -> tuple[Node, Node] | None:
    """The last pair of that key, as the parser takes it."""
    found = [(name, held) for name, held in node.value if isinstance(name, ScalarNode) and name.value == key]
    return found[-1] if found else None


def _check_own(before: Node, held: Node) -> None:
    """A value that stands before its key or its list is the anchored one that an alias names."""
    if held.start_mark.index < before.start_mark.index:
        raise Refused("it is an alias of a value elsewhere in the file; edit it by hand")


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:null"


# -- replacing -------------------------------------------------------------------------------------------------------


def _replaced(text: str, node: Node, key: Node | None, held: Node, value: Json) -> str:
    start = held.start_mark.index
    _check_own(key or node, held)
    if isinstance(held, CollectionNode) and not held.flow_style:
        raise Refused("it is written over several lines; edit it by hand")
    end = _end(text, held)
    # A block of lines would take a comment behind it for its own text.
    ends_line = not text[end : _line_end(text, end)].strip()
    said = _said(text, value, held, node if ends_line else None)
    gap = " " if start == end and text[start - 1 : start] not in ("", " ", "\t") else ""
    return text[:start] + gap + said + text[end:]


def _said(text: str, value: Json, held: Node | None, parent: Node | None) -> str:
    """The value as YAML: quoted as what stood there; over several lines where that reads better and its `parent`, a
    block of lines itself, allows it."""
    if isinstance(value, str) and "\n" in value and parent is not None and not _inside_flow(parent):
        block = _as_block(value, " " * (_column(parent) + 2), newline_of(text))
        if block is not None:
            return block
    style = held.style if isinstance(held, ScalarNode) and isinstance(value, str) and held.style in ("'", '"') else None
    if isinstance(value, str) and "\n" in value:
        style = '"'
    return _dumped(value, style)


def _dumped(value: Json, style: str | None = None) -> str:
    dumped = yaml.safe_dump(
        value, default_style=style, default_flow_style=True, allow_unicode=True, width=_WIDE, sort_keys=False
    )
    return str(dumped).removesuffix("\n").removesuffix("\n...")


def _as_block(value: str, indent: str, newline: str) -> str | None:
    """A literal block, or None for a text that would not come back from one."""
    body = value.rstrip("\n")
    if not body or body != body.strip() or "\r" in value or any(not (c.isprintable() or c == "\n") for c in value):
        return None
    if any(line != line.rstrip() for line in body.split("\n")):
        return None
    breaks = len(value) - len(body)
    if breaks > 1:
        return None
    lines = [indent + line if line else "" for line in body.split("\n")]
    return "|" + ("" if breaks else "-") + newline + newline.join(lines)


def _inside_flow(node: Node) -> bool:
    return isinstance(node, CollectionNode) and bool(node.flow_style)


def _column(node: Node) -> int:
    return int(node.start_mark.column)


# -- where things end ------------------------------------------------------------------------------------------------


def _end(text: str, node: Node) -> int:
    """Find where a value's own text ends: without the line breaks and comments that the parser counts to it."""
    if isinstance(node, ScalarNode):
        end = int(node.end_mark.index)
        return len(text[:end].rstrip("\r\n \t")) if node.style in ("|", ">") else end
    assert isinstance(node, CollectionNode)
    if node.flow_style:
        return int(node.end_mark.index)
    if isinstance(node, MappingNode):
        key, value = node.value[-1]
        return _pair_end(text, key, value)
    last = node.value[-1]
    _check_own(node, last)
    return _end(text, last)


def _pair_end(text: str, key: Node, value: Node) -> int:
    behind_key = int(key.end_mark.index)
    if value.start_mark.index >= behind_key:
        return max(_end(text, value), behind_key)
    found = _ALIAS.match(text, behind_key)
    if found is None:
        raise Refused("it stands beside an alias in an unusual form; edit it by hand")
    return found.end()


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


# -- adding ----------------------------------------------------------------------------------------------------------


def _with_pair(text: str, node: MappingNode, key: str, value: Json) -> str:
    if node.flow_style:
        entry = f"{_dumped(key)}: {_said(text, value, None, node)}"
        if not node.value:
            start = int(node.start_mark.index)
            opening = text.index("{", start) + 1
            return text[:opening] + entry + text[opening:].lstrip(" ")
        end = _pair_end(text, *node.value[-1])
        return text[:end] + ", " + entry + text[end:]
    if int(node.value[0][0].start_mark.index) != int(node.start_mark.index):
        raise Refused("its mapping is anchored or tagged; edit it by hand")
    indent = " " * _column(node)
    return _with_line(text, _pair_end(text, *node.value[-1]), indent, key, _said(text, value, None, node))


def _with_line(text: str, behind: int, indent: str, key: str, said: str) -> str:
    newline = newline_of(text)
    at = _line_end(text, behind)
    before = text[:at] if text[:at].endswith("\n") or not text[:at] else text[:at] + newline
    return f"{before}{indent}{_dumped(key)}: {said}{newline}{text[at:]}"


def _appended(text: str, path: Path, value: Json) -> str:
    """The first entry of a document that holds nothing, or nothing but comments."""
    if text.strip() and _composed(text) is not None:
        raise Refused("its root is no mapping; edit it by hand")
    newline = newline_of(text)
    before = text if text.endswith("\n") or not text else text + newline
    return f"{before}{_dumped(path[0])}: {_dumped(nested(path[1:], value))}{newline}"


# -- taking out ------------------------------------------------------------------------------------------------------


def _without_pair(text: str, node: MappingNode, key: str) -> str:
    pairs = list(_spans(text, node))
    position = max(i for i, (name, _, _) in enumerate(pairs) if name == key)
    _, start, end = pairs[position]
    if node.flow_style:
        if position < len(pairs) - 1:
            return text[:start] + text[pairs[position + 1][1] :]
        return text[: pairs[position - 1][2] if position else start] + text[end:]
    line = text.rfind("\n", 0, start) + 1
    if len(pairs) == 1 and _column(node):
        return text[:start] + "{}" + text[end:]
    if text[line:start].strip():  # the first of an element: `- key: value`
        return text[:start] + text[pairs[position + 1][1] :]
    return text[:line] + text[_line_end(text, end) :]


def _spans(text: str, node: MappingNode) -> Iterator[tuple[str, int, int]]:
    for key, value in node.value:
        yield str(key.value), int(key.start_mark.index), _pair_end(text, key, value)
