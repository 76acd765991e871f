"""Stand-ins, in the process of the tests, for values of the program's own classes: they answer what tests ask in a way
that the program cannot steer, and note what cannot be answered so."""

from __future__ import annotations

import os
import sys
from types import FrameType

_HERE = os.path.dirname(os.path.abspath(__file__))
_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range)
_SHOWING = ("pprint.py", "reprlib.py", "abc.py", "<frozen abc>", "dataclasses.py")


class Foreign:
    """Makes the stand-ins; `refuse` notes what is asked and raises."""

    def __init__(self, refuse):
        self._refuse = refuse
        self._kin = {}

    def made(self, tag, name, held):
        if tag == "o":
            return _stranger(self._refuse, name, own=held is True)
        base = type(held)
        base = base if base in _PLAIN else next(each for each in base.__mro__ if each in _PLAIN)
        if (base, name) not in self._kin:
            self._kin[base, name] = _kin(self._refuse, base, name)
        return self._kin[base, name](held)


def _kin(refuse, base, name):
    """A class for values that are plain ones below: what their own class adds is not known here."""

    def lacking(_, asked):
        if asked.startswith("__") or _is_for_show():
            raise AttributeError(asked)
        refuse(f"{asked} of a value of type {name}")

    def shown(method):
        def show(self, *arguments):
            return method(self, *arguments) if _is_for_show() else refuse(f"the text of a value of type {name}")

        return show

    def missing(_, key):
        refuse(f"the key {key!r} that a value of type {name} lacks")

    held = {"__getattr__": lacking, "__repr__": shown(base.__repr__), "__format__": shown(base.__format__)}
    held["__str__"] = shown(base.__str__)
    if base is dict:
        held["__missing__"] = missing
    return type(base.__name__, (base,), held)


def _stranger(refuse, name, *, own):
    """An object of which nothing is known. One of the program's own class is equal to no plain value, and no number."""

    def asked(*_, **__):
        if _is_for_show():
            raise AttributeError(name)
        refuse(f"a value of type {name}")

    def held_by(_, attribute):
        if _is_for_show():
            raise AttributeError(attribute)
        refuse(f"{attribute} of a value of type {name}")

    def same(self, other):
        if self is other:
            return True
        return False if own and type(other) in _PLAIN else asked(self)

    def reckon(self, *others):
        if own and all(type(each) in _PLAIN for each in others):
            raise TypeError(f"a value of type {name} is no number")
        asked(self)

    def show(self):
        return f"<{name} of the program>" if _is_for_show() else asked(self)

    held = dict.fromkeys(_ASKED.split(), asked) | dict.fromkeys(_NUMBERS.split(), reckon)
    held |= {
        "__eq__": same,
        "__ne__": lambda self, other: not same(self, other),
        "__repr__": show,
        "__getattr__": asked,
    }
    return type("Stranger", (), held | {"__class__": property(_class_of(asked))})()


def _class_of(asked):
    return lambda self: type(self) if _is_for_show() else asked(self)


_ASKED = (
    "__bool__ __len__ __iter__ __next__ __contains__ __getitem__ __setitem__ __delitem__ __call__ __hash__ __str__"
    " __format__ __enter__ __exit__ __await__ __aiter__ __anext__ __aenter__ __aexit__ __fspath__ __bytes__"
    " __reversed__"
)
_NUMBERS = (
    "__lt__ __le__ __gt__ __ge__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__"
    " __floordiv__ __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __abs__ __neg__ __pos__ __round__ __int__ __float__"
    " __complex__ __index__ __and__ __rand__ __or__ __ror__ __xor__ __rxor__ __invert__ __divmod__ __rdivmod__"
)


def _is_for_show():
    """Tell whether a value is only looked at to say how an assertion failed."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        if not path.startswith(_HERE) and os.path.basename(path) not in _SHOWING:
            return f"{os.sep}_pytest{os.sep}" in path or path.endswith(os.path.join("unittest", "util.py"))
        frame = frame.f_back
    return False


def note_patches(note):
    """Note tests that change what lies around the program: the other process does not see that."""
    import random
    import unittest.case
    import unittest.mock

    places = [(unittest.mock._patch, "__enter__"), (unittest.mock._patch_dict, "__enter__"), (random, "seed")]
    places += [(unittest.case._AssertWarnsContext, "__enter__")]
    places += [(held, "__enter__") for held in (getattr(unittest.case, "_AssertLogsContext", None),) if held]
    pytest = sys.modules.get("_pytest.monkeypatch")
    if pytest is not None:
        places += [(pytest.MonkeyPatch, "setattr"), (pytest.MonkeyPatch, "delattr"), (pytest.MonkeyPatch, "setitem")]
        places += [(sys.modules["_pytest.recwarn"].WarningsRecorder, "__enter__")]
    for holder, name in places:
        setattr(holder, name, _noting(getattr(holder, name), note, name))


def _noting(function, note, name):
    def noting(*arguments, **named):
        if name != "setitem" or len(arguments) < 2 or arguments[1] is not os.environ:  # that is told with each call
            note(f"a change of what lies around the program ({name})")
        return function(*arguments, **named)

    return noting
