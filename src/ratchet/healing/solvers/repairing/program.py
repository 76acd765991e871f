"""One Python file as templates see it: its text, its tree, who encloses whom, and which names are in scope."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from .expecting import TestsExpect

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.Attribute, ast.List, ast.Dict, ast.Set)
_ATOMS_COMPREHENDED = (ast.ListComp, ast.SetComp, ast.DictComp, ast.JoinedStr)
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class SourceEdit:
    """Replace `start:end` (characters) of one file by `text`. Everything else of the file stays as it is.

    `lines` are those whose execution speaks for it, `shape` what it does with all names masked, `weight` how likely
    it is beside the others of its family, `site` what it stands in (`call range`, `compare`, `if`).
    """

    path: str
    start: int
    end: int
    text: str
    family: str
    lines: tuple[int, int]
    shape: str
    function: str
    before: str
    weight: float = 1.0
    site: str = ""


def applied(text: str, edits: tuple[SourceEdit, ...]) -> str:
    """The text with these edits of it, which must not overlap (a later one wins nothing: it is left out)."""
    end = len(text) + 1
    for edit in sorted(edits, key=lambda each: (each.start, each.end), reverse=True):
        if edit.end > end:
            continue
        text = text[: edit.start] + edit.text + text[edit.end :]
        end = edit.start
    return text


def masked(text: str, known: frozenset[str]) -> str:
    """A piece of source with the names of this program as `v` and runs of space as one: what recurs elsewhere."""
    squeezed = " ".join(text.split())
    return _WORD.sub(lambda found: found[0] if found[0] not in known else "v", squeezed)


def content_of(path: str) -> bytes:
    """Read a file. Raises OSError."""
    with open(path, "rb") as file:
        return file.read()


def parameters_of(function: ast.AST | None) -> list[str]:
    """The names of a function's parameters; none outside of functions."""
    if not isinstance(function, FUNCTIONS):
        return []
    given = function.args
    every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return [each.arg for each in every if each is not None]


def statement_after_text(function: ast.AST | None) -> ast.stmt | None:
    """The first statement of a function, its docstring aside; None outside of functions."""
    if not isinstance(function, FUNCTIONS):
        return None
    documented = isinstance(function.body[0], ast.Expr) and isinstance(function.body[0].value, ast.Constant)
    return function.body[1] if documented and len(function.body) > 1 else function.body[0]


