"""All families of edits, and the edits of one file that they make."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from . import calls, conditions, guards, handing, insertions, patterns, statements, terms, texts, values, wrapping
from .program import FUNCTIONS, Program, SourceEdit, masked

Template = Callable[[Program, ast.AST], Iterator[conditions.Piece]]

FAMILIES: Mapping[str, Template] = {
    "comparison": conditions.comparison,
    "bound": conditions.bound,
    "arithmetic": conditions.arithmetic,
    "boolean": conditions.boolean,
    "negation": conditions.negation,
    "guard": conditions.guard,
    "nothing": guards.nothing,
    "otherwise": guards.otherwise,
    "typed": guards.typed,
    "lenient": guards.lenient,
    "expected": guards.expected,
    "extension": conditions.extension,
    "extreme": conditions.extreme,
    "relation": conditions.relation,
    "reduction": conditions.reduction,
    "replacement": conditions.replacement,
    "off_by_one": values.off_by_one,
    "constant": values.constant,
    "text_piece": texts.text_piece,
    "pattern_piece": patterns.pattern_piece,
    "wanted_text": patterns.wanted_text,
    "variable": values.variable,
    "named": terms.named,
    "scaling": terms.scaling,
    "term": terms.term,
    "crossing": terms.crossing,
    "recursion": terms.recursion,
    "operand_swap": values.operand_swap,
    "operand_drop": values.operand_drop,
    "addition": values.addition,
    "operand_add": values.operand_add,
    "bounded": wrapping.bounded,
    "wrap": wrapping.wrap,
    "dress": wrapping.dress,
    "unwrap": wrapping.unwrap,
    "returned": values.returned,
    "returned_name": values.returned_name,
    "initial": values.initial,
    "argument_swap": calls.argument_swap,
    "parameter_swap": calls.parameter_swap,
    "argument_count": calls.argument_count,
    "attribute": calls.attribute,
    "builtin": calls.builtin,
    "index": calls.index,
    "bounds": calls.bounds,
    "part": calls.part,
    "iteration": calls.iteration,
    "reuse": calls.reuse,
    "default": calls.default,
    "passing_on": handing.passing_on,
    "items": handing.items,
    "held": handing.held,
    "copied": handing.copied,
    "deletion": statements.deletion,
    "motion": statements.motion,
    "growing": insertions.growing,
    "setting": insertions.setting,
    "stepping": insertions.stepping,
    "leaving": insertions.leaving,
    "guarding": insertions.guarding,
    "repeating": insertions.repeating,
    "noting": insertions.noting,
    "fields": insertions.fields,
    "form": statements.form,
    "yielding": statements.yielding,
    "heading": statements.heading,
    "used": statements.used,
    "scope": statements.scope,
    "caught": statements.caught,
}
_EDITS_A_FILE = 60_000
"""Where all edits of a file are asked for: so many, from its top."""


Span = tuple[int, int]
"""First and last of the lines that speak for an edit."""
Seen = set[tuple[int, int, str, str]]


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
    for family, template in FAMILIES.items():
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
