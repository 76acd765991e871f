"""Templates for values: constants, variables, operands, bounds, what is returned."""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Iterator
from itertools import pairwise

from .conditions import Piece
from .places import in_place, is_called, is_docstring
from .program import Program, parameters_of, statement_after_text

_NUMBERS = {"int", "float"}
_JOINED = {"list", "str", "tuple"}
_OPERANDS = (
    ("{0} + {1}", 1.0),
    ("{1} + {0}", 0.7),
    ("{0} - {1}", 1.0),
    ("{0} * {1}", 0.5),
    ("{1} - {0}", 0.3),
    ("{0} % {1}", 0.3),
    ("{0} // {1}", 0.2),
)
_NUMBERED = ast.Name | ast.Call | ast.BinOp | ast.Attribute | ast.Subscript
_INITIAL = ("0", "1", "-1", "None", "''", "[]", "{}", "set()", "True", "False", "float('inf')", "float('-inf')", "[0]")
_LEFT_UNREAD = 0.3  # of another variable where the one that stands there would be set, and never read again


def off_by_one(p: Program, node: ast.AST) -> Iterator[Piece]:
    """One more or one less."""
    if not isinstance(node, ast.expr) or not _counts(p, node):
        return
    start, end = p.span(node)
    text = p.seg(node)
    if isinstance(node, ast.Constant):
        value = node.value
        assert isinstance(value, int)
        yield start, end, str(value + 1), 1.0
        yield start, end, str(value - 1), 1.0
        return
    yield start, end, in_place(p, node, f"{text} + 1"), 1.0
    yield start, end, in_place(p, node, f"{text} - 1"), 1.0


