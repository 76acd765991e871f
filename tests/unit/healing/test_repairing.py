"""Repair without a model: templates, suspicion, order and memory, and the choice among patches that pass."""

from __future__ import annotations

import ast
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.healing.episode import Memo
from ratchet.healing.solvers.faults import cause_of, place_of, shuffled
from ratchet.healing.solvers.repair import files_of, remembered
from ratchet.healing.solvers.repairing import child, waiting
from ratchet.healing.solvers.repairing.child import ForkedRun, TimeUp, is_installed
from ratchet.healing.solvers.repairing.expecting import expected_of
from ratchet.healing.solvers.repairing.grounds import DOUBTFUL
from ratchet.healing.solvers.repairing.marks import fewer, mark
from ratchet.healing.solvers.repairing.ordering import ranked
from ratchet.healing.solvers.repairing.program import Program, SourceEdit, applied
from ratchet.healing.solvers.repairing.recollection import Remembered, foretold, form_of, trust
from ratchet.healing.solvers.repairing.spectrum import suspicion, with_definitions
from ratchet.healing.solvers.repairing.templates import FAMILIES, edits
from ratchet.records import Json

SOURCE = b'''"""Doc."""
from collections import deque


def walk(graph, start, seen=[]):
    """Names, nearest first."""
    queue = deque([start])  # where to go
    done = []
    while True:
        node = queue.popleft()
        if (node not in done  # a comment within
                and node != "end"):
            done.append(node)
        for each in graph[node][1:]:
            queue.append(each)
    return done
'''


def edits_of(source: bytes) -> tuple[Program, list[SourceEdit]]:
    program = Program("walk.py", source)
    return program, list(edits(program, lambda _lines: True))


def texts_of(source: str) -> set[str]:
    program, found = edits_of(source.encode())
    return {applied(program.text, (edit,)) for edit in found}


@pytest.mark.slow
def test_nearly_all_edits_are_python_and_all_leave_the_rest_of_the_text_alone() -> None:
    program, found = edits_of(SOURCE)
    broken = 0
    for edit in found:
        text = applied(program.text, (edit,))
        assert text.startswith(program.text[: edit.start])
        assert text.endswith(program.text[edit.end :])
        try:
            ast.parse(text)
        except SyntaxError:
            broken += 1
    assert len(found) > 500
    assert broken < 0.02 * len(found)


def test_comments_stay_where_only_an_operator_changes() -> None:
    _, found = edits_of(SOURCE)
    operators = [edit for edit in found if edit.family in ("comparison", "boolean")]
    assert {edit.before for edit in operators} >= {"not in", "and", "!="}
    assert all("#" not in edit.before for edit in operators)


