"""Plain values as JSON and back, for two processes that do not trust each other: no code travels, no class does.

A value of the program's own class arrives as what the tests' process itself can vouch for: the plain value that it is
below (`k`: an int, a dict, ...), or a stranger (`o`), which is nothing but an object.
"""

from __future__ import annotations

import builtins
import importlib
import sys

DEPTH = 200


class NotPlain(Exception):  # noqa: N818  (no fault: a limit of the way)
    """A value that only means something in its own process."""


def packed(value, depth=0, *, inside=""):
    """The value as JSON takes it. With `inside`, the program's folder, objects are packed, too. Raises NotPlain."""
    if depth > DEPTH:
        raise NotPlain("a value that is nested too deeply")
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    below = depth + 1
    if kind is list:
        return [packed(each, below, inside=inside) for each in value]
    if kind in _SEQUENCES:
        return {_SEQUENCES[kind]: [packed(each, below, inside=inside) for each in value]}
    if kind is dict:
        return {
            "d": [
                [packed(key, below, inside=inside), packed(held, below, inside=inside)] for key, held in value.items()
            ]
        }
    if kind in (bytes, bytearray):
        return {"b" if kind is bytes else "B": value.hex()}
    if kind is complex:
        return {"c": [value.real, value.imag]}
    if kind is range:
        return {"r": [value.start, value.stop, value.step]}
    return _of_a_class(value, kind, below, inside)


def _of_a_class(value, kind, depth, inside):
    name = getattr(kind, "__name__", "?")
    if name in _DATA and getattr(sys.modules.get(_DATA[name][0]), name, None) is kind:
        return {"v": [name, _DATA[name][1](value)]}
    if not inside:
        raise NotPlain("a value of type " + name)
    for base, plain in _CONTENT.items():
        if base in kind.__mro__:
            return {"k": [name, packed(plain(value), depth, inside=inside)]}
    return {"o": [name, _is_own(kind, inside)]}


_SEQUENCES: dict[type, str] = {tuple: "t", set: "s", frozenset: "z"}
# What a value of a class made from a plain one is, without asking that class.
_CONTENT: dict = {
    int: int.__pos__,
    float: float.__pos__,
    complex: complex.__pos__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    bytearray: lambda value: bytearray.__getitem__(value, slice(None)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    list: lambda value: list(list.__iter__(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    dict: lambda value: dict(dict.items(value)),
}
# Values of the standard library: name -> module, to a text, and back.
_TEXT = (str, lambda kind, said: kind(said))
_ISO = (lambda value: value.isoformat(), lambda kind, said: kind.fromisoformat(said))
_DATA: dict = {
    "Decimal": ("decimal", *_TEXT),
    "Fraction": ("fractions", *_TEXT),
    "UUID": ("uuid", *_TEXT),
    "PosixPath": ("pathlib", *_TEXT),
    "PurePosixPath": ("pathlib", *_TEXT),
    "date": ("datetime", *_ISO),
    "time": ("datetime", *_ISO),
    "datetime": ("datetime", *_ISO),
    "timedelta": (
        "datetime",
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda kind, said: kind(*map(int, said)),
    ),
}


def _is_own(kind, inside):
    """Tell whether a class is the program's own: not one that a module outside of its folder has."""
    module = sys.modules.get(kind.__module__)
    where = getattr(module, "__file__", None) or ""
    return getattr(module, kind.__qualname__, None) is not kind or (
        where.startswith(inside) and "site-packages" not in where
    )


def unpacked(said, depth=0, made=None):
    """The value again. `made` makes what is no plain value of its tag, its class's name and what is known of it. Raises
    ValueError for what `packed` never writes."""
    if depth > DEPTH:
        raise ValueError("nested too deeply")
    if said is None or type(said) in (bool, int, float, str):
        return said
    below = depth + 1
    if type(said) is list:
        return [unpacked(each, below, made) for each in said]
    if type(said) is not dict or len(said) != 1:
        raise ValueError("no value")
    ((tag, held),) = said.items()
    if tag in ("t", "s", "z"):
        return {"t": tuple, "s": set, "z": frozenset}[tag](unpacked(each, below, made) for each in held)
    if tag == "d":
        return {unpacked(key, below, made): unpacked(value, below, made) for key, value in held}
    if tag in ("b", "B"):
        return (bytes if tag == "b" else bytearray).fromhex(held)
    if tag in ("c", "r"):
        return (complex if tag == "c" else range)(*held)
    if tag == "v":
        module, _, back = _DATA[held[0]]
        return back(getattr(importlib.import_module(module), held[0]), held[1])
    if tag in ("k", "o") and made is not None:
        return made(tag, str(held[0]), unpacked(held[1], below, made))
    raise ValueError("no value")


def raised(error):
    """An exception as its nearest built-in class and plain arguments."""
    for kind in type(error).__mro__:
        if getattr(builtins, kind.__name__, None) is kind:
            break
    try:
        arguments = packed(list(error.args))
    except (NotPlain, RecursionError):
        arguments = [str(error)[:2000]]
    said = {"raised": kind.__name__, "arguments": arguments}
    if kind is not type(error):
        said["text"] = str(error)[:20000]
    return said


def exception(said, lacking=None):
    """The exception again; never one that ends a process or speaks to the runner of tests. Of one of the program's own
    class, `lacking` is told when a name is asked for that its nearest built-in class does not have."""
    kind = getattr(builtins, str(said.get("raised")), None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = RuntimeError
    if "text" in said and lacking is not None:
        kind = _described(kind, str(said["text"]), lacking)
    try:
        return kind(*unpacked(said.get("arguments", [])))
    except Exception:
        return RuntimeError(str(said.get("arguments"))[:2000])


def _described(kind, text, lacking):
    class Described(kind):  # type: ignore[valid-type, misc]
        def __str__(self):
            return text

        def __getattr__(self, name):
            return lacking(name)

    Described.__name__ = kind.__name__
    return Described
