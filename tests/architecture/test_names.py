"""One class to a name: whoever reads it need not ask which one is meant."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "ratchet"
DATA = ("tasks/", "evolving/bench/core/", "demo/agent/", "demo/prompts/")
# A shape is a record as JSON and has the record's name, which is its name in the API's description, too.
SHAPES = (
    "serving/shapes/",
    "serving/api/inputs",
    "serving/api/outputs",
    "serving/api/runoutputs",
    "serving/mcp/outputs",
)


def classes() -> dict[str, list[str]]:
    """Name -> the modules that define a class of that name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        module = str(path.relative_to(SOURCE))
        if not module.startswith(DATA):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(module)
    return found


def test_no_two_classes_have_one_name() -> None:
    twice = {}
    for name, modules in classes().items():
        shapes = [each for each in modules if each.startswith(SHAPES)]
        if len(shapes) > 1 or len(modules) - len(shapes) > 1:
            twice[name] = modules
    assert not twice, f"rename one of each, by what sets it apart: {twice}"
