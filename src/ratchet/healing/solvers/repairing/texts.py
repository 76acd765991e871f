"""Templates for what is within a string: a digit, a quantifier, an alignment, a letter of a date."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .conditions import Piece
from .places import is_docstring
from .program import Program

_DATE_LETTERS = {"m": "M", "M": "m", "d": "j", "j": "d", "y": "Y", "Y": "y", "H": "I", "I": "H", "b": "B", "B": "b"}


def text_piece(p: Program, node: ast.AST) -> Iterator[Piece]:
    """One character of a string that means something: a digit, a quantifier, an alignment, a date's letter."""
    if not isinstance(node, ast.Constant | ast.JoinedStr):
        return
    if (isinstance(node, ast.Constant) and not isinstance(node.value, str | bytes)) or is_docstring(p, node):
        return
    start, end = p.span(node)
    text = p.text[start:end]
    if len(text) > 120 or "\n" in text:
        return
    yield from ((start + first, start + last, new, heavy) for first, last, new, heavy in _text_changes(text))


def _text_changes(text: str) -> Iterator[Piece]:
    """Changes within the source of one string, by place in it."""
    for found in re.finditer(r"%([mMdjyYHIbB])", text):
        yield found.start(1), found.end(1), _DATE_LETTERS[found[1]], 1.0
    for found in re.finditer(r"%(s)|(?<=[\w)\]])(?=\})", text):
        yield (*found.span(1), "r", 0.5) if found[1] else (*found.span(), "!r", 0.5)
    for found in re.finditer(r"\d", text):
        for near in (int(found[0]) + 1, int(found[0]) - 1, 0):
            if 0 <= near <= 9 and str(near) != found[0]:
                yield found.start(), found.end(), str(near), 1.0
    for found in re.finditer(r"(?<=:)([<>^+,0]?)(?=\d*(?:\.\d+)?[a-zA-Z%]?\})", text):
        at, flag = found.start(1), found.end(1)
        yield from ((at, flag, to, 0.7) for to in ("0", ",", ">", "<", "") if to != found[1])
    for found in re.finditer(r"[<>^](?=\d|\{)", text):
        yield from ((found.start(), found.end(), to, 1.0) for to in "<>^" if to != found[0])
    for found in re.finditer(r"(?<=[\w\])\\.])[+*?]", text):
        yield from ((found.start(), found.end(), to, 1.0) for to in ("+", "*", "?", "") if to != found[0])
    for found in re.finditer(r"\\([dwsDWS])(?![+*?{])", text):
        yield found.end(), found.end(), "+", 1.0
        yield found.end(), found.end(), "*", 0.5
    for found in re.finditer(r"\\([dwsDWS])", text):
        yield from ((found.start(1), found.end(1), to, 0.4) for to in "dwsDWS" if to != found[1])
    if len(text) <= 24:
        yield from _text_ends(text)


def _text_ends(text: str) -> Iterator[Piece]:
    """List what a string starts or ends with."""
    body = re.match(r"[A-Za-z]*(?:'''|\"\"\"|'|\")", text)
    if body:
        inner, quote = body.end(), len(text) - len(body[0].lstrip("rRbBfFuU"))
        yield inner, inner, "^", 0.3
        yield from ((quote, quote, extra, 0.4) for extra in ("$", " ", r"\n" if "\\" not in text else " "))
        if text[inner:quote].endswith(" "):
            yield quote - 1, quote, "", 1.0
        if text[inner:quote].startswith(" "):
            yield inner, inner + 1, "", 1.0
