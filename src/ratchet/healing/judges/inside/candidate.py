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


def main():
    asking, answering = (os.fdopen(int(number), mode) for number, mode in zip(sys.argv[1:3], ("r", "w")))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    sys.path[:] = json.loads(sys.argv[3])
    sys.argv[:] = [""]
    for line in asking:
        asked = json.loads(line)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            answer = _answered(asked)
        answer["said"] = said.getvalue()[:100000]
        answering.write(json.dumps(answer) + "\n")
        answering.flush()


def _answered(asked):
    try:
        return {"import": _imported, "call": _called, "next": _next}[asked["do"]](asked)
    except plainly.NotPlain as error:
        return {"unplain": str(error)}
    except BaseException as error:  # whatever the program raises is an answer
        return plainly.raised(error)


def _imported(asked):
    module = importlib.import_module(asked["module"])
    names = {}
    for name, value in vars(module).items():
        if name.startswith("__"):
            continue
        if callable(value) and not isinstance(value, type):
            names[name] = {"function": True}
            continue
        try:
            names[name] = {"value": plainly.packed(value)}
        except (plainly.NotPlain, RecursionError):
            names[name] = {}
    return {"names": names}


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
    after = _after(arguments)
    if (hasattr(value, "__next__") and not hasattr(value, "send")) or type(value).__name__ == "generator":
        _iterators[len(_iterators)] = value
        return {"iterator": len(_iterators) - 1, "after": after}
    return {"value": plainly.packed(value), "after": after}


def _after(arguments):
    """The arguments as the function left them, since it may have changed them in place."""
    return plainly.packed(arguments)


def _next(asked):
    try:
        return {"value": plainly.packed(next(_iterators[asked["iterator"]]))}
    except StopIteration:
        return {"end": True}


if __name__ == "__main__":
    main()
