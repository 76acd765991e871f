"""Templates that put a value into a call or another form, or take it out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .conditions import Piece
from .places import in_place, is_called, is_value, types_at
from .program import Program

_WRAPS = ("len", "abs", "int", "str", "list", "set", "sorted", "sum", "max", "min", "tuple", "reversed", "float",
          "round", "dict", "bool")  # fmt: skip
_FORMS = (
    ("[{0}]", 1.0, ""), ("-{0}", 1.0, "int float"), ("{0} ** 2", 1.0, "int float"),
    ("{0}[::-1]", 0.7, "list str tuple"), ("{0}[:]", 1.0, "list"), ("{0}.copy()", 0.5, "list dict set"),
    ("{0}.strip()", 0.5, "str"), ("{0}.lower()", 0.5, "str"),
    ("{0} * 2", 0.4, "int float"), ("{0} // 2", 0.4, "int"), ("{0} % 2", 0.3, "int"), ("{0}()", 0.2, "function method"),
    ("({0},)", 0.3, ""), ("not {0}", 0.4, ""), ("{0}.split()", 0.2, "str"), ("{0}.items()", 0.4, "dict"),
    ("{0}.values()", 0.3, "dict"), ("~{0}", 0.2, "int"), ("{0}.upper()", 0.2, "str"), ("''.join({0})", 0.3, "list"),
    ("{0} or []", 0.2, "NoneType"),
)  # fmt: skip
_DISTANCE = 4.0  # how much oftener it is abs() that is missing around a difference
_CASELESS = 3.0
_ALONE = 10.0
_SIZED = {"list", "tuple", "str", "dict", "set", "deque", "bytes", "frozenset", "defaultdict", "Counter"}


def bounded(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Not below zero, not below what there was."""
    if not isinstance(node, ast.expr) or not is_value(p, node) or isinstance(node, ast.Constant):
        return
    start, end = p.span(node)
    text = p.seg(node)
    statement = p.parents.get(node)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        again = not isinstance(target, ast.Name) or p.stores(node, target.id) > 1
        weight = 1.0 if again else 0.2
        yield from ((start, end, f"{name}({p.seg(target)}, {text})", weight) for name in ("max", "min"))
        yield from ((start, end, f"{name}(0, {text})", weight) for name in ("max", "min"))
    elif isinstance(node, ast.BinOp | ast.Name) and isinstance(
        statement, ast.Return | ast.Call | ast.BinOp | ast.Tuple
    ):
        yield start, end, f"max(0, {text})", 0.5
        names = [name for name in p.locals_of(node) if name != text]
        yield from ((start, end, f"{call}({text}, {name})", 0.2) for name in names for call in ("max", "min"))


def wrap(p: Program, node: ast.AST) -> Iterator[Piece]:
    """The value inside a call."""
    if not isinstance(node, ast.expr) or not is_value(p, node) or isinstance(node, ast.Constant | ast.ListComp):
        return
    start, end = p.span(node)
    text = p.seg(node)
    types = types_at(p, node)
    differs = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
    for name in _WRAPS:
        sized = name in ("len", "sorted", "sum", "reversed", "set", "list", "tuple", "max", "min")
        misfit = types and (not types & _SIZED) if sized else types and name in ("abs", "round") and types & _SIZED
        if not (isinstance(node, ast.Call) and p.seg(node.func) == name):
            likely = _DISTANCE if differs and name == "abs" else 1.0
            yield start, end, f"{name}({text})", 0.1 if misfit else likely
    for name in p.callables():
        yield start, end, f"{name}({text})", 0.7


def dress(p: Program, node: ast.AST) -> Iterator[Piece]:
    """The value in another form: squared, turned round, copied, stripped, in a list."""
    if not isinstance(node, ast.expr) or not is_value(p, node):
        return
    start, end = p.span(node)
    parent = p.parents.get(node)
    if isinstance(node, ast.Constant | ast.ListComp):
        if isinstance(parent, ast.Return | ast.Assign):
            yield start, end, f"[{p.seg(node)}]", 0.5
        return
    types = types_at(p, node)
    held = p.wrapped(node)
    if isinstance(parent, ast.Compare):  # without regard to case: as the text is written that it is compared with
        texts = [each.value for each in (parent.left, *parent.comparators) if isinstance(each, ast.Constant)]
        written = [each for each in texts if isinstance(each, str) and (each.isupper() or each.islower())]
        forms = {"upper" if each.isupper() else "lower" for each in written}
        yield from ((start, end, f"{held}.{name}()", _CASELESS) for name in sorted(forms))
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod) and node is parent.right and "tuple" in types:
        yield start, end, f"({p.seg(node)},)", _ALONE  # one value for a format, which takes it for several
    for form, weight, wanted in _FORMS:
        if types and wanted and not types & set(wanted.split()):
            weight *= 0.1
        new = form.format(held)
        yield start, end, new if form.startswith(("[", "(")) else in_place(p, node, new), weight


def unwrap(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A call left out, its argument or its object kept; a list of one opened."""
    if isinstance(node, ast.Call):
        for argument in node.args:
            if not isinstance(argument, ast.Starred):
                yield *p.span(node), in_place(p, node, p.seg(argument)), 1.0
        if isinstance(node.func, ast.Attribute):
            yield *p.span(node), p.wrapped(node.func.value), 1.0
    elif isinstance(node, ast.List) and len(node.elts) == 1 and isinstance(node.ctx, ast.Load):
        yield *p.span(node), p.wrapped(node.elts[0]), 1.0
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and not is_called(p, node):
        yield *p.span(node), p.seg(node.value), 0.5
