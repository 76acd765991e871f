"""Streams of faults put into correct programs, class by class: what a comparison of memory needs.

The classes are written here once more and apart from the solver's templates, so that one is not the other's mirror.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ratchet.tasks import ShippedTask

Change = tuple[ast.AST, str]
"""A node, and the source that takes its place."""

_OPPOSITE = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
_OTHER_SIGN = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "/", ast.Mod: "//"}


@dataclass(frozen=True, slots=True)
class Faulty:
    """A correct program's file with one fault of a class in it."""

    path: str
    text: str
    fault: str


def boundary(tree: ast.AST) -> Iterator[Change]:
    """A comparison that takes its bound in, or leaves it out, by mistake."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPPOSITE:
            right = ast.unparse(node.comparators[0])
            yield node, f"{ast.unparse(node.left)} {_OPPOSITE[type(node.ops[0])]} {right}"


def sign(tree: ast.AST) -> Iterator[Change]:
    """Another operator between two numbers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and type(node.op) in _OTHER_SIGN:
            other = _OTHER_SIGN[type(node.op)]
            yield node, f"({ast.unparse(node.left)}) {other} ({ast.unparse(node.right)})"


def one_more(tree: ast.AST) -> Iterator[Change]:
    """A count that is one too far."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
            last = node.args[0] if len(node.args) == 1 else node.args[1]
            yield last, f"{ast.unparse(last)} + 1"
            yield last, f"{ast.unparse(last)} - 1"
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.upper is not None:
            yield node.slice.upper, f"{ast.unparse(node.slice.upper)} + 1"


def order_of_arguments(tree: ast.AST) -> Iterator[Change]:
    """The first two arguments of a call changed places."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and len(node.args) >= 2
            and not any(isinstance(a, ast.Starred) for a in node.args)
        ):
            first, second = node.args[:2]
            rest = [ast.unparse(each) for each in (*node.args[2:], *node.keywords)]
            parts = [ast.unparse(second), ast.unparse(first), *rest]
            if parts[0] != parts[1]:
                yield node, f"{ast.unparse(node.func)}({', '.join(parts)})"


def wrong_name(tree: ast.AST) -> Iterator[Change]:
    """Another variable of the same function."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            names = sorted(
                {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            )
            names = [*(each.arg for each in function.args.args if each.arg != "self"), *names]
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
                    yield from ((node, other) for other in names if other != node.id)


def turned_condition(tree: ast.AST) -> Iterator[Change]:
    """A condition the wrong way round."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp):
            yield node.test, f"not ({ast.unparse(node.test)})"


def lost_call(tree: ast.AST) -> Iterator[Change]:
    """A call left out around its argument."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if len(node.args) == 1 and not isinstance(node.args[0], ast.Starred | ast.GeneratorExp):
            yield node, ast.unparse(node.args[0])


def first_value(tree: ast.AST) -> Iterator[Change]:
    """A variable that starts with another number."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and type(node.value.value) is int:
            yield node.value, str(1 - node.value.value if node.value.value in (0, 1) else node.value.value + 1)


def lost_statement(tree: ast.AST) -> Iterator[Change]:
    """A statement that is not there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            yield node, "pass"


CLASSES: Mapping[str, Callable[[ast.AST], Iterator[Change]]] = {
    "boundary": boundary,
    "sign": sign,
    "one_more": one_more,
    "order_of_arguments": order_of_arguments,
    "wrong_name": wrong_name,
    "turned_condition": turned_condition,
    "lost_call": lost_call,
    "first_value": first_value,
    "lost_statement": lost_statement,
}

HABITS = ("wrong_name", "sign", "first_value")
"""Classes that a solver without memory does not try first (it takes it some 10 to 60 candidates): where it does,
there is nothing to remember."""


def faulty(sources: Mapping[str, str], classes: Sequence[str] = tuple(CLASSES)) -> Iterator[Faulty]:
    """Every way to put one fault of these classes into a program that parses. Many of them change nothing that a test
    sees: run the tests."""
    for path, text in sources.items():
        tree = ast.parse(text)
        for name in classes:
            for node, new in CLASSES[name](tree):
                changed = _replaced(text, node, new)
                try:
                    ast.parse(changed)
                except SyntaxError:
                    continue
                if changed != text:
                    yield Faulty(path, changed, name)


def stream(
    tasks: Sequence[ShippedTask],
    fails: Callable[[ShippedTask], bool],
    *,
    length: int,
    seed: int,
    classes: Sequence[str] = HABITS,
    recurring: bool = True,
) -> Iterator[ShippedTask]:
    """Tasks made from the right programs of `tasks`, one fault each, which `fails` confirms by running the tests.

    With `recurring`, the faults are of few classes, as one team or one agent makes them again and again; without, every
    class comes as often as any other. No program comes twice before all others have come.
    """
    draw = random.Random(seed)  # noqa: S311  (a stream that can be made again, no secret)
    chosen = list(classes) if recurring else list(CLASSES)
    made = 0
    while made < length:
        order = list(tasks)
        draw.shuffle(order)
        before = made
        for each in order:
            found = _with_fault(each, chosen if recurring else [chosen[made % len(chosen)]], draw, fails)
            if found is not None:
                made += 1
                yield replace(found, name=f"{found.name}_{made}")
            if made == length:
                return
        if made == before:
            return  # no program takes such a fault


def _with_fault(
    task: ShippedTask, classes: Sequence[str], draw: random.Random, fails: Callable[[ShippedTask], bool]
) -> ShippedTask | None:
    name = draw.choice(list(classes))
    options = list(faulty(task.sources, [name]))
    draw.shuffle(options)
    for option in options[:6]:
        right = task.sources
        made = replace(
            task,
            edits=1,
            project={**task.project, **right, option.path: option.text},
            fixed={option.path: right[option.path]},
            fault=option.fault,
        )
        if fails(made):
            return made
    return None


def _replaced(text: str, node: ast.AST, new: str) -> str:
    """The text with one node's source replaced (columns count bytes of UTF-8)."""
    assert isinstance(node, ast.expr | ast.stmt)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines = text.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    data = text.encode()
    return (data[:start] + new.encode() + data[end:]).decode()
