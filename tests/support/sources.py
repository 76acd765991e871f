"""The package's sources as the tests of the map read them: each file is parsed once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import ratchet

PACKAGE = Path(ratchet.__file__).parent
ROOT = PACKAGE.parents[1]
UNDER_TEST = ("tasks/library/", "evolving/bench/core/", "demo/agent/", "demo/prompts/")
"""Programs that are there to be mended: no code of ours."""
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def files() -> tuple[Path, ...]:
    """Every Python file of the package but the programs under test."""
    return tuple(path for path in sorted(PACKAGE.rglob("*.py")) if not place(path).startswith(UNDER_TEST))


def place(path: Path) -> str:
    """Where a file stands in the package: `sandbox/git.py`."""
    return path.relative_to(PACKAGE).as_posix()


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(text(path))


def definitions(tree: ast.Module) -> Iterator[Definition]:
    """The module itself, its classes and its functions, however deep. Expressions, which hold none, are left out."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, Definition):
            yield node
        for block in BLOCKS:
            todo += getattr(node, block, ())