def test_windows_line_ends_and_a_declared_encoding_survive() -> None:
    text = "# -*- coding: latin-1 -*-\r\ndef f(größe, x):\r\n    y = 'é'\r\n    return größe < x\r\n"
    program = Program("f.py", text.encode("latin-1"))
    found = [edit for edit in edits(program, lambda _lines: True) if edit.family in ("comparison", "stepping")]
    assert any(edit.before == "<" for edit in found)
    for edit in found:
        changed_text = program.encoded((edit,)).decode("latin-1")
        assert "\n" not in changed_text.replace("\r\n", "")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("def f(a, b):\n    return a - b\n", "def f(a, b):\n    return b - a\n"),
        ("def f(a):\n    return a[0:3]\n", "def f(a):\n    return a[0:3 + 1]\n"),
        ("def f(a):\n    for x in a:\n        g(x)\n", "def f(a):\n    for x in list(a):\n        g(x)\n"),
        ("def f(a):\n    while True:\n        a.pop()\n", "def f(a):\n    while a:\n        a.pop()\n"),
        ("def f(a):\n    yield f(a)\n", "def f(a):\n    yield from f(a)\n"),
        ("def f(a=[]):\n    return a\n", "def f(a=None):\n    if a is None:\n        a = []\n    return a\n"),
        ("def f():\n    n = 0\n    def g():\n        n = n + 1\n    return g\n",
         "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n = n + 1\n    return g\n"),
        ("def f(a):\n    a.update(1)\n", "def f(a):\n    a = 1\n"),
        ("def f(n):\n    if n.next is None:\n        return 1\n",
         "def f(n):\n    if n is None or n.next is None:\n        return 1\n"),
        ("def f(a, b):\n    m = a\n    m = a + b\n", "def f(a, b):\n    m = a\n    m = max(m, a + b)\n"),
        ("def f(a):\n    x = math.pi\n", "import math\ndef f(a):\n    x = math.pi\n"),
        ("def f(a):\n    for x in a:\n        y = x\n        return y\n",
         "def f(a):\n    for x in a:\n        y = x\n    return y\n"),
        ("def f(a):\n    try:\n        g()\n    except KeyError:\n        pass\n",
         "def f(a):\n    try:\n        g()\n    except (KeyError, IndexError):\n        pass\n"),
        ("def f(a):\n    if len(a) == 0:\n        return a\n", "def f(a):\n    if len(a) <= 1:\n        return a\n"),
        ("def f(a, b, c):\n    return max(a, b + c)\n", "def f(a, b, c):\n    return max(b, a + c)\n"),
        ("def f(a, b):\n    for k in b:\n        a[k] = b[k]\n",
         "def f(a, b):\n    for k in b:\n        a[k] = f(a[k], b[k])\n"),
        ("def f(a, s):\n    if a[0] not in s:\n        g(a)\n",
         "def f(a, s):\n    if a[0] not in s:\n        s.add(a[0])\n        g(a)\n"),
        ("def f(a):\n    if a[0] == 1:\n        f(a)\n",
         "def f(a):\n    if a[0] == 1:\n        a[0] = 0\n        f(a)\n"),
        ("def f(a):\n    yield a\n    f(a)\n", "def f(a):\n    yield a\n    yield from f(a)\n"),
        ("def f(a):\n    if a.n:\n        a = a.n\n", "def f(a):\n    while a.n:\n        a = a.n\n"),
        ("def f(a):\n    b = [0] * 10\n    return b[a // 3]\n",
         "def f(a):\n    b = [0] * 10\n    return b[a // 3 % 10]\n"),
        ("def f(a):\n    if 3 < a[0] < 20:\n        return f(a[0] % 10)\n",
         "def f(a):\n    if 3 < a[0] % 100 < 20:\n        return f(a[0] % 10)\n"),
        ("def f(s, a):\n    return s.slots[s.at + a] or len(s.slots)\n",
         "def f(s, a):\n    return s.slots[(s.at + a) % len(s.slots)] or len(s.slots)\n"),
        ("def f(a):\n    m, n = 0, 1\n", "def f(a):\n    m, n = 0, float('inf')\n"),
        ("def f(n):\n    e = int(log10(abs(n)))\n    return e\n",
         "def f(n):\n    e = int(log10(abs(n))) if n else 0\n    return e\n"),
        ("def f(d, k):\n    return d[k].name\n", "def f(d, k):\n    return d[k].name if d is not None else None\n"),
        ("def f(n, k):\n    return f(n - 1, k) + 1\n", "def f(n, k):\n    return f(n - 1, k) + k\n"),
        ("def f(t, i, j):\n    return t[j][i - 1]\n", "def f(t, i, j):\n    return t[i - 1][j]\n"),
        ("def f(a, b):\n    return f'{a:>{b}} of {b!r}'\n", "def f(a, b):\n    return f'{len(a):>{b}} of {b!r}'\n"),
        ("def f(a, b):\n    return (f'{a} {{'\n            f'of {b - 1:,}')\n",
         "def f(a, b):\n    return (f'{a} {{'\n            f'of {b + 1:,}')\n"),
    ],
)  # fmt: skip
def test_a_fault_of_its_class_is_one_edit_away(wrong: str, right: str) -> None:
    assert ast.dump(ast.parse(right)) in {_dump(text) for text in texts_of(wrong)}


def test_an_expression_is_not_put_into_itself() -> None:
    _, found = edits_of(b"def f(a):\n    b = sum(a) - 1\n    return sum(a) / (len(a) - 1) + b\n")
    reused = {(each.before, each.text) for each in found if each.family == "reuse" and each.lines == (3, 3)}
    assert ("len(a) - 1", "(sum(a) - 1)") in reused
    assert ("len(a) - 1", "(sum(a) / (len(a) - 1))") not in reused


