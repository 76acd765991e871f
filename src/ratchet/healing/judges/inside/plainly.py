"""Plain values as JSON and back, for two processes that do not trust each other: no code travels, no class does."""

from __future__ import annotations

import builtins

DEPTH = 200


class NotPlain(Exception):  # noqa: N818  (no fault: a limit of the way)
    """A value that only means something in its own process."""


def packed(value, depth=0):
    """The value as JSON takes it. Raises NotPlain."""
    if depth > DEPTH:
        raise NotPlain("a value that is nested too deeply")
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    below = depth + 1
    if kind is list:
        return [packed(each, below) for each in value]
    if kind in _SEQUENCES:
        return {_SEQUENCES[kind]: [packed(each, below) for each in value]}
    if kind is dict:
        return {"d": [[packed(key, below), packed(held, below)] for key, held in value.items()]}
    if kind in (bytes, bytearray):
        return {"b" if kind is bytes else "B": value.hex()}
    if kind is complex:
        return {"c": [value.real, value.imag]}
    if kind is range:
        return {"r": [value.start, value.stop, value.step]}
    raise NotPlain("a value of type " + getattr(kind, "__name__", "?"))


_SEQUENCES: dict[type, str] = {tuple: "t", set: "s", frozenset: "z"}


def unpacked(said, depth=0):
    """The value again. Raises ValueError for what `packed` never writes."""
    if depth > DEPTH:
        raise ValueError("nested too deeply")
    if said is None or type(said) in (bool, int, float, str):
        return said
    below = depth + 1
    if type(said) is list:
        return [unpacked(each, below) for each in said]
    if type(said) is not dict or len(said) != 1:
        raise ValueError("no value")
    ((tag, held),) = said.items()
    if tag in ("t", "s", "z"):
        return {"t": tuple, "s": set, "z": frozenset}[tag](unpacked(each, below) for each in held)
    if tag == "d":
        return {unpacked(key, below): unpacked(value, below) for key, value in held}
    if tag in ("b", "B"):
        return (bytes if tag == "b" else bytearray).fromhex(held)
    if tag == "c":
        return complex(*held)
    if tag == "r":
        return range(*held)
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
    return {"raised": kind.__name__, "arguments": arguments}


def exception(said):
    """The exception again; never one that ends a process or speaks to the runner of tests."""
    kind = getattr(builtins, str(said.get("raised")), None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = RuntimeError
    try:
        return kind(*unpacked(said.get("arguments", [])))
    except Exception:
        return RuntimeError(str(said.get("arguments"))[:2000])
