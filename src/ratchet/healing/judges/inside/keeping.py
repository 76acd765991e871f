"""Watches what tests assert with, where the program shares their process: unittest, pytest and the built-in functions
must stay what they were before the program was loaded."""

from __future__ import annotations

import builtins
import sys
from types import FunctionType, MethodType

_WATCHED = ("unittest", "pytest", "_pytest", "pluggy")


class HarnessWatch:
    """Remembers what is there, and tells what has become another."""

    def __init__(self, tell, is_untouched):
        self._tell = tell
        self._is_untouched = is_untouched
        self._before = _marks()
        self._told = set()

    def begin(self):
        """Take what plugins have replaced by now as given, unless the program may have done it."""
        if self._is_untouched():
            self._before = _marks()

    def look(self, name):
        now = _marks()
        for what, mark in self._before.items():
            if now.get(what) != mark and what not in self._told:
                self._told.add(what)
                self._tell("touched", [name, what])


def _marks():
    """The identity of functions and classes, and of what is in the classes: name -> mark."""
    found = {}
    for name, module in [*sys.modules.items()]:
        if module is not builtins and name.partition(".")[0] not in _WATCHED:
            continue
        for each, value in [*vars(module).items()]:
            if isinstance(value, type):
                found[f"{name}.{each}"] = (id(value), tuple(map(id, value.__mro__)))
                if value.__module__ == name and module is not builtins:
                    held = vars(value)
                    found |= {f"{name}.{each}.{one}": _mark(held[one]) for one in held if _is_code(held[one])}
                    found[f"{name}.{each}.__getattribute__"] = _mark(value.__getattribute__)
            elif _is_code(value):
                found[f"{name}.{each}"] = _mark(value)
    return found


def _is_code(value):
    return callable(value) or isinstance(value, (staticmethod, classmethod, property))


def _mark(value):
    function = value.__func__ if isinstance(value, (staticmethod, classmethod, MethodType)) else value
    if not isinstance(function, FunctionType):  # `unittest.mock.call` makes up whatever attribute it is asked for
        return id(value), None
    return id(value), (id(function.__code__), id(function.__defaults__), id(function.__kwdefaults__))