@pytest.mark.parametrize("said", ["raise E(f'no {a.b}')", "m = f'no {a.b}'\n    raise E(m)"])
def test_what_an_exception_says_is_left_as_it_is(said: str) -> None:
    found = edits_of(f"def f(a):\n    {said}\n".encode())[1]
    assert not [edit for edit in found if edit.site == "formattedvalue"]
    shown = edits_of(b"def f(a):\n    m = f'no {a.b}'\n    return m\n")[1]
    assert [edit for edit in shown if edit.site == "formattedvalue"]


def test_a_text_is_compared_as_the_other_is_written() -> None:
    _, found = edits_of(b"def f(t):\n    return t.value == 'AS' or t.kind != 'as' or t.name == 'As'\n")
    weights = {edit.text: edit.weight for edit in found if edit.family == "dress" and edit.text.endswith("r()")}
    assert min(weights["t.value.upper()"], weights["t.kind.lower()"]) > 4 * max(
        weights["t.value.lower()"], weights["t.kind.upper()"], weights["t.name.upper()"], weights["t.name.lower()"]
    )


def _dump(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return ""


def test_a_signature_turned_round_is_possible_but_doubted_and_arguments_of_a_call_are_not() -> None:
    found = edits_of(b"def f(a, b):\n    return g(a, b)\n")[1]
    swaps = {each.family: each.before for each in found if each.before == "a, b"}
    assert {"parameter_swap", "argument_swap"} <= set(swaps)
    assert "parameter_swap" in DOUBTFUL
    assert "argument_swap" not in DOUBTFUL


def test_there_are_at_least_as_many_families_as_the_field_knows() -> None:
    assert len(FAMILIES) >= 23


def test_a_part_that_the_same_object_holds_is_thought_of_where_a_test_or_its_class_names_it() -> None:
    text = (
        "class Line:\n    name: str\n    price: int\n    count: int\n\n\n"
        "def total(lines, other, name):\n"
        "    return [each.price for each in lines], [each['price'] for each in lines], lines.get('price', 0) - 1\n"
    )
    program = Program("p.py", text.encode())
    program.expected = replace(program.expected, fields=("quantity",))
    found = {each.text for each in edits(program, lambda _lines: True) if each.family == "sibling"}
    assert {"each.price * each.count", "each.price - each.quantity", "each['price'] * each['quantity']"} <= found
    assert {"each['price'] * each.get('quantity', 1)", "(lines.get('price', 0) * lines.get('quantity', 0))"} <= found
    assert not [each for each in found if "name" in each], "texts are no parts of a sum"
    assert not [each for each in edits(Program("q.py", SOURCE), lambda _lines: True) if each.family == "sibling"]


def test_what_a_test_gives_beside_texts_are_fields(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "LINES = [{'name': 'pen', 'price': 2}]\n\n\n"
        "def test_a():\n    assert total(LINES, Line(count=3, kind='x')) == 6\n"
    )
    assert expected_of(["test_a.py::test_a"], str(tmp_path)).fields == ("price", "count")
    (tmp_path / "test_a.py").write_text("def test_a():\n    assert box.lid.port == read(box.name)\n")
    assert expected_of(["test_a.py::test_a"], str(tmp_path)).compared == {"port"}


def test_a_person_reads_the_fault_and_not_the_name_of_its_family() -> None:
    """Families of other versions, and forged ones, are said in words, too."""
    for family in [*FAMILIES, "donated", "rewriting", "some_family"]:
        cause = cause_of([{"path": "a.py", "line": "1", "family": family}], {})
        fault = cause.removesuffix(" at a.py:1")
        assert fault != cause, cause
        assert len(fault.split()) > 1, cause
        assert family not in (fault, fault.split(" ", 1)[1]), cause
        assert "_" not in fault, cause
    assert len({each.fault for each in FAMILIES.values()}) == len(FAMILIES)


def test_the_line_that_only_failing_tests_run_is_the_most_suspect() -> None:
    lines = {"good": {("a.py", 1), ("a.py", 2)}, "bad": {("a.py", 1), ("a.py", 3)}, "": {("a.py", 9)}}
    found = suspicion(lines, {"bad"})
    assert max(found, key=lambda place: found[place]) == ("a.py", 3)
    assert found["a.py", 1] < 1
    assert ("a.py", 2) not in found


def test_what_is_run_at_import_is_suspect_by_who_uses_it() -> None:
    tree = ast.parse("TABLE = {}\nOTHER = 1\ndef f(x):\n    return TABLE[x]\n")
    lines = {"bad": {("a.py", 4)}, "good": set(), "": {("a.py", 1), ("a.py", 2), ("a.py", 3)}}
    found = with_definitions(suspicion(lines, {"bad"}), {"a.py": tree})
    assert found["a.py", 4] > found["a.py", 1] > found["a.py", 2] == found["a.py", 3] > 0


def test_the_way_to_an_exception_is_more_suspect_than_its_neighbours_and_where_it_arose_the_most() -> None:
    lines = {"bad": {("a.py", line) for line in (1, 2, 3)}}
    found = suspicion(lines, {"bad"}, [[("a.py", 1), ("a.py", 2)]])
    assert found["a.py", 2] > found["a.py", 1] > found["a.py", 3]


def order_of(memory: list[Remembered], seed: int = 0) -> list[str]:
    _, found = edits_of(SOURCE)
    places = {("/p/walk.py", line): 1.0 for line in range(1, 30)}
    return [each.edit.shape for each in ranked(found, places, memory, root="/p", seed=seed)]


def test_the_order_is_that_of_the_seed() -> None:
    assert order_of([], seed=3) == order_of([], seed=3)
    assert order_of([], seed=3) != order_of([], seed=4)


def test_what_keeps_working_comes_first() -> None:
    shape = "True => v"
    paying = [Remembered("replacement", shape, 0.001, 0.05)] * 3
    assert order_of(paying).index(shape) < order_of([]).index(shape)


def test_a_memory_that_foretold_worse_than_nothing_is_silent() -> None:
    wrong = [Remembered("replacement", "True => v", 0.05, 0.001)] * 3
    assert trust(wrong) == 0.0
    assert order_of(wrong) == order_of([])


def test_no_single_success_decides_about_memory() -> None:
    paid, cost = Remembered("f", "s", 1e-9, 1.0), Remembered("f", "s", 1.0, 1e-9)
    assert 0.5 < trust([paid]) < 0.9
    assert trust([paid] * 9) == 0.9
    assert 0 < trust([cost]) < trust([cost, paid]) < trust([]) < trust([paid, cost])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("v => len(v)", "v[v] => len(v[v])"),
        ("v => v - 1", "len(v) => len(v) - 1"),
        ("v < v => v <= v", "< => <="),
        ("sorted(v) => v", "sorted(v.v) => v.v"),
        ("v => v", "v.v => v.v"),
    ],
)
def test_the_form_of_an_edit_is_what_it_does_whatever_it_does_it_to(one: str, other: str) -> None:
    assert form_of(one) == form_of(other)
    assert form_of("v => v + 1") != form_of("v => v - 1")


