"""Templates for conditions that real fixes add: nothing told from emptiness, types, what the failing test expects."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from .conditions import Piece, conditions_of
from .insertions import Line, placed
from .program import FUNCTIONS, Program, parameters_of, statement_after_text

_SIZED = frozenset({"list", "tuple", "str", "dict", "set", "bytes", "frozenset"})
_TYPES = frozenset(name for name, each in vars(builtins).items() if isinstance(each, type)) - {"object", "type"}
_SHORT = 60
_PLAIN = ("None", "0", '""', "[]", "{}")


def nothing(p: Program, node: ast.AST) -> Iterator[Piece]:
    """None told from what is only empty or zero: `x is not None` for `x`, and for `x or y`."""
    for each in conditions_of(node):
        for part in each.values if isinstance(each, ast.BoolOp) else [each]:
            inner = part.operand if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not) else part
            if isinstance(inner, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
                held = p.seg(inner)
                yield *p.span(part), f"{held} is None" if inner is not part else f"{held} is not None", 1.0
                if inner is part:
                    yield *p.span(part), f"len({held}) > 0", 0.2
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
        one, other = node.values
        if isinstance(one, ast.Name | ast.Attribute | ast.Subscript):
            yield *p.span(node), f"{p.seg(one)} if {p.seg(one)} is not None else {p.seg(other)}", 1.0


def otherwise(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A value where it cannot be had: `f(x) if x else 0` for `f(x)`, with what a failing test expects, or nothing."""
    parent = p.parents.get(node)
    kept = isinstance(parent, ast.Assign | ast.AnnAssign | ast.Return | ast.keyword) and parent.value is node
    if not kept or not isinstance(node, ast.Call | ast.BinOp | ast.Subscript | ast.Attribute):
        return
    read = dict.fromkeys(
        p.seg(each) for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id in p.locals_of(node)
    )  # fmt: skip
    short = [value for value in p.expected.values if len(value) <= _SHORT and value not in _PLAIN]
    for name in read:
        for value, weight in [*((each, 1.0) for each in _PLAIN), (name, 0.5), *((each, 0.3) for each in short)]:
            yield *p.span(node), f"{p.seg(node)} if {name} else {value}", weight
            yield *p.span(node), f"{p.seg(node)} if {name} is not None else {value}", 0.5 * weight


def typed(p: Program, node: ast.AST) -> Iterator[Piece]:
    """One more condition, told by a variable's type."""
    for each in conditions_of(node):
        if isinstance(each, ast.IfExp | ast.Lambda | ast.NamedExpr):
            continue
        text = p.seg(each)
        part = f"({text})" if isinstance(each, ast.BoolOp) and isinstance(each.op, ast.Or) else text
        for name in p.locals_of(each):
            for kind in [kind for kind in p.types_of(each, name) if kind in _TYPES]:
                yield *p.span(each), f"{part} and not isinstance({name}, {kind})", 1.0
                yield *p.span(each), f"{part} and isinstance({name}, {kind})", 1.0
                yield *p.span(each), f"{text} or isinstance({name}, {kind})", 0.5


def lenient(p: Program, node: ast.AST) -> Iterator[Piece]:
    """An attribute that may be missing, or may be None: `getattr(x, "a", None)`."""
    if isinstance(node, ast.Call) and p.seg(node.func) == "hasattr" and len(node.args) == 2:
        held = f"getattr({p.seg(node.args[0])}, {p.seg(node.args[1])}, None)"
        yield *p.span(node), held, 2.0
        yield *p.span(node), f"{held} is not None", 1.0
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
        parent = p.parents.get(node)
        if not (isinstance(parent, ast.Call) and parent.func is node):
            yield *p.span(node), f'getattr({p.seg(node.value)}, "{node.attr}", None)', 1.0
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_mapping(p, node):
        yield *p.span(node), f"{p.wrapped(node.value)}.get({p.seg(node.slice)})", 0.5


