"""A function in its file: found, compiled as it was, and a new version set into the old text."""

from __future__ import annotations

import ast
import textwrap
from types import FunctionType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.errors import Refused
from ratchet.healing.in_code.refusals import objection
from ratchet.healing.in_code.source import SourceText, code_of, decoded, definition, grafted, parsed
from ratchet.healing.in_code.versions import put, version_of

OLD = '''\
import math


class Shape:
    # sides come first
    def area(self, a, b):
        """How large it is.

        In square metres.
        """
        # both sides
        total = a * b  # a rectangle

        # the rest
        if total < 0:
            # cannot be
            raise ValueError(total)
        return total  # done
'''


def _new(body: str, head: str = "    def area(self, a, b):") -> str:
    start = OLD.index("    def area")
    return OLD[:start] + head + "\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "        ") + "\n"


def _grafted(after: str, old: str = OLD) -> str:
    return grafted(SourceText(old, "utf-8"), after, "Shape.area", 6)


def test_only_the_line_that_changed_changes() -> None:
    after = _new("total = abs(a * b)\nif total < 0:\n    raise ValueError(total)\nreturn total")
    assert _grafted(after) == OLD.replace("total = a * b  #", "total = abs(a * b)  #")


def test_a_line_that_is_new_stands_between_comments_that_stay() -> None:
    after = _new("total = a * b\ntotal = abs(total)\nif total < 0:\n    raise ValueError(total)\nreturn total")
    made = _grafted(after)
    assert [line for line in OLD.splitlines() if line not in made.splitlines()] == []
    assert ast.dump(parsed(made)) == ast.dump(parsed(OLD.replace("# the rest", "total = abs(total)")))


def test_windows_line_ends_stay_whatever_the_answer_has() -> None:
    old = OLD.replace("\n", "\r\n")
    after = _new("total = abs(a * b)\nif total < 0:\n    raise ValueError(total)\nreturn total")
    made = _grafted(after, old)
    assert made == old.replace("total = a * b  #", "total = abs(a * b)  #")


def test_an_answer_of_another_shape_still_says_what_it_says() -> None:
    after = _new("return abs(\n    a\n    * b\n)")
    made = _grafted(after)
    kept = ast.get_docstring(definition(parsed(made), "Shape.area"))  # type: ignore[arg-type]
    assert kept == "How large it is.\n\nIn square metres."
    assert "return abs(" in made
    assert "raise" not in made


@given(st.lists(st.sampled_from(OLD.splitlines()[10:]), max_size=8))
def test_grafting_never_changes_what_an_answer_means(lines: list[str]) -> None:
    after = "\n".join([*OLD.splitlines()[:6], *lines, "        return None"]) + "\n"
    try:
        wanted = parsed(after)
    except SyntaxError:
        return
    made = parsed(_grafted(after))
    for tree in (wanted, made):
        node = definition(tree, "Shape.area")
        assert node is not None
        if ast.get_docstring(node) is not None:
            del node.body[0]
    assert ast.dump(made) == ast.dump(wanted)


def test_a_file_keeps_its_encoding_and_its_mark() -> None:
    for content in (
        "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"),
        b"\xef\xbb\xbfx = 1\n",
        "x = 'é'\r\n".encode(),
    ):
        text = decoded(content)
        assert text.encoded(text.text) == content


def test_code_is_found_where_several_functions_have_the_name() -> None:
    text = "class C:\n    @property\n    def x(self): return 1\n    @x.setter\n    def x(self, value): self.y = 2\n"
    for line, argument_count in ((2, 1), (4, 2)):
        code = code_of(text, "f.py", "C.x", line)
        assert code is not None
        assert (code.co_argcount, code.co_firstlineno) == (argument_count, line)


# -- loaded functions --------------------------------------------------------------------------------------------------


def _loaded(text: str) -> FunctionType:
    names: dict[str, object] = {}
    exec(compile(text, "f.py", "exec"), names)
    found = names["f"]
    assert isinstance(found, FunctionType)
    return found


def test_defaults_that_are_written_as_before_stay_the_very_objects() -> None:
    before = "def f(a, cache={}, *, size=3):\n    return cache, size\n"
    function = _loaded(before)
    held = function(1)[0]
    after = before.replace("size=3", "size=4").replace("a, cache", "a, cache")
    put(function, version_of(function, SourceText(before, "utf-8"), after, "f.py", "f", 1))
    assert function(1)[0] is held
    assert function(1)[1] == 4