def shares(memory: list[Remembered], family: str) -> float:
    _, found = edits_of(SOURCE)
    said = foretold(found, [1 / len(found)] * len(found), memory)
    assert sum(said) == pytest.approx(1)
    return sum(share for edit, share in zip(found, said, strict=True) if edit.family == family)


@pytest.mark.slow
def test_memories_that_agree_say_more_than_as_many_that_do_not() -> None:
    agree = [Remembered("comparison", "< => <=", 0.01, 0.02)] * 4
    differ = [Remembered(name, "", 0.01, 0.02) for name in ("comparison", "negation", "variable", "growing")]
    none, one = shares([], "comparison"), shares(agree[:1], "comparison")
    assert none < one < shares(differ, "comparison") + one < shares(agree, "comparison") + one
    assert shares(agree, "comparison") > 1.5 * shares(differ, "comparison")


def test_a_place_that_recurs_counts_more_than_another() -> None:
    _, found = edits_of(b"def f(n):\n    for i in range(n):\n        print(n)\n    return n\n")
    ones = [edit for edit in found if edit.family == "off_by_one" and edit.before == "n" and edit.text == "n + 1"]
    assert {edit.site for edit in ones} == {"call range", "call print", "return"}
    held = Remembered("off_by_one", "v => v + 1", 0.01, 0.02, "call range")
    said = foretold(ones, [1 / 3] * 3, [held])
    assert max(zip(said, ones, strict=True), key=lambda each: each[0])[1].site == "call range"


