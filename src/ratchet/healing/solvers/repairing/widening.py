"""Templates for what takes too little in: one more type, value or exception, by what the failing test gives."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Iterator

from .borrowing import asked, predicates, read_here
from .conditions import Piece
from .places import in_place, is_called, is_value, types_at
from .program import FUNCTIONS, Program

_MOST = 8  # values of a test
_RARE = 0.05  # a family of few edits would come first: people ask before rather than after
_ASKED = 4.0  # weight of a question that is asked elsewhere of what has the same name
_SIMPLE = ast.Assign | ast.AugAssign | ast.Expr | ast.Return | ast.Raise | ast.Delete
_INSTEAD = ("None", "False", "0", "''", "[]", "{}")


def element(p: Program, node: ast.AST) -> Iterator[Piece]:
    """One more type or value among those that count: `isinstance(x, (a, b))`, `x in (a, b)`."""
    if isinstance(node, ast.Call) and p.seg(node.func) == "isinstance" and len(node.args) == 2:
        one, kinds = node.args
        held = p.types_of(one, one.id) if isinstance(one, ast.Name) else []
        beside = {p.seg(each.value) for each in ast.walk(kinds) if isinstance(each, ast.Attribute)}
        known = [kind for kind in held if hasattr(builtins, kind) or kind in p.callables()]
        known += [f"{module}.{kind}" for kind in held if kind not in known for module in sorted(beside)]
        yield from _more(p, kinds, known)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        yield from _more(p, node.comparators[0], _alike(p, node.comparators[0]))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
        word = "in" if isinstance(node.ops[0], ast.Eq) else "not in"
        for value in _alike(p, node.comparators[0]):
            yield *p.span(node), f"{p.seg(node.left)} {word} ({p.seg(node.comparators[0])}, {value})", 1.0
    elif isinstance(node, ast.Call) and len(node.args) == 1 and p.seg(node.func).endswith((".startswith", ".endswith")):
        yield from _more(p, node.args[0], _alike(p, node.args[0]))


def foreign(p: Program, node: ast.AST) -> Iterator[Piece]:
    """An operand of another class, to which an operator has no answer."""
    function, holder = p.function(node), p.enclosing_class(node)
    if not isinstance(function, FUNCTIONS) or not isinstance(node, ast.stmt) or holder is None:
        return
    given = [each.arg for each in function.args.args]
    names = function.name, f"__{function.name[3:]}"  # `__radd__` and `__iadd__` are forms of `__add__`
    binary = len(given) == 2 and any(each[:2] == "__" and hasattr(operator, each) for each in names)
    if binary and node is function.body[0] and (indent := p.indent(node)) is not None:
        at = p.line_start(node.lineno)
        for kind in (holder.name, f"type({given[0]})"):
            for answer in ("NotImplemented", "False"):
                head = f"{indent}if not isinstance({given[1]}, {kind}):{p.newline}"
                yield at, at, f"{head}{indent}    return {answer}{p.newline}", 1.0


def exempted(p: Program, node: ast.AST) -> Iterator[Piece]:
    """An element of a comprehension that is not like the others: it is left out, or as it is."""
    if not isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp) or p.function(node) is None:
        return
    loop, element = node.generators[-1], node.elt
    if not isinstance(loop.target, ast.Name) or isinstance(element, ast.IfExp | ast.Lambda | ast.NamedExpr):
        return
    name = loop.target.id
    known = {text for _, text in asked(p)}
    questions = [(f"{p.seg(call.func)}({name})", weight) for call, weight in predicates(p, node)]
    likely = [(ask, _ASKED if ask in known else weight) for ask, weight in questions]
    for ask, weight in [(name, 1.0), *likely]:
        for condition in (ask, f"not {ask}", *((f"{name} is not None",) if ask == name else ())):
            if not loop.ifs:
                end = p.span(loop.iter)[1]
                yield end, end, f" if {condition}", weight
            if not isinstance(element, ast.Name):
                end = p.span(element)[1]
                yield end, end, f" if {condition} else {name}", weight


def trimmed(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A text without what the failing test gives beside letters and digits."""
    if not isinstance(node, ast.expr) or not is_value(p, node) or isinstance(node, ast.Constant):
        return
    if not types_at(p, node) <= {"str"}:
        return
    given = (ast.literal_eval(each) for each in p.expected.given)
    marks = dict.fromkeys(letter for each in given if isinstance(each, str) for letter in each if not letter.isalnum())
    for mark in [*map(repr, marks)][:_MOST]:
        for how in ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix"):
            yield *p.span(node), in_place(p, node, f"{p.wrapped(node)}.{how}({mark})"), 1.0
        yield *p.span(node), in_place(p, node, f'{p.wrapped(node)}.replace({mark}, "")'), 1.0


