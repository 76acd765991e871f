"""Which lines are suspect: Ochiai's coefficient over the lines that failing and passing tests run.

Abreu, Zoeteweij, van Gemund, "An Evaluation of Similarity Coefficients for Software Fault Localization", PRDC 2006.
What is run at import is run for every test and tells nothing by that: it counts by who uses what is defined there.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping

Place = tuple[str, int]

_CRASH, _FRAME = 1.5, 1.2  # the line where an exception arose, and those on the way to it
_IMPORTED = 0.25  # a line that was run at import, beside another of the same coefficient
_DEFINED, _DEFINED_ELSEWHERE = 0.95, 0.6  # what is defined for all, beside the line that uses it: in its file, or not
# Beside another line of the same coefficient, one of a function that the failing test calls by name: the fault was
# there in 7 of 16 bugs of real projects (w3lib, mistune, prettytable, sqlite-utils, wtforms, inflect).
_NAMED = 1.2
_COMPARED = 0.8  # of the most suspect line, at least: one of a property whose value a failing test compares


def suspicion(
    lines: Mapping[str, Collection[Place]], failing: Collection[str], frames: Iterable[Collection[Place]] = ()
) -> dict[Place, float]:
    """Place -> suspicion above 0. `lines` by test; those of "" run at import, so for every test. `frames`: for each
    failure the places on the way to where its exception arose, the innermost last."""
    always = set(lines.get("", ()))
    failed: dict[Place, int] = dict.fromkeys(always, len(set(failing)))
    passed: dict[Place, int] = dict.fromkeys(always, len({*lines} - {"", *failing}))
    for name in {*lines, *failing} - {""}:
        count = failed if name in failing else passed
        for place in set(lines.get(name, ())) - always:
            count[place] = count.get(place, 0) + 1
    found = {
        place: bad / (len(set(failing)) * (bad + passed.get(place, 0))) ** 0.5 * (_IMPORTED if place in always else 1)
        for place, bad in failed.items()
    }
    for way in frames:
        for place, more in {**dict.fromkeys(way, _FRAME), **dict.fromkeys([*way][-1:], _CRASH)}.items():
            if place in found:
                found[place] = min(found[place] * more, _CRASH)
    return found


def with_definitions(suspicion: Mapping[Place, float], trees: Mapping[str, ast.Module]) -> dict[Place, float]:
    """The same, and what files and classes define (a table, a pattern) as suspect as the lines that use it."""
    here: dict[tuple[str, str], float] = {}
    anywhere: dict[str, float] = {}
    for path, tree in trees.items():
        for name, line in _used(tree):
            much = suspicion.get((path, line), 0.0)
            here[path, name] = max(here.get((path, name), 0.0), much)
            anywhere[name] = max(anywhere.get(name, 0.0), much)
    found = dict(suspicion)
    for path, tree in trees.items():
        for statement, names in _defined(tree.body):
            much = max(
                max(_DEFINED * here.get((path, name), 0.0), _DEFINED_ELSEWHERE * anywhere.get(name, 0.0))
                for name in names
            )
            for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
                if (path, line) in found:
                    found[path, line] = max(found[path, line], much)
    return found


def with_named(
    suspicion: Mapping[Place, float],
    trees: Mapping[str, ast.Module],
    names: Collection[str],
    compared: Collection[str] = (),
) -> dict[Place, float]:
    """The same, and the lines of functions that failing tests call by name the more suspect, as are those of properties
    whose values they compare: what was wrong came from there, however many tests that pass run it, too."""
    found = dict(suspicion)
    top = min(max(suspicion.values(), default=0.0), 1.0)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                least = _COMPARED * top if node.name in compared and node.decorator_list else 0.0
                more = _NAMED if node.name in names else 1.0
                for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1):
                    if (path, line) in found:
                        found[path, line] = max(found[path, line], min(suspicion[path, line] * more, _CRASH), least)
    return found


def order_of(suspicion: Mapping[Place, float], last: Mapping[Place, int]) -> list[Place]:
    """The places, the most suspect first; of equal ones those that the failing tests ran last, since these are nearest
    to what went wrong. `last` counts the lines of the file that were run since."""
    never = max(last.values(), default=0) + 1
    return sorted(suspicion, key=lambda place: (-suspicion[place], last.get(place, never), place))


def _defined(body: Iterable[ast.stmt]) -> Iterator[tuple[ast.stmt, list[str]]]:
    """Assignments outside of functions, with the names that they give."""
    for each in body:
        if isinstance(each, ast.ClassDef):
            yield from _defined(each.body)
        elif isinstance(each, ast.If | ast.Try):
            yield from _defined([*each.body, *each.orelse])
        elif isinstance(each, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
            if names:
                yield each, names


def _used(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Names that functions read, and where."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    yield node.id, node.lineno
                elif isinstance(node, ast.Attribute):
                    yield node.attr, node.lineno
