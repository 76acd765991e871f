"""Templates for statements that are missing, one family for each sort of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from .conditions import Piece
from .program import FUNCTIONS, Program

Line = tuple[str, float]
"""A statement (with "\\n" for line ends) and its weight."""

_SIMPLE = ast.Assign | ast.AugAssign | ast.Expr | ast.Return | ast.Break | ast.Continue | ast.AnnAssign | ast.Delete
_SMELL = 6.0  # how much likelier a name is to be what was forgotten when nothing else ever changes it


def growing(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Add to a list or a set, or take off it."""
    yield from placed(p, node, _growing)


def setting(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A variable that was to be set from another."""
    yield from placed(p, node, _setting)


def stepping(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A count that was to go on, or start again."""
    yield from placed(p, node, _stepping)


def leaving(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A way out of a loop or a function."""
    yield from placed(p, node, _leaving)


def guarding(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A case that was to be dealt with first."""
    yield from placed(p, node, _guarding)


def repeating(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A statement that the function has elsewhere, wanted here, too."""
    yield from placed(p, node, _repeating)


def noting(p: Program, node: ast.AST) -> Iterator[Piece]:
    """Note what is looked up, but never noted: `seen.add(x)` where `x in seen` is asked, an element that is to be
    marked."""
    yield from placed(p, node, _noting)


def fields(p: Program, node: ast.AST) -> Iterator[Piece]:
    """A field of the object that was to be set, counted or cleared."""
    yield from placed(p, node, _fields)


def placed(p: Program, node: ast.AST, lines: Callable[[Program, ast.stmt], Iterator[Line]]) -> Iterator[Piece]:
    """Before this statement, and after it where it is the last of its block."""
    if not isinstance(node, ast.stmt) or isinstance(node, ast.ClassDef | ast.Import | ast.ImportFrom):
        return
    indent = p.indent(node)
    if indent is None or _is_elif(p, node) or not p.alone(node) or p.function(node) is None:
        return
    before, after = p.line_start(node.lineno), p.line_end(node.end_lineno or node.lineno)
    last = node is p.block(node)[-1]
    ends = isinstance(node, ast.Return | ast.Break | ast.Continue | ast.Raise)
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    decorated = isinstance(node, FUNCTIONS) and bool(node.decorator_list)
    for text, weight in lines(p, node):
        line = indent + text.replace("\n", p.newline + indent) + p.newline
        if not docstring and not decorated:
            yield before, before, line, weight
        if isinstance(node, ast.Pass):
            yield *p.span(node), text.replace("\n", p.newline + indent), weight
        elif last and not ends:
            opened = "" if p.text[:after].endswith("\n") else p.newline
            yield after, after, opened + line, weight


def _growing(p: Program, node: ast.stmt) -> Iterator[Line]:
    names = p.locals_of(node)
    for name in names:
        kinds = set(p.types_of(node, name))
        smell = _SMELL if _stays_empty(p, node, name) else 1.0
        if kinds & {"list", "deque"} or (not kinds and _has_call(p, name, ("append", "extend", "pop"))):
            for other in names:
                if other != name:
                    yield f"{name}.append({other})", smell
            yield f"{name}.pop()", 0.5
            yield f"{name}.sort()", 0.3
            yield f"{name}.reverse()", 0.3
            yield f"{name}.clear()", 0.2
            yield from ((f"{name}.extend({other})", 0.3) for other in names if other != name)
        if "set" in kinds or (not kinds and _has_call(p, name, ("add", "discard"))):
            yield from ((f"{name}.add({other})", smell) for other in names if other != name)
            yield from ((f"{name}.discard({other})", 0.2) for other in names if other != name)
        if kinds & {"dict", "defaultdict"}:
            for key in names:
                yield from ((f"{name}[{key}] = {value}", 0.3 * smell) for value in names if name not in (key, value))


def _setting(p: Program, node: ast.stmt) -> Iterator[Line]:
    names = [name for name in p.locals_of(node) if name not in ("self", "cls")]
    kinds = {name: set(p.types_of(node, name)) for name in names}
    given = _given_at(p, node)
    for name in [each for each in names if each not in given]:
        smell = _SMELL if _never_changes(p, node, name) else 1.0
        for other in names:
            if name != other:
                alike = not kinds[name] or not kinds[other] or bool(kinds[name] & kinds[other])
                none = "NoneType" in kinds[name] or "NoneType" in kinds[other]
                yield f"{name} = {other}", smell * (1.0 if alike or none else 0.15)


def _stepping(p: Program, node: ast.stmt) -> Iterator[Line]:
    given = _given_at(p, node)
    for name in p.locals_of(node):
        kinds = set(p.types_of(node, name))
        smell = _SMELL if _never_changes(p, node, name) else 1.0
        if not kinds or kinds & {"int", "float"}:
            yield f"{name} += 1", smell
            yield f"{name} -= 1", smell
        if name in given:
            continue
        if not kinds or kinds & {"int", "float"}:
            yield f"{name} = 0", 0.5
            yield f"{name} = 1", 0.3
        if kinds & {"list"}:
            yield f"{name} = []", 0.5
        if kinds & {"str"}:
            yield f'{name} = ""', 0.5
        if kinds - {"int", "float", "list", "str"}:
            yield f"{name} = None", 0.3


def _given_at(p: Program, node: ast.stmt) -> frozenset[str]:
    """Parameters that nothing has read yet: to give them another value there throws away what a caller gave."""
    function = p.function(node)
    if not isinstance(function, FUNCTIONS):
        return frozenset()
    first = next((each for each in function.body if not _is_text(each)), None)
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return frozenset(each.arg for each in every if each is not None) if node is first else frozenset()


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _leaving(p: Program, node: ast.stmt) -> Iterator[Line]:
    if _in_loop(p, node):
        yield "break", 2.0
        yield "continue", 2.0
    for value in ("", " None", " True", " False", " 0", " []", " self"):
        yield f"return{value}", 0.5
    yield from ((f"return {name}", 1.0) for name in p.locals_of(node))


def _guarding(p: Program, node: ast.stmt) -> Iterator[Line]:
    names = p.locals_of(node)
    looped = _in_loop(p, node)
    for name in names:
        for value in ("0", "[]", "None", "''", "False", "True", "1", "{}", name):
            yield f"if not {name}:\n    return {value}", 1.0
        yield f"if {name} is None:\n    return None", 0.7
        if looped:
            yield f"if not {name}:\n    continue", 1.0
            yield f"if not {name}:\n    break", 1.0
            yield from ((f"if {name} in {other}:\n    continue", 0.5) for other in names if other != name)


def _repeating(p: Program, node: ast.stmt) -> Iterator[Line]:
    scope, holder = p.function(node), p.enclosing_class(node)
    seen: set[str] = set()
    names = {*p.variables(node), *p.callables()}
    for other in p.nodes:
        if not isinstance(other, _SIMPLE) or other is node:
            continue
        own = p.function(other) is scope
        if not own and (holder is None or p.enclosing_class(other) is not holder or not _fits(other, names)):
            continue
        text = p.seg(other)
        if text not in seen and "\n" not in text and not text.startswith(("'", '"')):
            seen.add(text)
            yield text, (0.5 if isinstance(other, ast.Return) else 1.0) * (1.0 if own else 0.5)


def _noting(p: Program, node: ast.stmt) -> Iterator[Line]:
    scope = p.function(node)
    names = [name for name in p.locals_of(node) if name not in ("self", "cls")]
    seen: set[str] = set()
    for other in p.nodes:
        if isinstance(other, ast.Compare) and len(other.ops) == 1 and isinstance(other.ops[0], ast.In | ast.NotIn):
            one, many = p.seg(other.left), p.seg(other.comparators[0])
            near = 1.0 if p.function(other) is scope else 0.3
            lines = [(f"{many}.{how}({one})", near) for how in ("add", "append")]
            lines += [(f"{many}.{how}({one})", 0.2 * near) for how in ("discard", "remove")]
            lines += [(f"{many}[{one}] = {value}", 0.2 * near) for value in ("True", "1", *names[:8])]
        elif isinstance(other, ast.Subscript) and isinstance(other.ctx, ast.Load) and p.function(other) is scope:
            if isinstance(other.slice, ast.Slice):
                continue
            element = p.seg(other)
            asked = 2.0 if isinstance(p.parents.get(other), ast.Compare) else 0.5
            values = ("0", "1", "True", "False", "None", *_compared(p, other))
            lines = [(f"{element} = {value}", asked) for value in values]
            lines += [(f"{element} = {name}", 0.1) for name in names[:8]]
            lines += [(f"{element} += 1", 0.2), (f"{element} -= 1", 0.2), (f"del {element}", 0.1)]
        else:
            continue
        for line, weight in lines:
            if line not in seen and "\n" not in line:
                seen.add(line)
                yield line, weight


def _compared(p: Program, node: ast.expr) -> list[str]:
    """The constants that it is compared with."""
    above = p.parents.get(node)
    found = above.comparators if isinstance(above, ast.Compare) else []
    return [p.seg(each) for each in found if isinstance(each, ast.Constant)]


def _fits(node: ast.stmt, names: set[str]) -> bool:
    """Tell whether a statement of another method reads only what is in scope here."""
    read = (each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
    return all(each.id in names for each in read)


def _fields(p: Program, node: ast.stmt) -> Iterator[Line]:
    names = p.locals_of(node)
    if "self" not in names:
        return
    stored = {each.attr for each in p.nodes if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)}
    names = [name for name in names if name != "self"]
    for field in sorted(stored):
        yield from ((f"self.{field} = {name}", 1.0) for name in names)
        yield from ((f"self.{field} {change}", 1.0) for change in ("+= 1", "-= 1"))
        yield from ((f"self.{field} = {value}", 0.5) for value in ("None", "0", "[]", "{}", "True", "False"))
        for name in names:
            yield f"self.{field} += {name}", 0.5
            yield f"self.{field} -= {name}", 0.5
            yield f"self.{field}.append({name})", 0.5
            yield f"self.{field}.add({name})", 0.3
            yield f"del self.{field}[{name}]", 0.3
            yield f"self.{field}.pop({name}, None)", 0.3
            yield f"self.{field}.move_to_end({name})", 0.2
            yield from ((f"self.{field}[{name}] = {value}", 0.4) for value in names if value != name)
    yield "super().__init__()", 0.5


def _stays_empty(p: Program, node: ast.stmt, name: str) -> bool:
    """A list or set that the function makes and never fills."""
    return _is_made(p, node, name) and not _has_call(p, name, ("append", "extend", "add", "update", "insert"))


def _never_changes(p: Program, node: ast.stmt, name: str) -> bool:
    """A variable of this function that is set once, and read."""
    return _is_made(p, node, name) and p.stores(node, name) == 1


def _is_made(p: Program, node: ast.stmt, name: str) -> bool:
    function = p.function(node)
    arguments = {each.arg for each in function.args.args} if isinstance(function, FUNCTIONS) else set()
    return name not in arguments and p.stores(node, name) > 0


def _has_call(p: Program, name: str, methods: tuple[str, ...]) -> bool:
    return any(f"{name}.{method}(" in p.text for method in methods)


def _in_loop(p: Program, node: ast.AST) -> bool:
    at = p.parents.get(node)
    while at is not None and not isinstance(at, FUNCTIONS):
        if isinstance(at, ast.For | ast.While):
            return True
        at = p.parents.get(at)
    return False


def _is_elif(p: Program, node: ast.stmt) -> bool:
    start = p.span(node)[0]
    return isinstance(node, ast.If) and p.text[start : start + 4] == "elif"
