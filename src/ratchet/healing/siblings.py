"""Find the same mistake elsewhere: places that read as the mended one read before, names of variables aside.

Pure. What changed is taken as a rule (this statement, or this condition, became that), and every statement of other
code that the rule's left side fits, under one renaming of variables, is a sibling.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# Nodes of a rule's left side, below which it fits by chance; of one that only stands beside what is added.
_TELLING, _TELLING_BESIDE = 6, 9
_NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_HEADS = {ast.If: "test", ast.While: "test", ast.For: "iter", ast.AsyncFor: "iter", ast.Assert: "test"}
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class SiblingRule:
    """One mistake with its remedy. `before` is an expression, or a statement that stays where `added` stand before."""

    before: ast.AST
    after: ast.expr | None = None
    added: tuple[ast.stmt, ...] = ()
    replaced: tuple[ast.stmt, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sibling:
    """A place with the same mistake, and the file as it would be without."""

    path: str
    line: int
    function: str
    before: bytes
    after: bytes


def rules_of(before: bytes, after: bytes) -> list[SiblingRule]:
    """The rules that a change of one file tells of; none where it is too large, or of no telling form."""
    try:
        old, new = ast.parse(before), ast.parse(after)
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = _changed(old.body, new.body)
    return [each for each in found if _size(each.before) >= (_TELLING_BESIDE if each.added else _TELLING)]


def siblings_of(rules: Sequence[SiblingRule], files: Mapping[str, bytes]) -> list[Sibling]:
    """Every place of these files that one of the rules fits. The files are those with the mended one mended."""
    found = []
    for path, content in files.items():
        try:
            text = content.decode()
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for rule in rules:
            found += [
                Sibling(path=path, line=line, function=function, before=content, after=changed.encode())
                for line, function, changed in _fitting(rule, tree, text)
            ]
    return found


# -- the rule ----------------------------------------------------------------------------------------------------------


def _changed(old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> Iterator[SiblingRule]:
    """Compare two blocks: the statements that differ, between those that are alike at both ends."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    if not gone and come and start < len(old):
        yield SiblingRule(before=_head(old[start]), added=tuple(come))
    elif len(gone) == len(come) == 1:
        yield from _between(gone[0], come[0])


def _between(old: ast.stmt, new: ast.stmt) -> Iterator[SiblingRule]:
    if type(old) is not type(new) or not hasattr(old, "body"):
        if not hasattr(old, "body") and not hasattr(new, "body"):
            yield SiblingRule(before=old, replaced=(new,))
        return
    name = _HEADS.get(type(old), "")
    if name and ast.dump(getattr(old, name)) != ast.dump(getattr(new, name)):
        yield SiblingRule(before=getattr(old, name), after=getattr(new, name))
        return
    for part in ("body", "orelse", "finalbody", "handlers"):
        one, other = getattr(old, part, []), getattr(new, part, [])
        if [*map(ast.dump, one)] != [*map(ast.dump, other)]:
            yield from _changed(one, other)


