"""Say what was wrong where, as people read it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from difflib import unified_diff

from ratchet.healing.episode import RIVAL
from ratchet.healing.solvers.repairing.templates import fault_of
from ratchet.records import Json


def cause_of(marks: Sequence[Mapping[str, Json]], contents: Mapping[str, bytes]) -> str:
    """Say what the edits of a patch mend, and where. `contents` are the files with them."""
    faults = dict.fromkeys(fault_of(str(mark.get("family"))) for mark in marks)
    places = dict.fromkeys(place_of(mark, contents) for mark in marks)
    return f"{' and '.join(faults)} {', '.join(places)}"


_LINES, _LINE_CHARS = 4, 100  # of another patch


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
