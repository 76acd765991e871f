"""Templates for texts: pieces of a regular expression, and texts and values that the failing test expects."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from .conditions import Piece
from .places import is_docstring
from .program import Program

_LONGEST = 300
_MOST = 8
_ALIKE = 0.5  # of two texts, so that one may be meant by the other
_ATOM = r"\\.|\[[^\]\n]{1,60}\]"


def pattern_piece(p: Program, node: ast.AST) -> Iterator[Piece]:
    """One piece of a regular expression: how often, where it ends, what is only looked at."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or is_docstring(p, node):
        return
    start, end = p.span(node)
    source = p.text[start:end]
    if len(source) > _LONGEST or not _is_pattern(p, node, source):
        return
    first = re.match(r"[A-Za-z]*(?:'''|\"\"\"|'|\")", source)
    if first is None:
        return
    last = len(source) - len(first[0].lstrip("rRbBuUfF"))
    for at, to, text, weight in (
        *_pieces(source, first.end(), last), *_letters(p, source, first.end(), last), *_words(p, source, last),
    ):  # fmt: skip
        yield start + at, start + to, text, weight


def wanted_text(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A text or a number that the failing test expects, where one like it stands, and the pieces in which what came
    out differs from that."""
    if not isinstance(node, ast.Constant) or is_docstring(p, node) or isinstance(node.value, bool):
        return
    value = node.value
    if isinstance(value, str):
        for text in p.expected.texts:
            yield from _nearer(p, node, value, text)
        for came, wanted in p.expected.changes:
            if came in value:
                source, new = p.seg(node), value.replace(came, wanted)
                plain = value in source and wanted.isprintable() and not set(wanted) & {"'", '"', "\\"}
                yield *p.span(node), source.replace(value, new) if plain else repr(new), 1.0
    elif isinstance(value, int | float):
        for source in p.expected.values:
            if source.lstrip("-").replace(".", "", 1).isdigit() and source != p.seg(node):
                yield *p.span(node), source, 1.0


def _nearer(p: Program, node: ast.Constant, value: str, wanted: str) -> Iterator[Piece]:
    """The text as a whole, and with the pieces that it has not in common with the wanted one, each by itself."""
    start, end = p.span(node)
    source = p.text[start:end]
    if not value or value == wanted or value not in source:
        return
    matcher = difflib.SequenceMatcher(None, value, wanted, autojunk=False)
    if matcher.ratio() >= _ALIKE:
        yield start, end, repr(wanted), 1.0
    inside = start + source.index(value)
    blocks = matcher.get_matching_blocks()
    for one, other in zip(blocks, blocks[1:], strict=False):
        old, new = value[one.a + one.size : other.a], wanted[one.b + one.size : other.b]
        if one.size and other.size and len(old) <= 12 and len(new) <= 12 and not set(new) & {"'", '"', "\\", "\n"}:
            yield inside + one.a + one.size, inside + other.a, new, 1.0


def _is_pattern(p: Program, node: ast.Constant, source: str) -> bool:
    parent = p.parents.get(node)
    called = p.seg(parent.func) if isinstance(parent, ast.Call) else ""
    raw = source[:1] in "rR" or source[:2].lower() in ("br", "rb")
    return called.startswith("re.") or (raw and bool(re.search(r"[\\\[(|*+?^$]", source)))


def _letters(p: Program, source: str, first: int, last: int) -> Iterator[Piece]:
    """One more letter in a class of them: one of those in the failing test."""
    texts = [str(ast.literal_eval(each)) for each in p.expected.given]
    marks = [*dict.fromkeys(letter for text in texts for letter in text if not letter.isalnum())]
    for found in re.finditer(r"\[(?:[^\[\]\\\n]|\\.){1,60}\]|\\[wdsWDS]", source[:last]):
        if found.start() < first or not _is_class(found[0]):
            continue
        lacking = [each for each in marks if each.isprintable() and each not in "'\"" and not re.match(found[0], each)]
        for letter in lacking[:_MOST]:
            letter = f"\\{letter}" if letter in "-]\\^" else letter
            if found[0].startswith("["):
                yield found.end() - 1, found.end() - 1, letter, 1.0
            else:
                yield found.start(), found.end(), f"[{found[0]}{letter}]", 0.7


def _words(p: Program, source: str, last: int) -> Iterator[Piece]:
    """One more word among several: one of those in the failing test, in the letters of the others."""
    texts = [*(str(ast.literal_eval(each)) for each in p.expected.given), *p.expected.texts]
    words = dict.fromkeys(word for text in texts for word in re.findall(r"[^\W\d_]{2,}", text))
    for found in re.finditer(r"\((?:\?:)?([^\W\d]+(?:\|[^\W\d]+)+)\)", source[:last]):
        held = found[1]
        fitting = [word.upper() if held.isupper() else word for word in words]
        new = [word for word in dict.fromkeys(fitting) if word not in held.split("|")]
        yield from ((found.end(1), found.end(1), f"|{word}", 1.0) for word in new[:_MOST])


def _is_class(source: str) -> bool:
    try:
        re.compile(source)
    except re.error:
        return False
    return True


def _pieces(source: str, first: int, last: int) -> Iterator[Piece]:
    """Changes within the source of a pattern that ends before `last`."""
    body = source[:last]
    for found in re.finditer(rf"(?:{_ATOM}|(?<=[(|])[\w*_-](?=[)|]))(?![+*?{{])", body):
        if found.start() >= first:
            yield from ((found.end(), found.end(), often, 1.0) for often in ("+", "*", "?", "{1,3}", "{1,2}"))
    for found in re.finditer(r"\[([^\]\\^]{2,6})\]([+*])", body):
        if "-" not in found[1][1:-1]:  # no range: the same one again and again rather than any of them
            each = "|".join(re.escape(letter).replace("\\-", "-") + found[2] for letter in found[1])
            yield found.start(), found.end(), f"(?:{each})", 2.0
    for found in re.finditer(r"\((\^\||)(\\[sb]|[^()\\|?]{1,8})(\|\$|)\)", body):
        inner = found[1] + found[2] + found[3]
        if found[1]:
            yield found.start(), found.end(), f"(^|(?<={found[2]}))", 1.5
        else:
            yield found.start(), found.end(), f"(?={inner})", 1.5
    for found in re.finditer(r"\((?!\?)", body):
        yield found.end(), found.end(), "?:", 0.3
    for at, texts in ((first, ("^", r"\b", "(?i)")), (last, ("$", r"\b", r"\Z", r"\s*"))):
        yield from ((at, at, text, 0.5) for text in texts)
    for found in re.finditer(r"\.([+*])(?!\?)", body):
        yield found.end(), found.end(), "?", 1.0
        yield found.start(), found.end(), rf"[^\n]{found[1]}", 0.3
    for found in re.finditer(r"\^|\$|\\b|\?", body):
        if found.start() >= first:  # `$` matches before a newline at the end, too
            yield from ((*found.span(), text, 0.5) for text in ("", r"\Z")[: 1 + (found[0] == "$")])
