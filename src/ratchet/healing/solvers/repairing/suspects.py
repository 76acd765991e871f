"""Say for people which functions are most suspect, with what speaks against each."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Collection, Mapping, Sequence

from .server import RunReport

_FUNCTIONS, _LINES = 5, 4

Ran = Mapping[str, Mapping[str, Collection[int]]]
"""Test -> file -> lines."""


def told_suspects(
    places: Sequence[tuple[str, int, float]],
    tree_of: Callable[[str], ast.Module | None],
    ran: Ran,
    report: RunReport,
    root: str,
) -> list[str]:
    """One sentence for each, the most suspect first; none of what no failing test was seen to run. `places` are in that
    order, and `report` says how the tests end."""
    seen = {(file, at) for name in report.failing for file, found in ran.get(name, {}).items() for at in found}
    held: dict[tuple[str, str], list[int]] = {}
    for path, line, _ in places:
        if not line or (os.path.join(root, path), line) not in seen:  # 0: a module begins, which no line of it does
            continue
        held.setdefault((path, _function(tree_of(os.path.join(root, path)), line)), []).append(line)
        if len(held) > _FUNCTIONS:
            break
    return [
        f"{f'`{name}` in ' if name else ''}{path}:{', '.join(map(str, lines[:_LINES]))} "
        + _why(os.path.join(root, path), lines, ran, report)
        for (path, name), lines in [*held.items()][:_FUNCTIONS]
    ]


def _why(path: str, lines: Sequence[int], ran: Ran, report: RunReport) -> str:
    counts = [
        sum(lines[0] in ran.get(name, {}).get(path, ()) for name in names)
        for names in (report.failing, ran.keys() - report.failing - {""})
    ]
    others = len(ran.keys() - report.failing - {""})
    raised = {
        test.error
        for name, test in report.tests.items()
        if name in report.failing and test.frames and test.frames[-1][0] == path and test.frames[-1][1] in lines
    }
    told = f"(run by {counts[0]} of {len(report.failing)} failing tests and {counts[1]} of {others} others"
    return told + (f"; {', '.join(sorted(raised))} arose there)" if raised else ")")


def _function(tree: ast.Module | None, line: int) -> str:
    """The innermost function around a line, "" for none."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    around = [
        node for node in ast.walk(tree or ast.Module([], []))
        if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or 0)
    ]  # fmt: skip
    return max(around, key=lambda node: node.lineno).name if around else ""
