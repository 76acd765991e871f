"""Which lines each test runs, which types variables hold, and what the tests call the program with."""

from __future__ import annotations

import base64
import inspect
import os
import pickle
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from types import CodeType, FrameType, FunctionType, SimpleNamespace
from typing import Any

# Lines seen before one stops looking: an endless loop has shown itself by then. Of one test, and of all.
_EVENTS_OF_A_TEST, _EVENTS = 400_000, 6_000_000
_RETURNS = 60
_CALLS = 24  # of one function
_PICKLED, _PICKLED_IN_ALL = 20_000, 8_000_000  # bytes

Trace = Callable[[FrameType, str, Any], Any]


def naming(files: Collection[str]) -> Callable[[str], str]:
    """A function that gives a file its name among `files`, "" for another: an editable install may know it by one of
    its own."""
    names = {each: each for each in files}

    def name_of(path: str) -> str:
        known = names.get(path)
        if known is None:
            real = os.path.realpath(path)
            known = names[path] = real if names.get(real) else ""
        return known

    return name_of


class FrameTracer:
    """Looks at the frames of some files, in all threads that start meanwhile, by `sys.settrace`."""

    def __init__(self, files: Collection[str]) -> None:
        self._name = naming(files)

    def start(self) -> None:
        threading.settrace(self._on_call)
        sys.settrace(self._on_call)

    def stop(self) -> None:
        sys.settrace(None)

    def _on_call(self, frame: FrameType, event: str, argument: object) -> Trace | None:
        raise NotImplementedError


class Tracer(FrameTracer):
    """Keeps the lines that each test runs, the types of variables, and the calls by tests."""

    def __init__(self, files: Collection[str]) -> None:
        super().__init__(files)
        self._now: dict[str, dict[int, int]] = {}
        self._types: dict[tuple[str, str], dict[str, set[str]]] = {}
        self._returns: dict[CodeType, int] = {}
        self._calls: list[dict[str, str]] = []
        self._untold = 0
        self._called: dict[tuple[str, str], int] = {}
        self._pickled = 0
        self._events, self._ends = 0, _EVENTS_OF_A_TEST

    def taken(self, test: str) -> dict[str, list[int]]:
        """The lines that were run since the last call, by file, in the order in which each was run last: by a test, ""
        for what no test ran."""
        held, self._now = self._now, {}
        for call in self._calls[self._untold :]:
            call["test"] = test
        self._untold = len(self._calls)
        self._ends = min(_EVENTS, self._events + _EVENTS_OF_A_TEST)
        return {file: sorted(lines, key=lines.__getitem__) for file, lines in held.items()}

    def seen(self) -> dict[str, object]:
        """Plain JSON: types by file and function, calls from tests, and where these import from."""
        return {
            "path": sys.path,
            "types": [
                [file, function, {name: sorted(kinds) for name, kinds in found.items()}]
                for (file, function), found in self._types.items()
            ],
            "calls": self._calls,
        }

    def _on_call(self, frame: FrameType, _event: str, _argument: object) -> Trace | None:
        name = self._name(frame.f_code.co_filename)
        if not name or self._events > self._ends:
            return None
        self._now.setdefault(name, {})[frame.f_lineno] = self._events
        back = frame.f_back
        if back is not None and not self._name(back.f_code.co_filename):
            self._keep_call(frame)
        return self._on_event

    def _on_event(self, frame: FrameType, event: str, _argument: object) -> Trace | None:
        if event == "line":
            self._events += 1
            self._now.setdefault(self._name(frame.f_code.co_filename), {})[frame.f_lineno] = self._events
        elif event == "return":
            self._keep_types(frame)
        return self._on_event if self._events <= self._ends else None

    def _keep_types(self, frame: FrameType) -> None:
        code = frame.f_code
        count = self._returns.get(code, 0)
        if count >= _RETURNS:
            return
        self._returns[code] = count + 1
        function = ".".join(part for part in code.co_qualname.split(".") if not part.startswith("<"))
        found = self._types.setdefault((self._name(code.co_filename), function), {})
        for name, value in frame.f_locals.items():
            if not name.startswith(("__", ".")):
                found.setdefault(name, set()).add(type(value).__name__)

    def _keep_call(self, frame: FrameType) -> None:
        """Keep what a function or method is called with, at the beginning of the call."""
        code, module = frame.f_code, str(frame.f_globals.get("__name__", ""))
        called = self._called.get((module, code.co_qualname), 0)
        if "<" in code.co_qualname or called >= _CALLS or self._pickled > _PICKLED_IN_ALL:
            return
        try:
            data = pickle.dumps(_arguments(frame))
        except Exception:  # noqa: BLE001  (what cannot be pickled is not replayed; a class may raise anything here)
            return
        if len(data) <= _PICKLED:
            self._called[module, code.co_qualname] = called + 1
            self._pickled += len(data)
            text = base64.b64encode(data).decode()
            path = self._name(code.co_filename)
            self._calls.append({"module": module, "function": code.co_qualname, "arguments": text, "path": path})


def _arguments(frame: FrameType) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """Arguments of the call that a frame is: by position, by name, and by name those that only are the default: what
    that is, is the program's to say, and a patch may say otherwise."""
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    rest = [*code.co_varnames[len(names) :]]
    more = values[rest.pop(0)] if code.co_flags & inspect.CO_VARARGS else ()
    defaults = _defaults(frame)
    plain = {name for name in names[code.co_posonlyargcount :] if name in defaults and values[name] is defaults[name]}
    count = code.co_argcount
    while not more and count and names[count - 1] in plain:
        count -= 1
    given = [values[name] for name in names[:count]]
    left = {name: values[name] for name in names[count:] if name in plain}
    named = {name: values[name] for name in names[code.co_argcount :] if name not in left}
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named |= values[rest.pop(0)]
    return [*given, *more], named, left


def _defaults(frame: FrameType) -> Mapping[str, Any]:
    """Defaults of the function of a frame, by parameter; empty where its module has that under no name, as where
    something is wrapped around it."""
    code = frame.f_code
    holder: Any = SimpleNamespace(**frame.f_globals)
    for name in code.co_qualname.split("."):
        holder = inspect.getattr_static(holder, name, None)
    found = getattr(holder, "__func__", holder)
    found = inspect.unwrap(found) if callable(found) else None
    if not isinstance(found, FunctionType) or found.__code__ is not code:
        return {}
    last = found.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(last) : code.co_argcount]
    return {**dict(zip(names, last, strict=True)), **(found.__kwdefaults__ or {})}
