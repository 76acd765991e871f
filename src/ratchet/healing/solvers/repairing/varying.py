"""Vary the arguments of a recorded call: values near the given ones, those that the program's own code tells apart, and
what other calls of the same function give in the same place."""

from __future__ import annotations

import ast
import contextlib
import copy
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

# Shares of the changes: what another call gives there, another kind of value; the others are near the given value.
_GIVEN_ELSEWHERE, _OF_ANOTHER_KIND = 0.15, 0.45
_CONSTANTS, _LONGEST = 60, 200
_UNUSUAL = "é ß 中\N{COMBINING ACUTE ACCENT}İ_-"
_LARGE = 1_000


@dataclass(slots=True)
class Arguments:
    """Arguments of one call of a function. `left_out`: defaults, which it does not give."""

    given: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    left_out: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Constants that some code holds and builtin types that it names: it may branch on them."""

    constants: tuple[Any, ...] = ()
    types: tuple[str, ...] = ()

    @classmethod
    def of(cls, nodes: Iterable[ast.AST]) -> Vocabulary:
        """That of some pieces of source."""
        constants: dict[str, Any] = {}
        types: dict[str, None] = {}
        for node in (each for top in nodes for each in ast.walk(top)):
            if isinstance(node, ast.Name) and node.id in _AS:
                types[node.id] = None
            elif isinstance(node, ast.Constant) and isinstance(node.value, str | bytes | int | float):
                constants.setdefault(repr(node.value)[:_LONGEST], node.value)
        short = [value for told, value in constants.items() if len(told) < _LONGEST]
        return cls(tuple(short[:_CONSTANTS]), tuple(types))


def spoken_at(tree: ast.Module, lines: Collection[int], names: Collection[str]) -> Iterator[ast.AST]:
    """The functions of a file that hold some lines or have a name, and statements outside of functions that do."""
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    while stack:
        above, node = stack.pop()
        for each in ast.iter_child_nodes(node):
            name = f"{above}{getattr(each, 'name', '')}"
            if isinstance(each, ast.ClassDef):
                stack.append((f"{name}.", each))
            elif isinstance(each, ast.stmt):
                span = range(each.lineno, (each.end_lineno or each.lineno) + 1)
                if name in names or any(line in span for line in lines):
                    yield each


def varied(
    call: Arguments, seed: int, known: Vocabulary | None = None, other: Arguments | None = None, *, bound: bool = False
) -> Arguments:
    """The call, in place, changed once or twice; each thousandth seed leaves it as it is. `other` is another call of
    the same function. `bound`: the first argument is a method's object, which is never one of another kind."""
    draw = random.Random(seed)  # noqa: S311  (inputs, no secret)
    places: list[tuple[Any, Any]] = [(call.given, at) for at in range(len(call.given))]
    places += [(each, name) for each in (call.named, call.left_out) for name in each]
    if not places or seed % 1000 == 0:
        return call
    for _ in range(1 + seed % 2):
        holder, key = draw.choice(places)
        theirs = _there(other, holder is not call.given, key)
        how = draw.random()
        if theirs and how < _GIVEN_ELSEWHERE:
            new = theirs[0]
        elif bound and holder is call.given and key == 0:
            new = _near_object(holder[key], draw)
        elif how < _OF_ANOTHER_KIND:
            new = _otherwise(holder[key], known or Vocabulary(), draw)
        else:
            new = _near(holder[key], draw)
        (call.named if holder is call.left_out else holder)[key] = new
    return call


def _there(other: Arguments | None, named: bool, key: Any) -> list[Any]:
    """The value that another call gives in a place, if any."""
    if other is None:
        return []
    if named:
        return [other.named[key]] if key in other.named else []
    return [other.given[key]] if key < len(other.given) else []


