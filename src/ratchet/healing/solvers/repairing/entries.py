"""Templates for one more entry beside those that are there, under a name that the failing test gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .conditions import Piece
from .places import is_docstring
from .program import Program

_MOST = 8  # names of a test
_PLAIN = ("0", "None", "True", "False", '""', "[]", "{}")


def entry(p: Program, node: ast.AST) -> Iterator[Piece]:
    """An item that is set like its neighbour, a key of a mapping, a text among others in a list."""
    names = _names(p)
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
        yield from _set_beside(p, node, node.targets[0], names)
    elif isinstance(node, ast.Dict) and node.keys and all(_is_text(p, each) for each in node.keys):
        end = p.span(node.values[-1])[1]
        values = dict.fromkeys([*map(p.seg, node.values), *_PLAIN])
        yield from ((end, end, f", {name}: {value}", 1.0) for name in names for value in [*values][:_MOST])
    elif isinstance(node, ast.List | ast.Tuple | ast.Set) and node.elts[1:] and all(_is_text(p, e) for e in node.elts):
        end = p.span(node.elts[-1])[1]
        yield from ((end, end, f", {name}", 1.0) for name in names)


def _set_beside(p: Program, node: ast.Assign, target: ast.Subscript, names: list[str]) -> Iterator[Piece]:
    indent, key = p.indent(node), target.slice
    if indent is None or not _is_text(p, key) or not p.alone(node):
        return
    at = p.line_end(node.end_lineno or node.lineno)
    opened = "" if p.text[:at].endswith("\n") else p.newline
    for name in names:
        for value in dict.fromkeys([p.seg(node.value), *_PLAIN]):
            line = f"{indent}{p.seg(target.value)}[{name}] = {value}"
            yield at, at, f"{opened}{line}{p.newline}", 2.0 if value == p.seg(node.value) else 0.5


def _is_text(p: Program, node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and not is_docstring(p, node)


def _names(p: Program) -> list[str]:
    """Names in the failing test that this file does not hold, as source."""
    given = (each for each in p.expected.given if str(ast.literal_eval(each)).isidentifier())
    return [each for each in given if str(ast.literal_eval(each)) not in p.text][:_MOST]