@given(st.lists(st.tuples(st.floats(1e-9, 1), st.floats(1e-9, 1)), max_size=40))
def test_the_plain_order_always_keeps_a_tenth(shares: list[tuple[float, float]]) -> None:
    assert 0.0 <= trust([Remembered("f", "s", plain, foretold) for plain, foretold in shares]) <= 0.9


def memo(signature: str, shape: str, at: float) -> Memo:
    held: Json = {"path": "a.py", "function": "f", "family": "comparison", "shape": shape, "before": "<", "text": "<="}
    note: dict[str, Json] = {"marks": [held], "plain": 0.01, "foretold": 0.02, "key": shape}
    return Memo(solver="repair", signature=signature, kind="test_failure", task="t", note=note, at=at)


def test_the_same_failure_is_remembered_as_it_is_and_others_by_class() -> None:
    told = remembered([memo("v1:a", "< => <=", 1.0), memo("v1:b", "+ => -", 2.0)], "v1:a")
    assert [marks[0]["shape"] for marks in told["exact"]] == ["< => <="]  # type: ignore[index, union-attr, call-overload]
    assert [each["shape"] for each in told["memory"]] == ["+ => -", "< => <="]  # type: ignore[index, union-attr, call-overload]


def test_the_placebo_tells_every_success_of_another_class() -> None:
    memos = [memo(f"v1:{i}", shape, float(i)) for i, shape in enumerate(["a => b", "c => d", "e => f", "a => b"])]
    told = shuffled(memos)
    assert len(told) == len(memos)
    names = {str(each["family"]) for each in remembered(told, "")["memory"]}  # type: ignore[index, union-attr, call-overload]
    assert names
    assert names <= set(FAMILIES) - {"comparison"}
    assert remembered(told, "v1:0")["memory"] != remembered(memos, "v1:0")["memory"]


def test_one_failure_that_comes_back_counts_once() -> None:
    again = [memo("v1:a", "< => <=", float(i)) for i in range(5)]
    assert len(remembered(again, "v1:b")["memory"]) == 1  # type: ignore[arg-type]


def test_a_patch_from_inside_can_only_name_python_files_of_the_project() -> None:
    assert files_of({"files": {"a/b.py": b"x".hex()}}) == {"a/b.py": b"x"}
    for path in ("../a.py", "/etc/a.py", "a.pth", "x/../../a.py"):
        assert files_of({"files": {path: b"x".hex()}}) == {}
    assert files_of({"files": {"a.py": "zz"}}) == {}


def test_an_edit_is_remembered_by_what_finds_it_again() -> None:
    _, found = edits_of(SOURCE)
    one = random.Random(1).choice(found)
    held = mark(one)
    assert (held["function"], held["before"], held["text"]) == (one.function, one.before, one.text)


def test_an_edit_that_is_not_needed_any_more_can_be_left_out() -> None:
    texts = ["a = 1\nb = 2\n", "a = 1\nif a:\n    a = 3\nb = 2\n", "a = 1\nif a:\n    a = 3\nb = 4\n"]
    guard = {"path": "a.py", "before": "", "text": "if a:\n    a = 3\n", "start": "6"}
    other = {"path": "a.py", "before": "2", "text": "4", "start": str(texts[1].index("2"))}
    inside = {"path": "a.py", "before": "3", "text": "4", "start": str(texts[1].index("3"))}
    [(files, [left])] = fewer((guard, other), {"a.py": texts[0]})
    assert files == {"a.py": "a = 1\nb = 4\n"}
    assert left == {**other, "start": str(texts[0].index("2"))}
    assert not [*fewer((guard, inside), {"a.py": texts[0]})]


