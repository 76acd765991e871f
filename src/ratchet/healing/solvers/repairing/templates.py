"""All families of edits, and the edits of one file that they make."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from . import (
    borrowing,
    calls,
    conditions,
    entries,
    guards,
    handing,
    insertions,
    patterns,
    statements,
    terms,
    texts,
    values,
    widening,
    wrapping,
)
from .program import FUNCTIONS, Program, SourceEdit, masked

Template = Callable[[Program, ast.AST], Iterator[conditions.Piece]]


class Family(NamedTuple):
    """A sort of edit: the template that makes its edits, and the fault that one of them mends, for people."""

    template: Template
    fault: str


FAMILIES: Mapping[str, Family] = {
    "comparison": Family(conditions.comparison, "the wrong comparison operator"),
    "bound": Family(conditions.bound, "a comparison with the wrong bound"),
    "arithmetic": Family(conditions.arithmetic, "the wrong operator"),
    "boolean": Family(conditions.boolean, "`and` and `or` mixed up"),
    "negation": Family(conditions.negation, "a condition the wrong way round"),
    "guard": Family(conditions.guard, "a missing check of a value before its use"),
    "nothing": Family(guards.nothing, "None mixed up with empty or zero"),
    "otherwise": Family(guards.otherwise, "a missing fallback value"),
    "typed": Family(guards.typed, "a missing check of a type"),
    "lenient": Family(guards.lenient, "an attribute that may be missing"),
    "expected": Family(guards.expected, "a case that is not handled as its test expects"),
    "extension": Family(conditions.extension, "a missing case in a condition"),
    "extreme": Family(conditions.extreme, "a missing edge case in a condition"),
    "relation": Family(conditions.relation, "a missing comparison in a condition"),
    "multiple": Family(conditions.multiple, "a missing case of every so many"),
    "joined": Family(borrowing.joined, "a condition that lacks a part"),
    "borrowed": Family(borrowing.borrowed, "a case that is handled elsewhere, and not here"),
    "fallback": Family(borrowing.fallback, "a value that is not sought elsewhere"),
    "called": Family(borrowing.called, "a call that other values get, and not this one"),
    "handed": Family(borrowing.handed, "an argument that other calls are given"),
    "conditional": Family(widening.conditional, "a statement that is right only in some cases"),
    "element": Family(widening.element, "a type or value that is not counted in"),
    "exempted": Family(widening.exempted, "an element that is not like the others"),
    "trimmed": Family(widening.trimmed, "a text that is not cleaned first"),
    "own": Family(widening.own, "a class that derived ones cannot take the place of"),
    "foreign": Family(widening.foreign, "an operand of another class"),
    "attempted": Family(widening.attempted, "an exception that is not handled"),
    "reduction": Family(conditions.reduction, "a condition with a part too many"),
    "replacement": Family(conditions.replacement, "the wrong condition"),
    "off_by_one": Family(values.off_by_one, "a value that is one too high or too low"),
    "constant": Family(values.constant, "the wrong constant"),
    "text_piece": Family(texts.text_piece, "a wrong character in a text"),
    "pattern_piece": Family(patterns.pattern_piece, "a mistake in a regular expression"),
    "wanted_text": Family(patterns.wanted_text, "another text or number than the test expects"),
    "variable": Family(values.variable, "the wrong variable"),
    "unbound": Family(values.unbound, "a name that nothing defines"),
    "named": Family(terms.named, "a constant in place of a variable"),
    "configured": Family(terms.configured, "a constant in place of what the object holds"),
    "scaling": Family(terms.scaling, "a missing factor or remainder"),
    "term": Family(terms.term, "a missing part of a calculation"),
    "sibling": Family(terms.sibling, "a missing part that the same object holds"),
    "crossing": Family(terms.crossing, "two variables mixed up"),
    "recursion": Family(terms.recursion, "a missing recursive call"),
    "operand_swap": Family(values.operand_swap, "two operands in the wrong order"),
    "operand_drop": Family(values.operand_drop, "an operand too many"),
    "addition": Family(values.addition, "a missing summand"),
    "operand_add": Family(values.operand_add, "a missing operand"),
    "bounded": Family(wrapping.bounded, "a missing lower bound"),
    "wrap": Family(wrapping.wrap, "a missing call around a value"),
    "dress": Family(wrapping.dress, "a value in the wrong form"),
    "unwrap": Family(wrapping.unwrap, "a call too many around a value"),
    "returned": Family(values.returned, "the wrong value returned"),
    "returned_name": Family(values.returned_name, "a value returned in the wrong form"),
    "initial": Family(values.initial, "the wrong initial value"),
    "argument_swap": Family(calls.argument_swap, "two arguments in the wrong order"),
    "parameter_swap": Family(calls.parameter_swap, "two parameters in the wrong order"),
    "argument_count": Family(calls.argument_count, "the wrong number of arguments"),
    "attribute": Family(calls.attribute, "the wrong attribute or method"),
    "builtin": Family(calls.builtin, "the wrong built-in function"),
    "index": Family(calls.index, "the wrong index"),
    "bounds": Family(calls.bounds, "the wrong bounds of a slice"),
    "part": Family(calls.part, "a whole sequence in place of a part of it"),
    "iteration": Family(calls.iteration, "a loop over the wrong values"),
    "reuse": Family(calls.reuse, "the wrong expression"),
    "default": Family(calls.default, "a default value that all calls share"),
    "passing_on": Family(handing.passing_on, "an argument that is not passed on"),
    "neighbour": Family(handing.neighbour, "a field that is not handed on as its neighbours are"),
    "items": Family(handing.items, "a collection in place of its items"),
    "held": Family(handing.held, "an argument that is not converted first"),
    "copied": Family(handing.copied, "a shared value that is not copied"),
    "deletion": Family(statements.deletion, "a statement too many"),
    "motion": Family(statements.motion, "a statement in the wrong place"),
    "growing": Family(insertions.growing, "a collection that is not updated"),
    "setting": Family(insertions.setting, "a variable that is not set"),
    "stepping": Family(insertions.stepping, "a counter that is not updated"),
    "leaving": Family(insertions.leaving, "a missing way out of a loop or a function"),
    "guarding": Family(insertions.guarding, "a special case that is not handled first"),
    "repeating": Family(insertions.repeating, "a missing statement"),
    "noting": Family(insertions.noting, "a value that is looked up but never stored"),
    "fields": Family(insertions.fields, "an attribute that is not set"),
    "branches": Family(statements.branches, "two cases asked in the wrong order"),
    "form": Family(statements.form, "`=` and `+=` mixed up"),
    "overwriting": Family(statements.overwriting, "a value that was given, and is replaced"),
    "entry": Family(entries.entry, "an entry that is missing"),
    "yielding": Family(statements.yielding, "`yield` and `return` mixed up"),
    "heading": Family(statements.heading, "the wrong keyword at the head of a statement"),
    "used": Family(statements.used, "a result that is not used"),
    "scope": Family(statements.scope, "a name of the wrong scope"),
    "caught": Family(statements.caught, "the wrong exception"),
}
_ELSEWHERE: Mapping[str, str] = {
    "donated": "a difference from the donor",
    "rewriting": "lines that had to be written anew",
}
"""Faults that no template mends."""
_EDITS_A_FILE = 60_000
"""Where all edits of a file are asked for: so many, from its top."""


Span = tuple[int, int]
"""First and last of the lines that speak for an edit."""
Seen = set[tuple[int, int, str, str]]


def fault_of(family: str) -> str:
    """The fault that an edit of a family mends, as a phrase for people."""
    held = FAMILIES.get(family)
    return held.fault if held is not None else _ELSEWHERE.get(family, "a fault")


def edits(program: Program, wanted: Callable[[Span], bool]) -> Iterator[SourceEdit]:
    """Every edit of the file whose lines are `wanted`. Two families may make the same one, each with its own share, and
    some are no Python: whoever runs them finds out."""
    seen: Seen = set()
    for node, lines in sites(program):
        if wanted(lines):
            yield from edits_at(program, node, lines, seen)
            if len(seen) >= _EDITS_A_FILE:
                return


def sites(program: Program) -> Iterator[tuple[ast.AST, Span]]:
    """The nodes of a file at which there are edits, each with the lines that speak for those."""
    for node in program.nodes:
        if isinstance(node, ast.stmt | ast.expr | ast.excepthandler | ast.comprehension | ast.Slice):
            lines = _lines(program, node)
            if lines is not None and not _is_annotation(program, node):
                yield node, lines


def edits_at(program: Program, node: ast.AST, lines: Span, seen: Seen) -> Iterator[SourceEdit]:
    """The edits at one node but those `seen`, to which they are added."""
    site = _site(program, node)
    for family, (template, _) in FAMILIES.items():
        if family != "text_piece" and program.within_format(node):
            continue
        for start, end, text, weight in template(program, node):
            before = program.text[start:end]
            if before == text or (start, end, text, family) in seen:
                continue
            seen.add((start, end, text, family))
            yield SourceEdit(
                path=program.path, start=start, end=end, text=text, family=family, lines=lines,
                shape=f"{_masked(program, before)} => {_masked(program, text)}",
                function=program.qualname(node), before=before, weight=weight, site=site,
            )  # fmt: skip


def _lines(program: Program, node: ast.AST) -> tuple[int, int] | None:
    """The lines that speak for an edit at a node: of the head of its statement, up to the end of the expression. For a
    signature, those of the body, since its own line runs at every import."""
    if isinstance(node, ast.comprehension):
        return _lines(program, node.target)
    if isinstance(node, ast.ExceptHandler):
        return node.lineno, node.body[-1].end_lineno or node.lineno
    statement = program.statement(node)
    if statement is None:
        return None
    if isinstance(statement, FUNCTIONS):
        return statement.body[0].lineno, statement.end_lineno or statement.lineno
    if statement is node:
        compound = isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.ClassDef)
        return statement.lineno, statement.lineno if compound else (statement.end_lineno or statement.lineno)
    return statement.lineno, getattr(node, "end_lineno", None) or statement.lineno


def _site(program: Program, node: ast.AST) -> str:
    """Describe what a node stands in, past the arithmetic around it: the same fault is made in the same place
    elsewhere."""
    at = program.parents.get(node)
    while isinstance(at, ast.BinOp | ast.UnaryOp | ast.keyword | ast.Starred):
        at = program.parents.get(at)
    if isinstance(at, ast.Call):
        called = at.func.attr if isinstance(at.func, ast.Attribute) else program.seg(at.func)
        return f"call {masked(called[:40], program.known)}"
    return type(at).__name__.lower()


def _is_annotation(program: Program, node: ast.AST) -> bool:
    at: ast.AST | None = node
    while isinstance(at, ast.expr):
        above = program.parents.get(at)
        if isinstance(above, ast.arg | ast.AnnAssign) and above.annotation is at:
            return True
        if isinstance(above, FUNCTIONS) and above.returns is at:
            return True
        at = above
    return False


def _masked(program: Program, text: str) -> str:
    return masked(text[:200], program.known)
