"""What an edit would change for a failing test, told by looking at one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ratchet.healing.solvers.repairing.effects import EffectTracer, Probe, Prober
from ratchet.healing.solvers.repairing.ordering import Ranked, ranked
from ratchet.healing.solvers.repairing.program import Program, SourceEdit, applied
from ratchet.healing.solvers.repairing.templates import edits
from ratchet.healing.solvers.repairing.untried import Untried

SOURCE = """\
LIMIT = 3


def kept(items, extra=None):
    found = []
    for item in items:
        if item > LIMIT:
            found.append(item)
    total = len(found)
    return total
"""


def looked_at(folder: Path, call: str) -> dict[str, str]:
    """New text -> "vain" or "felt", for the edits that a look can tell of while `call` runs as a test."""
    path = folder / "kept.py"
    path.write_text(SOURCE)
    program = Program("kept.py", SOURCE.encode())
    prober = Prober(program)
    probes: list[tuple[SourceEdit, Probe]] = [
        (edit, probe) for edit in edits(program, lambda _: True) if (probe := prober.probe(edit)) is not None
    ]
    tracer = EffectTracer([(str(path), probe) for _, probe in probes])
    space: dict[str, object] = {}
    exec(compile(SOURCE, str(path), "exec"), space)
    tracer.taken("")
    tracer.start()
    try:
        eval(call, space)
    except TypeError:
        pass
    finally:
        tracer.stop()
    tracer.taken("test")
    seen = tracer.seen()["vain"]
    assert isinstance(seen, dict)
    vain = set(seen["test"])
    found: dict[str, str] = {}
    for number, (edit, _) in enumerate(probes):
        found[applied(SOURCE, (edit,))] = "vain" if number in vain else "felt"
    return found


def with_line(old: str, new: str) -> str:
    assert SOURCE.count(old) == 1
    return SOURCE.replace(old, new)


def test_a_condition_that_comes_out_as_before_is_vain_and_one_that_does_not_is_felt(tmp_path: Path) -> None:
    told = looked_at(tmp_path, "kept([1, 5])")
    assert told[with_line("item > LIMIT", "item >= LIMIT")] == "vain"
    assert told[with_line("item > LIMIT", "item < LIMIT")] == "felt"
    (tmp_path / "other").mkdir()
    told = looked_at(tmp_path / "other", "kept([1, 3, 5])")
    assert told[with_line("item > LIMIT", "item >= LIMIT")] == "felt"


def test_a_name_that_nothing_was_bound_to_yet_is_vain_and_one_that_is_bound_is_felt(tmp_path: Path) -> None:
    told = looked_at(tmp_path, "kept([1, 5])")
    assert told[with_line("if item > LIMIT", "if total > LIMIT")] == "vain"
    assert told[with_line("total = len(found)", "total = len(items)")] == "felt"
    assert told[with_line("return total", "return item")] == "felt"


def test_a_case_whose_condition_never_holds_is_vain(tmp_path: Path) -> None:
    told = looked_at(tmp_path, "kept([1, 5])")
    cases = {
        text: how for text, how in told.items() if "    if not items:\n        return" in text and "total = " in text
    }
    cases = {text: how for text, how in cases.items() if text.index("if not") < text.index("total = ")}
    assert cases
    assert set(cases.values()) == {"vain"}


def test_of_lines_that_no_test_met_and_of_what_is_run_at_import_nothing_is_told(tmp_path: Path) -> None:
    told = looked_at(tmp_path, "kept([])")
    assert told[with_line("LIMIT = 3", "LIMIT = 4")] == "felt"
    assert told[with_line("item > LIMIT", "item >= LIMIT")] == "felt"


def test_looking_uses_up_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kept.py"
    path.write_text(SOURCE)
    program = Program("kept.py", SOURCE.encode())
    prober = Prober(program)
    probes = [
        (str(path), probe) for edit in edits(program, lambda _: True) if (probe := prober.probe(edit)) is not None
    ]
    space: dict[str, object] = {}
    exec(compile(SOURCE, str(path), "exec"), space)
    tracer = EffectTracer(probes)
    tracer.taken("")
    tracer.start()
    try:
        answer = eval("kept(iter([1, 5, 7]))", space)
    finally:
        tracer.stop()
    assert answer == 2


def orders(sift: bool) -> tuple[list[SourceEdit], list[SourceEdit]]:
    program = Program("kept.py", SOURCE.encode())
    suspect = {("/p/kept.py", line): 1.0 for line in range(1, 11)}

    def rank(found: Sequence[SourceEdit]) -> list[Ranked]:
        return ranked(found, suspect, [], root="/p")

    def is_vain(one: Ranked) -> bool:
        return "LIMIT" in one.edit.text

    def sifted(found: Sequence[Ranked]) -> tuple[Sequence[Ranked], Sequence[Ranked]]:
        return [one for one in found if not is_vain(one)], [one for one in found if is_vain(one)]

    given: Iterator[Ranked] = Untried(lambda _: program, suspect, rank, float("inf"), *([sifted] if sift else []))
    every = list(given)
    return [one.edit for one in every], [one.edit for one in every if is_vain(one)]


def test_what_is_vain_comes_last_and_everything_comes_once() -> None:
    plain, _ = orders(sift=False)
    order, vain = orders(sift=True)
    assert vain
    assert order[-len(vain) :] == vain
    assert sorted(map(repr, order)) == sorted(map(repr, plain))
    assert [each for each in order if each not in vain] == [each for each in plain if each not in vain]


@pytest.mark.parametrize("text", ["(lambda: item)()", "[item for item in items]", "found.pop()"])
def test_what_may_have_effects_is_not_evaluated(text: str) -> None:
    program = Program("kept.py", SOURCE.encode())
    start = SOURCE.index("len(found)")
    edit = SourceEdit(
        path="kept.py", start=start, end=start + len("len(found)"), text=text, family="x", lines=(9, 9), shape="",
        function="kept", before="len(found)",
    )  # fmt: skip
    probe = Prober(program).probe(edit)
    assert probe is None or probe.value is None


ATTACK = """\
CALLED = []


