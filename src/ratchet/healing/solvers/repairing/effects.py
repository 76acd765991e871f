"""Tell which edits cannot mend which failing tests, without a run for each of them.

An edit that comes out as before wherever a failing test meets it does not mend that test, nor does one that raises
where nothing was raised. So all edits of a batch are looked at in one run: at their lines both texts are evaluated, as
far as that has no effects: no function of the program's is entered, a property's or an operator's neither, and nothing
is used up. What an edit is in the end is told by running it: this decides only what is tried first.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any

from .program import Program, SourceEdit
from .tracing import FrameTracer, Trace

_VISITS = 400  # of one edit in one test, after which it is what it was so far
_EVENTS = 150_000  # lines of one test
_KEPT = "<kept>"  # a call that is put in here: no name of a program can be this one
# Allowed by name, since a builtin with an effect cannot be told by its looks; what is missing here is tried later.
_CALLS = frozenset({"len", "abs", "min", "max", "sum", "sorted", "isinstance", "ord", "chr", "int", "float", "str",
                    "bool", "list", "tuple", "set", "dict", "range", "any", "all", "hasattr", "enumerate", "zip",
                    "reversed", _KEPT})  # fmt: skip
_PURE = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.Attribute,
         ast.Call, ast.IfExp, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Slice, ast.JoinedStr,
         ast.FormattedValue, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)  # fmt: skip
_PLAIN = frozenset({int, bool, float, complex, str, bytes, type(None)})
_LOOK = "<look>"  # the file of what is evaluated, in which alone code may be entered
_READ = ast.Load()
_COMPREHENSION = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


Texts = tuple[CodeType, ...]
"""Parts of a text that are evaluated whenever it is run."""


class OnlyRunTellsError(Exception):
    """Nothing can be told of a value without running the program's code, or using the value up."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Texts to evaluate at a line, before and after an edit. `value` is one expression before and after, where all of
    the edit lies within one that has no effects; by `truth` where no more of it counts."""

    line: int
    before: Texts
    after: Texts
    value: tuple[CodeType, CodeType] | None = None
    truth: bool = False


class Prober:
    """Makes the probes of one file's edits."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known = frozenset(program.known)
        self._expressions: dict[int, list[ast.expr]] = {}
        self._statements: dict[int, ast.stmt] = {}
        for node in program.nodes:
            if isinstance(node, ast.stmt):
                self._statements.setdefault(node.lineno, node)
            elif isinstance(node, ast.expr) and (statement := program.statement(node)) is not None:
                self._expressions.setdefault(statement.lineno, []).append(node)

    def probe(self, edit: SourceEdit) -> Probe | None:
        """The probe of an edit; None where only a run can tell."""
        statement = self._statements.get(edit.lines[0])
        if statement is None:
            return None
        try:
            lines = edit.start == edit.end and edit.text.endswith("\n")
            found = self._of_new(edit, statement) if lines else self._of_change(edit, statement)
        except (SyntaxError, ValueError, RecursionError):
            return None
        told = found is not None and (found.value is not None or found.after)
        return found if told else None

    def _of_change(self, edit: SourceEdit, statement: ast.stmt) -> Probe | None:
        p = self._program
        start, end = p.span(statement)
        simple = not hasattr(statement, "body")
        around = [(p.span(each), each) for each in self._expressions.get(statement.lineno, ())]
        around = [each for each in around if each[0][0] <= edit.start and edit.end <= each[0][1]]
        around.sort(key=lambda each: each[0][0] - each[0][1])
        if not simple and around:
            start, end = around[0][0]
        if not (start <= edit.start and edit.end <= end) or not (simple or around):
            return None
        new = p.text[start : edit.start] + edit.text + p.text[edit.end : end]
        before, after = self._texts(p.text[start:end]), self._texts(new)
        if self._is_tried(statement):
            before = after = ()
        for (first, last), node in around:
            if isinstance(getattr(node, "ctx", _READ), ast.Load):
                text = p.text[first : edit.start] + edit.text + p.text[edit.end : last]
                pair = [_parsed(each) for each in (p.text[first:last], text)]
                if all(self._is_pure(each) for each in pair):
                    one, other = map(_compiled, pair)
                    return Probe(statement.lineno, before, after, (one, other), self._is_condition(node))
        return Probe(statement.lineno, before, after)

    def _of_new(self, edit: SourceEdit, statement: ast.stmt) -> Probe | None:
        """Of what is put before a statement, or after it: a case changes nothing where its condition does not hold."""
        p = self._program
        added = ast.parse(_flush(edit.text)).body
        if not added or not edit.text.strip():
            return None
        if edit.start > p.span(statement)[0]:
            bound = _stored(statement)
            names = [each for each in self._parts(added[0]) if isinstance(each, ast.Name) and each.id not in bound]
            return Probe(statement.lineno, (), _texts(names))
        after = () if self._is_tried(statement) else _texts([*self._parts(added[0])])
        if isinstance(added[0], ast.If) and len(added) == 1 and not added[0].orelse and self._is_pure(added[0].test):
            never = _compiled(ast.Constant(False)), _compiled(added[0].test)
            return Probe(statement.lineno, (), after, never, truth=True)
        return Probe(statement.lineno, (), after)

    def _texts(self, text: str) -> Texts:
        return _texts([part for each in ast.parse(_flush(text)).body[:1] for part in self._parts(each)])

    def _parts(self, node: ast.AST) -> Iterator[ast.expr]:
        """The parts that have no effects and are evaluated whenever the node is."""
        if isinstance(node, ast.expr) and self._is_pure(node):
            yield node
            return
        inner: list[ast.AST] = []
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            inner = [ast.Name(node.target.id, _READ), node.value]
        elif isinstance(node, ast.Attribute):
            inner = [node.value]
        elif isinstance(node, ast.Subscript):
            inner = [node.value, node.slice]
        elif isinstance(node, ast.BoolOp):
            inner = [node.values[0]]
        elif isinstance(node, ast.IfExp | ast.If | ast.While | ast.Assert):
            inner = [node.test]
        elif isinstance(node, _COMPREHENSION):
            inner = [node.generators[0].iter]
        elif isinstance(node, ast.For):
            inner = [node.iter]
        elif isinstance(node, ast.Assign):
            inner = [node.value, *node.targets]
        elif isinstance(node, ast.expr | ast.Expr | ast.Return | ast.AugAssign | ast.keyword | ast.Raise) and not (
            isinstance(node, ast.Lambda | ast.JoinedStr)
        ):
            inner = [*ast.iter_child_nodes(node)]
        for each in inner:
            yield from self._parts(each)

    def _is_pure(self, tree: ast.expr) -> bool:
        return all(map(self._is_step_pure, ast.walk(tree)))

    def _is_step_pure(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            named = isinstance(node.func, ast.Name) and node.func.id in _CALLS - self._known
            return named and not node.keywords
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            return isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.BinOp):
            return not isinstance(node.op, ast.Pow | ast.LShift)
        return isinstance(node, _PURE)

    def _is_condition(self, node: ast.expr) -> bool:
        parent = self._program.parents.get(node)
        return isinstance(parent, ast.If | ast.While | ast.Assert | ast.IfExp) and parent.test is node

    def _is_tried(self, statement: ast.stmt) -> bool:
        """Tell whether what it raises may be caught, in its function."""
        at: ast.AST | None = statement
        while at is not None and not isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef):
            if isinstance(at, ast.Try) and at.handlers:
                return True
            at = self._program.parents.get(at)
        return False


