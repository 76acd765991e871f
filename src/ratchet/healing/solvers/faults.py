"""Say what was wrong where, as people read it; and something else in its stead, as a placebo."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff

from ratchet.healing.episode import RIVAL, Memo
from ratchet.healing.solvers.repairing.templates import FAMILIES, fault_of
from ratchet.records import Json


def cause_of(marks: Sequence[Mapping[str, Json]], contents: Mapping[str, bytes]) -> str:
    """Say what the edits of a patch mend, and where. `contents` are the files with them."""
    faults = dict.fromkeys(fault_of(str(mark.get("family"))) for mark in marks)
    places = dict.fromkeys(place_of(mark, contents) for mark in marks)
    return f"{' and '.join(faults)} {', '.join(places)}"


_LINES, _LINE_CHARS = 4, 100  # of another patch
_AWAY = 17  # places between a family and the one that the placebo tells in its stead


def rival_of(path: str, before: bytes, after: bytes) -> str:
    """Show another patch of a file in few lines: where it is, and what it takes out and brings."""
    old, new = (text.decode(errors="replace").splitlines() for text in (before, after))
    _, _, head, *lines = unified_diff(old, new, lineterm="", n=0)
    line = head.split()[1].lstrip("-").partition(",")[0]
    return "\n".join([f"{RIVAL}{path}:{line}", *(each[:_LINE_CHARS] for each in lines[:_LINES])])


def place_of(mark: Mapping[str, Json], contents: Mapping[str, bytes]) -> str:
    """Name where an edit is, by its function, too: lines move. `contents` are the files with it."""
    path, told = str(mark.get("path")), str(mark.get("line"))
    line = int(told) if told.isdecimal() else 0
    at = f"at {path}:{line}" if line else f"in {path}"
    try:
        tree = ast.parse(contents.get(path, b""))
    except (SyntaxError, ValueError, RecursionError):
        return at
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    innermost = max(around, key=lambda node: node.lineno, default=None)
    return f"in `{innermost.name}` {at}" if innermost else at


def shuffled(memos: Sequence[Memo]) -> list[Memo]:
    """The same memory with every success told of another failure, and of another class of edit: the placebo that a
    claim about memory is measured against."""
    return [replace(memo, note=misled(donor.note)) for memo, donor in zip(memos, [*memos[1:], *memos[:1]], strict=True)]


def misled(note: Mapping[str, Json]) -> dict[str, Json]:
    """Turn a memo to another class of edit: as sure and as consistent as it was, and wrong."""
    names = list(FAMILIES)
    other = {name: names[(at + _AWAY) % len(names)] for at, name in enumerate(names)}
    marks = note.get("marks")
    told: list[Json] = [
        {**each, "family": other.get(str(each.get("family")), ""), "shape": ""}
        for each in (marks if isinstance(marks, list) else ())
        if isinstance(each, dict)
    ]
    return {**note, "marks": told} if told else dict(note)