def test_what_a_loaded_function_cannot_take_is_refused() -> None:
    before = "def make():\n    x, y = 1, 2\n    def f():\n        return x\n    return f\nf = make()\n"
    function = _loaded(before)
    for new, said in ((before.replace("return x\n", "return x + y\n"), "uses y"), (before + "(", "not Python")):
        with pytest.raises(Refused, match=said):
            version_of(function, SourceText(before, "utf-8"), new, "f.py", "make.<locals>.f", 3)
    without = before.replace("return x\n", "return 5\n")
    put(function, version_of(function, SourceText(before, "utf-8"), without, "f.py", "make.<locals>.f", 3))
    assert function() == 5
    plain = "def f(a=1): return a\n"
    with pytest.raises(Refused, match="no literal"):
        version_of(_loaded(plain), SourceText(plain, "utf-8"), plain.replace("a=1", "a=len([])"), "f.py", "f", 1)


# -- what is no repair -------------------------------------------------------------------------------------------------

RAISED = ["ZeroDivisionError", "ArithmeticError", "Exception", "BaseException"]
DIVIDE = """\
import os
import logging


def f(a, b, *rest, key=None, **more):
    try:
        size = os.path.getsize(a)
    except OSError as error:
        raise ValueError(a) from error
    return size / b
"""


def _said(new: str, old: str = "return size / b") -> str:
    return objection(SourceText(DIVIDE, "utf-8"), DIVIDE.replace(old, new), "f", 5, RAISED)


@pytest.mark.parametrize(
    "new",
    [
        "return size / (b or 1)",
        "if b == 0:\n        return 0.0\n    return size / b",
        "import math\n    return math.fsum([size]) / b if b else math.inf",
        "for each in rest:\n        if each:\n            return size / each\n    return size / max(b, 1)",
        "try:\n        return size / b\n    except ZeroDivisionError as error:\n        raise ValueError(b) from error",
        "try:\n        b = int(b)\n    except TypeError:\n        b = 1\n    return size / b",
        "return os.path.getsize(a) / (b or 1)",
    ],
)
def test_honest_repairs_are_not_refused(new: str) -> None:
    said = _said(new)
    assert said == "" or "newly uses `os`" in said


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("try:\n        return size / b\n    except Exception:\n        return 0", "swallows"),
        ("try:\n        return size / b\n    except (KeyError, ZeroDivisionError):\n        return None", "swallows"),
        ("try:\n        return size / b\n    except BaseException:\n        logging.info(b)", "swallows"),
        (
            "errors = Exception\n    try:\n        return size / b\n    except errors.x[0]:\n        return 0",
            "swallows",
        ),
        (
            "while True:\n        try:\n            return size / b\n        except Exception:\n            b = 1",
            "swallows",
        ),
        ("try:\n        return size / b\n    finally:\n        return 0", "finally"),
        ("os.system(a)\n    return size / (b or 1)", "payload"),
        ("import subprocess\n    return size / (b or 1)", "payload"),
        ("from os import system\n    return size / (b or 1)", "payload"),
        ("().__class__.__base__.__subclasses__()\n    return size / (b or 1)", "payload"),
        ("getattr(os, 'sys' + 'tem')(a)\n    return size / (b or 1)", "payload"),
        ("global os\n    return size / (b or 1)", "payload"),
        ("def inner():\n        exec(a)\n    return size / (b or inner())", "payload"),
        ("return size / (b or [eval(x) for x in rest][0])", "payload"),
        ("return 0\n    return size / b", "never runs"),
    ],
)
def test_what_hides_a_failure_or_reaches_out_is_refused(new: str, said: str) -> None:
    assert said in _said(new)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("def f(a, b, c, *rest, key=None, **more):", "required argument 'c'"),
        ("def f(a, b, *rest, key, **more):", "'key' required"),
        ("def f(b, a, *rest, key=None, **more):", "moves the argument"),
        ("def f(a, b, *, key=None, **more):", "takes the argument 'rest' away"),
        ("async def f(a, b, *rest, key=None, **more):", "another kind"),
        ("def g(a, b, *rest, key=None, **more):", "renames"),
        ("def f(a, b=1, *rest, key=None, extra=0, **more):", ""),
    ],
)
def test_callers_can_still_call_it(head: str, said: str) -> None:
    found = _said(head, old="def f(a, b, *rest, key=None, **more):")
    assert said in found if said else not found
