"""Find a function in its file, compile it, and set a new version into the old text. Pure."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from types import CodeType
from typing import TypeAlias

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_KINDS = 0x20 | 0x80 | 0x200  # generator, coroutine, async generator: flags of code, as `inspect` names them


@dataclass(frozen=True, slots=True)
class SourceText:
    """A source file as text, with everything that is needed to write it back byte for byte."""

    text: str
    encoding: str

    @property
    def newline(self) -> str:
        """The end that most lines have."""
        windows, old_mac = self.text.count("\r\n"), self.text.count("\r")
        return "\r\n" if windows * 2 > self.text.count("\n") else "\r" if old_mac > self.text.count("\n") else "\n"

    @property
    def lines(self) -> list[str]:
        """Lines with their ends."""
        return _LINES.findall(self.text)

    def encoded(self, text: str) -> bytes:
        return text.encode(self.encoding)


def decoded(content: bytes) -> SourceText:
    """A source file's text. Raises SyntaxError for an unknown encoding, UnicodeDecodeError."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return SourceText(content.decode(encoding), encoding)


def parsed(text: str) -> ast.Module:
    """Raises SyntaxError, also for what only breaks deeper inside the parser."""
    try:
        return ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error)) from error


def first_line(node: Definition) -> int:
    """The line that its code object names: that of its first decorator."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def definition(tree: ast.Module, qualname: str, line: int | None = None) -> Definition | None:
    """The function of that qualified name; where several have it (a property and its setter), the one at `line`, and
    without one the last, which is the one that counts."""
    found = [node for name, node in _definitions(tree, "") if name == qualname]
    at_line = [node for node in found if first_line(node) == line]
    wanted = found if line is None or (not at_line and len(found) == 1) else at_line
    return wanted[-1] if wanted else None


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
            yield from _definitions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _definitions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _definitions(child, prefix)


# -- code --------------------------------------------------------------------------------------------------------------


def code_of(text: str, filename: str, qualname: str, line: int, *, free: Sequence[str] = ()) -> CodeType | None:
    """The code of a function of this text, as its module would have it. With `free`, its closure has these variables,
    whether or not it uses them all. None where there is no such function. Raises SyntaxError."""
    tree = parsed(text)
    node = definition(tree, qualname, line)
    if node is None:
        return None
    if free:
        _hold(node, free)
    whole = compile(tree, filename, "exec", dont_inherit=True)
    return next((each for each in _nested(whole) if (each.co_qualname, each.co_firstlineno) == (qualname, line)), None)


def _hold(node: Definition, names: Sequence[str]) -> None:
    """Make a function close over these names: a statement that never runs, behind the docstring."""
    at = 1 if ast.get_docstring(node, clean=False) is not None else 0
    body: list[ast.stmt] = [ast.Expr(ast.Name(name, ast.Load())) for name in names]
    statement = ast.If(ast.Constant(False), body, [])
    ast.copy_location(statement, node.body[0])
    for each in ast.walk(statement):
        ast.copy_location(each, node.body[0])
    node.body.insert(at, statement)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _nested(each)


def same_code(one: CodeType, other: CodeType) -> bool:
    """Tell whether two pieces of code do the same, wherever they stand."""
    if len(one.co_consts) != len(other.co_consts):
        return False
    for mine, theirs in zip(one.co_consts, other.co_consts, strict=True):
        if isinstance(mine, CodeType) and isinstance(theirs, CodeType):
            if not same_code(mine, theirs):
                return False
        elif mine != theirs or type(mine) is not type(theirs):
            return False
    return all(getattr(one, name) == getattr(other, name) for name in ("co_code", "co_names", "co_varnames"))


def kind_flags(code: CodeType) -> int:
    """Return the flags that make it a generator, a coroutine, both or neither."""
    return code.co_flags & _KINDS


# -- set into the old text ---------------------------------------------------------------------------------------------


def outside(tree: ast.Module, node: Definition) -> str:
    """All of a module but one function, to compare by."""
    kept = node.body, node.args, node.decorator_list, node.returns
    node.body, node.args, node.decorator_list, node.returns = (
        [],
        ast.arguments([], [], None, [], [], None, []),
        [],
        None,
    )
    try:
        return ast.dump(tree)
    finally:
        node.body, node.args, node.decorator_list, node.returns = kept


def grafted(before: SourceText, after: str, qualname: str, line: int) -> str:
    """The old text with the new version of one function in it: comments, docstring and line ends of the old one stay,
    and so does all that the change leaves as it was. Both texts must hold the function."""
    old_node = definition(parsed(before.text), qualname, line)
    new_node = definition(parsed(after), qualname, line)
    assert old_node is not None
    assert new_node is not None
    old_lines, new_lines = before.lines, _LINES.findall(after)
    old = old_lines[first_line(old_node) - 1 : old_node.end_lineno]
    new = _with_docstring(new_lines, new_node, old_lines, old_node)
    new = [_ended(each, before.newline) for each in new]
    head, tail = old_lines[: first_line(old_node) - 1], old_lines[old_node.end_lineno or 0 :]
    if tail and new and not new[-1].endswith(("\n", "\r")):
        new[-1] += before.newline
    plain = "".join([*head, *new, *tail])
    merged = "".join([*head, *_merged(old, new), *tail])
    return merged if _says_the_same(merged, plain) else plain


def _says_the_same(one: str, other: str) -> bool:
    try:
        return ast.dump(parsed(one)) == ast.dump(parsed(other))
    except SyntaxError:
        return False


def _ended(line: str, newline: str) -> str:
    bare = line.rstrip("\r\n")
    return bare if bare == line else bare + newline


def _with_docstring(new: list[str], node: Definition, old: list[str], old_node: Definition) -> list[str]:
    """Lines of the new version with the docstring of the old one."""
    start = first_line(node) - 1
    lines = new[start : node.end_lineno]
    if ast.get_docstring(old_node, clean=False) is None or ast.get_docstring(old_node) == ast.get_docstring(node):
        return lines
    kept, first = old_node.body[0], node.body[0]
    if kept.lineno == old_node.lineno or first.lineno == node.lineno:  # all on one line
        return lines
    docstring = old[kept.lineno - 1 : kept.end_lineno]
    at = first_line_of(first) - 1 - start
    until = (first.end_lineno or 0) - start if ast.get_docstring(node, clean=False) is not None else at
    return [*lines[:at], *docstring, *lines[until:]]


def first_line_of(node: ast.stmt) -> int:
    return first_line(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else node.lineno


def _merged(old: list[str], new: list[str]) -> list[str]:
    """The new lines, those that say what an old one says replaced by it, and the old comments between them."""
    old_code, new_code = _code_lines(old), _code_lines(new)
    if old_code is None or new_code is None:
        return new
    mine, theirs = [i for i, code in enumerate(old_code) if code], [i for i, code in enumerate(new_code) if code]
    matcher = SequenceMatcher(None, [old_code[i] for i in mine], [new_code[i] for i in theirs], autojunk=False)
    made: list[str] = []
    at = new_at = 0  # lines of each that are dealt with
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        old_end = mine[i2 - 1] + 1 if i2 else 0
        new_end = theirs[j2 - 1] + 1 if j2 else 0
        if tag == "equal":
            made += old[at:old_end]
        else:
            fresh = new[new_at:new_end] if j2 > j1 else []
            said = "".join(fresh)
            if i2 > i1:
                made += [each for each in old[at:old_end] if _is_comment(each) and each.strip() not in said]
            made += _commented(old[mine[i1]], old_code[mine[i1]], fresh) if i2 - i1 == j2 - j1 == 1 else fresh
        at, new_at = max(at, old_end), max(new_at, new_end)
    return made


def _code_lines(lines: list[str]) -> list[str] | None:
    """Each line without its comment and the space behind it; None where the lines do not make tokens."""
    code = [each.rstrip() for each in lines]
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
    shifts = [len(margin) if each.startswith(margin) else 0 for each in lines]
    text = "".join(each[shift:] for each, shift in zip(lines, shifts, strict=True))
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                code[row - 1] = lines[row - 1][: column + shifts[row - 1]].rstrip()
    except (tokenize.TokenError, SyntaxError):
        return None
    return code


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _commented(old: str, code: str, fresh: list[str]) -> list[str]:
    """One changed line with the comment that stood behind the old one."""
    comment = old.rstrip()[len(code) :]
    lines = [i for i, each in enumerate(fresh) if each.strip() and not _is_comment(each)]
    if not comment.strip() or len(lines) != 1 or comment.strip() in fresh[lines[0]] or "#" in fresh[lines[0]]:
        return fresh
    bare = fresh[lines[0]].rstrip("\r\n")
    made = [*fresh]
    made[lines[0]] = bare + comment + fresh[lines[0]][len(bare) :]
    return made