class EffectTracer(FrameTracer):
    """Evaluates probes, each with its file, while tests run."""

    def __init__(self, probes: Sequence[tuple[str, Probe]]) -> None:
        super().__init__({file for file, _ in probes})
        self._probes = [probe for _, probe in probes]
        self._at: dict[str, dict[int, list[int]]] = {}
        for number, (file, probe) in enumerate(probes):
            self._at.setdefault(file, {}).setdefault(probe.line, []).append(number)
        self._live: dict[str, dict[int, list[int]]] = {}
        self._visits: dict[int, int] = {}
        self._felt: set[int] = set()
        self._events = 0
        self._vain: dict[str, list[int]] = {}

    def taken(self, test: str) -> dict[str, list[int]]:
        """Begin anew with the next test. No lines are told."""
        if test:
            self._vain[test] = sorted(self._visits.keys() - self._felt)
        self._live = {file: {line: [*found] for line, found in lines.items()} for file, lines in self._at.items()}
        self._visits, self._felt, self._events = {}, set(), 0
        return {}

    def seen(self) -> dict[str, object]:
        """Plain JSON: numbers of the probes that came out alike, or raised, wherever a test met them, by test."""
        return {"vain": self._vain}

    def _on_call(self, frame: FrameType, _event: str, _argument: object) -> Trace | None:
        if not frame.f_code.co_flags & CO_OPTIMIZED:
            return None  # a class's body may keep its names in a mapping of the program's own
        return self._on_event if self._name(frame.f_code.co_filename) and self._events <= _EVENTS else None

    def _on_event(self, frame: FrameType, event: str, _argument: object) -> Trace | None:
        if event == "line":
            self._events += 1
            numbers = self._live.get(self._name(frame.f_code.co_filename), {}).get(frame.f_lineno)
            if numbers:
                values = {**frame.f_locals, _KEPT: _kept}
                numbers[:] = [each for each in numbers if not self._is_settled(each, frame.f_globals, values)]
        return self._on_event if self._events <= _EVENTS else None

    def _is_settled(self, number: int, around: dict[str, Any], values: dict[str, Any]) -> bool:
        """Tell whether a probe need not be evaluated again in this test."""
        visit = self._visits[number] = self._visits.get(number, 0) + 1
        found = self._guarded(self._probes[number], around, values, first=visit == 1)
        if not found:
            self._felt.add(number)
        return found != "alike" or visit >= _VISITS

    def _guarded(self, probe: Probe, around: dict[str, Any], values: dict[str, Any], first: bool) -> str:
        try:
            return str(sys.call_tracing(_looked, (probe, around, values, first)))
        except OnlyRunTellsError:
            return ""
        finally:
            sys.settrace(self._on_call)  # an error in a trace function ends all tracing