def expected(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A case that is dealt with as the failing test expects: what it is to raise, or to return."""
    yield from placed(p, node, _expected)
    if isinstance(node, ast.Return):
        yield from ((*p.span(node), end, 0.5) for end in _raised(p, "value"))


def _is_mapping(p: Program, node: ast.Subscript) -> bool:
    """Tell whether a dict may be looked up there."""
    known = p.types_of(node, node.value.id) if isinstance(node.value, ast.Name) else []
    return not isinstance(node.slice, ast.Slice) and (not known or "dict" in known)


def _expected(p: Program, node: ast.stmt) -> Iterator[Line]:
    function = p.function(node)
    asked = p.expected
    if not isinstance(function, FUNCTIONS):
        return
    values = [value for value in asked.values if len(value) <= _SHORT]
    ends = [f"return {value}" for value in values]
    # The answer to a test's one question is no rule: it is the answer to nothing at all, and to no other input.
    single = {f"return {value}" for value in values if not _is_usual(p, value)}
    entry = node is statement_after_text(function)
    parameters = [name for name in parameters_of(function) if name not in ("self", "cls")]
    if _yields(function):
        ends += ["return"] if entry else []
    ends += [f"return {name}" for name in parameters]
    heavy = 2.0 if entry else 0.3
    for name in [*parameters, *_fields_set(p, function)]:
        types = set(p.types_of(node, name))
        nothing = (f"not {name}", f"{name} is None")
        for condition, weight in _conditions(name, types):
            apart = {f"return {name}", *(() if condition in nothing else single)}
            here = [*_raised(p, name), *(end for end in ends if end not in apart)]
            yield from ((f"if {condition}:\n    {end}", weight * heavy) for end in here)
    for call in _own_calls(p, function):
        yield from ((f"if not {call}:\n    {end}", heavy) for end in ends)
    yield from ((end, 0.2) for end in _raised(p, "value") if not entry)


def _is_usual(p: Program, value: str) -> bool:
    """Tell whether a value that a test expects may be a rule's answer: it is empty, True or -1, or the program itself
    holds it."""
    held = ast.literal_eval(value)
    return not held or held in (True, -1) or any(isinstance(n, ast.Constant) and n.value == held for n in p.nodes)


def _raised(p: Program, name: str) -> list[str]:
    """Raise what tests wait for and this file can name: with their message, else one that says what is wrong."""
    kinds = ((kind.rpartition(".")[2], message) for kind, message in p.expected.raised)
    return [f"raise {kind}({message or f'invalid {name}'!r})" for kind, message in kinds if kind.isidentifier()]


def _conditions(name: str, types: set[str]) -> Iterator[tuple[str, float]]:
    yield f"not {name}", 1.0
    yield f"{name} is None", 1.0 if not types or "NoneType" in types else 0.2
    if not types or types & {"int", "float"}:
        yield f"{name} < 0", 0.7
        yield f"{name} <= 0", 0.5
    if types & _SIZED:
        yield f"len({name}) == 1", 0.3
    for kind in sorted(types & _TYPES):
        yield f"not isinstance({name}, {kind})", 0.3
        yield f"isinstance({name}, {kind})", 0.2


def _fields_set(p: Program, function: ast.AST) -> list[str]:
    """Fields that a method reads of its object."""
    read = (each for each in ast.walk(function) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load))
    mine = (each for each in read if isinstance(each.value, ast.Name) and each.value.id == "self")
    return list(dict.fromkeys(p.seg(each) for each in mine))[:6]


def _own_calls(p: Program, function: ast.AST) -> list[str]:
    """Methods of the same class that want nothing but their object, as they are called."""
    holder = p.enclosing_class(function)
    methods = [each for each in holder.body if isinstance(each, FUNCTIONS) and each is not function] if holder else []
    free = [each for each in methods if not each.decorator_list and parameters_of(each) == ["self"]]
    return [f"self.{each.name}()" for each in free if not each.name.startswith("_")][:6]


def _yields(function: ast.AST) -> bool:
    return any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(function))
