"""A docstring's first line names the thing, verb first: a reader who scans names must not have to solve riddles."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ratchet

PACKAGE = Path(ratchet.__file__).parent
UNDER_TEST = ("tasks/library", "evolving/bench/core", "demo/agent", "demo/prompts")  # programs to be mended
SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if not str(path.relative_to(PACKAGE)).startswith(UNDER_TEST)]
RIDDLES = ("What", "Who", "Whoever", "Whether", "Where", "How")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_first_line_begins_with_a_free_relative(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            assert first.split(" ")[0].rstrip(",") not in RIDDLES, f"{path}:{getattr(node, 'lineno', 1)} {first}"
