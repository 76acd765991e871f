"""One class to a name: whoever reads it need not ask which one is meant."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from importlib import import_module
from typing import get_type_hints

from support.sources import files, parsed, place, text


def classes() -> dict[str, list[str]]:
    """Name -> the modules that define a class of that name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in files():
        if place(path).startswith("compat/"):
            continue  # the names that users of other packages import
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(place(path))
    return found


def test_no_two_classes_have_one_name() -> None:
    twice = {name: modules for name, modules in classes().items() if len(modules) > 1}
    assert not twice, f"rename one of each, by what sets it apart: {twice}"


def test_the_types_of_every_record_that_is_read_from_a_row_are_known_at_run_time() -> None:
    read = 0
    for path in files():
        kinds = set(re.findall(r"\brecord_of\(\s*([A-Z]\w*)", text(path)))
        if kinds:
            module = import_module("ratchet." + place(path).removesuffix(".py").replace("/", "."))
            for kind in kinds:
                get_type_hints(getattr(module, kind))
                read += 1
    assert read > 10
