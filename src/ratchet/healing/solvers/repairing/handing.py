"""Templates for what is handed on: a keyword that was held but not passed, a copy, the items instead of the thing."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from .conditions import Piece
from .insertions import Line, placed
from .places import last_argument
from .program import FUNCTIONS, Program

_READ = ast.Load()
_RAGGED = 4.0  # of a text without its ends, where the failing test gives one with space there
_MADE: dict[type[ast.AST], str] = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}


def passing_on(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A keyword that the callee has and the caller holds."""
    if not isinstance(node, ast.Call) or any(each.arg is None for each in node.keywords):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    held = p.locals_of(node)
    end, comma = last_argument(p, node)
    for callee in p.named.get(name, ()):
        taken = [each.arg for each in [*callee.args.posonlyargs, *callee.args.args, *callee.args.kwonlyargs]]
        method = bool(taken) and taken[0] in ("self", "cls")
        given = {each.arg for each in node.keywords} | set(taken[: len(node.args) + method])
        for each in taken:
            if each in given:
                continue
            if each in held:
                yield end, end, f"{comma}{each}={each}", 2.0
            elif each in p.attributes and "self" in held:
                yield end, end, f"{comma}{each}=self.{each}", 1.0
    yield from ((end, end, f"{comma}**{each}", 0.3) for each in held if each in ("kwargs", "kw", "options"))


def neighbour(p: Program, node: ast.AST) -> Iterator[Piece]:
    """One more field of an object that several others are handed on from, each under its own name: `a=x.a, b=x.b`.
    Those that the tests give by name are the likely ones."""
    if not isinstance(node, ast.Call) or any(each.arg is None for each in node.keywords):
        return
    fields = [(each.arg, each.value) for each in node.keywords if isinstance(each.value, ast.Attribute)]
    several = Counter(p.seg(value.value) for name, value in fields if name == value.attr)
    end, comma = last_argument(p, node)
    given = {each.arg for each in node.keywords}
    for holder in [each for each, count in several.items() if count > 1]:
        for name in p.attributes:
            if name not in given:
                yield end, end, f"{comma}{name}={holder}.{name}", 1.0 if name in p.expected.fields else 0.1


def items(p: Program, node: ast.AST) -> Iterator[Piece]:
    """The items of a thing rather than a list of it: `list(x)` for `[x]`."""
    one = isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) == 1 and node.elts[0]
    if (
        isinstance(one, ast.expr)
        and not isinstance(one, ast.Starred)
        and isinstance(getattr(node, "ctx", _READ), ast.Load)
    ):
        yield *p.span(node), f"{_MADE[type(node)]}({p.seg(one)})", 1.0


def held(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Hold at the start what is read more than once: an iterator as a list, a text without its ends."""
    function = p.function(node)
    if isinstance(function, FUNCTIONS) and isinstance(node, ast.stmt) and node in function.body[:2]:
        yield from placed(p, node, _held)


def copied(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A value that others hold, too, copied before it is changed or given away."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.IfExp):
        return
    parent = p.parents.get(node)
    kept = isinstance(parent, ast.Assign | ast.Return | ast.AnnAssign | ast.keyword) and parent.value is node
    if kept and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        yield *p.span(node), f"{p.wrapped(node)}.copy()", 1.0
        yield *p.span(node), f"dict({p.seg(node)})", 0.3
        yield *p.span(node), f"list({p.seg(node)})", 0.5
        if "import copy" in p.text:
            yield from ((*p.span(node), f"copy.{how}({p.seg(node)})", 0.7) for how in ("copy", "deepcopy"))


def _held(p: Program, node: ast.stmt) -> Iterator[Line]:
    function = p.function(node)
    assert isinstance(function, FUNCTIONS)
    for each in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]:
        if each.arg not in ("self", "cls"):
            yield from ((f"{each.arg} = {made}({each.arg})", 1.0) for made in ("list", "tuple", "iter", "str", "dict"))
            # Whoever gives a ragged text gives it to what the test calls: a function within is others' as well.
            if function.name in p.expected.called and set(p.types_of(node, each.arg)) & {"str", "bytes"}:
                yield f"{each.arg} = {each.arg}.strip()", _RAGGED if _is_ragged(p) else 0.5


def _is_ragged(p: Program) -> bool:
    """Tell whether the failing test gives a text with space at its ends."""
    given = (ast.literal_eval(each) for each in p.expected.given)
    return any(isinstance(each, str) and each.strip() and each != each.strip() for each in given)
