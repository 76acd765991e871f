"""What may stand at a place of a program, and how text is put there."""

from __future__ import annotations

import ast

from .program import FUNCTIONS, Program


def is_value(p: Program, node: ast.expr) -> bool:
    """A value that is read, as a whole."""
    if isinstance(
        node, ast.Starred | ast.Slice | ast.JoinedStr | ast.Lambda | ast.GeneratorExp | ast.Yield | ast.Await
    ):
        return False
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or is_called(p, node):
        return False
    parent = p.parents.get(node)
    if isinstance(parent, (ast.Attribute, ast.FormattedValue, ast.Expr, ast.arg, *FUNCTIONS)):
        return False
    return not (isinstance(parent, ast.Subscript) and parent.value is node and not isinstance(node, ast.Name))


def is_called(p: Program, node: ast.AST) -> bool:
    parent = p.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def is_docstring(p: Program, node: ast.AST) -> bool:
    return isinstance(p.parents.get(node), ast.Expr | ast.FormattedValue | ast.JoinedStr)


def in_place(p: Program, node: ast.AST, text: str, *, atom: bool = False) -> str:
    """In parentheses where the surroundings would take it apart."""
    parent = p.parents.get(node)
    loose = ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp | ast.Attribute | ast.Starred
    if atom or (not isinstance(parent, loose) and not (isinstance(parent, ast.Subscript) and parent.value is node)):
        return text
    inside = isinstance(parent, ast.Compare | ast.BoolOp) and " and " not in text and " or " not in text
    return text if inside and " < " not in text and " == " not in text else f"({text})"
