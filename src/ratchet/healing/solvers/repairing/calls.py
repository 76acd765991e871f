"""Templates for calls, attributes, slices and for expressions that the function holds already."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence

from .conditions import Piece
from .program import FUNCTIONS, Program

_METHODS = (
    ("append", "extend", "insert", "add", "appendleft"),
    ("pop", "popleft", "popitem"),
    ("sort", "reverse"),
    ("add", "discard", "remove", "update"),
    ("lower", "upper", "title", "capitalize", "casefold"),
    ("strip", "lstrip", "rstrip"),
    ("startswith", "endswith"),
    ("find", "rfind", "index", "rindex"),
    ("isdigit", "isalpha", "isalnum", "isnumeric", "isspace", "isupper", "islower"),
    ("keys", "values", "items"),
    ("ljust", "rjust", "center", "zfill"),
    ("split", "rsplit", "splitlines", "partition", "rpartition"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("issubset", "issuperset", "isdisjoint"),
    ("update", "setdefault", "get"),
    ("match", "search", "fullmatch", "findall"),
    ("days", "seconds", "total_seconds"),
    ("weekday", "isoweekday"),
    ("month", "day", "year", "hour", "minute", "second"),
    ("group", "groups"),
    ("left", "right"),
    ("prev", "next"),
    ("first", "last"),
    ("head", "tail"),
    ("start", "end"),
    ("floor", "ceil", "trunc"),
    ("bisect_left", "bisect_right", "insort"),
    ("heappush", "heappop", "heapify", "heappushpop", "heapreplace"),
    ("permutations", "combinations", "product", "combinations_with_replacement"),
)
_WHOLE = 4.0  # how much likelier an expression is of which the present one is a part
_NEAR_LINES = 2
_BUILTINS = (
    ("any", "all"),
    ("min", "max"),
    ("sum", "len", "max", "min"),
    ("int", "round", "float", "str"),
    ("sorted", "reversed", "list", "set"),
    ("range", "enumerate", "reversed"),
    ("zip", "zip_longest"),
    ("str", "repr"),
    ("list", "tuple", "set", "dict", "iter"),
    ("floor", "ceil", "int", "round"),
    ("bisect_left", "bisect_right", "bisect"),
    ("heappush", "heappop", "heapreplace", "heappushpop"),
    ("isinstance", "issubclass"),
    ("ord", "chr"),
    ("dict", "defaultdict", "Counter"),
)


_RARE = 0.01  # a family of one or two edits would come first: this puts it among exchanges in calls, behind likely ones


def argument_swap(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Two arguments, two indices (`table[j][i]`), or two parameters of a lambda change places."""
    if isinstance(node, ast.Call):
        yield from _exchanged(p, node.args)
        yield from _exchanged(p, [each.value for each in node.keywords if each.arg])
    elif isinstance(node, ast.Lambda) and not node.args.defaults:
        yield from _exchanged(p, node.args.args)
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Subscript):
        yield from _exchanged(p, [node.value.slice, node.slice])
    if isinstance(node, ast.Call) and len(node.args) >= 3:
        # All but the first move on by one: (a, b, c) for (b, c, a).
        texts = [p.seg(each) for each in node.args]
        start, end = p.span(node.args[0])[0], p.span(node.args[-1])[1]
        yield start, end, ", ".join([texts[-1], *texts[:-1]]), 0.3
        yield start, end, ", ".join([*texts[1:], texts[0]]), 0.3