def _looked(probe: Probe, around: dict[str, Any], values: dict[str, Any], first: bool) -> str:
    """Tell how an edit comes out here: "alike", "raises" or "" for anything else, and where it cannot be said."""
    sys.settrace(_refuse)  # from within: Python 3.11 does not trace what `call_tracing` calls before the next of these
    if first and probe.after and _raise(probe.after, around, values):
        return "" if _raise(probe.before, around, values) else "raises"
    if probe.value is None:
        return ""
    try:
        old = eval(probe.value[0], around, values)  # noqa: S307  (the program's own text)
    except OnlyRunTellsError:
        raise
    except Exception:  # noqa: BLE001  (whatever a program raises there)
        return ""
    try:
        new = eval(probe.value[1], around, values)  # noqa: S307
        same = bool(old) == bool(new) if probe.truth else _is_same(old, new)
    except OnlyRunTellsError:
        raise
    except Exception:  # noqa: BLE001
        return "raises" if probe.after else ""
    return "alike" if same else ""


def _is_same(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and type(one) in _PLAIN and one == other)


def _raise(texts: Texts, around: dict[str, Any], values: dict[str, Any]) -> bool:
    try:
        for code in texts:
            eval(code, around, values)  # noqa: S307
    except OnlyRunTellsError:
        raise
    except Exception:  # noqa: BLE001
        return True
    return False


def _refuse(frame: FrameType, _event: str, _argument: object) -> None:
    """Trace a look: a function is left before its first line."""
    if frame.f_code.co_filename not in (_LOOK, __file__):
        raise OnlyRunTellsError


def _kept(value: object) -> object:
    """A value that may be gone through without using it up."""
    if hasattr(type(value), "__next__"):
        raise OnlyRunTellsError
    return value


def _texts(parts: Sequence[ast.expr]) -> Texts:
    return tuple(map(_compiled, parts))


class _GoneThrough(ast.NodeTransformer):
    """Lets only that be gone through which is not used up by it."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.args = [*map(self._as_kept, node.args)]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        self.generic_visit(node)
        pairs = zip(node.ops, node.comparators, strict=True)
        node.comparators = [self._as_kept(each) if isinstance(op, ast.In | ast.NotIn) else each for op, each in pairs]
        return node

    def _as_kept(self, node: ast.expr) -> ast.expr:
        own = isinstance(node, ast.Constant | ast.Call)  # a call's own result is nobody's else
        return node if own else ast.Call(ast.Name(_KEPT, _READ), [node], [])


def _parsed(text: str) -> ast.expr:
    return ast.parse(f"({text})", mode="eval").body


def _compiled(node: ast.expr) -> CodeType:
    tree = ast.fix_missing_locations(ast.Expression(_GoneThrough().visit(node)))
    made = compile(tree, _LOOK, "eval")
    assert isinstance(made, CodeType)
    return made


def _stored(tree: ast.AST) -> frozenset[str]:
    names = (each for each in ast.walk(tree) if isinstance(each, ast.Name))
    return frozenset(each.id for each in names if not isinstance(each.ctx, ast.Load))


def _flush(text: str) -> str:
    """Lines without what stands before the first of them."""
    lines = text.splitlines()
    before = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return "\n".join(line[before:] if not line[:before].strip() else line for line in lines)
