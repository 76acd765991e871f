"""A file that fits on a few screens and a function that fits on one can be read; these limits keep it so."""

from __future__ import annotations

import ast
import re

from support.sources import PACKAGE, definitions, parsed, text

FILE_LINES = 500
LONG_LINES = 400  # beyond, the first line of the docstring says why
FUNCTION_LINES = 60
SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_files_stay_within_their_limit_and_long_ones_say_why() -> None:
    found = []
    for path in SOURCES:
        lines = text(path).count("\n")
        first = (ast.get_docstring(parsed(path)) or "").partition("\n")[0]
        if lines > FILE_LINES:
            found.append(f"{path}: {lines} lines, more than {FILE_LINES}")
        elif lines > LONG_LINES and not re.search(r"\b(because|since|so that)\b", first):
            found.append(f"{path}: {lines} lines, more than {LONG_LINES}, and no reason given")
    assert SOURCES
    assert not found


def test_functions_stay_within_their_limit() -> None:
    found = []
    for path in SOURCES:
        for node in definitions(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > FUNCTION_LINES:
                    found.append(f"{path}:{node.lineno} {node.name}: {length} lines, more than {FUNCTION_LINES}")
    assert not found
