"""Templates for whole statements: left out, moved, added, of another form."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from .conditions import Piece
from .program import FUNCTIONS, Program

_SIMPLE = ast.Assign | ast.AugAssign | ast.Expr | ast.Return | ast.Break | ast.Continue | ast.AnnAssign | ast.Delete
_EXCEPTIONS = ("KeyError", "IndexError", "ValueError", "TypeError", "AttributeError", "ZeroDivisionError",
               "StopIteration", "LookupError", "ArithmeticError", "OSError", "RuntimeError", "Exception")  # fmt: skip
_HEADED = ast.For | ast.While | ast.If | ast.With


def deletion(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A statement left out; of an `if` or a loop, also its head alone, or its `else`."""
    if not isinstance(node, ast.stmt) or isinstance(node, (*FUNCTIONS, ast.ClassDef)) or not p.alone(node):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    start, end = p.span(node)
    if len(p.block(node)) == 1 or isinstance(node, ast.Import | ast.ImportFrom):
        yield start, end, "pass", 0.7
    else:
        assert node.end_lineno is not None
        yield p.line_start(node.lineno), p.line_end(node.end_lineno), "", 1.0
    if isinstance(node, ast.If) and not node.orelse and not _is_elif(p, node):
        yield p.line_start(node.lineno), p.line_end(node.end_lineno or node.lineno), _body(p, node), 1.0


