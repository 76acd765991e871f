"""A docstring's first line names the thing, verb first: a reader who scans names must not have to solve riddles."""

from __future__ import annotations

import ast

from support.sources import definitions, files, parsed

RIDDLES = ("What", "Who", "Whoever", "Whether", "Where", "How")


def test_no_first_line_begins_with_a_free_relative() -> None:
    found = []
    for path in files():
        for node in definitions(parsed(path)):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            if first.split(" ")[0].rstrip(",") in RIDDLES:
                found.append(f"{path}:{getattr(node, 'lineno', 1)} {first}")
    assert not found