def test_where_very_many_tests_never_end_the_later_ones_and_those_known_for_it_have_less_time() -> None:
    def seconds(name: str) -> float:
        job.begin(name)
        left = signal.getitimer(signal.ITIMER_PROF)[0]
        job.end(name, False, TimeUp())
        return left

    with open(os.devnull, "wb") as out:
        job = ForkedRun(out=out.fileno(), root="/p", each_s=80.0, endless=frozenset({"known"}))
        assert 70 < seconds("first") < 90
        assert 10 < seconds("known") < 30
        assert min(seconds(f"t{n}") for n in range(6)) > 70
        assert 10 < seconds("ninth") < 30
        assert seconds("known") < 10
    assert signal.getitimer(signal.ITIMER_PROF) == signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_test_that_a_busy_machine_keeps_waiting_is_not_taken_for_one_that_sleeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited = 0.0
    monkeypatch.setattr(child, "waited_s", lambda: waited)

    def ends(job: ForkedRun, *, after_s: float) -> bool:
        began = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: began + after_s)
        try:
            signal.raise_signal(signal.SIGALRM)
        except TimeUp:
            return True
        finally:
            monkeypatch.undo()
            monkeypatch.setattr(child, "waited_s", lambda: waited)
        return False

    held = signal.getsignal(signal.SIGALRM)
    with open(os.devnull, "wb") as out:
        job = ForkedRun(out=out.fileno(), root="/p", each_s=20.0)
        signal.signal(signal.SIGALRM, job._on_clock)
        try:
            job.begin("one")
            assert not ends(job, after_s=59.0)
            assert ends(job, after_s=61.0)
            waited = 30.0
            assert not ends(job, after_s=61.0)
            assert ends(job, after_s=91.0)
            job.end("one", True)
        finally:
            signal.signal(signal.SIGALRM, held)
    assert waiting.waited_s(os.getpid()) >= 0.0
    assert waiting.waited_s(2**31 - 1) == 0.0  # no such process


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("def f(a):\n    if a:\n        g(a)\n", "def f(a):\n    if a is not None:\n        g(a)\n"),
        ("def f(a):\n    return a or 3\n", "def f(a):\n    return a if a is not None else 3\n"),
        ("def g(a, key=None):\n    pass\ndef f(a, key):\n    return g(a)\n",
         "def g(a, key=None):\n    pass\ndef f(a, key):\n    return g(a, key=key)\n"),
        ("def f(a):\n    yield [a]\n", "def f(a):\n    yield list(a)\n"),
        ("def f(a):\n    b = a.c if a else d\n", "def f(a):\n    b = (a.c if a else d).copy()\n"),
        ("def f(a):\n    b = hasattr(a, 'x')\n", "def f(a):\n    b = getattr(a, 'x', None)\n"),
        ("def f(a):\n    g(a)\n    g(a)\n", "def f(a):\n    a = tuple(a)\n    g(a)\n    g(a)\n"),
        ("import re\nR = re.compile(r'^.*?\\n[=-]+[ ]*')\n", "import re\nR = re.compile(r'^.*?\\n(?:=+|-+)[ ]*')\n"),
        ("import re\nR = re.compile(r'^a$')\n", "import re\nR = re.compile(r'^a\\Z')\n"),
        ("def f(a):\n    return g(None, b=h(a))\n", "def f(a):\n    return g(h(a), b=h(a))\n"),
        ("import re\nR = re.compile(r'a(\\s|$)')\n", "import re\nR = re.compile(r'a(?=\\s|$)')\n"),
    ],
)  # fmt: skip
def test_kinds_of_real_fixes_are_among_the_edits(wrong: str, right: str) -> None:
    assert right in texts_of(wrong)


def test_a_guard_does_what_the_failing_test_expects(tmp_path: Path) -> None:
    (tmp_path / "test_chain.py").write_text(
        "class TestChain:\n    def test_none(self):\n        with pytest.raises(ValueError, match='at least one'):\n"
        "            chain()\n        assert chain(1) == 'kept'\n"
    )
    program = Program("chain.py", b"def chain(*parts):\n    return 'kep' + str(parts)\n")
    program.expected = expected_of(["test_chain.py::TestChain::test_none[x-1]"], str(tmp_path))
    found = {applied(program.text, (edit,)) for edit in edits(program, lambda _lines: True)}
    guard = "    if not parts:\n        raise ValueError('at least one')\n"
    assert f"def chain(*parts):\n{guard}    return 'kep' + str(parts)\n" in found
    assert "def chain(*parts):\n    return 'kept' + str(parts)\n" in found
    assert "def chain(*parts):\n    raise ValueError('at least one')\n" in found


