"""Put changed functions into a program that is loaded already, where nothing else of the file changed.

An edit of a function's body need not import anything anew: its code object is exchanged in place. That is the same
program wherever the function was not run while the files were imported; else, and where the file itself or a class
body changed, the tests are loaded anew.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator
from types import CodeType, FunctionType

Key = tuple[str, str, int]
"""File, name and first line of a function as it was loaded."""
Swap = tuple[Key, CodeType, CodeType]
"""A function's key, its code as it was loaded, and its new code."""
_OPTIMIZED = 0x1  # of functions; class bodies and files do not have it


def swaps_of(old: CodeType, new: CodeType, imported: Collection[int]) -> list[Swap] | None:
    """The functions to exchange to make one file another; None where more than functions changed, or one of them was
    run at import (`imported` are the lines that were)."""
    found: list[Swap] = []
    return found if _compare(old, new, imported, found) else None


def live(name_of: Callable[[str], str]) -> dict[Key, list[FunctionType]]:
    """All functions of some files that exist in this process. `name_of` gives a file its name, "" to leave it out."""
    found: dict[Key, list[FunctionType]] = {}
    for each in gc.get_objects():
        if type(each) is FunctionType and (path := name_of(each.__code__.co_filename)):
            found.setdefault((path, each.__code__.co_name, each.__code__.co_firstlineno), []).append(each)
    return found


def exchange(functions: dict[Key, list[FunctionType]], swaps: Collection[Swap]) -> bool:
    """Give the functions their new code. False where the outermost of a change does not exist here."""
    whole = True
    for at, (key, old, new) in enumerate(swaps):
        there = [each for each in functions.get(key, ()) if _named(each.__code__) == _named(old)]
        for each in there:
            each.__code__ = new
        inner = any(_holds(above, old) for _, above, _ in list(swaps)[:at])
        whole = whole and (inner or bool(there))
    return whole


def _compare(old: CodeType, new: CodeType, imported: Collection[int], found: list[Swap]) -> bool:
    """Collect what differs, functions before those within them."""
    is_function = bool(old.co_flags & new.co_flags & _OPTIMIZED)
    pairs = list(zip(_inner(old), _inner(new), strict=False))
    same = _own(old) == _own(new)
    if same and all(_own_all(one) == _own_all(other) for one, other in pairs):
        return True
    if is_function:
        if old.co_freevars != new.co_freevars or any(line in imported for line in _body(old)):
            return False
        found.append(((old.co_filename, old.co_name, old.co_firstlineno), old, new))
    elif not same:
        return False
    if not same:
        return True
    return all(_compare(one, other, imported, found) for one, other in pairs)


def _own(code: CodeType) -> tuple[object, ...]:
    """All that a code object does by itself: without lines, and without the functions within it."""
    return (*_named(code), code.co_code, getattr(code, "co_exceptiontable", b""))


def _named(code: CodeType) -> tuple[object, ...]:
    """The same without its instructions: of two functions of a line it tells which, however they were compiled. (A
    call through an imported name is compiled otherwise where the import is in sight.)"""
    constants = tuple(None if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts)
    return (
        constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags,
        code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
    )  # fmt: skip


def _own_all(code: CodeType) -> tuple[object, ...]:
    return (_own(code), *(_own_all(each) for each in _inner(code)))


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (each for each in code.co_consts if isinstance(each, CodeType))


def _holds(above: CodeType, code: CodeType) -> bool:
    return any(each is code or _holds(each, code) for each in _inner(above))


def _body(code: CodeType) -> set[int]:
    """Lines of a function but that of its head, which is run where it is defined. One that stands in its head's line
    cannot be told from it."""
    lines = {line for *_, line in code.co_lines() if line}
    return lines - {code.co_firstlineno} or lines
