"""Programs that tests and benchmarks hold as text import what is there: no type checker reads them."""

from __future__ import annotations

import ast
import importlib
import re

from support.sources import ROOT

IMPORT = re.compile(r"from (ratchet(?:\.[a-z_]+)*) import ([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*)")
FILES = [path for top in ("tests", "benchmarks") for path in sorted((ROOT / top).rglob("*.py"))]


def _leads_somewhere(module: str, name: str) -> bool:
    if hasattr(importlib.import_module(module), name):
        return True
    try:
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


def _imports(code: str) -> set[tuple[int, str, str]]:
    """Line, module and name of every import in the strings of a program."""
    return {
        (node.lineno, module, name)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for module, names in IMPORT.findall(node.value)
        for name in names.split(", ")
    }


def test_imports_in_strings_lead_somewhere() -> None:
    found = []
    for path in FILES:
        for line, module, name in sorted(_imports(path.read_text(encoding="utf-8"))):
            if not _leads_somewhere(module, name):
                found.append(f"{path}:{line} from {module} import {name}")
    assert FILES
    assert not found