def motion(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A statement changes places with the next, leaves its block, or enters the block before it."""
    if not isinstance(node, ast.stmt) or isinstance(node, (*FUNCTIONS, ast.ClassDef)) or not p.alone(node):
        return
    block = p.block(node)
    at = block.index(node)
    following = block[at + 1] if at + 1 < len(block) else None
    start, end = p.line_start(node.lineno), p.line_end(node.end_lineno or node.lineno)
    if following is not None and p.alone(following) and not isinstance(following, FUNCTIONS):
        last = p.line_end(following.end_lineno or following.lineno)
        middle = p.line_start(following.lineno)
        yield start, last, _closed(p, p.text[middle:last]) + p.text[start:end] + _gap(p.text[end:middle]), 1.0
        if isinstance(following, ast.For | ast.While | ast.If | ast.With) and isinstance(node, _SIMPLE):
            # Into the block that follows: made anew for every turn.
            deeper = p.indent(following.body[0])
            if deeper is not None:
                head = p.line_start(following.body[0].lineno)
                moved = p.text[end:head] + deeper + p.text[start:end].lstrip(" \t")
                yield start, head, moved, 0.7
    parent = p.parents.get(node)
    if isinstance(parent, _HEADED) and isinstance(node, _SIMPLE | ast.If):
        yield from _out(p, node, parent, block)
    if isinstance(node, ast.If):  # a failing test may have missed the block, and lacked what is done there
        for held in filter(None, (node.body, node.orelse)):
            if isinstance(held[-1], _SIMPLE) and p.alone(held[-1]):
                yield from _out(p, held[-1], node, held)
    if at and isinstance(node, _SIMPLE):
        yield from _into(p, node, block[at - 1])


def _out(p: Program, node: ast.stmt, parent: ast.stmt, block: list[ast.stmt]) -> Iterator[Piece]:
    """The last statement of a block comes after it, or after what follows; the first one before it."""
    start, end = p.line_start(node.lineno), p.line_end(node.end_lineno or node.lineno)
    outer = p.indent(parent)
    if outer is None or len(block) == 1:
        return
    last = p.line_end(parent.end_lineno or parent.lineno)
    text = _closed(p, _indented(p, node, outer))
    rest = _closed(p, p.text[end:last]) if end < last else ""
    around = p.block(parent)
    following = around[around.index(parent) + 1 : around.index(parent) + 2]
    further = p.line_end(following[0].end_lineno or following[0].lineno) if following else last
    # What the next statement works on is handed out when that is done: right whether or not it is shared.
    shared = bool(following) and bool(_names(node) & _names(following[0]))
    if node is block[-1]:
        yield start, last, rest + text, 0.5 if shared else 1.0
        if following and p.alone(following[0]):
            yield start, further, rest + _closed(p, p.text[last:further]) + text, 1.5 if shared else 0.7
    elif isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
        yield start, last, rest + text, 0.4
    if node is block[0] and not _is_elif(p, parent):
        yield p.line_start(parent.lineno), end, text + p.text[p.line_start(parent.lineno) : start], 1.0


def _names(node: ast.AST) -> set[str]:
    """The variables that a statement reads, without the object of a method."""
    read = (each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
    return {each.id for each in read} - {"self", "cls"}


def _into(p: Program, node: ast.stmt, before: ast.stmt) -> Iterator[Piece]:
    """Becomes the last statement of the block before it, of any depth."""
    holder: ast.stmt = before
    while isinstance(holder, ast.For | ast.While | ast.If | ast.With):
        inner = (holder.orelse or holder.body) if isinstance(holder, ast.If) else holder.body
        deeper = p.indent(inner[-1])
        if deeper is None:
            return
        at, end = p.line_start(node.lineno), p.line_end(node.end_lineno or node.lineno)
        yield at, end, _indented(p, node, deeper), 1.0
        holder = inner[-1]


def form(p: Program, node: ast.AST) -> Iterator[Piece]:
    """`=` for `+=`, and the other way round."""
    if isinstance(node, ast.AugAssign):
        start, end = p.span(node.target)[1], p.span(node.value)[0]
        yield start, end, " = ", 1.0
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple):
        start, end = p.span(node.targets[0])[1], p.span(node.value)[0]
        yield from ((start, end, f" {mark} ", 1.0) for mark in ("+=", "-=", "*=", "|="))


def overwriting(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A value that was given, and is not to be replaced: `x.setdefault(k, v)` for `x[k] = v`."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if isinstance(node, ast.Assign) and isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
        key = p.seg(target.slice)
        yield *p.span(node), f"{p.wrapped(target.value)}.setdefault({key}, {p.seg(node.value)})", 1.0


def yielding(p: Program, node: ast.AST) -> Iterator[Piece]:
    """`yield from` for `yield` or a mere call, `yield` for `return`."""
    if isinstance(node, ast.Yield) and node.value is not None:
        yield p.span(node)[0], p.span(node.value)[0], "yield from ", 2.0
        if isinstance(p.parents.get(node), ast.Expr):
            yield p.span(node)[0], p.span(node.value)[0], "return ", 1.0
    elif isinstance(node, ast.YieldFrom):
        yield p.span(node)[0], p.span(node.value)[0], "yield ", 2.0
    elif isinstance(node, ast.Return) and node.value is not None:
        yield p.span(node)[0], p.span(node.value)[0], "yield ", 0.7
        yield p.span(node)[0], p.span(node.value)[0], "yield from ", 0.7
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        # In a generator, a generator that is made and dropped is hardly what was meant.
        yield p.span(node)[0], p.span(node)[0], "yield from ", 3.0 if _yields(p, node) else 0.3


def _yields(p: Program, node: ast.AST) -> bool:
    scope = p.function(node)
    return any(isinstance(each, ast.Yield | ast.YieldFrom) and p.function(each) is scope for each in p.nodes)


def heading(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another word at the head of a statement: `continue`, `elif`, `while`."""
    if isinstance(node, ast.Break | ast.Continue):
        other = "continue" if isinstance(node, ast.Break) else "break"
        yield from ((*p.span(node), text, 1.0) for text in (other, "return", "pass"))
    elif isinstance(node, ast.If) and _is_elif(p, node):
        start = p.span(node)[0]
        if p.text[start : start + 4] == "elif":
            yield start, start + 4, "if", 1.0
    elif isinstance(node, ast.If) and p.indent(node) is not None:
        block = p.block(node)
        at = block.index(node)
        if at and isinstance(block[at - 1], ast.If):
            yield p.span(node)[0], p.span(node)[0] + 2, "elif", 1.0
        if not node.orelse:
            yield p.span(node)[0], p.span(node)[0] + 2, "while", 1.0
    elif isinstance(node, ast.While):
        yield p.span(node)[0], p.span(node)[0] + 5, "if", 0.5


def used(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A call whose value is lost: returned, assigned; `x.update(y)` for `x = y`."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return
    call = node.value
    start, end = p.span(node)
    yield start, start, "return ", 1.0
    yield from ((start, start, f"{name} = ", 0.7) for name in p.locals_of(node) if name not in ("self", "cls"))
    if isinstance(call.func, ast.Attribute) and len(call.args) == 1:
        holder = p.seg(call.func.value)
        yield start, end, f"{holder} = {p.seg(call.args[0])}", 1.5
        yield start, end, f"{holder} += {p.seg(call.args[0])}", 0.7
        for name in p.locals_of(node):
            yield start, end, f"{holder}[{name}] = {p.seg(call.args[0])}", 0.2


def branches(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Two branches of a condition change places: where both hold, the other one is meant."""
    following = node.orelse[0] if isinstance(node, ast.If) and len(node.orelse) == 1 else None
    if not isinstance(node, ast.If) or not isinstance(following, ast.If) or not _is_elif(p, following):
        return
    first, second = (
        (p.span(each.test)[0], p.line_end(each.body[-1].end_lineno or each.lineno)) for each in (node, following)
    )
    one, other = (_closed(p, p.text[start:end]) for start, end in (first, second))
    yield first[0], second[1], other + p.text[first[1] : second[0]] + one, 1.0


def scope(p: Program, node: ast.AST) -> Iterator[Piece]:
    """`nonlocal` or `global` that is missing, a loop's variable bound late, an import that was forgotten."""
    if isinstance(node, FUNCTIONS):
        outer = p.function(node)
        first = node.body[0]
        indent = p.indent(first)
        if indent is not None:
            own = set(p.locals_of(first)) - {each.arg for each in node.args.args}
            around = set(p.variables(outer.body[0])) if isinstance(outer, FUNCTIONS) else set()
            at = p.span(first)[0]
            top = set(p.variables(p.tree))
            for name in sorted(own & around):
                yield at, at, f"nonlocal {name}{p.newline}{indent}", 3.0
            for name in sorted(own & top):
                yield at, at, f"global {name}{p.newline}{indent}", 2.0
    elif isinstance(node, ast.Lambda):
        inside = {each.id for each in ast.walk(node.body) if isinstance(each, ast.Name)}
        start = p.span(node)[0] + len("lambda")
        for name in p.locals_of(node):
            if name in inside and name not in {each.arg for each in node.args.args}:
                yield start, start, f" {name}={name}{',' if node.args.args else ''}", 1.0
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in sys.stdlib_module_names:
        bound = {alias.asname or alias.name.split(".")[0] for each in p.nodes if isinstance(each, ast.Import)
                 for alias in each.names}  # fmt: skip
        if node.id not in bound and node.id not in p.variables(node):
            at = next((p.line_start(each.lineno) for each in p.tree.body if not _is_text(each)), 0)
            yield at, at, f"import {node.id}{p.newline}", 3.0


def caught(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Another exception caught or raised: those of the failing test first."""
    told = {*p.crashes.values(), *(kind.rpartition(".")[2] for kind, _ in p.expected.raised)}
    names = {**dict.fromkeys(sorted(told), 2.0), **dict.fromkeys(sorted({*_EXCEPTIONS} - told), 1.0)}
    if isinstance(node, ast.ExceptHandler) and node.type is not None:
        start, end = p.span(node.type)
        mine = p.seg(node.type)
        for name, weight in names.items():
            if name not in mine:
                yield start, end, name, weight
                if isinstance(node.type, ast.Name | ast.Attribute):
                    yield start, end, f"({mine}, {name})", weight
                elif isinstance(node.type, ast.Tuple):
                    yield end - 1, end - 1, f", {name}", weight
    elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call | ast.Name):
        named = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        for name, weight in names.items():
            if name != p.seg(named):
                yield *p.span(named), name, weight


def _is_elif(p: Program, node: ast.stmt) -> bool:
    start = p.span(node)[0]
    return isinstance(node, ast.If) and p.text[start : start + 4] == "elif"


def _is_text(node: ast.stmt) -> bool:
    imported = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return imported or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _indented(p: Program, node: ast.stmt, indent: str) -> str:
    """Its lines, moved to another depth."""
    text = p.text[p.line_start(node.lineno) : p.line_end(node.end_lineno or node.lineno)]
    mine = p.indent(node) or ""
    lines = text.splitlines(keepends=True)
    return "".join(indent + line[len(mine) :] if line.startswith(mine) else line for line in lines)


def _body(p: Program, node: ast.If) -> str:
    indent = p.indent(node) or ""
    return "".join(_closed(p, _indented(p, each, indent)) for each in node.body)


def _closed(p: Program, text: str) -> str:
    return text if text.endswith(("\n", "\r")) else text + p.newline


def _gap(text: str) -> str:
    """Return what stood between two statements, if it is more than nothing."""
    return text if text.strip() else ""