def parameter_swap(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Two parameters of a function change places: a caller's mistake is the likelier one."""
    if isinstance(node, FUNCTIONS) and not node.args.defaults:
        for start, end, text, weight in _exchanged(p, [a for a in node.args.args if a.arg not in ("self", "cls")]):
            yield start, end, text, _RARE * weight


def _exchanged(p: Program, places: Sequence[ast.AST]) -> Iterator[Piece]:
    for i, left in enumerate(places):
        for distance, right in enumerate(places[i + 1 :]):
            first, second = p.seg(left), p.seg(right)
            if first != second and not (first + second).startswith("*"):
                (start, middle), (then, end) = p.span(left), p.span(right)
                yield start, end, second + p.text[middle:then] + first, 1.0 if distance == 0 else 0.5


def argument_count(p: Program, node: ast.AST) -> Iterator[Piece]:
    """One argument less, or one that is missing."""
    if not isinstance(node, ast.Call) or p.within_format(node):
        return
    spans = [p.span(each) for each in (*node.args, *node.keywords)]
    if not spans:
        start, end = p.span(node)[1] - 1, p.span(node)[1] - 1
        yield from ((start, end, text, 1.0) for text in ("0", "1", "-1", "None", *p.locals_of(node)))
        return
    for i, (start, end) in enumerate(spans):
        if i + 1 < len(spans):
            yield start, spans[i + 1][0], "", 0.7
        elif i:
            yield spans[i - 1][1], end, "", 1.0
        else:
            yield start, end, "", 1.0
    last, name = spans[-1][1], p.seg(node.func)
    if isinstance(node.args[0] if node.args else None, ast.GeneratorExp):
        return
    if name in ("sorted", "max", "min") or name.endswith(".sort"):
        options = ["reverse=True", "key=len", "key=lambda pair: pair[1]", "key=lambda pair: pair[0]", "key=str.lower"]
        yield from ((last, last, f", {text}", 3.0) for text in [*options, "default=0", "default=None"])
        return
    if name.endswith(("split", "strip", "get", "pop", "sum", "enumerate", "range", "round", "int", "next", "getattr")):
        for text in ("0", "1", "-1", "2", "None", "''", "' '", "[]", "16", "{}"):
            yield last, last, f", {text}", 1.0
    yield from ((last, last, f", {text}", 0.5) for text in p.locals_of(node) if text not in p.seg(node))
    if name.split(".")[-1] == "zip":
        yield last, last, ", strict=False", 0.1


def attribute(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another attribute or method: what this file names elsewhere, and the usual counterparts."""
    if not isinstance(node, ast.Attribute):
        return
    end = p.span(node)[1]
    start = end - len(node.attr)
    if p.text[start:end] != node.attr:
        return
    seen = {node.attr}
    parent = p.parents.get(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    for family in _METHODS:
        if node.attr in family:
            for other in family:
                if other not in seen:
                    seen.add(other)
                    yield start, end, other, 1.0
    methods = {
        each.func.attr for each in p.nodes if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
    }
    for other in p.attributes:
        if other not in seen:
            yield start, end, other, 1.0 if (other in methods) == called else 0.2


def builtin(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another function of the same sort: any for all, min for max."""
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return
    seen = {node.id}
    for family in _BUILTINS:
        if node.id in family:
            for other in family:
                if other not in seen and (hasattr(builtins, other) or other in p.text):
                    seen.add(other)
                    yield *p.span(node), other, 1.0


def index(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another index."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Tuple):
        start, end = p.span(node.slice)
        text = p.seg(node.slice)
        for other in ("0", "-1", "1", "-2", ":", f"{text}:", f":{text}", f"-{text}", f"~{text}"):
            if other != text:
                yield start, end, other, 1.0 if other in ("0", "-1") else 0.5


def iteration(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Vary what a loop goes over: a copy (it changes meanwhile), in another order, with places, by pairs, each once (a
    set has no order, so what passes with one does so by luck)."""
    if isinstance(node, ast.For | ast.comprehension):
        start, end = p.span(node.iter)
        text, held = p.seg(node.iter), p.wrapped(node.iter)
        for name in ("list", "sorted", "reversed", "enumerate", "dict.fromkeys"):
            if not text.startswith(f"{name}("):
                yield start, end, f"{name}({text})", 1.0
        yield from ((start, end, f"{held}{rest}", 1.0) for rest in ("[1:]", "[:-1]", "[::-1]", ".items()", ".values()"))
        yield start, end, f"range(len({text}))", 0.7
        if text.startswith("range("):
            yield start, end, f"reversed({text})", 1.0


def bounds(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another bound of a slice."""
    if isinstance(node, ast.Slice):
        yield from _slice_bounds(p, node)


def part(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A part of a list or a text, where all of it is used: the rest, all but the last, from here on."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Call) or not isinstance(
        getattr(node, "ctx", ast.Load()), ast.Load
    ):
        return
    parent = p.parents.get(node)
    iterated = isinstance(parent, ast.For | ast.comprehension) and parent.iter is node
    passed = isinstance(parent, ast.Call | ast.Return | ast.Assign | ast.BinOp | ast.Starred | ast.List)
    if not iterated and (not passed or getattr(parent, "func", None) is node or isinstance(node, ast.Call)):
        return
    if isinstance(parent, ast.Call) and p.seg(parent.func) == "len":
        return  # `len(x) - 1` says the same better
    types = set(p.types_of(node, node.id)) if isinstance(node, ast.Name) else set()
    if types and not types & {"list", "tuple", "str", "bytes"}:
        return
    end, heavy = p.span(node)[1], 2.0 if iterated else 0.7
    yield from ((end, end, text, heavy) for text in ("[1:]", "[:-1]", "[::-1]"))
    yield end, end, "[2:]", 0.2
    for name in p.locals_of(node):
        held = set(p.types_of(node, name))
        if p.seg(node) != name and (not held or "int" in held):
            yield end, end, f"[{name}:]", heavy / 2
            yield end, end, f"[:{name}]", heavy / 2
    yield from ((end, end, text, 0.3) for text in ("[0]", "[-1]", "[1]"))


def _slice_bounds(p: Program, node: ast.Slice) -> Iterator[Piece]:
    holder = p.parents[node]
    assert isinstance(holder, ast.Subscript)
    start, end = p.span(node)
    lower, upper = (p.seg(each) if each is not None else "" for each in (node.lower, node.upper))
    tail = f":{p.seg(node.step)}" if node.step is not None else ""
    choices: list[tuple[str, str, float]] = [("", upper, 1.0), (lower, "", 1.0), (upper, lower, 0.7)]
    choices += [(f"{lower} + 1" if lower else "1", upper, 1.0), (f"{lower} - 1" if lower else "-1", upper, 0.7)]
    choices += [(lower, f"{upper} + 1" if upper else "-1", 1.0), (lower, f"{upper} - 1" if upper else "1", 1.0)]
    if upper:
        choices.append((upper, "", 1.0))
    if lower:
        choices.append(("", lower, 1.0))
        choices.append((lower, f"{lower} + {upper}" if upper else "", 0.7))
    for name in p.locals_of(node):
        choices += [(name, upper, 0.3), (lower, name, 0.3), (f"{name} + 1", upper, 0.15), (lower, f"{name} + 1", 0.15)]
    for low, high, weight in choices:
        if (low, high) != (lower, upper):
            yield start, end, f"{low}:{high}{tail}", weight
    if not tail:
        yield start, end, f"{lower}:{upper}:-1", 0.5
    else:
        yield start, end, f"{lower}:{upper}", 1.0
        yield from ((start, end, f"{lower}:{upper}:{step}", 0.5) for step in ("-1", "2", "1") if f":{step}" != tail)


def reuse(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another expression that the same function holds already, in place of this one, which is no part of it."""
    if not isinstance(node, ast.Call | ast.Subscript | ast.Attribute | ast.BinOp | ast.Name | ast.Constant):
        return
    if isinstance(p.parents.get(node), ast.Expr | ast.Attribute | ast.JoinedStr | ast.FormattedValue):
        return
    parent = p.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    stored = isinstance(getattr(node, "ctx", None), ast.Store)
    text, scope = p.seg(node), p.function(node)
    seen, around = {text}, {*p.around(node)}
    for other in p.nodes:
        if not isinstance(other, ast.Call | ast.Subscript | ast.Attribute | ast.BinOp | ast.Name) or other in around:
            continue
        if p.function(other) is not scope or (
            stored and not isinstance(other, ast.Subscript | ast.Attribute | ast.Name)
        ):
            continue
        above = p.parents.get(other)
        if isinstance(above, ast.Call) and above.func is other:
            continue
        if isinstance(other, ast.Name) and (isinstance(node, ast.Name) or isinstance(other.ctx, ast.Store)):
            continue
        new = p.seg(other)
        if new in seen or len(new) > 50 or "\n" in new:
            continue
        seen.add(new)
        loose = isinstance(other, ast.BinOp) and isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Attribute)
        fits = _fitting(p, node, other) * (1.0 if stored else _same_kind(node, other))
        yield *p.span(node), f"({new})" if loose else new, 3.0 * fits if stored else fits


def _same_kind(node: ast.AST, other: ast.AST) -> float:
    """Tell how alike two expressions are. None stands for whatever else there could be."""
    if isinstance(node, ast.Constant):
        return 1.0 if node.value is None else 0.3
    return 1.0 if type(other) is type(node) else 0.6


def _fitting(p: Program, node: ast.AST, other: ast.AST) -> float:
    """Tell how likely one expression is meant where another is, by where it stands and what it holds."""
    assert isinstance(node, ast.expr)
    assert isinstance(other, ast.expr)
    near = 1.0 if abs(other.lineno - node.lineno) <= _NEAR_LINES else 0.5
    if isinstance(node, ast.Constant):
        beside = node.value is None and _call_of(p, other) is _call_of(p, node) is not None
    else:
        beside = bool(re.search(rf"(?<!\w){re.escape(p.seg(node))}(?!\w)", p.seg(other)))
    return near * _WHOLE if beside else near


def _call_of(p: Program, argument: ast.AST) -> ast.AST | None:
    """The call that gets an argument."""
    above = p.parents.get(argument)
    call = p.parents.get(above) if isinstance(above, ast.keyword) else above
    return call if isinstance(call, ast.Call) else None


def default(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A default that all calls share: made anew in every call."""
    if not isinstance(node, FUNCTIONS):
        return
    arguments = [*node.args.posonlyargs, *node.args.args]
    pairs = list(zip(arguments[len(arguments) - len(node.args.defaults) :], node.args.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
    first = node.body[0]
    indent = p.indent(first)
    if indent is None:
        return
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(node.body) > 1:
        first = node.body[1]
    for argument, value in pairs:
        if isinstance(value, ast.List | ast.Dict | ast.Set | ast.Call):
            (start, end), body = p.span(value), p.span(first)[0]
            made = (
                f"if {argument.arg} is None:{p.newline}{indent}    {argument.arg} = {p.seg(value)}{p.newline}{indent}"
            )
            yield start, body, f"None{p.text[end:body]}{made}", 2.0
