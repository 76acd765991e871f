"""A file that fits on a few screens and a function that fits on one can be read; these limits keep it so."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE_LINES = 500
LONG_LINES = 400  # beyond, the first line of the docstring says why
FUNCTION_LINES = 60
SOURCES = sorted((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_files_and_functions_stay_within_their_limits(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= FILE_LINES, f"{path}: more than {FILE_LINES} lines"
    first = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    reason = re.search(r"\b(because|since|so that)\b", first)
    assert text.count("\n") <= LONG_LINES or reason, f"{path}: more than {LONG_LINES} lines, and no reason given"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= FUNCTION_LINES, f"{path}:{node.lineno} {node.name}: {length} lines"


def test_there_are_sources_to_measure() -> None:
    assert SOURCES
