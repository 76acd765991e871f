"""Edits that take over what the file or the failing test holds already."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.healing.solvers.repairing.expecting import TestsExpect as Expects
from ratchet.healing.solvers.repairing.expecting import expected_of
from ratchet.healing.solvers.repairing.program import Program, applied
from ratchet.healing.solvers.repairing.templates import edits

HEAD = "import copy\nfrom a import A, T, h\n\n\n"
FOREIGN = "        if not isinstance(o, B):\n            return NotImplemented\n"
RIGHT = f"class B:\n    def __radd__(self, o):\n{FOREIGN}        return o.n\n"
CASE = "    if not isinstance({0}, A):\n        return None\n"


def texts_of(program: Program) -> set[str]:
    return {applied(program.text, (each,)) for each in edits(program, lambda _lines: True)}


POPULATED = """def f(form, o):
    x = o.x
    if x is None:
        x = form.make()
        o.set(x)
    form.fill(x)
    return x
"""


def test_what_a_block_hands_out_is_handed_out_below_it_when_the_next_statement_is_done() -> None:
    program = Program("a.py", POPULATED.encode())
    last = "        o.set(x)\n"
    rest = POPULATED.replace(last, "")
    below = rest.replace("    form.fill(x)\n", "    o.set(x)\n    form.fill(x)\n")
    done = rest.replace("    form.fill(x)\n", "    form.fill(x)\n    o.set(x)\n")
    head = [each for each in edits(program, lambda lines: lines == (3, 3)) if each.family == "motion"]
    found = {applied(program.text, (each,)): each.weight for each in head}  # no failing test runs the block
    assert found[done] > found[below]


def test_a_variable_that_would_be_left_unread_is_replaced_late() -> None:
    program = Program("a.py", b"def f(text):\n    alt = escape(text)\n    return [alt, text]\n")
    found = {
        (each.before, each.text): each.weight for each in edits(program, lambda _: True) if each.family == "variable"
    }
    assert found["alt", "text"] < found["text", "alt"]


def test_a_field_is_handed_on_as_its_neighbours_are() -> None:
    source = "class A:\n    def f(self):\n        self.b = self.d\n        return dict(a=self.a, c=self.c, e=1)\n"
    program = Program("a.py", source.encode())
    program.expected = Expects(fields=("b",))
    found = {each.text: each.weight for each in edits(program, lambda _: True) if each.family == "neighbour"}
    assert found[", b=self.b"] > found[", d=self.d"]


def test_a_text_may_be_cleaned_at_the_start_of_what_the_test_calls() -> None:
    program = Program("a.py", b"def f(url):\n    url = parse(url)\n    return url\n")
    program.types["f"] = {"url": ["str"]}
    cleaned = "def f(url):\n    url = url.strip()\n    url = parse(url)\n    return url\n"
    assert cleaned not in texts_of(program)
    program.expected = Expects(called=frozenset({"f"}))
    assert cleaned in texts_of(program)


@pytest.mark.parametrize(
    ("beside", "wrong", "right"),
    [
        (f"def g(s, o):\n{CASE.format('o')}    return 1\n", "def f(s, x):\n    return x.n\n",
         f"def f(s, x):\n{CASE.format('x')}    return x.n\n"),
        ("def g(x):\n    return x.n > 0 and x.m\n", "def f(x):\n    if x.m:\n        return 1\n",
         "def f(x):\n    if x.m and x.n > 0:\n        return 1\n"),
        ("def g(s):\n    return T.get(s.k)\n", "def f(s):\n    s.n = s.m\n",
         "def f(s):\n    s.n = s.m or T.get(s.k)\n"),
        ("", RIGHT.replace(FOREIGN, ""), RIGHT),
        ("def g(x):\n    return h(x)\n", "def f(x):\n    return x.n\n", "def f(x):\n    return h(x.n)\n"),
        ("def g(x):\n    return h(x, deep=x.m)\n", "def f(x):\n    return h(x.n)\n",
         "def f(x):\n    return h(x.n, deep=x.m)\n"),
        ("def g(x):\n    return x.m > 1\n", "def f(x):\n    x.set(x.k)\n",
         "def f(x):\n    if x.m > 1:\n        x.set(x.k)\n"),
        ("", "class B:\n    def f(self):\n        return B()\n",
         "class B:\n    def f(self):\n        return type(self)()\n"),
        ("def g(x):\n    return x if h(x) else 1\n", "def f(x):\n    while x.n == 1:\n        x = x.m\n",
         "def f(x):\n    while x.n == 1 or not h(x.n):\n        x = x.m\n"),
        ("", "def f(x):\n    if x.a:\n        g(x)  # one\n    elif x.b:\n        h(x)\n    else:\n        pass\n",
         "def f(x):\n    if x.b:\n        h(x)\n    elif x.a:\n        g(x)  # one\n    else:\n        pass\n"),
        ("", "def f(s):\n    s.n = s['n'] or 1\n", "def f(s):\n    s.n = s['n'] if s['n'] is not None else 1\n"),
        ("", "class B:\n    def f(self, x):\n        return 'k' in x and self.h and h(self).m\n",
         "class B:\n    def f(self, x):\n        return self.h.m in x and self.h and h(self).m\n"),
        ("def g(x):\n    return 1 if h(x) else 2\n", "def f(s):\n    return [x.n for x in s]\n",
         "def f(s):\n    return [x.n if not h(x) else x for x in s]\n"),
        ("", "def f(s):\n    return ','.join(x.n for x in s)\n",
         "def f(s):\n    return ','.join(x.n for x in s if x is not None)\n"),
        ("", "def f(s):\n    return s\n", "def f(s):\n    return copy.copy(s)\n"),
        ("", "def f(s):\n    return f'{s} {s.n}'\n", "def f(s):\n    return f'{s} {s.n!r}'\n"),
    ],
)  # fmt: skip
def test_what_the_file_holds_elsewhere_is_one_edit_away(beside: str, wrong: str, right: str) -> None:
    program = Program("p.py", f"{HEAD}{beside}\n\n{wrong}".encode())
    assert f"{HEAD}{beside}\n\n{right}" in texts_of(program)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("def f(s):\n    s['a'] = 0\n", "def f(s):\n    s['a'] = 0\n    s['new'] = 0\n"),
        ("T = {\n    'a': 1,\n}\n", "T = {\n    'a': 1, 'new': 1,\n}\n"),
        ("T = ['a', 'b']\n", "T = ['a', 'b', 'new']\n"),
        ("R = r'(OLD|BAD)\\b'\n", "R = r'(OLD|BAD|NEW)\\b'\n"),
        ("def f(k):\n    k['a'] = True\n", "def f(k):\n    k.setdefault('a', True)\n"),
        ("def f(x):\n    return isinstance(x, (T.A, T.C))\n", "def f(x):\n    return isinstance(x, (T.A, T.C, T.K))\n"),
        ("def g(x, deep=0):\n    return x\n\n\ndef f(x, deep):\n    return g(\n        x,\n    )\n",
         "def g(x, deep=0):\n    return x\n\n\ndef f(x, deep):\n    return g(\n        x, deep=deep,\n    )\n"),
    ],
)  # fmt: skip
def test_one_more_beside_those_that_are_there_is_one_edit_away(wrong: str, right: str) -> None:
    program = Program("p.py", f"{HEAD}{wrong}".encode())
    program.expected = replace(program.expected, given=("'new'",))
    program.types = {"f": {"x": ["K"]}}
    assert f"{HEAD}{right}" in texts_of(program)


def test_what_it_takes_over_is_python() -> None:
    head = f"{HEAD}def g(s, o):\n{CASE.format('o')}    return s.n or o.m[0]\n\n\n"
    text = f"{head}def f(s, x, o):\n    y = x.n()\n    return y.k\n"
    found = edits(Program("p.py", text.encode()), lambda _lines: True)
    taken = [each for each in found if each.family in ("borrowed", "joined", "fallback")]
    assert len(taken) > 5
    for each in taken:
        ast.parse(applied(text, (each,)))


def test_what_takes_too_little_in_takes_in_what_the_failing_test_gives() -> None:
    text = (
        "import re\n\n\ndef f(x, k):\n    if k in ('a', 'b') or k.startswith('x') or k == 'w':\n"
        "        return isinstance(x, list)\n    return re.match(r'[a-z]+', k)\n\n\n"
        "def g(x):\n    y = x.n()\n    return y\n\n\n"
        "def h(x):\n    try:\n        return int(x)\n    except (KeyError, TypeError):\n        return 0\n"
    )
    program = Program("p.py", text.encode())
    program.expected = replace(program.expected, given=("'c-d'",), raised=(("ValueError", "no"),))
    program.types = {"f": {"x": ["tuple"]}}
    program.crashes = {11: "KeyError"}
    found = texts_of(program)
    tried = "    try:\n        y = x.n()\n    except KeyError:\n        {0}\n"
    for old, new in [
        ("('a', 'b')", "('a', 'b', 'c-d')"),
        ("startswith('x')", "startswith(('x', 'c-d'))"),
        ("k == 'w'", "k in ('w', 'c-d')"),
        ("isinstance(x, list)", "isinstance(x, (list, tuple))"),
        ("[a-z]+", r"[a-z\-]+"),
        ("    y = x.n()\n", tried.format("raise ValueError('no') from None")),
        ("    y = x.n()\n", tried.format("y = None")),
        ("int(x)", "int(x.strip('-'))"),
        ("(KeyError, TypeError)", "(KeyError, TypeError, ValueError)"),
    ]:
        assert text.replace(old, new) in found, new


def test_what_a_parametrised_test_expects_comes_last_in_its_rows(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import pytest\n\n\n@pytest.mark.parametrize('a, b', [(1, 'one'), pytest.param(2, ['two']), 3])\n"
        "def test_a(a, b):\n    assert say(a) == b\n"
    )
    said = expected_of(["test_a.py::test_a[1-one]"], str(tmp_path))
    assert (said.values, said.texts, said.raised) == (("'one'", "['two']"), ("one",), ())
    assert {"1", "2", "'one'"} <= {*said.given}


def test_of_an_object_that_the_class_makes_only_its_own_fields_take_the_place_of_a_constant() -> None:
    source = (
        "class Clock:\n    def __init__(self, key='at'):\n        self.key = key\n\n\n"
        "class Other:\n    def __init__(self):\n        self.far = 1\n\n\n"
        "class Stamp:\n    def __init__(self, key='at', given=None):\n        self.clock = Clock(key)\n"
        "        self.given = given\n\n    def is_new(self, row):\n        return 'at' not in row\n"
    )
    found = texts_of(Program("stamp.py", source.encode()))
    placed = {field: source.replace("'at' not in", f"{field} not in") for field in ("self.clock.key", "self.clock.far")}
    assert placed["self.clock.key"] in found
    assert placed["self.clock.far"] not in found
    assert source.replace("'at' not in", "self.given.far not in") in found, "nobody knows what was given"
