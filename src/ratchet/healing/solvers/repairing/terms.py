"""Templates for parts that a value lacks: a variable in place of a number, a scale, a remainder, a call of itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .conditions import Piece
from .places import in_place, is_called, is_docstring, is_value
from .program import FUNCTIONS, Program

_NUMBERS = frozenset({"int", "float"})
_LONGEST = 40  # characters of an expression that is used as part of another
_MOST, _MOST_NUMBERS = 12, 5
_RARE = 0.01  # a family of few edits would come first: this puts it behind the likely ones
_COMBINED = (("{0} * {1}", 1.0), ("{0} + {1}", 0.5), ("{0} - {1}", 0.5), ("{0} / {1}", 0.2))


def named(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A variable of the same type in place of a constant."""
    if not isinstance(node, ast.Constant) or is_docstring(p, node) or isinstance(node.value, bool):
        return
    mine = type(node.value).__name__
    for name in p.locals_of(node):
        theirs = set(p.types_of(node, name))
        fits = mine in theirs or (mine in _NUMBERS and bool(theirs & _NUMBERS))
        if name not in ("self", "cls") and (fits or not theirs):
            yield *p.span(node), name, 1.0 if fits else 0.3


def configured(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A field of the object, or of what it holds, in place of a constant: somebody may have set it otherwise."""
    function, holder = p.function(node), p.enclosing_class(node)
    parent = p.parents.get(node)
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str | int) or isinstance(node.value, bool):
        return
    if (
        holder is None
        or not isinstance(function, FUNCTIONS)
        or not isinstance(parent, ast.Compare | ast.Call | ast.Subscript)
    ):
        return
    made, classes = _made(holder), {each.name: each for each in p.nodes if isinstance(each, ast.ClassDef)}
    called = {each.func.attr for each in p.nodes if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)}
    inner = [each for each in p.attributes if each not in called][: 4 * _MOST]
    for field in _fields(p, holder)[:_MOST]:
        yield *p.span(node), f"self.{field}", 1.0
        known = classes.get(made.get(field, ""))
        within = _fields(p, known)[:_MOST] if known is not None else inner
        yield from ((*p.span(node), f"self.{field}.{each}", 1.0 if known else 0.3) for each in within)


def _fields(p: Program, holder: ast.ClassDef) -> list[str]:
    """The fields that a class reads or sets of its objects."""
    used = [each for each in ast.walk(holder) if isinstance(each, ast.Attribute) and not is_called(p, each)]
    return [*dict.fromkeys(each.attr for each in used if isinstance(each.value, ast.Name) and each.value.id == "self")]


def _made(holder: ast.ClassDef) -> dict[str, str]:
    """The class of a field, where a class makes its object itself: field -> name."""
    return {
        target.attr: each.value.func.id
        for each in ast.walk(holder)
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call) and isinstance(each.value.func, ast.Name)
        for target in each.targets
        if isinstance(target, ast.Attribute)
    }


def scaling(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A number that is missing: a remainder, a factor, what is left to one, the digits before this one."""
    if not isinstance(node, ast.expr) or not _is_number(p, node) or not is_value(p, node):
        return
    text, numbers = p.wrapped(node), _numbers(p, node)
    parent = p.parents.get(node)
    loose = text
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.FloorDiv | ast.Mod):
        loose = p.seg(node)
    for number in numbers:
        yield *p.span(node), in_place(p, node, f"{loose} % {number}"), 1.0
        yield *p.span(node), in_place(p, node, f"{loose} // {number}"), 0.5
        yield *p.span(node), in_place(p, node, f"{loose} * {number}"), 0.5
    yield *p.span(node), in_place(p, node, f"1 - {text}"), 0.5
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        target = parent.targets[0].id
        if p.stores(node, target) > 1:
            for number in dict.fromkeys([*numbers, "10", "2"]):
                yield *p.span(node), f"{target} * {number} + {text}", 0.7


def term(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A missing part that the function holds elsewhere: `x % len(y)`, `x + y[i]`, `x - f(y)`."""
    if not isinstance(node, ast.expr) or not _is_number(p, node) or not is_value(p, node):
        return
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.BinOp):
        return
    text, mine = p.wrapped(node), p.seg(node)
    for other in _parts(p, node):
        if other in mine:
            continue
        if other.startswith("len("):
            yield *p.span(node), in_place(p, node, f"{text} % {other}"), 2.0
        for form, weight in (("{0} + {1}", 1.0), ("{0} - {1}", 1.0), ("{1} - {0}", 0.3)):
            yield *p.span(node), in_place(p, node, form.format(text, other)), weight


def sibling(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A missing part that the same object holds: `x["a"] * x["b"]`, `x.a - x.b`. Which it may hold, the failing tests
    say, and the class that declares it."""
    of, mine = _member(node)
    if of not in p.locals_of(node) or not isinstance(node, ast.expr) or not is_value(p, node):
        return
    text, key = p.seg(node), f".{mine}"
    if not isinstance(node, ast.Attribute):
        key = p.seg(node.slice if isinstance(node, ast.Subscript) else node.args[0])  # type: ignore[attr-defined]
    for other in [*dict.fromkeys([*p.expected.fields, *_declared_beside(p, mine)])][:_MOST]:
        if other in ("", mine) or (key[0] == "." and not other.isidentifier()):
            continue
        its = key.replace(mine, other)
        forms = [(form, text.replace(key, its), weight) for form, weight in _COMBINED]
        if isinstance(node, ast.Subscript):  # not every one of them need hold it
            forms.append(("{0} * {1}", f"{of}.get({its}, 1)", 0.3))
        for form, part, weight in forms:
            yield *p.span(node), in_place(p, node, form.format(text, part)), _RARE * weight


def _declared_beside(p: Program, field: str) -> Iterator[str]:
    """The fields of classes that declare this one, too, but texts."""
    for each in p.nodes:
        if isinstance(each, ast.ClassDef):
            held = [one for one in each.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
            if any(p.seg(one.target) == field for one in held):
                yield from (p.seg(one.target) for one in held if p.seg(one.annotation) != "str")


def _member(node: ast.AST) -> tuple[str, str]:
    """The variable and the name of what is read of it: `x.a`, `x["a"]`, `x.get("a", 0)`; "" for anything else."""
    match node:
        case ast.Attribute(value=ast.Name(id=of), attr=field, ctx=ast.Load()):
            return of, field
        case ast.Subscript(value=ast.Name(id=of), slice=ast.Constant(value=str(field)), ctx=ast.Load()):
            return of, field
        case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="get"), args=[ast.Constant(value=str(field)), *_]):
            return of, field
        case _:
            return "", ""


