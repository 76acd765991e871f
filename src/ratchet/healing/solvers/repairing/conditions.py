"""Templates for operators and conditions."""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from collections.abc import Iterator

from .program import Program

Piece = tuple[int, int, str, float]
"""Start, end, new text, weight within its family."""

_COMPARE = {
    ast.Lt: ("<", {"<=": 2.0, ">": 1.0, ">=": 0.7, "==": 0.3, "!=": 0.4}),
    ast.LtE: ("<=", {"<": 2.0, ">=": 1.0, ">": 0.7, "==": 0.3, "!=": 0.3}),
    ast.Gt: (">", {">=": 2.0, "<": 1.0, "<=": 0.7, "==": 0.3, "!=": 0.4}),
    ast.GtE: (">=", {">": 2.0, "<=": 1.0, "<": 0.7, "==": 0.3, "!=": 0.3}),
    ast.Eq: ("==", {"!=": 1.5, "<=": 0.7, ">=": 0.7, "<": 0.5, ">": 0.5, "is": 0.1}),
    ast.NotEq: ("!=", {"==": 1.5, "<": 0.7, ">": 0.7, "<=": 0.3, ">=": 0.3}),
    ast.Is: ("is", {"is not": 1.0, "==": 1.0}),
    ast.IsNot: ("is not", {"is": 1.0, "!=": 1.0}),
    ast.In: ("in", {"not in": 1.0, "==": 0.3}),
    ast.NotIn: ("not in", {"in": 1.0, "!=": 0.3}),
}
_BINARY = {
    ast.Add: ("+", {"-": 1.5, "*": 0.7, "|": 0.2}),
    ast.Sub: ("-", {"+": 1.5, "*": 0.3, "^": 0.1}),
    ast.Mult: ("*", {"+": 0.7, "**": 0.7, "/": 0.5, "//": 0.5, "-": 0.2}),
    ast.Div: ("/", {"//": 1.5, "*": 1.0, "%": 0.5}),
    ast.FloorDiv: ("//", {"/": 1.0, "%": 1.0, "*": 0.3, ">>": 0.1}),
    ast.Mod: ("%", {"//": 1.0, "/": 0.5, "*": 0.3}),
    ast.Pow: ("**", {"*": 1.0}),
    ast.BitAnd: ("&", {"|": 1.0, "^": 1.0, ">>": 0.3}),
    ast.BitOr: ("|", {"&": 1.0, "^": 1.0, "-": 0.3}),
    ast.BitXor: ("^", {"&": 1.0, "|": 1.0}),
    ast.LShift: ("<<", {">>": 1.0}),
    ast.RShift: (">>", {"<<": 1.0}),
}