def own(p: Program, node: ast.AST) -> Iterator[Piece]:
    """The class of an object, which may be one that is derived, in place of the class that is written there."""
    function, holder = p.function(node), p.enclosing_class(node)
    if isinstance(node, ast.Name) and isinstance(function, FUNCTIONS) and holder is not None and node.id == holder.name:
        first = next((each.arg for each in function.args.args), "")
        if first == "cls":
            yield *p.span(node), first, 1.0
        elif first:
            yield from ((*p.span(node), text, 1.0) for text in (f"type({first})", f"{first}.__class__"))


def attempted(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A statement that may raise what it raised in the failing test."""
    if not isinstance(node, ast.stmt) or isinstance(node, (ast.Try, ast.ClassDef, *FUNCTIONS)):
        return
    last = node.end_lineno or node.lineno
    raised = dict.fromkeys(p.crashes[line] for line in range(node.lineno, last + 1) if line in p.crashes)
    indent = p.indent(node) or ""
    for start, end, inner in _deeper(p, node) if raised else ():
        for kind in raised:
            for instead, weight in _instead(p, node):
                handler = f"{indent}except {kind}:{p.newline}{indent}    {instead}{p.newline}"
                yield start, end, f"{indent}try:{p.newline}{inner}{handler}", _RARE * weight


def conditional(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A statement that is right only in some cases."""
    if not isinstance(node, _SIMPLE) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return
    read = (each for each in ast.walk(node) if isinstance(getattr(each, "ctx", None), ast.Load))
    held = (each for each in read if isinstance(each, ast.Name | ast.Attribute) and not is_called(p, each))
    known = {"self", "cls", *p.callables()}
    texts = [each for each in dict.fromkeys(map(p.seg, held)) if each not in known]
    asks = [(form.format(each), 1.0) for each in texts for form in ("{}", "{} is not None")]
    for start, end, inner in _deeper(p, node):
        for condition, weight in [*asks, *read_here(p, node, asked(p))]:
            yield start, end, f"{p.indent(node)}if {condition}:{p.newline}{inner}", weight


def _deeper(p: Program, node: ast.stmt) -> Iterator[tuple[int, int, str]]:
    """The place of a statement's lines, and these one step deeper; nothing where it shares them, or texts go over
    several of them."""
    texts = (each for each in ast.walk(node) if isinstance(each, ast.Constant | ast.JoinedStr))
    if p.function(node) is None or not p.alone(node) or any(each.lineno != each.end_lineno for each in texts):
        return
    start, end = p.line_start(node.lineno), p.line_end(node.end_lineno or node.lineno)
    lines = p.text[start:end].splitlines(keepends=True)
    inner = "".join(f"    {line}" if line.strip() else line for line in lines)
    if not lines[0].lstrip().startswith("elif"):
        yield start, end, inner if inner.endswith(("\n", "\r")) else inner + p.newline


def _instead(p: Program, node: ast.stmt) -> Iterator[tuple[str, float]]:
    """Statements for when it raises."""
    yield "pass", 1.0
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if isinstance(target, ast.Name | ast.Attribute):
        yield from ((f"{p.seg(target)} = {value}", 0.7) for value in (*_INSTEAD, *p.locals_of(node)[:_MOST]))
    yield from ((f"return {value}", 0.7) for value in (*_INSTEAD, *p.locals_of(node)[:_MOST]))
    for kind, message in p.expected.raised:
        name = kind.rpartition(".")[2]
        yield f"raise {name}({message or 'invalid value'!r}) from None", 2.0
    yield from ((f"return {value}", 0.3) for value in p.expected.values[:_MOST] if len(value) <= 60)
    yield "continue", 0.5


def _more(p: Program, node: ast.expr, values: list[str]) -> Iterator[Piece]:
    """One more of these beside what stands there, or in it."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        held = [p.seg(each) for each in node.elts]
        end = p.span(node.elts[-1])[1] if held else 0
        yield from ((end, end, f", {value}", 1.0) for value in values if held and value not in held)
    elif isinstance(node, ast.Name | ast.Attribute | ast.Constant):
        mine = p.seg(node)
        yield from ((*p.span(node), f"({mine}, {value})", 1.0) for value in values if value != mine)


def _alike(p: Program, node: ast.expr) -> list[str]:
    """Values of the failing test of the type of a constant, or of those in a display."""
    inner = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    kinds = {type(each.value) for each in inner if isinstance(each, ast.Constant)}
    return [source for source in p.expected.given if kinds and type(ast.literal_eval(source)) in kinds][:_MOST]