def crossing(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Two variables taken for one another all through a call, a condition or a value."""
    if isinstance(node, ast.If | ast.While):
        value: ast.expr | None = node.test
    elif isinstance(node, ast.stmt):
        value = getattr(node, "value", None)
    else:
        value = node if isinstance(node, ast.Call | ast.BinOp) and is_value(p, node) else None
    if not isinstance(value, ast.expr) or len(p.seg(value)) > 200:
        return
    names = [each for each in ast.walk(value) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
    if len(names) < 3:
        return  # other families exchange two
    different = list(dict.fromkeys(each.id for each in names if not _is_function(p, each)))[:6]
    for i, one in enumerate(different):
        for other in different[i + 1 :]:
            yield *p.span(value), _exchanged(p, value, names, {one: other, other: one}), 1.0


def recursion(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A call of the function itself where only its argument stands."""
    function = p.function(node)
    if not isinstance(node, ast.expr) or not is_value(p, node) or isinstance(node, ast.Constant):
        return
    if not isinstance(function, FUNCTIONS) or not 2 <= len(function.args.args) <= 4:
        return
    if isinstance(p.parents.get(node), ast.Compare | ast.BoolOp):
        return
    owned = [each.arg for each in function.args.args]
    called = function.name
    if owned[0] in ("self", "cls"):
        called, owned = f"{owned[0]}.{called}", owned[1:]
    others = [each for each in _parts(p, node, (ast.Subscript, ast.Attribute)) if each != p.seg(node)][:6]
    for at in range(len(owned)):
        mine = [*owned[:at], p.seg(node), *owned[at + 1 :]]
        yield *p.span(node), f"{called}({', '.join(mine)})", 1.0
        for other in others if len(owned) == 2 else ():
            pair = [other, p.seg(node)] if at else [p.seg(node), other]
            yield *p.span(node), f"{called}({', '.join(pair)})", 0.5


def _is_number(p: Program, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return bool(_NUMBERS & set(p.types_of(node, node.id)))
    if isinstance(node, ast.Call):
        return p.seg(node.func) in ("len", "int", "ord", "abs", "sum", "min", "max", "round")
    number = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod | ast.Div | ast.LShift | ast.RShift
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, number) and not isinstance(p.parents.get(node), ast.BinOp)
    return isinstance(node, ast.Attribute | ast.Subscript)


def _is_function(p: Program, node: ast.Name) -> bool:
    parent = p.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _numbers(p: Program, node: ast.AST) -> list[str]:
    """Numbers above one that the function, or the top of the file, uses: first those that it divides by, each with its
    square, since units are told in steps of one size (the tens and the hundreds, minutes and hours)."""
    scope = p.function(node)
    dividing: dict[str, None] = {}
    others: dict[str, None] = {}
    for each in p.nodes:
        if not isinstance(each, ast.Constant) or type(each.value) is not int or each.value < 2:
            continue
        if p.function(each) in (scope, None):
            around = p.parents.get(each)
            if isinstance(around, ast.BinOp) and isinstance(around.op, ast.Mod | ast.FloorDiv) and around.right is each:
                dividing |= {p.seg(each): None, str(each.value**2): None}
            others[p.seg(each)] = None
    return list(dividing | others)[:_MOST_NUMBERS]


def _parts(p: Program, node: ast.AST, kinds: tuple[type[ast.expr], ...] = (ast.Call, ast.Subscript)) -> list[str]:
    """Calls and elements in the function (of a method: in its class), the nearest first."""
    scope, holder = p.function(node), p.enclosing_class(node)
    line = getattr(node, "lineno", 0)
    found: list[tuple[int, str]] = []
    for each in p.nodes:
        if not isinstance(each, kinds):
            continue
        if p.function(each) is not scope and (holder is None or p.enclosing_class(each) is not holder):
            continue
        if isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Slice | ast.Tuple):
            continue
        text = p.seg(each)
        if len(text) <= _LONGEST and "\n" not in text and "(" not in text.partition("(")[2]:
            found.append((abs(each.lineno - line), text))
    return list(dict.fromkeys(text for _, text in sorted(found)))[:_MOST]


def _exchanged(p: Program, value: ast.expr, names: list[ast.Name], other: dict[str, str]) -> str:
    start, end = p.span(value)
    pieces, at = [], start
    for each in sorted(names, key=lambda name: p.span(name)[0]):
        if each.id in other and not _is_function(p, each) and not p.within_format(each):
            first, last = p.span(each)
            pieces += [p.text[at:first], other[each.id]]
            at = last
    return "".join([*pieces, p.text[at:end]])