def _common(one: Sequence[ast.AST], other: Sequence[ast.AST]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if ast.dump(left) != ast.dump(right):
            break
        count += 1
    return count


def _head(statement: ast.stmt) -> ast.AST:
    """A statement, or of one with a body what stands in its head."""
    return getattr(statement, _HEADS[type(statement)]) if type(statement) in _HEADS else statement


def _size(node: ast.AST) -> int:
    return 0 if hasattr(node, "body") else sum(not isinstance(each, ast.expr_context) for each in ast.walk(node))


# -- where it fits -----------------------------------------------------------------------------------------------------


def _fitting(rule: SiblingRule, tree: ast.Module, text: str) -> Iterator[tuple[int, str, str]]:
    """The line, the function and the changed text of every place that a rule fits."""
    for function, block in _blocks(tree, ""):
        for at, statement in enumerate(block):
            node = _head(statement) if rule.after is not None or rule.added else statement
            names: dict[str, str] = {}
            if not _fits(rule.before, node, names) or not _known(rule, names, tree):
                continue
            if rule.added and _stand(rule.added, block[:at], names):
                continue
            yield statement.lineno, function, _made(rule, statement, node, names, text)


def _blocks(node: ast.AST, function: str) -> Iterator[tuple[str, Sequence[ast.stmt]]]:
    for part in ("body", "orelse", "finalbody"):
        block = getattr(node, part, None)
        if isinstance(block, list) and block:
            yield function, block
            for each in block:
                name = each.name if isinstance(each, _NAMED) else ""
                yield from _blocks(each, ".".join(filter(None, (function, name))))
    for each in getattr(node, "handlers", ()):
        yield from _blocks(each, function)


def _fits(rule: object, found: object, names: dict[str, str]) -> bool:
    """Tell whether a tree reads as another, each variable under one other name; these are added to `names`."""
    if isinstance(rule, ast.Name) and isinstance(found, ast.Name):
        if rule.id in _BUILTINS or found.id in _BUILTINS:
            return rule.id == found.id
        if rule.id in names:
            return names[rule.id] == found.id
        if found.id in names.values():
            return False
        names[rule.id] = found.id
        return True
    if isinstance(rule, ast.AST) and isinstance(found, ast.AST):
        return type(rule) is type(found) and all(
            _fits(getattr(rule, name, None), getattr(found, name, None), names) for name in rule._fields
        )
    if isinstance(rule, list) and isinstance(found, list):
        return len(rule) == len(found) and all(_fits(a, b, names) for a, b in zip(rule, found, strict=True))
    return type(rule) is type(found) and rule == found


def _known(rule: SiblingRule, names: Mapping[str, str], tree: ast.Module) -> bool:
    """Tell whether all that the remedy names is there: what the rule's left side names, builtins, the file's own."""
    parts = [*rule.added, *rule.replaced, *([rule.after] if rule.after else [])]
    asked = {each.id for part in parts for each in ast.walk(part) if isinstance(each, ast.Name)}
    own = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    own |= {each.name for each in ast.walk(tree) if isinstance(each, _NAMED)}
    own |= {
        (each.asname or each.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for each in node.names
    }
    return asked <= names.keys() | _BUILTINS | own


def _stand(added: Sequence[ast.stmt], before: Sequence[ast.stmt], names: Mapping[str, str]) -> bool:
    """Tell whether the remedy stands there already."""
    last = before[-len(added) :]
    wanted = [ast.dump(_renamed(each, names)) for each in added]
    return wanted == [*map(ast.dump, last)]


def _renamed(node: ast.AST, names: Mapping[str, str]) -> ast.AST:
    tree = ast.parse(ast.unparse(node))
    for each in ast.walk(tree):
        if isinstance(each, ast.Name):
            each.id = names.get(each.id, each.id)
    statement = tree.body[0]
    return statement.value if isinstance(node, ast.expr) and isinstance(statement, ast.Expr) else statement


def _made(rule: SiblingRule, statement: ast.stmt, node: ast.AST, names: Mapping[str, str], text: str) -> str:
    """The text with the remedy in this place."""
    lines = text.splitlines(keepends=True)
    if rule.after is not None:
        assert isinstance(node, ast.expr)
        said = ast.get_source_segment(text, node) or ""
        start = _offset(lines, node.lineno, node.col_offset)
        return text[:start] + ast.unparse(_renamed(rule.after, names)) + text[start + len(said) :]
    indent = " " * statement.col_offset
    new = [
        f"{indent}{line}\n"
        for each in (rule.added or rule.replaced)
        for line in ast.unparse(_renamed(each, names)).split("\n")
    ]
    end = statement.lineno - 1 if rule.added else statement.end_lineno or statement.lineno
    return "".join([*lines[: statement.lineno - 1], *new, *lines[end:]])


def _offset(lines: Sequence[str], line: int, column: int) -> int:
    """The place of a node in its text: columns count bytes."""
    row = lines[line - 1].encode()
    return sum(map(len, lines[: line - 1])) + len(row[:column].decode())
