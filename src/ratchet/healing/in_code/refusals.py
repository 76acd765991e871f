"""Which new versions of a function are no repair, whatever they return: another name or signature, an exception that
is swallowed, a body that no longer looks at its input, powers that the old version did not use. Pure.

These are read from the text, before anything runs, and stand beside the recorded call and the check, never in their
place: a patch that passes all of them may still be wrong, one that is refused here is not even tried.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from ratchet.healing.in_code.source import Definition, SourceText, definition, outside, parsed

_PURE_NAMES = (
    "math cmath decimal fractions itertools functools operator collections re string json datetime time calendar"
    " statistics heapq bisect copy typing dataclasses enum textwrap unicodedata numbers abc array struct base64"
    " binascii hashlib zoneinfo graphlib keyword difflib html urllib.parse __future__"
)
_PURE = frozenset(_PURE_NAMES.split())
"""Modules that a repair may newly use: they compute, and reach nothing."""
_BUILTIN_NAMES = (
    "open exec eval compile __import__ globals locals vars setattr delattr input breakpoint exit quit"
    " SystemExit KeyboardInterrupt GeneratorExit __builtins__ __loader__ __spec__"
)
_BUILTINS = frozenset(_BUILTIN_NAMES.split())
_METHOD_NAMES = (
    "system popen spawnl spawnv fork forkpty execv execve kill killpg _exit abort remove unlink rmdir rmtree rename"
    " replace_file chmod chown write_text write_bytes mkdir makedirs symlink_to hardlink_to touch connect connect_ex"
    " sendall sendto urlopen urlretrieve Popen check_call check_output getoutput putenv setenv dlopen loads_module"
    " import_module f_back f_globals f_locals gi_frame cr_frame tb_frame settrace setprofile"
)
_METHODS = frozenset(_METHOD_NAMES.split())
_TRIES = (ast.Try, ast.TryStar)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def objection(before: SourceText, after: str, qualname: str, line: int, raised: Sequence[str]) -> str:
    """Why this new text of the file is refused, "" where it is not. `raised` are the names of the recorded exception's
    class and its bases."""
    try:
        tree = parsed(after)
    except SyntaxError as error:
        return f"it is not Python (line {error.lineno}: {error.msg}); prose or a fence around the code is not taken out"
    old_tree = parsed(before.text)
    old, new = definition(old_tree, qualname, line), definition(tree, qualname, line)
    assert old is not None
    if new is None:
        return f"it renames, moves or removes {qualname}"
    if type(old) is not type(new) or _yields(old) != _yields(new):
        return f"it makes {qualname} another kind of function"
    if outside(old_tree, old) != outside(tree, new):
        return f"it changes more than {qualname}"
    if [*map(ast.dump, old.decorator_list)] != [*map(ast.dump, new.decorator_list)]:
        return "it changes the decorators"
    return (
        _signature(old, new)
        or _swallows(old, new, frozenset(raised))
        or _ignores_input(old, new)
        or _reaches(old, new, _modules(old_tree))
    )


# -- the signature -----------------------------------------------------------------------------------------------------


def _signature(old: Definition, new: Definition) -> str:
    was, now = _parameters(old.args), _parameters(new.args)
    names = [name for name, _, _ in now]
    for at, (name, kind, required) in enumerate(was):
        if name not in names:
            return f"it takes the argument {name!r} away, which callers pass"
        found = now[names.index(name)]
        if found[1] != kind or (kind == "positional" and names.index(name) != at):
            return f"it moves the argument {name!r}"
        if found[2] and not required:
            return f"it makes the argument {name!r} required"
    known = {name for name, _, _ in was}
    added = [name for name, kind, required in now if name not in known and required and not kind.startswith("*")]
    return f"it adds the required argument {added[0]!r}" if added else ""


def _parameters(args: ast.arguments) -> list[tuple[str, str, bool]]:
    """(name, kind, required) of each parameter."""
    plain = [*args.posonlyargs, *args.args]
    optional_from = len(plain) - len(args.defaults)
    only = len(args.posonlyargs)
    found = [
        (each.arg, "only positional" if at < only else "positional", at < optional_from)
        for at, each in enumerate(plain)
    ]
    if args.vararg:
        found.append((args.vararg.arg, "*", False))
    pairs = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    found += [(each.arg, "keyword", default is None) for each, default in pairs]
    return [*found, (args.kwarg.arg, "**", False)] if args.kwarg else found


# -- swallowed exceptions ----------------------------------------------------------------------------------------------


def _swallows(old: Definition, new: Definition, raised: frozenset[str]) -> str:
    added = Counter(map(ast.dump, _handlers(new))) - Counter(map(ast.dump, _handlers(old)))
    for handler in _handlers(new):
        if ast.dump(handler) in added and _catches(handler, raised) and not _raises(handler):
            name = ast.unparse(handler.type) if handler.type else ""
            return f"it swallows the exception (`{f'except {name}'.strip()}:` that does not raise)"
    if _suppressors(new) - _suppressors(old):
        return "it swallows the exception (contextlib.suppress)"
    if _leaves_finally(new) > _leaves_finally(old):
        return "it swallows the exception (a `finally` that returns)"
    return ""


def _handlers(node: ast.AST) -> list[ast.ExceptHandler]:
    return [each for each in ast.walk(node) if isinstance(each, ast.ExceptHandler)]


def _catches(handler: ast.ExceptHandler, raised: frozenset[str]) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {_last_name(each) for each in kinds}
    return "" in names or bool(names & raised)  # what is no plain name may be anything


def _raises(handler: ast.ExceptHandler) -> bool:
    """Tell whether every way through the handler ends in a `raise`."""
    return _always_raises(handler.body)


def _always_raises(body: Sequence[ast.stmt]) -> bool:
    for each in body:
        if isinstance(each, ast.Raise):
            return True
        if isinstance(each, ast.Return | ast.Break | ast.Continue):
            return False
        if isinstance(each, ast.If) and each.orelse and _always_raises(each.body) and _always_raises(each.orelse):
            return True
    return False


def _suppressors(node: ast.AST) -> Counter[str]:
    return Counter(
        ast.dump(each) for each in ast.walk(node) if isinstance(each, ast.Call) and _last_name(each.func) == "suppress"
    )


def _leaves_finally(node: ast.AST) -> int:
    return sum(
        isinstance(inner, ast.Return | ast.Break | ast.Continue)
        for each in ast.walk(node)
        if isinstance(each, _TRIES)
        for statement in each.finalbody
        for inner in ast.walk(statement)
    )


# -- a body that gives up ----------------------------------------------------------------------------------------------


def _ignores_input(old: Definition, new: Definition) -> str:
    names = {name for name, _, _ in _parameters(old.args)}
    if names & _read(old) and not names & _read(new):
        return "it no longer looks at its arguments: an answer made up is no repair"
    if not _trivial(old) and _trivial(new):
        return "it does nothing any more"
    was, now = _values(old), _values(new)
    if was and now and not all(map(_is_constant, was)) and all(map(_is_constant, now)):
        return "it returns the same whatever it is given"
    if _dead(new) > _dead(old):
        return "it leaves code behind a `return` that never runs"
    return ""


def _read(node: Definition) -> set[str]:
    return {
        each.id
        for statement in node.body
        for each in ast.walk(statement)
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Store)
    }


def _trivial(node: Definition) -> bool:
    return all(
        isinstance(each, ast.Pass)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        or (isinstance(each, ast.Return) and (each.value is None or _is_constant(each.value)))
        for each in node.body
    )


def _values(node: Definition) -> list[ast.expr]:
    """List what it returns and yields."""
    given = (each.value for each in _own(node) if isinstance(each, ast.Return | ast.Yield | ast.YieldFrom))
    return [value for value in given if value is not None]


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(map(_is_constant, node.elts))
    if isinstance(node, ast.Dict):
        return all(each is not None and _is_constant(each) for each in [*node.keys, *node.values])
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _dead(node: ast.AST) -> int:
    """Statements behind one that leaves their block."""
    count = 0
    for each in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(each, name, None)
            if isinstance(block, list):
                leaves = [isinstance(one, ast.Return | ast.Raise | ast.Break | ast.Continue) for one in block]
                count += len(block) - 1 - leaves.index(True) if True in leaves else 0
    return count


def _yields(node: Definition) -> bool:
    return any(isinstance(each, ast.Yield | ast.YieldFrom) for each in _own(node))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a function's body but those of functions within it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _SCOPES):
            yield from _own(child)


# -- powers ------------------------------------------------------------------------------------------------------------


def _reaches(old: Definition, new: Definition, modules: dict[str, str]) -> str:
    added = Counter(_powers(new, modules)) - Counter(_powers(old, modules))
    return f"it carries a payload: it newly uses `{next(iter(added))}`" if added else ""


def _powers(node: Definition, modules: dict[str, str]) -> Iterator[str]:
    """Name what a function does that is more than computing."""
    modules = {**modules, **_modules(node)}
    for each in ast.walk(node):
        if isinstance(each, ast.Import | ast.ImportFrom):
            yield from (f"import {name}" for name in _imported(each) if not _is_pure(name))
        elif isinstance(each, ast.Name):
            if each.id in _BUILTINS or each.id in modules:
                yield each.id
        elif isinstance(each, ast.Attribute) and (each.attr in _METHODS or each.attr.startswith("__")):
            yield f".{each.attr}"
        elif isinstance(each, ast.Global | ast.Nonlocal):
            yield from (f"{type(each).__name__.lower()} {name}" for name in each.names)
        elif isinstance(each, ast.Call) and _last_name(each.func) == "getattr" and not _is_literal_getattr(each):
            yield "getattr"


def _is_literal_getattr(call: ast.Call) -> bool:
    name = call.args[1] if len(call.args) > 1 else None
    return isinstance(name, ast.Constant) and isinstance(name.value, str) and not name.value.startswith("__")


def _modules(node: ast.AST) -> dict[str, str]:
    """Names that stand for a module that reaches out, or for something of it: name -> module."""
    found: dict[str, str] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Import):
            found |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in each.names}
        elif isinstance(each, ast.ImportFrom) and not each.level:
            found |= {alias.asname or alias.name: each.module or "" for alias in each.names}
    return {name: module for name, module in found.items() if module in _EXTERNAL}


_EXTERNAL_NAMES = (
    "os os.path sys subprocess socket ssl shutil pathlib tempfile pickle shelve marshal ctypes multiprocessing signal"
    " threading _thread importlib runpy code builtins gc inspect types atexit asyncio http http.client urllib"
    " urllib.request ftplib smtplib telnetlib poplib imaplib xmlrpc.client socketserver webbrowser pty resource mmap"
    " fcntl glob fileinput zipfile tarfile sqlite3 dbm logging requests httpx aiohttp urllib3 boto3 paramiko"
)
_EXTERNAL = frozenset(_EXTERNAL_NAMES.split())


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    return ["." * node.level + (node.module or "")]


def _is_pure(module: str) -> bool:
    return module in _PURE or module.partition(".")[0] in _PURE - {"urllib.parse"}


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