def test_what_lies_in_the_projects_environment_is_none_of_its_files() -> None:
    assert is_installed("/.venv/lib/python3.11/site-packages/_pytest/config.py")
    assert not is_installed("/src/shop/library.py")


def test_the_place_of_an_edit_is_told_by_function_and_line() -> None:
    program = Program("p.py", b"def outer(a):\n    def inner(b):\n        return b - 1\n    return inner(a)\n")
    edit = next(each for each in edits(program, lambda lines: lines[0] == 3) if each.before == "-")
    assert place_of(mark(edit), {"p.py": program.encoded((edit,))}) == "in `inner` at p.py:3"
    assert place_of(mark(edit), {"p.py": b"def ("}) == "at p.py:3"


@pytest.mark.parametrize(
    ("wanted", "anywhere"),
    [("'hello-world-2nd'", False), ("[1, 4]", False), ("7", False), ("''", True), ("None", True), ("'unknown'", True)],
)
def test_the_answer_to_one_question_of_a_test_is_offered_for_no_other(
    tmp_path: Path, wanted: str, anywhere: bool
) -> None:
    (tmp_path / "test_slug.py").write_text(f"def test_it():\n    assert slug('Hello', 3) == {wanted}\n")
    source = "def slug(title, most=40):\n    kind = 'unknown'\n    return title[:most] + kind\n"
    program = Program("slug.py", source.encode())
    program.expected = expected_of(["test_slug.py::test_it"], str(tmp_path))
    texts = {applied(program.text, (edit,)) for edit in edits(program, lambda _lines: True)}
    having = {text for text in texts if text.count(f"return {wanted}\n")}
    cases = {text.split("if ", 1)[1].split(":")[0] for text in having if "if " in text}
    assert {"not title", "title is None"} <= cases
    assert ("most < 0" in cases) is anywhere


def test_what_a_caller_gives_is_not_thrown_away_before_it_was_read() -> None:
    source = 'def f(period, other):\n    """Doc."""\n    if other:\n        period = other\n    return period\n'
    found = texts_of(source)
    for thrown in ("period = 1", "period = 0", "other = period"):
        assert source.replace("    if other:", f"    {thrown}\n    if other:") not in found
    assert source.replace("    if other:", "    period += 1\n    if other:") in found
    assert source.replace("    return", "    period = 0\n    return") in found


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        ("assert 'hello_big_world' == 'hello-big-world'", {("_", "-")}),
        ("['a', 'x,y'] != ['a', 'x, y']", {(",", ", "), ("y", " y")}),
        ("assert 'a-b' == 'a_b'", {("_", "-")}),  # what a test spells out is what is wanted
        ("assert 'cut off ... == 'x'", set()),
        ("assert [] == ['a']", set()),
    ],
)
def test_a_failure_tells_in_which_pieces_a_text_came_out_otherwise(
    tmp_path: Path, said: str, changes: set[tuple[str, str]]
) -> None:
    (tmp_path / "test_a.py").write_text("def test_a():\n    assert 'a-b' == a()\n")
    assert set(expected_of(["test_a.py::test_a"], str(tmp_path), f"1 failed\nE   {said}\n").changes) == changes


def test_a_text_takes_what_is_expected_in_the_place_of_its_piece(tmp_path: Path) -> None:
    program = Program("p.py", b'def slug(title):\n    return "_".join(title)\n')
    program.expected = expected_of([], str(tmp_path), "AssertionError: 'a_b' != 'a-b'")
    found = {applied(program.text, (edit,)) for edit in edits(program, lambda _lines: True)}
    assert 'def slug(title):\n    return "-".join(title)\n' in found


def test_a_case_of_every_so_many_is_offered_beside_those_that_are_there() -> None:
    found = texts_of("def leap(y):\n    return y % 4 == 0 and y % 100 != 0\n")
    assert "def leap(y):\n    return y % 4 == 0 and y % 100 != 0 or y % 400 == 0\n" in found
    assert not any("and a % 400" in text for text in texts_of("def f(a, b):\n    return a % 4 == 0 and b % 100 == 0\n"))