class Odd:
    def __init__(self, numbers):
        self.rows = (number for number in numbers)
        self.lines = iter(numbers)

    def __getattr__(self, name):
        CALLED.append(name)
        return 1

    def __eq__(self, other):
        CALLED.append("__eq__")
        return True

    __hash__ = None

    def __bool__(self):
        CALLED.append("__bool__")
        return True

    def __len__(self):
        CALLED.append("__len__")
        return 3

    def __iter__(self):
        CALLED.append("__iter__")
        return iter([1, 2])

    def __getitem__(self, at):
        CALLED.append("__getitem__")
        return at

    def __contains__(self, one):
        CALLED.append("__contains__")
        return True

    def __add__(self, other):
        CALLED.append("__add__")
        return self

    def __lt__(self, other):
        CALLED.append("__lt__")
        return True

    def __str__(self):
        CALLED.append("__str__")
        return "odd"

    @property
    def gone(self):
        CALLED.append("gone")
        return 0


class Meta(type):
    def __getattr__(cls, name):
        CALLED.append("meta " + name)
        return name


class Made(metaclass=Meta):
    pass


class Count(int):
    def __eq__(self, other):
        CALLED.append("int __eq__")
        return True

    __hash__ = int.__hash__


def looked(odd, made, count):
    held = [odd]
    here = 1
    return [here, *odd.lines, *odd.rows]