_AS: Mapping[str, Callable[[Any], Any]] = {
    "str": lambda value: value.decode() if isinstance(value, bytes) else str(value),
    "bytes": lambda value: value.encode() if isinstance(value, str) else bytes(value),
    "int": int, "float": float, "bool": bool, "list": list, "tuple": tuple, "set": set, "frozenset": frozenset,
    "dict": dict, "iter": lambda value: iter(list(value)),
}  # fmt: skip
"""Conversions, by the builtin that names them."""
_KINDS: Mapping[type, tuple[str, ...]] = {
    str: ("bytes", "list"), bytes: ("str",), list: ("tuple", "set", "iter"), tuple: ("list", "iter"),
    set: ("list", "frozenset"), frozenset: ("set",), dict: ("list",), int: ("float", "str", "bool"),
    float: ("int", "str"), bool: ("int",),
}  # fmt: skip
"""The kinds of value that callers give instead of one of a type."""


def _otherwise(value: Any, known: Vocabulary, draw: random.Random) -> Any:
    """A value that code may tell from the given one: of another type, empty, absent, unusual, or a constant of its."""
    wider = [*_KINDS.get(type(value), ()), *known.types]
    said = [each for each in known.constants if value is None or type(each) is type(value)]
    choices: list[Callable[[], Any]] = [lambda: None]
    if wider:
        choices += [lambda: _AS[draw.choice(wider)](copy.copy(value))] * 2
    if said:
        choices += [lambda: _around(draw.choice(said), draw)] * 2
    if isinstance(value, str):
        at = draw.randrange(len(value) + 1)
        inserted = [*(each for each in said if isinstance(each, str)), *_UNUSUAL]
        choices += [
            lambda: value[:at] + draw.choice(inserted) + value[at:],
            lambda: draw.choice([value.upper(), value.lower(), value.title(), value * 3, f" {value} "]),
        ]
    elif isinstance(value, int | float):
        choices += [lambda: draw.choice([-value, value + _LARGE])]
    if isinstance(value, str | bytes | list | tuple | dict | set | frozenset):
        choices += [lambda: type(value)()]
    try:
        return draw.choice(choices)()
    except Exception:  # noqa: BLE001  (not every value has every form, and a class may raise anything)
        return value


def _around(constant: Any, draw: random.Random) -> Any:
    """A constant that code compares with, or a number on either side of it."""
    return constant + draw.choice([-1, 0, 1]) if isinstance(constant, int | float) else constant


def _near(value: Any, draw: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.choice([value + 1, value - 1, value + 2, 0, value * 2])
    if isinstance(value, float):
        return value * draw.choice([0.5, 1.5, 2.0, 0.9])
    if isinstance(value, str):
        return "".join(_shuffled(list(value), draw, "a"))
    if isinstance(value, list):
        return _shuffled(list(value), draw, value[0] if value else 0)
    if isinstance(value, tuple):
        items = list(value)
        if items:
            at = draw.randrange(len(items))
            items[at] = _near(items[at], draw)
        return tuple(items)
    if isinstance(value, dict):
        return _near_mapping(value, draw)
    return _near_object(value, draw)


def _near_mapping(value: dict[Any, Any], draw: random.Random) -> dict[Any, Any]:
    """The dict with a value changed, a key left out, or one more."""
    how, near = draw.randrange(3), copy.copy(value)
    if not near or how == 0:
        return {**near, "a": 0}
    key = draw.choice(list(near))
    if how == 1:
        del near[key]
    else:
        near[key] = _near(near[key], draw)
    return near


def _near_object(value: Any, draw: random.Random) -> Any:
    """The object with one of its fields changed, or of the fields of an object that it holds."""
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, dict) and fields and not callable(value):
        name = draw.choice(list(fields))
        with contextlib.suppress(Exception):  # a field that may not be set stays as it was
            setattr(value, name, _near(fields[name], draw))
    return value


def _shuffled(items: list[Any], draw: random.Random, extra: Any) -> list[Any]:
    how = draw.randrange(5)
    if not items or how == 0:
        return [*items, extra]
    at = draw.randrange(len(items))
    if how == 1:
        del items[at]
    elif how == 2:
        items.insert(at, items[at])
    elif how == 3:
        other = draw.randrange(len(items))
        items[at], items[other] = items[other], items[at]
    elif not isinstance(items[at], str):
        items[at] = _near(items[at], draw)
    else:
        items.reverse()
    return items
