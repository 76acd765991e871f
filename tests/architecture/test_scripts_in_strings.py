"""Programs that tests and benchmarks hold as text import what is there: no type checker reads them."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_in_strings_lead_somewhere(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for module, names in IMPORT.findall(node.value):
                for name in names.split(", "):
                    assert _leads_somewhere(module, name), f"{path}:{node.lineno} from {module} import {name}"