def comparison(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another comparison operator."""
    if not isinstance(node, ast.Compare):
        return
    left: ast.expr = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        symbol, others = _COMPARE[type(operator)]
        found = _between(p, left, right, symbol)
        if found:
            yield from ((*found, other, weight) for other, weight in others.items())
        left = right


def bound(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A comparison whose operator and constant are off together: `== 0` for `<= 1`."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return
    right = node.comparators[0]
    symbol = _COMPARE[type(node.ops[0])][0]
    found = _between(p, node.left, right, symbol)
    value = right.value if isinstance(right, ast.Constant) else None
    if not found or type(value) is not int:
        return
    for other in ("<=", "<", ">=", ">", "=="):
        for near in (value - 1, value + 1):
            if other != symbol:
                yield found[0], p.span(right)[1], f"{other} {near}", 1.0


def arithmetic(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another arithmetic or bit operator, also in `x += y`."""
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        symbol, others = _BINARY[type(node.op)]
        found = _between(p, node.left, node.right, symbol)
    elif isinstance(node, ast.AugAssign) and type(node.op) in _BINARY:
        symbol, others = _BINARY[type(node.op)]
        found = _between(p, node.target, node.value, f"{symbol}=")
        others = {f"{other}=": weight for other, weight in others.items()}
    else:
        return
    if found:
        yield from ((*found, other, weight) for other, weight in others.items())


def boolean(p: Program, node: ast.AST) -> Iterator[Piece]:
    """`and` for `or`, and the other way round."""
    if not isinstance(node, ast.BoolOp):
        return
    symbol, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        found = _between(p, left, right, symbol)
        if found:
            yield *found, other, 1.0


def negation(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A condition turned round."""
    for each in conditions_of(node):
        start, end = p.span(each)
        if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not):
            yield start, end, p.wrapped(each.operand), 1.0
        elif isinstance(each, ast.Compare) and len(each.ops) == 1 and isinstance(each.ops[0], ast.In | ast.Is | ast.Eq):
            continue  # what `comparison` does already
        else:
            # Of several parts it is one that is wrong, rather than all.
            yield start, end, f"not {p.wrapped(each)}", 0.3 if isinstance(each, ast.BoolOp) else 1.0


def reduction(p: Program, node: ast.AST) -> Iterator[Piece]:
    """One part of a condition left out."""
    if not isinstance(node, ast.BoolOp):
        return
    for i in range(len(node.values)):
        if i + 1 < len(node.values):
            yield p.span(node.values[i])[0], p.span(node.values[i + 1])[0], "", 1.0
        else:
            yield p.span(node.values[i - 1])[1], p.span(node.values[i])[1], "", 1.0


def replacement(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A condition that is a variable, its emptiness, or a constant."""
    for each in conditions_of(node):
        start, end = p.span(each)
        loop = isinstance(node, ast.While)
        for name in p.locals_of(each):
            yield start, end, name, 1.0 if loop else 0.5
            yield start, end, f"not {name}", 0.5
            if loop:
                yield start, end, f"{name} is not None", 0.3
        yield from ((start, end, text, 0.3) for text in ("True", "False") if p.text[start:end] != text)


def guard(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Guard what a condition takes for granted: `a.b` wants an `a`, `a[0]` an `a` that is not empty."""
    for each in conditions_of(node):
        if not isinstance(each, ast.IfExp | ast.Lambda | ast.NamedExpr):
            text, part = p.seg(each), as_part(p, each)
            for held in _taken_apart(p, each):
                yield *p.span(each), f"{held} is None or {text}", 1.0
                yield *p.span(each), f"not {held} or {text}", 1.0
                yield *p.span(each), f"{held} is not None and {part}", 1.0
                yield *p.span(each), f"{held} and {part}", 1.0


def extension(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A missing case, told by one variable: `or not x`, `and x`."""
    for each in conditions_of(node):
        if isinstance(each, ast.IfExp | ast.Lambda | ast.NamedExpr):
            continue
        end, text, part = p.span(each), p.seg(each), as_part(p, each)
        for name in p.locals_of(each):
            yield *end, f"{text} or not {name}", 1.0
            yield *end, f"{part} and {name}", 1.0
            yield *end, f"{part} and not {name}", 0.7
            yield *end, f"{text} or {name}", 1.0 if isinstance(node, ast.While) else 0.5
            yield *end, f"{name} and {part}", 0.3


def extreme(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A missing case of a variable that is none, nothing or below: `or x == 0`, `and x is not None`."""
    for each in conditions_of(node):
        if isinstance(each, ast.IfExp | ast.Lambda | ast.NamedExpr):
            continue
        end, text, part = p.span(each), p.seg(each), as_part(p, each)
        for name in p.locals_of(each):
            types = set(p.types_of(each, name))
            if not types or "NoneType" in types:
                yield *end, f"{name} is not None and {part}", 1.0
                yield *end, f"{text} or {name} is None", 1.0
            if not types or types & {"int", "float"}:
                yield *end, f"{part} and {name} > 0", 0.7
                yield *end, f"{part} and {name} >= 0", 0.7
                yield *end, f"{text} or {name} == 0", 0.7
                yield *end, f"{text} or {name} < 0", 0.7


def relation(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A missing case, told by two variables: `and i < len(x)`, `and x not in y`."""
    for each in conditions_of(node):
        if isinstance(each, ast.IfExp | ast.Lambda | ast.NamedExpr):
            continue
        end, text, part = p.span(each), p.seg(each), as_part(p, each)
        names = p.locals_of(each)[:10]
        for one in names:
            held = set(p.types_of(each, one))
            for other in names:
                kinds = set(p.types_of(each, other))
                if one == other:
                    continue
                sized = not kinds or kinds & {"list", "str", "tuple", "dict", "set", "deque"}
                if sized and (not held or "int" in held):
                    yield *end, f"{one} < len({other}) and {part}", 1.0
                if sized:
                    yield *end, f"{part} and {one} not in {other}", 1.0
                    yield *end, f"{part} and {one} in {other}", 0.7
                if not held or not kinds or held & kinds:
                    yield *end, f"{part} and {one} != {other}", 0.5
                    yield *end, f"{text} or {one} == {other}", 0.5
                    yield *end, f"{text} or {one} is {other}", 0.2
                    yield *end, f"{part} and {one} < {other}", 0.4
                    yield *end, f"{text} or {one} < {other}", 0.4


def multiple(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A missing case of every so many of what is every so many already: `or n % 12 == 0` beside `n % 3` and `n % 4`."""
    for each in conditions_of(node):
        held = {(p.seg(part.left), part.right.value) for part in ast.walk(each)
                if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod)
                and isinstance(part.right, ast.Constant) and type(part.right.value) is int}  # fmt: skip
        for (left, one), (same, other) in itertools.combinations(sorted(held), 2):
            if left == same:
                yield *p.span(each), f"{p.seg(each)} or {left} % {one * other} == 0", 1.0
                yield *p.span(each), f"{as_part(p, each)} and {left} % {one * other} != 0", 1.0


def as_part(p: Program, node: ast.expr) -> str:
    """Its source, to stand before `and`."""
    text = p.seg(node)
    return f"({text})" if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) else text


def _taken_apart(p: Program, node: ast.expr) -> Iterator[str]:
    names, seen = p.locals_of(node), set[str]()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.value, ast.Name | ast.Attribute):
            text = p.seg(part.value)
            if text not in seen and (text in names or "." in text):
                seen.add(text)
                yield text


def conditions_of(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        yield node.test
    elif isinstance(node, ast.comprehension):
        yield from node.ifs
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield node.value


def _between(p: Program, left: ast.AST, right: ast.AST, symbol: str) -> tuple[int, int] | None:
    """Find an operator between two operands: comments and parentheses may stand there, too."""
    start, end = p.span(left)[1], p.span(right)[0]
    gap = p.text[start:end]
    if gap.strip() == symbol:
        at = start + gap.index(symbol)
        return at, at + len(symbol)
    words = symbol.split()
    try:
        # In parentheses, so that line ends within it are no end.
        tokens = list(
            tokenize.generate_tokens(io.StringIO("(" + gap.replace("(", " ").replace(")", " ") + ")").readline)
        )
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return None
    plain = [each for each in tokens if each.type in (tokenize.OP, tokenize.NAME) and each.string not in "()"]
    if [each.string for each in plain] != words:
        return None
    lines = gap.splitlines(keepends=True)
    starts = [sum(map(len, lines[:i])) for i in range(len(lines) + 1)]

    def place(at: tuple[int, int]) -> int:
        return start + starts[at[0] - 1] + at[1] - (1 if at[0] == 1 else 0)

    return place(plain[0].start), place(plain[-1].end)