def constant(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another constant: its neighbours, those that the function uses, the usual ones."""
    if isinstance(node, ast.List | ast.Dict | ast.Tuple) and p.seg(node) in ("[]", "{}", "()"):
        mine = p.seg(node)
        others = {"[[]]": 1.0, "[]": 1.0, "{}": 1.0, "set()": 1.0, "[0]": 0.5, "[None]": 0.3, "None": 0.5, "()": 0.3}
        yield from ((*p.span(node), text, weight) for text, weight in others.items() if text != mine)
    if not isinstance(node, ast.Constant) or is_docstring(p, node):
        return
    start, end = p.span(node)
    value = node.value
    if isinstance(value, bool):
        yield start, end, str(not value), 2.0
        yield start, end, "None", 0.3
    elif isinstance(value, int | float):
        others = {"0": 1.0, "1": 1.0, "2": 0.5, "-1": 0.5, "10": 0.1, f"-{p.seg(node)}": 0.5}
        if abs(value) >= 4:
            others |= {str(value * 2): 0.2, str(value // 2): 0.2, str(value * 10): 0.3, str(value // 10): 0.3}
        others |= dict.fromkeys(_constants_near(p, node, (int, float)), 1.0)
        yield from ((start, end, text, weight) for text, weight in others.items() if text != p.seg(node))
    elif isinstance(value, str):
        others = {"''": 1.0, "' '": 0.7, "','": 0.2, r"'\n'": 0.4} | dict.fromkeys(
            _constants_near(p, node, (str,)), 0.7
        )
        yield from ((start, end, text, weight) for text, weight in others.items())
    elif value is None:
        yield from ((start, end, text, 1.0) for text in ("False", "0", "[]", "''", "True", "1", "{}", "-1"))


def variable(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another variable in scope, those of the same types first."""
    if not isinstance(node, ast.Name):
        return
    start, end = p.span(node)
    if isinstance(node.ctx, ast.Load):
        if is_called(p, node):
            names = p.callables()
        else:
            names = [*p.variables(node)]
            if node.id in p.callables() and not names:
                names = p.callables()
        mine = set(p.types_of(node, node.id))
        near = set(p.locals_of(node))
        left = _LEFT_UNREAD if p.stores(node, node.id) and p.loads(node, node.id) == 1 else 1.0
        for name in names:
            if name != node.id:
                theirs = set(p.types_of(node, name))
                fits = left * (0.25 if mine and theirs and not mine & theirs else 1.0)
                yield start, end, name, fits * (1.0 if name in near else 0.5)
        if p.enclosing_class(node) is not None and "self" in p.variables(node):
            yield from ((start, end, f"self.{name}", 0.5) for name in p.attributes if name == node.id)
    elif isinstance(node.ctx, ast.Store) and not isinstance(p.parents.get(node), ast.For | ast.comprehension):
        yield from ((start, end, name, 0.4) for name in p.locals_of(node) if name != node.id)
    elif isinstance(p.parents.get(node), ast.For) and node.id in parameters_of(p.function(node)):
        yield start, end, "_", 1.0  # what was given is gone with the first turn of the loop


def unbound(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A name that has no value where it is read: a first one, or, where nothing sets it, what is spelt like it or
    another variable, all through its function."""
    crash = p.crashes.get(getattr(node, "lineno", 0), "")
    if not isinstance(node, ast.Name) or crash not in ("NameError", "UnboundLocalError"):
        return
    scope = p.function(node)
    first = statement_after_text(scope)
    if first is not None and node.id not in parameters_of(scope) and not is_called(p, node):
        at, indent = p.span(first)[0], p.indent(first)
        if indent is not None and (crash == "UnboundLocalError" or node.id not in p.known):
            yield from ((at, at, f"{node.id} = {text}{p.newline}{indent}", 0.5) for text in _INITIAL)
    if node.id in p.known:
        return
    named = [each for each in ast.walk(scope or p.tree) if isinstance(each, ast.Name) and each.id == node.id]
    spans = sorted(map(p.span, named))
    variables = [] if is_called(p, node) else p.variables(node)
    alike = {name.lower(): name for name in [*dir(builtins), *p.callables(), *variables]}
    near = [alike[each] for each in difflib.get_close_matches(node.id.lower(), alike)]
    for name in dict.fromkeys([*near, *variables]):
        text = "".join(f"{name}{p.text[end:then]}" for (_, end), (then, _) in pairwise([*spans, spans[-1][1:] * 2]))
        if name != node.id:
            yield spans[0][0], spans[-1][1], text, 2.0 if name in near else 1.0


def operand_swap(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Two operands, or two elements of a tuple, change places."""
    if isinstance(node, ast.BinOp):
        pairs = [(node.left, node.right)]
        if isinstance(node.left, ast.BinOp):
            pairs.append((node.left.right, node.right))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        pairs = [(node.left, node.comparators[0])]
    elif isinstance(node, ast.Tuple) and 2 <= len(node.elts) <= 4:
        pairs = list(zip(node.elts, node.elts[1:], strict=False))
    elif isinstance(node, ast.IfExp):
        pairs = [(node.body, node.orelse)]
    else:
        return
    for left, right in pairs:
        if p.seg(left) != p.seg(right):
            (start, middle), (then, end) = p.span(left), p.span(right)
            tight = isinstance(node, ast.BinOp)
            first, second = (p.wrapped(right), p.wrapped(left)) if tight else (p.seg(right), p.seg(left))
            yield start, end, first + p.text[middle:then] + second, 1.0


def operand_drop(p: Program, node: ast.AST) -> Iterator[Piece]:
    """One operand left out."""
    if isinstance(node, ast.BinOp):
        yield *p.span(node), in_place(p, node, p.wrapped(node.left), atom=True), 1.0
        yield *p.span(node), in_place(p, node, p.wrapped(node.right), atom=True), 1.0
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
        yield *p.span(node), p.wrapped(node.operand), 1.0
    elif isinstance(node, ast.IfExp):
        yield *p.span(node), p.wrapped(node.body), 0.7
        yield *p.span(node), p.wrapped(node.orelse), 0.7


def addition(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A missing summand, of the same type as what is there: `x` for `x + y`, `x - y`."""
    if not isinstance(node, ast.Name) or not _stands_alone(p, node):
        return
    start, end = p.span(node)
    mine = set(p.types_of(node, node.id))
    for name in p.locals_of(node):
        theirs = set(p.types_of(node, name))
        if name != node.id and mine & theirs & _NUMBERS:
            yield start, end, in_place(p, node, f"{node.id} + {name}"), 1.0
            yield start, end, in_place(p, node, f"{name} + {node.id}"), 0.7
            yield start, end, in_place(p, node, f"{node.id} - {name}"), 1.0
        elif name != node.id and mine & theirs & _JOINED:
            yield start, end, in_place(p, node, f"{node.id} + {name}"), 1.0
            yield start, end, in_place(p, node, f"{name} + {node.id}"), 1.0


def operand_add(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A missing operand of any other sort: `x` for `x * y`, `y - x`, `y + f(x)`."""
    if not isinstance(node, ast.expr) or not _stands_alone(p, node):
        return
    start, end = p.span(node)
    text = p.wrapped(node)
    if isinstance(node, ast.Constant) and node.value is None:
        return
    mine = set(p.types_of(node, node.id)) if isinstance(node, ast.Name) else set()
    for name in p.locals_of(node):
        theirs = set(p.types_of(node, name))
        if mine and theirs and not mine & theirs:
            continue
        if p.seg(node) == name:
            yield start, end, in_place(p, node, f"{text} * {name}"), 0.3
            continue
        for form, weight in _OPERANDS:
            yield start, end, in_place(p, node, form.format(text, name)), weight


def returned(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another value returned: a variable, something empty, a comparison."""
    if not isinstance(node, ast.Return | ast.Yield):
        return
    if node.value is None:
        start = end = p.span(node)[1]
        before = " "
    else:
        (start, end), before = p.span(node.value), ""
    for text in ("True", "False", "None", "0", "1", "-1", "[]", "[[]]", "''", "{}", "set()", "()", "float('inf')"):
        yield start, end, before + text, 1.0


def returned_name(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Return by way of a variable: itself, in a list, compared."""
    if not isinstance(node, ast.Return | ast.Yield):
        return
    start, end = p.span(node.value) if node.value is not None else (p.span(node)[1],) * 2
    before = "" if node.value is not None else " "
    names = p.locals_of(node)
    for name in names:
        yield start, end, before + name, 1.0
        yield start, end, f"{before}[{name}]", 0.7
        yield start, end, f"{before}{name} == 0", 0.7
        yield start, end, f"{before}not {name}", 0.7
        yield start, end, f"{before}len({name})", 0.3
        yield start, end, f"{before}bool({name})", 0.1
        yield start, end, f"{before}''.join({name})", 0.1
    for one in names[:6]:
        for other in names[:6]:
            if one != other:
                yield start, end, f"{before}({one}, {other})", 0.05
                yield start, end, f"{before}{one} == {other}", 0.1


def initial(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another first value of a variable."""
    values = []
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        values = [node.value]
        if isinstance(node.value, ast.Tuple) and isinstance(node, ast.Assign):
            values = list(node.value.elts)
    for value in values:
        if not isinstance(
            value, ast.Constant | ast.List | ast.Dict | ast.UnaryOp | ast.Name | ast.Subscript | ast.Call
        ):
            continue
        start, end = p.span(value)
        for text in _INITIAL:
            yield start, end, text, 1.0 if isinstance(value, ast.Constant | ast.UnaryOp | ast.List) else 0.3
        for name in p.locals_of(node):
            yield from ((start, end, text, 0.5) for text in (name, f"{name}[0]", f"[{name}]", f"len({name})"))
            yield from ((start, end, text, 0.3) for text in (f"list({name})", f"{name}[:]", f"{name}[-1]"))


def _counts(p: Program, node: ast.expr) -> bool:
    """Tell whether a number could stand here that is one off."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if not isinstance(node, _NUMBERED) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv):
        return False
    if isinstance(node, ast.Name):
        types = p.types_of(node, node.id)
        if types and not {"int", "float"} & set(types):
            return False
    if isinstance(node, ast.Call) and p.seg(node.func) in (
        "range",
        "print",
        "enumerate",
        "zip",
        "sorted",
        "list",
        "set",
    ):
        return False
    parent = p.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return False
    held = ast.Call | ast.Compare | ast.Subscript | ast.Slice | ast.Return | ast.Assign | ast.BinOp | ast.Tuple
    return isinstance(parent, held | ast.AugAssign | ast.Yield | ast.IfExp | ast.keyword) and not (
        isinstance(parent, ast.Subscript) and parent.value is node
    )


def _stands_alone(p: Program, node: ast.AST) -> bool:
    """An argument, an assigned or returned value, an index, one side of a comparison."""
    parent = p.parents.get(node)
    if isinstance(parent, ast.Call):
        return node in parent.args
    if isinstance(parent, ast.Assign | ast.AugAssign | ast.Return | ast.Yield):
        return parent.value is node
    if isinstance(parent, ast.Subscript):
        return parent.slice is node and not isinstance(node, ast.Slice | ast.Tuple)
    if isinstance(parent, ast.Tuple | ast.List):
        return not isinstance(parent.ctx, ast.Store)
    return isinstance(parent, ast.Compare | ast.Slice | ast.IfExp | ast.keyword)


def _constants_near(p: Program, node: ast.Constant, types: tuple[type, ...]) -> list[str]:
    scope = p.function(node)
    found: dict[str, None] = {}
    holder = p.enclosing_class(node)
    for each in p.nodes:
        if not isinstance(each, ast.Constant) or type(each.value) not in types or each.value == node.value:
            continue
        near = p.function(each) in (scope, None) or (holder is not None and p.enclosing_class(each) is holder)
        if near and not is_docstring(p, each) and not p.within_format(each):
            found[p.seg(each)] = None
    return list(found)[:12]
