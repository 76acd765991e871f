"""Take an answer that holds some definitions of a Python file into that file: small models write down the function they
change, a class with the one method, or a file with a test of it behind. Pure."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class _Spot:
    """Lines of the file, from 0, that a definition takes; none where it is put between two. `depth` is its column."""

    start: int
    end: int
    depth: int


def with_definitions(text: str, answer: str) -> str:
    """The file with the definitions of an answer in the places of its own (decorators stay where it has none), and new
    ones at the end of their class, or of the file. An answer that lacks none of the file's is the file, but for what
    only tries it. As it is where either is no Python, or defines nothing."""
    try:
        held, told = ast.parse(text), ast.parse(answer)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return answer
    there, given = dict(_named(held)), dict(_named(told))
    lines, news = text.rstrip("\n").split("\n"), answer.split("\n")
    if not given or not there:
        return answer
    if there.keys() <= given.keys():
        if not any(map(_only_tries, held.body)):
            for each in filter(_only_tries, reversed(told.body)):
                del news[each.lineno - 1 : each.end_lineno]
        return "\n".join(news)
    placed = [(place, each) for name, each in given.items() if (place := _place(name, each, there, len(lines)))]
    for place, each in sorted(placed, key=lambda pair: (pair[0].start, pair[0].end), reverse=True):
        first = _first_line(each)
        written = textwrap.dedent("\n".join(news[first : each.end_lineno]))
        gap = [""] * (0 if place.end > place.start else 1 if place.depth else 2)
        lines[place.start : place.end] = gap + textwrap.indent(written, " " * place.depth).split("\n")
    head = [each.end_lineno or 0 for each in held.body if _comes_first(each)]
    at = max(head, default=0)  # everything behind it was put behind it
    imports = _imports(held, told, there)
    return "\n".join([*lines[:at], *imports, *([""] if imports else []), *lines[at:], ""])


def _place(name: str, each: _Definition, there: Mapping[str, _Definition], end: int) -> _Spot | None:
    """The place of a definition that an answer gives; None where it comes with its class."""
    outer = name.rpartition(".")[0]
    classes = {one: node for one, node in there.items() if isinstance(node, ast.ClassDef)}
    methods = [one for one in there if one.rpartition(".")[2] == name]
    same = there.get(name) or (there[methods[0]] if len(methods) == 1 else None)
    if same is not None:
        is_class = isinstance(same, ast.ClassDef) and isinstance(each, ast.ClassDef)
        start = _first_line(same) if each.decorator_list else same.lineno - 1
        return None if is_class else _Spot(start, same.end_lineno or 0, same.col_offset)
    takes = [one.arg for one in each.args.args] if not isinstance(each, ast.ClassDef) else []
    only = next(iter(classes.values())) if takes[:1] == ["self"] and len(classes) == 1 else None
    into = classes.get(outer) if outer else only
    if into is not None:
        return _Spot(into.end_lineno or 0, into.end_lineno or 0, into.body[0].col_offset)
    return None if outer else _Spot(end, end, 0)


def _named(tree: ast.Module) -> Iterator[tuple[str, _Definition]]:
    """The definitions of a module, and those of its classes as `Class.name`."""
    for each in tree.body:
        if isinstance(each, _Definition):
            yield each.name, each
        if isinstance(each, ast.ClassDef):
            yield from ((f"{each.name}.{one.name}", one) for one in each.body if isinstance(one, _Definition))


def _first_line(node: _Definition) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1


def _only_tries(statement: ast.stmt) -> bool:
    """Tell whether a statement of a module changes nothing in it: a call, or an assertion."""
    return isinstance(statement, ast.Assert) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    )


def _comes_first(statement: ast.stmt) -> bool:
    """Tell whether a statement is a docstring, or an import of what is to come (`__future__`)."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _imports(held: ast.Module, told: ast.Module, there: Container[str]) -> list[str]:
    """The imports of an answer that the file lacks, but those of the file itself."""
    known = {ast.unparse(each) for each in held.body}
    found = [each for each in told.body if isinstance(each, ast.Import | ast.ImportFrom) and not _comes_first(each)]
    fresh = [each for each in found if not all(one.name in there for one in each.names)]
    return [said for each in fresh if (said := ast.unparse(each)) not in known]