"""

ATTACKS = [
    "odd.gone", "odd.missing", "odd == 1", "not odd", "len(odd)", "list(odd)", "odd[0]", "1 in odd", "odd + 1",
    "odd < 1", "str(odd)", "f'{odd}'", "odd in held", "held == [1]", "sorted(held)", "made.missing", "Made.missing",
    "hasattr(odd, 'missing')", "count == 1", "count", "max(odd, odd)", "1 if odd else 2", "odd and 1", "sum(odd.rows)",
    "list(odd.rows)", "1 in odd.rows", "sum(odd.lines)", "1 in odd.lines", "tuple(zip(odd.lines))", "odd.lines",
    "any(odd.lines)", "sum(zip(odd.rows, odd.lines))", "dict(odd)", "CALLED", "len(odd if odd else odd)",
    "sum(odd.lines if here else odd.rows)",
]  # fmt: skip


@pytest.mark.parametrize("text", ATTACKS)
def test_a_look_runs_nothing_of_the_program_and_uses_nothing_up(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.py"
    path.write_text(ATTACK)
    program = Program("odd.py", ATTACK.encode())
    prober = Prober(program)
    whole = ATTACK.index("held = [odd]") + len("held = ")
    asked = ATTACK.index("[here, *odd")
    line = 1 + ATTACK[:asked].count("\n")
    places = [(whole, whole + len("[odd]"), line - 2), (asked + 1, asked + 5, line)]
    case = ATTACK.index("    return [here")
    new = [(start, end, text, at) for start, end, at in places]
    new += [(case, case, f"    if {text}:\n        return 1\n", line)]
    probes: list[tuple[str, Probe]] = []
    for start, end, added, at in new:
        edit = SourceEdit(
            path="odd.py", start=start, end=end, text=added, family="x", lines=(at, at), shape="", function="looked",
            before=ATTACK[start:end],
        )  # fmt: skip
        if (probe := prober.probe(edit)) is not None:
            probes.append((str(path), probe))
    assert probes
    space: dict[str, Any] = {}
    exec(compile(ATTACK, str(path), "exec"), space)
    tracer = EffectTracer(probes)
    arguments = space["Odd"]([1, 2]), space["Made"](), space["Count"](1)
    tracer.taken("")
    tracer.start()
    try:
        answer = space["looked"](*arguments)
    finally:
        tracer.stop()
    assert space["CALLED"] == []
    assert answer == [1, 1, 2, 1, 2]


def test_a_look_goes_on_after_code_that_it_did_not_enter(tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    source = (
        "class Odd:\n    @property\n    def gone(self):\n        return 0\n\n\n"
        "def looked(odd, number):\n    first = odd.gone\n    return number\n"
    )
    path.write_text(source)
    prober = Prober(Program("odd.py", source.encode()))
    found: list[tuple[str, Probe]] = []
    for old, text, line in [("odd.gone", "odd.gone + 0", 8), ("number", "number + 0", 9), ("number", "number + 1", 9)]:
        start = source.rindex(old)
        edit = SourceEdit(
            path="odd.py", start=start, end=start + len(old), text=text, family="x", lines=(line, line), shape="",
            function="looked", before=old,
        )  # fmt: skip
        probe = prober.probe(edit)
        assert probe is not None
        found.append((str(path), probe))
    space: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), space)
    tracer = EffectTracer(found)
    tracer.taken("")
    tracer.start()
    try:
        space["looked"](space["Odd"](), 4)
    finally:
        tracer.stop()
    tracer.taken("test")
    assert tracer.seen() == {"vain": {"test": [1]}}


def test_a_class_body_is_not_looked_at_whose_names_lie_in_a_mapping_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    source = (
        "ASKED = []\n\n\nclass Names(dict):\n    def __iter__(self):\n        ASKED.append('iter')\n"
        "        return super().__iter__()\n\n    def keys(self):\n        ASKED.append('keys')\n"
        "        return super().keys()\n\n\n"
        "class Meta(type):\n    @classmethod\n    def __prepare__(cls, name, bases):\n        return Names()\n\n\n"
        "def looked():\n    class Made(metaclass=Meta):\n        size = 3\n        other = size\n\n    return Made\n"
    )
    path.write_text(source)
    prober = Prober(Program("odd.py", source.encode()))
    start, line = source.rindex("size"), source[: source.rindex("size")].count("\n") + 1
    edit = SourceEdit(
        path="odd.py", start=start, end=start + 4, text="size + 1", family="x", lines=(line, line), shape="",
        function="looked", before="size",
    )  # fmt: skip
    probe = prober.probe(edit)
    assert probe is not None
    space: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), space)
    space["looked"]()
    asked = [*space["ASKED"]]
    tracer = EffectTracer([(str(path), probe)])
    tracer.taken("")
    tracer.start()
    try:
        space["looked"]()
    finally:
        tracer.stop()
    assert space["ASKED"] == asked * 2
