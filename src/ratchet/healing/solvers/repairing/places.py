"""Places of a program: what may stand there, and putting text there."""

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
    if isinstance(parent, (ast.Attribute, ast.Expr, ast.arg, *FUNCTIONS)):
        return False
    if isinstance(parent, ast.FormattedValue) and p.within_format(node):
        return False
    return not (isinstance(parent, ast.Subscript) and parent.value is node and not isinstance(node, ast.Name))


_MADE = {"len": "int", "int": "int", "ord": "int", "sum": "int", "float": "float", "str": "str", "chr": "str",
         "repr": "str", "join": "str", "lower": "str", "upper": "str", "strip": "str", "format": "str", "list": "list",
         "sorted": "list", "split": "list", "set": "set", "dict": "dict", "tuple": "tuple"}  # fmt: skip


def types_at(p: Program, node: ast.expr) -> set[str]:
    """Types that a value may have: as seen for a variable, else as its form says; empty: not known."""
    if isinstance(node, ast.Name):
        return set(p.types_of(node, node.id))
    if isinstance(node, ast.Constant):
        return {type(node.value).__name__}
    if isinstance(node, ast.Compare):
        return {"bool"}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.FloorDiv | ast.Div | ast.Mult):
        either = types_at(p, node.left) | types_at(p, node.right)
        return {"int", "float"} if isinstance(node.op, ast.FloorDiv | ast.Div) else either
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else p.seg(node.func)
        return {_MADE[name]} if name in _MADE else set()
    forms = {ast.List: "list", ast.ListComp: "list", ast.Tuple: "tuple", ast.Dict: "dict", ast.JoinedStr: "str"}
    return {forms[type(node)]} if type(node) in forms else set()


def is_called(p: Program, node: ast.AST) -> bool:
    parent = p.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def last_argument(p: Program, node: ast.Call) -> tuple[int, str]:
    """Return where one more argument of a call goes, and what comes before it: a comma after it may stay."""
    given = [p.span(each)[1] for each in (*node.args, *node.keywords)]
    return (max(given), ", ") if given else (p.span(node)[1] - 1, "")


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
