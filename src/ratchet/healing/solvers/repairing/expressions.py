"""Texts that may be an expression of Python, or a literal."""

from __future__ import annotations

import ast

_NONE = (SyntaxError, ValueError, RecursionError, MemoryError, TypeError)  # what the parser makes of strange texts


def expression(text: str) -> ast.expr | None:
    """The tree of an expression; None for what is none."""
    try:
        return ast.parse(text, mode="eval").body
    except _NONE:
        return None


def is_literal(text: str) -> bool:
    """Tell whether a text is a literal value."""
    try:
        ast.literal_eval(text)
    except _NONE:
        return False
    return True
