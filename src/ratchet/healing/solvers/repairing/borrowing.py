"""Templates that take over what the same file holds elsewhere: much of what real fixes add is there already (Barr, Brun
and others, "The Plastic Surgery Hypothesis", FSE 2014)."""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Iterator

from .conditions import Piece, as_part, conditions_of
from .insertions import Line, placed
from .places import in_place, is_called, is_value, last_argument
from .program import FUNCTIONS, Program

_FILES = 64  # of which what they hold is kept
_READ = ast.Load()
_LONGEST = 120  # characters of what is taken over
_MOST_LINES = 2  # of the body of a case that is taken over
_MOST_NAMES = 6  # for a name that is not known here
_CLASS, _FILE = 1.0, 0.5  # weight of what another function holds, of the same class or another


def borrowed(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A case that another function handles, handled here, too."""
    yield from placed(p, node, _borrowed)


def joined(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A condition that stands elsewhere, as one more part of this one."""
    for each in conditions_of(node):
        if isinstance(each, ast.IfExp | ast.Lambda | ast.NamedExpr):
            continue
        text, part = p.seg(each), as_part(p, each)
        for other, weight in read_here(p, each, asked(p)):
            if other not in text:
                yield *p.span(each), f"{part} and {other}", weight
                yield *p.span(each), f"{text} or {other}", weight
                yield *p.span(each), f"{part} and not ({other})", 0.5 * weight
        for other, weight in _predicates(p, each):
            for ask in (other, f"not {other}"):
                yield *p.span(each), f"{part} and {ask}", 0.5 * weight
                yield *p.span(each), f"{text} or {ask}", 0.5 * weight


def fallback(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A value that stands elsewhere, where this one is nothing: `x or y`."""
    parent = p.parents.get(node)
    kept = isinstance(parent, ast.Assign | ast.AnnAssign | ast.Return | ast.keyword) and parent.value is node
    if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript) or p.function(node) is None:
        return
    if kept or (isinstance(parent, ast.Call) and node in parent.args):
        mine = p.seg(node)
        for text, weight in read_here(p, node, _values(p)):
            if text != mine:
                yield *p.span(node), f"{mine} or {text}", weight


def called(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A call that other values get, around this one or behind it."""
    if not isinstance(node, ast.expr) or not is_value(p, node) or isinstance(node, ast.Constant | ast.ListComp):
        return
    names, text, held = _names(p, p.function(node)), p.seg(node), p.wrapped(node)
    parent = p.parents.get(node)
    around = p.seg(parent.func) if isinstance(parent, ast.Call) else ""
    for (before, after), others in _calls(p).items():
        other = next((each for each in others if p.function(each) is not p.function(node)), None)
        twice = before == f"{around}(" or text.startswith(before) if before else text.endswith(after)
        if other is not None and names.issuperset(_read(other.func) if before else ()) and not twice:
            new = f"{before}{text if before else held}{after}"
            yield *p.span(node), in_place(p, node, new), _nearness(p, other, node)


def handed(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A keyword that is given elsewhere in a call of the same name."""
    if not isinstance(node, ast.Call) or not (node.args or node.keywords):
        return
    names, (end, comma) = _names(p, p.function(node)), last_argument(p, node)
    given = {each.arg for each in node.keywords}
    seen: set[str] = set()
    for other, each in _keywords(p).get(_last(node.func), ()):
        text = p.seg(each)
        if each.arg not in given and text not in seen and names.issuperset(_read(each.value)):
            seen.add(text)
            yield end, end, f"{comma}{text}", _nearness(p, other, node)


def _borrowed(p: Program, node: ast.stmt) -> Iterator[Line]:
    scope, names = p.function(node), _names(p, p.function(node))
    seen: set[str] = set()
    for other, text in _cases(p):
        if p.function(other) is not scope:
            for line in _renamed(p, text, other, node, names):
                if line not in seen:
                    seen.add(line)
                    yield line, _nearness(p, other, node)


@functools.lru_cache(_FILES)
def _cases(p: Program) -> list[tuple[ast.If, str]]:
    """Cases, each with its text as at the left edge of a file."""
    return [(each, _lines(p, each)) for each in p.nodes if isinstance(each, ast.If) and _is_case(p, each)]


@functools.lru_cache(_FILES)
def asked(p: Program) -> list[tuple[ast.expr, str]]:
    """Conditions and their parts, with their texts."""
    whole = [each for node in p.nodes for each in conditions_of(node)]
    parts = [part for each in whole for part in (each.values if isinstance(each, ast.BoolOp) else [each])]
    told = [each for each in parts if isinstance(each, ast.Compare | ast.Call | ast.UnaryOp | ast.Attribute)]
    return [(each, p.seg(each)) for each in told]


def _predicates(p: Program, node: ast.expr) -> Iterator[tuple[str, float]]:
    """Questions that are asked of other values elsewhere, of each value in a condition, with the weights."""
    read = (each for each in ast.walk(node) if isinstance(getattr(each, "ctx", None), ast.Load))
    held = (
        each for each in read if isinstance(each, ast.Name | ast.Attribute | ast.Subscript) and not is_called(p, each)
    )
    texts = [*dict.fromkeys(map(p.seg, held))][:_MOST_NAMES]
    for call, weight in predicates(p, node):
        func = p.seg(call.func)
        yield from ((f"{func}({text})", weight) for text in texts if text != p.seg(call.args[0]))


def predicates(p: Program, node: ast.AST) -> Iterator[tuple[ast.Call, float]]:
    """Questions of one value that are asked elsewhere and can be asked here, once each, with the weights."""
    calls = [each for each, _ in asked(p) if isinstance(each, ast.Call) and len(each.args) == 1 and not each.keywords]
    names, seen = _names(p, p.function(node)), set[str]()
    for each in calls:
        func = p.seg(each.func)
        if func not in seen and names.issuperset(_read(each.func)):
            seen.add(func)
            yield each, _nearness(p, each, node)


@functools.lru_cache(_FILES)
def _values(p: Program) -> list[tuple[ast.expr, str]]:
    """Values that are looked up or made, with their texts."""
    read = (each for each in p.nodes if isinstance(each, ast.Attribute | ast.Call | ast.Subscript))
    inside = (
        each for each in read if not isinstance(p.statement(each), (*FUNCTIONS, ast.ClassDef)) and p.function(each)
    )
    return [
        (each, p.seg(each))
        for each in inside
        if isinstance(getattr(each, "ctx", _READ), ast.Load) and not is_called(p, each)
    ]


@functools.lru_cache(_FILES)
def _calls(p: Program) -> dict[tuple[str, str], list[ast.Call]]:
    """Calls of one argument, or of none on an object, by what they put before and after a value."""
    found: dict[tuple[str, str], list[ast.Call]] = {}
    for each in p.nodes:
        made = isinstance(each, ast.Call) and not each.keywords and not isinstance(p.parents.get(each), ast.Raise)
        if isinstance(each, ast.Call) and made and not p.within_format(each):
            func = p.seg(each.func)
            if len(each.args) == 1 and len(func) <= _LONGEST / 3 and re.fullmatch(r"[\w.]+", func):
                found.setdefault((f"{func}(", ")"), []).append(each)
            elif not each.args and isinstance(each.func, ast.Attribute):
                found.setdefault(("", f".{each.func.attr}()"), []).append(each)
    return found


@functools.lru_cache(_FILES)
def _keywords(p: Program) -> dict[str, list[tuple[ast.Call, ast.keyword]]]:
    """Keywords that calls are given, by the last name of what is called."""
    found: dict[str, list[tuple[ast.Call, ast.keyword]]] = {}
    for call in (each for each in p.nodes if isinstance(each, ast.Call) and not p.within_format(each)):
        for each in call.keywords:
            if each.arg and len(p.seg(each)) <= _LONGEST / 2:
                found.setdefault(_last(call.func), []).append((call, each))
    return found


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def read_here(p: Program, node: ast.AST, held: list[tuple[ast.expr, str]]) -> Iterator[tuple[str, float]]:
    """Those texts of other functions that can be read here, once each, with their weights."""
    names = _names(p, p.function(node))
    seen: set[str] = set()
    for other, text in held:
        if p.function(other) is p.function(node):
            continue
        if text not in seen and len(text) <= _LONGEST / 2 and "\n" not in text and names.issuperset(_read(other)):
            seen.add(text)
            yield text, _nearness(p, other, node)


def _is_case(p: Program, node: ast.If) -> bool:
    """Tell whether a condition stands by itself, before few plain statements that end in a way out or set something."""
    plain = all(isinstance(each, ast.Return | ast.Raise | ast.Assign | ast.Expr | ast.AugAssign) for each in node.body)
    return (
        plain
        and not node.orelse
        and len(node.body) <= _MOST_LINES
        and p.indent(node) is not None
        and p.text[p.span(node)[0] :].startswith("if")
        and all(map(p.alone, node.body))
        and len(p.seg(node)) <= 2 * _LONGEST
    )


def _lines(p: Program, node: ast.If) -> str:
    """Its text as at the left edge of a file."""
    indent = p.indent(node) or ""
    return "\n".join(line.removeprefix(indent) for line in p.seg(node).splitlines())


def _renamed(p: Program, text: str, other: ast.AST, node: ast.stmt, names: frozenset[str]) -> Iterator[str]:
    """The text with a name that is not known here as one that is: of a parameter, the one in its place first."""
    foreign = list(dict.fromkeys(each for each in _read(other) if each not in names))
    if not foreign:
        yield text
    if len(foreign) != 1:
        return
    theirs, mine = (_parameters(p.function(each)) for each in (other, node))
    if foreign[0] in theirs and theirs.index(foreign[0]) < len(mine):
        mine = [mine[theirs.index(foreign[0])], *mine]
    here = [each for each in dict.fromkeys([*mine, *p.locals_of(node)]) if each not in ("self", "cls")]
    for name in here[:_MOST_NAMES]:
        yield re.sub(rf"(?<![\w.]){re.escape(foreign[0])}\b", name, text)


def _nearness(p: Program, other: ast.AST, node: ast.AST) -> float:
    """The weight of what stands there for what is to stand here."""
    holder = p.enclosing_class(node)
    return _CLASS if holder is not None and p.enclosing_class(other) is holder else _FILE


@functools.lru_cache(_FILES * 100)
def _names(p: Program, scope: ast.AST | None) -> frozenset[str]:
    """Names that can be read in a function."""
    imported = (alias for each in p.tree.body if isinstance(each, ast.Import | ast.ImportFrom) for alias in each.names)
    known = {alias.asname or alias.name.partition(".")[0] for alias in imported}
    inside = scope.body[0] if isinstance(scope, FUNCTIONS) else p.tree
    return frozenset({*p.variables(inside), *p.callables(), *known, *vars(builtins)})


def _read(node: ast.AST) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))


def _parameters(function: ast.AST | None) -> list[str]:
    given = function.args if isinstance(function, FUNCTIONS) else None
    return [each.arg for each in [*given.posonlyargs, *given.args]] if given is not None else []