class Program:
    """A parsed file. Raises SyntaxError or UnicodeDecodeError from `read` where it is none."""

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        self.text = content.decode(self.encoding)
        self.tree = ast.parse(self.text)
        self.newline = "\r\n" if "\r\n" in self.text else "\n"
        self._starts = [0] + [found.end() for found in re.finditer(r"\r\n|\r|\n", self.text)]
        self._ascii = self.text.isascii()
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        self._walk()
        self._there: dict[ast.expr, bool] = {}
        self._names: dict[ast.AST | None, list[str]] = {}
        self._stores: dict[ast.AST | None, dict[str, int]] = {}
        self._loads: dict[ast.AST | None, Counter[str]] = {}
        self.attributes = _unique(node.attr for node in self.nodes if isinstance(node, ast.Attribute))
        self.attributes = _unique([*self.attributes, *self._slots()])
        self.known = frozenset(self._all_names())
        self.named: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        """Functions by what they are called as: a constructor by its class."""
        for node in self.nodes:
            if isinstance(node, FUNCTIONS):
                holder = self.parents.get(node)
                made = isinstance(holder, ast.ClassDef) and node.name == "__init__"
                self.named.setdefault(
                    holder.name if made and isinstance(holder, ast.ClassDef) else node.name, []
                ).append(node)
        self.types: dict[str, dict[str, list[str]]] = {}
        """Function -> variable -> names of the types that it was seen to hold."""
        self.expected = TestsExpect()
        """What the failing tests expect."""
        self.crashes: dict[int, str] = {}
        """Line -> name of the exception that went through it in a failing test."""

    def encoded(self, edits: tuple[SourceEdit, ...]) -> bytes:
        return applied(self.text, edits).encode(self.encoding)

    def _walk(self) -> None:
        stack: list[ast.AST] = [self.tree]
        while stack:
            node = stack.pop()
            self.nodes.append(node)
            children = list(ast.iter_child_nodes(node))
            for child in children:
                # Contexts and operators are shared objects without a place.
                if not isinstance(child, ast.expr_context | ast.operator | ast.boolop | ast.unaryop | ast.cmpop):
                    self.parents[child] = node
            stack += [child for child in reversed(children) if child in self.parents]

    # -- places --------------------------------------------------------------------------------------------------------

    def offset(self, line: int, column: int) -> int:
        """The character at a place that a tree names (columns there count bytes of UTF-8)."""
        start = self._starts[line - 1]
        if self._ascii:
            return start + column
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return start + len(self.text[start:end].encode()[:column].decode(errors="ignore"))

    def span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword | ast.excepthandler)
        end_line, end_column = node.end_lineno, node.end_col_offset
        assert end_line is not None
        assert end_column is not None
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def seg(self, node: ast.AST) -> str:
        """Its source, without parentheses around it."""
        start, end = self.span(node)
        return self.text[start:end]

    def wrapped(self, node: ast.AST) -> str:
        """Its source, in parentheses unless it holds together by itself."""
        text = self.seg(node)
        if isinstance(node, _ATOMS + _ATOMS_COMPREHENDED):
            return text
        return text if isinstance(node, ast.Tuple | ast.GeneratorExp) and text.startswith("(") else f"({text})"

    def line_start(self, line: int) -> int:
        return self._starts[line - 1]

    def line_end(self, line: int) -> int:
        """Return where the next line starts."""
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def indent(self, statement: ast.stmt) -> str | None:
        """The white space before a statement; None where it shares its line with another."""
        before = self.text[self.line_start(statement.lineno) : self.span(statement)[0]]
        return before if not before.strip() else None

    def alone(self, statement: ast.stmt) -> bool:
        """Tell whether its lines hold nothing else but comments."""
        end = self.span(statement)[1]
        assert statement.end_lineno is not None
        rest = self.text[end : self.line_end(statement.end_lineno)].strip()
        return self.indent(statement) is not None and (not rest or rest.startswith("#"))

    # -- structure -----------------------------------------------------------------------------------------------------

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that hold a node, the innermost first."""
        at = self.parents.get(node)
        while at is not None:
            yield at
            at = self.parents.get(at)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that holds a node (itself, if it is one)."""
        return (
            node
            if isinstance(node, ast.stmt)
            else next((e for e in self.around(node) if isinstance(e, ast.stmt)), None)
        )

    def function(self, node: ast.AST) -> ast.AST | None:
        """The innermost function whose body or signature holds a node."""
        return next((each for each in self.around(node) if isinstance(each, FUNCTIONS)), None)

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        return next((each for each in self.around(node) if isinstance(each, ast.ClassDef)), None)

    def qualname(self, node: ast.AST) -> str:
        """Dotted name of the innermost function or class around a node; "" at the top of the file."""
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        return ".".join([each.name for each in (node, *self.around(node)) if isinstance(each, kinds)][::-1])

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which it stands."""
        parent = self.parents.get(statement)
        for name in ("body", "orelse", "finalbody"):
            found = getattr(parent, name, None)
            if isinstance(found, list) and statement in found:
                return found
        return [statement]

    def within_format(self, node: ast.AST) -> bool:
        """Tell whether a node is of an f-string and cannot be edited there: text between its values, a value that
        is not where the tree says (before Python 3.12 it is elsewhere in what has several lines), or what an exception
        says: its type is its answer, and an edit there that helps raises another by chance."""
        at: ast.AST = node
        while (above := self.parents.get(at)) is not None and not isinstance(at, ast.stmt):
            if isinstance(above, ast.FormattedValue) and above.value is at:
                if not self._is_there(above.value) or self._is_of_an_error(above):
                    return True
                at = above  # and so its text is passed by, too
            elif isinstance(above, ast.JoinedStr):
                return True
            at = self.parents[at]
        return False

    def _is_of_an_error(self, node: ast.AST) -> bool:
        """Tell whether a statement raises what it writes, or gives it a name that one of its function raises."""
        statement = self.statement(node)
        if not isinstance(statement, ast.Assign):
            return isinstance(statement, ast.Raise)
        named = {each.id for each in statement.targets if isinstance(each, ast.Name)}
        raised = (each for each in ast.walk(self.function(statement) or self.tree) if isinstance(each, ast.Raise))
        return any(isinstance(each, ast.Name) and each.id in named for one in raised for each in ast.walk(one))

    def _is_there(self, value: ast.expr) -> bool:
        """Tell whether a value's own source stands in its place."""
        if value not in self._there:
            with suppress(SyntaxError, ValueError, IndexError):
                found = ast.parse(f"({self.seg(value)})", mode="eval").body
                self._there[value] = ast.dump(found) == ast.dump(value)
        return self._there.setdefault(value, False)

    # -- names ---------------------------------------------------------------------------------------------------------

    def variables(self, node: ast.AST) -> list[str]:
        """Names of values in scope at a node: of its function, of those around it, of the module (no functions)."""
        found: list[str] = []
        scope = self.function(node)
        while scope is not None:
            found += self._own_names(scope)
            scope = self.function(scope)
        return _unique([*found, *self._own_names(self.tree)])

    def locals_of(self, node: ast.AST) -> list[str]:
        """Names of the innermost function and of those around it (of the module, outside of any)."""
        scope = self.function(node)
        if scope is None:
            return self._own_names(self.tree)
        found: list[str] = []
        while scope is not None:
            found += self._own_names(scope)
            scope = self.function(scope)
        return _unique(found)

    def stores(self, node: ast.AST, name: str) -> int:
        """Count how often the innermost function sets a name."""
        scope = self.function(node)
        if scope not in self._stores:
            count: dict[str, int] = {}
            for each in self.nodes:
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and self.function(each) is scope:
                    count[each.id] = count.get(each.id, 0) + 1
            self._stores[scope] = count
        return self._stores[scope].get(name, 0)

    def loads(self, node: ast.AST, name: str) -> int:
        """Count how often the innermost function reads a name, those within it included."""
        scope = self.function(node)
        if scope not in self._loads:
            read = (each for each in ast.walk(scope or self.tree) if isinstance(each, ast.Name))
            self._loads[scope] = Counter(each.id for each in read if isinstance(each.ctx, ast.Load))
        return self._loads[scope][name]

    def callables(self) -> list[str]:
        """Functions and classes of this file."""
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        return [node.name for node in self.tree.body if isinstance(node, kinds)]

    def types_of(self, node: ast.AST, name: str) -> list[str]:
        """Types that a name was seen to hold where this node is; empty: not known."""
        scope = self.function(node)
        while scope is not None:
            found = self.types.get(self.qualname(scope), {}).get(name)
            if found:
                return found
            scope = self.function(scope)
        return self.types.get("", {}).get(name, [])

    def _own_names(self, scope: ast.AST) -> list[str]:
        if scope not in self._names:
            self._names[scope] = _unique(self._bound(scope))
        return self._names[scope]

    def _bound(self, scope: ast.AST) -> Iterator[str]:
        yield from parameters_of(scope)
        holder = scope if isinstance(scope, FUNCTIONS) else None
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and self.function(node) is holder:
                if holder is not None or self.enclosing_class(node) is None:
                    yield node.id
            elif isinstance(node, ast.ExceptHandler) and node.name and self.function(node) is holder:
                yield node.name

    def _slots(self) -> Iterator[str]:
        """Methods, and fields that a class declares."""
        for node in self.nodes:
            if isinstance(node, ast.ClassDef):
                for each in node.body:
                    if isinstance(each, FUNCTIONS) and not each.name.startswith("__"):
                        yield each.name
                    elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                        yield each.target.id

    def _all_names(self) -> Iterator[str]:
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield node.attr


def _unique(names: Iterator[str] | list[str]) -> list[str]:
    return list(dict.fromkeys(names))
