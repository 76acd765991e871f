"""A new version of a function that is loaded: built from text, and put into the very function object."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType

from ratchet.errors import Refused
from ratchet.healing.in_code.source import SourceText, code_of, decoded, definition, kind_flags, parsed


@dataclass(frozen=True, slots=True)
class CodeVersion:
    """Code and defaults of a function."""

    code: CodeType
    defaults: tuple[object, ...] | None
    kwdefaults: dict[str, object] | None


def version_of(
    function: FunctionType, before: SourceText, after: str, filename: str, qualname: str, line: int
) -> CodeVersion:
    """Match the function of `after` to one that was made of `before`. Raises Refused where it does not fit into one
    that is loaded."""
    free = function.__code__.co_freevars
    try:
        code = code_of(after, filename, qualname, line, free=free)
    except SyntaxError as error:
        raise Refused(f"it is not Python (line {error.lineno}: {error.msg})") from error
    if code is None:
        raise Refused(f"it has no {qualname} any more")
    new = [name for name in code.co_freevars if name not in free]
    if new or len(code.co_freevars) != len(free):
        raise Refused(f"it uses {', '.join(new)} of the function around it, which the loaded function does not hold")
    if kind_flags(code) != kind_flags(function.__code__):
        raise Refused(f"it makes {qualname} another kind of function")
    return CodeVersion(code, *_defaults(function, before, after, qualname, line))


def held(function: FunctionType) -> CodeVersion:
    """The version that is in force."""
    return CodeVersion(function.__code__, function.__defaults__, function.__kwdefaults__)


def put(function: FunctionType, version: CodeVersion) -> None:
    """Bring a version into force, for everybody who holds the function. Calls under way end with the code that they
    began with."""
    function.__code__ = version.code
    function.__defaults__ = version.defaults
    function.__kwdefaults__ = version.kwdefaults


def made(
    version: CodeVersion,
    module: dict[str, object],
    cells: dict[str, object],
    name: str,
    *,
    itself: str,
    class_: type | None,
) -> FunctionType:
    """A function of a version whose closure holds these values; `itself` marks the value that is the function, the
    cell `__class__` holds `class_`."""
    places = {each: CellType(cells[each]) for each in version.code.co_freevars}
    closure = tuple(places.values())
    function = FunctionType(version.code, module, name, version.defaults, closure)
    function.__kwdefaults__ = version.kwdefaults
    for each, cell in places.items():
        if each == "__class__":
            cell.cell_contents = class_
        elif cells[each] == itself:
            cell.cell_contents = function
    return function


def _defaults(
    function: FunctionType, before: SourceText, after: str, qualname: str, line: int
) -> tuple[tuple[object, ...] | None, dict[str, object] | None]:
    """Defaults of the new version: the very objects of the old one where they are written as they were."""
    old, new = (_written(text, qualname, line) for text in (before.text, after))
    code = function.__code__
    plain = code.co_varnames[: code.co_argcount]
    objects = dict(
        zip(plain[len(plain) - len(function.__defaults__ or ()) :], function.__defaults__ or (), strict=True)
    )
    objects |= function.__kwdefaults__ or {}
    values: dict[str, object] = {}
    for name, node in {**new[0], **new[1]}.items():
        was = {**old[0], **old[1]}.get(name)
        if was is not None and ast.dump(was) == ast.dump(node) and name in objects:
            values[name] = objects[name]
            continue
        try:
            values[name] = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
            raise Refused(f"the new default of {name!r} is no literal, and the function is loaded already") from error
    return tuple(values[name] for name in new[0]) or None, {name: values[name] for name in new[1]} or None


def _written(text: str, qualname: str, line: int) -> tuple[dict[str, ast.expr], dict[str, ast.expr]]:
    """Defaults as they are written: of positional and of keyword parameters."""
    node = definition(parsed(text), qualname, line)
    assert node is not None
    plain = [*node.args.posonlyargs, *node.args.args]
    optional = plain[len(plain) - len(node.args.defaults) :]
    keyword = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return (
        {each.arg: value for each, value in zip(optional, node.args.defaults, strict=True)},
        {each.arg: value for each, value in keyword if value is not None},
    )


def read(content: bytes) -> SourceText:
    """A source file's text. Raises Refused."""
    try:
        return decoded(content)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise Refused(f"its file cannot be read as Python ({error})") from error
