"""Features of Python files, by their syntax trees: click, typer, argparse, routes, tools, file endings. Pure."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

Found = tuple[str, str, int]
Functions = ast.FunctionDef | ast.AsyncFunctionDef
_METHODS = frozenset(("get", "post", "put", "delete", "patch", "route", "websocket"))
_ENDING_CALLS = frozenset(("endswith", "removesuffix", "with_suffix", "glob", "rglob"))
_OPTION = re.compile(r"--[a-z][\w-]*")


def modules(texts: Mapping[str, str]) -> Mapping[str, ast.Module]:
    """The trees of files (path -> text); those that do not parse are left out."""
    found = {}
    for path, text in texts.items():
        try:
            found[path] = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return found


def started(trees: Mapping[str, ast.Module]) -> frozenset[str]:
    """Functions that are called as a program: in `__main__.py`, or where a file is run. A decorated one is the program
    itself, the others are its commands."""
    found: set[str] = set()
    for path, tree in trees.items():
        runs = [tree] if PurePosixPath(path).name == "__main__.py" else [each for each in tree.body if _is_run(each)]
        for part in runs:
            for node in ast.walk(part):
                if isinstance(node, ast.Call):
                    found.add(_receiver(node.func) or _name(node.func))
    return frozenset(found)


def groups(trees: Mapping[str, ast.Module], begun: frozenset[str]) -> Mapping[str, str]:
    """Group (by the name in the code) -> the words before its commands; "" for the program itself."""
    above: dict[str, tuple[str, str]] = {}
    joined: dict[str, str] = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, Functions):
                for each in node.decorator_list:
                    if isinstance(each, ast.Call) and _name(each.func) == "group" and node.name not in begun:
                        above[node.name] = (_receiver(each.func), _given(each) or _own(node))
            elif isinstance(node, ast.Call) and _name(node.func) == "add_typer" and node.args:
                above[_name(node.args[0])] = (_receiver(node.func), _keyword(node, "name"))
            elif isinstance(node, ast.Call) and _name(node.func) == "add_command" and node.args:
                joined[_name(node.args[0])] = _receiver(node.func)
    above |= {name: (joined[name], above[name][1]) for name in joined.keys() & above.keys()}
    found: dict[str, str] = {}
    for name in above:
        words: list[str] = []
        at, seen = name, set[str]()
        while at in above and at not in seen:
            seen.add(at)
            at, own = above[at]
            if at in above or at in begun or not _is_module(at, trees):
                words.insert(0, own)  # else nobody joined it to a program: it is one
        found[name] = " ".join(filter(None, words))
    return found


def _is_module(name: str, trees: Mapping[str, ast.Module]) -> bool:
    """Tell whether a name is that of an import, such as `click`."""
    imports = (each for tree in trees.values() for each in tree.body if isinstance(each, ast.Import))
    return not name or any((alias.asname or alias.name) == name for each in imports for alias in each.names)


def found(tree: ast.Module, words: Mapping[str, str], begun: frozenset[str]) -> Iterator[Found]:
    """The features of one file: kind, name and line."""
    alone, parsers = _lone(tree), _parsers(tree)
    for node in ast.walk(tree):
        if isinstance(node, Functions):
            for decorator in node.decorator_list:
                yield from _of_decorator(decorator, node, words, begun | alone)
            yield from _of_parameters(node)
        elif isinstance(node, ast.Call):
            yield from _of_call(node, parsers)
            if _name(node.func) in _ENDING_CALLS:
                yield from (each for argument in node.args for part in ast.walk(argument) for each in _format(part))
        elif isinstance(node, ast.Compare) and _asks_suffix(node.left):
            yield from (each for part in ast.walk(node) for each in _format(part))


def _is_run(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(node.test)
    )


def _lone(tree: ast.Module) -> frozenset[str]:
    """Functions that are the only command of a `Typer`: such a one is the program."""
    apps = {
        _name(target)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _name(node.value.func) == "Typer"
        for target in node.targets
    }
    uses = [
        (_receiver(function), name)
        for node in tree.body
        if isinstance(node, Functions)
        for each in node.decorator_list
        for function in [each.func if isinstance(each, ast.Call) else each]
        for name in [node.name]
        if _receiver(function) in apps
    ]
    joined = {_receiver(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call) and _name(n.func) == "add_typer"}
    counted = Counter(app for app, _ in uses)
    return frozenset(name for app, name in uses if counted[app] == 1 and app not in joined)


def _of_decorator(
    decorator: ast.expr, function: Functions, words: Mapping[str, str], begun: frozenset[str]
) -> Iterator[Found]:
    call = decorator if isinstance(decorator, ast.Call) else None
    called = call.func if call else decorator
    name, given = _name(called), _given(call) if call else ""
    # A name that is the function's own stands in its first line, not in the decorator's.
    line = decorator.lineno if given else function.lineno
    if name in ("command", "group"):
        if _keeps_to_itself(name, call) and (given or function.name not in begun):
            yield "command", f"{words.get(_receiver(called), '')} {given or _own(function)}".strip(), line
    elif name in ("tool", "function_tool"):
        yield "tool", given or function.name, line
    elif name in _METHODS and given.startswith("/"):
        yield "endpoint", given, decorator.lineno


def _keeps_to_itself(name: str, call: ast.Call | None) -> bool:
    """Tell whether it does something without a command behind it: a group does where it says so."""
    shown = [each.value for each in call.keywords if each.arg == "invoke_without_command"] if call else []
    return name == "command" or any(isinstance(each, ast.Constant) and each.value is True for each in shown)


def _of_parameters(function: Functions) -> Iterator[Found]:
    """Options that are called as their parameter: `force: bool = Option(False)`."""
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    positional = [*given.posonlyargs, *given.args]
    defaults = dict(zip([each.arg for each in positional[-len(given.defaults) :]], given.defaults, strict=False))
    defaults |= {each.arg: value for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value}
    for each in parameters:
        shown = [value for value in (defaults.get(each.arg), each.annotation) if value is not None]
        calls = [node for value in shown for node in ast.walk(value) if isinstance(node, ast.Call)]
        for call in calls:
            if _name(call.func) == "Option" and not any(map(_OPTION.match, map(_text, call.args))):
                yield "option", f"--{each.arg.replace('_', '-')}", each.lineno


class Parsers(NamedTuple):
    """`words`: what `add_subparsers` gave (by its name in the code) -> the words before its commands. `groups`: calls
    of `add_parser` whose parser has such below it, so that it is no command by itself."""

    words: Mapping[str, str]
    groups: frozenset[ast.Call]


def _parsers(tree: ast.Module) -> Parsers:
    made: dict[str, ast.Call] = {}
    below: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names = [_name(each) for each in node.targets]
            if _name(node.value.func) == "add_parser":
                made |= dict.fromkeys(names, node.value)
            elif _name(node.value.func) == "add_subparsers":
                below |= dict.fromkeys(names, _receiver(node.value.func))
    found: dict[str, str] = {}
    for name, parser in below.items():
        words: list[str] = []
        seen: set[str] = set()
        while parser in made and parser not in seen:
            seen.add(parser)
            words.insert(0, _given(made[parser]))
            parser = below.get(_receiver(made[parser].func), "")
        found[name] = " ".join(words)
    return Parsers(found, frozenset(made[parser] for parser in below.values() if parser in made))


def _of_call(call: ast.Call, parsers: Parsers) -> Iterator[Found]:
    name = _name(call.func)
    if name in ("option", "add_argument", "Option"):
        for each in call.args:
            for word in _text(each).split("/"):
                if _OPTION.fullmatch(word):
                    yield "option", word, each.lineno
    elif name == "add_parser" and call.args and (given := _text(call.args[0])):
        if call not in parsers.groups:
            words = parsers.words.get(_receiver(call.func), "")
            yield "command", f"{words} {given}".strip(), call.args[0].lineno
    elif name == "add_api_route" and call.args and (given := _text(call.args[0])).startswith("/"):
        yield "endpoint", given, call.args[0].lineno


def _asks_suffix(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr == "suffix" for each in ast.walk(node))


def _format(node: ast.AST) -> Iterator[Found]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        ending = re.search(r"(?:^|\*)(\.[a-z][a-z0-9]{1,7})$", node.value)
        if ending:
            yield "format", ending[1], node.lineno


def _own(function: Functions) -> str:
    """A command's name by its function's, as click and typer make it."""
    return re.sub(r"[_-](?:command|cmd|group|grp)$", "", function.name).replace("_", "-")


def _given(call: ast.Call) -> str:
    return (_text(call.args[0]) if call.args else "") or _keyword(call, "name")


def _keyword(call: ast.Call, name: str) -> str:
    return next((_text(each.value) for each in call.keywords if each.arg == name), "")


def _receiver(node: ast.expr) -> str:
    """`cli` of `cli.command`."""
    return _name(node.value) if isinstance(node, ast.Attribute) else ""


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
