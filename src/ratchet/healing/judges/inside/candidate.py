"""The process of the program under test: imports its modules and calls their functions for the process of the tests.

Speaks lines of JSON over two inherited descriptors, named in its arguments. It knows neither tests nor token.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
from collections.abc import Iterator

import plainly

_iterators: dict[int, Iterator[object]] = {}
_given: dict[tuple[str, str], object] = {}  # values of modules that were asked for, as they were told
_HELD_CHARS = 20_000
_root = [""]  # the program's folder


def main():
    asking, answering = (os.fdopen(int(number), mode) for number, mode in zip(sys.argv[1:3], ("r", "w")))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    sys.path[:] = json.loads(sys.argv[3])
    _root[0] = sys.argv[4] + os.sep
    sys.argv[:] = [""]
    for line in asking:
        asked = json.loads(line)
        said, complained = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
            _go_where(asked)
            answer = _answered(asked)
        answer["said"] = [each.getvalue()[:100000] for each in (said, complained)]
        answering.write(json.dumps(answer) + "\n")
        answering.flush()


def _go_where(asked):
    """Be where the tests are, with the variables and the words that they have set."""
    if os.path.isdir(asked["cwd"]):
        os.chdir(asked["cwd"])
    if "environ" in asked:
        os.environ.clear()
        os.environ.update(asked["environ"])
    sys.argv[:] = asked["argv"]
    sys.path[:] = asked.get("path", sys.path)


def _answered(asked):
    try:
        return {"import": _imported, "get": _got, "call": _called, "next": _next}[asked["do"]](asked)
    except plainly.NotPlain as error:
        return {"unplain": str(error)}
    except BaseException as error:  # whatever the program raises is an answer
        return plainly.raised(error)


def _imported(asked):
    held = vars(importlib.import_module(asked["module"]))
    names = [name for name in held if not name.startswith("__")]
    public = held.get("__all__", [name for name in names if not name.startswith("_")])
    functions = [name for name in names if callable(held[name]) and not isinstance(held[name], type)]
    return {"names": names, "functions": functions, "all": [str(each) for each in public]}


def _got(asked):
    value = getattr(importlib.import_module(asked["module"]), asked["name"])
    said = plainly.packed(value)
    if type(value) in (list, dict, set, bytearray) and len(json.dumps(said)) <= _HELD_CHARS:
        _given[asked["module"], asked["name"]] = said
    return {"value": said}


def _moved():
    """Values of modules that tests hold copies of, and that are other ones by now."""
    try:
        now = {key: plainly.packed(getattr(sys.modules[key[0]], key[1], None)) for key in _given}
    except (plainly.NotPlain, RecursionError):
        now = {}
    return next((".".join(key) + " has changed" for key in _given if now.get(key) != _given[key]), "")


def _called(asked):
    function = getattr(importlib.import_module(asked["module"]), asked["name"])
    arguments = plainly.unpacked(asked["arguments"])
    named = plainly.unpacked(asked["named"])
    try:
        value = function(*arguments, **named)
    except plainly.NotPlain:
        raise
    except BaseException as error:
        return {**plainly.raised(error), "after": _after(arguments)}
    answer = {"after": _after(arguments)}
    moved = _moved()
    if moved:
        answer["moved"] = moved
    if (hasattr(value, "__next__") and not hasattr(value, "send")) or type(value).__name__ == "generator":
        _iterators[len(_iterators)] = value
        return {**answer, "iterator": len(_iterators) - 1}
    same = next((at for at, each in enumerate(arguments) if each is value and type(each) in (list, dict, set)), None)
    return {**answer, "same": same} if same is not None else {**answer, "value": _packed(value)}


def _packed(value):
    return plainly.packed(value, inside=_root[0])


def _after(arguments):
    """The arguments as the function left them, since it may have changed them in place."""
    return _packed(arguments)


def _next(asked):
    try:
        return {"value": _packed(next(_iterators[asked["iterator"]]))}
    except StopIteration:
        return {"end": True}


if __name__ == "__main__":
    main()
