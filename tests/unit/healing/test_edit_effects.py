"""What an edit would change for a failing test, told by looking at one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


def traced(
    path: Path, source: str, probes: Sequence[Probe], call: Callable[[dict[str, Any]], object]
) -> tuple[EffectTracer, dict[str, Any], object]:
    """Look at these probes of a file while something is called in it, as one test."""
    path.write_text(source)
    space: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), space)
    tracer, answer = EffectTracer([(str(path), each) for each in probes]), None
    tracer.taken("")
    tracer.start()
    try:
        answer = call(space)
    except TypeError:
        pass
    finally:
        tracer.stop()
    tracer.taken("test")
    return tracer, space, answer


def probed(source: str, places: Sequence[tuple[int, int, str]]) -> list[Probe]:
    """The probes that there are for some edits: (start, end, text)."""
    prober = Prober(Program("odd.py", source.encode()))
    found = [
        prober.probe(
            SourceEdit(
                path="odd.py", start=start, end=end, text=text, family="x", lines=(line, line), shape="",
                function="looked", before=source[start:end],
            )
        )
        for start, end, text in places
        for line in [1 + source[:start].count("\n")]
    ]  # fmt: skip
    return [each for each in found if each is not None]


def looked_at(folder: Path, call: str) -> dict[str, str]:
    """New text -> "vain" or "felt", for the edits that a look can tell of while `call` runs as a test."""
    path = folder / "kept.py"
    path.write_text(SOURCE)
    program = Program("kept.py", SOURCE.encode())
    prober = Prober(program)
    probes: list[tuple[SourceEdit, Probe]] = [
        (edit, probe) for edit in edits(program, lambda _: True) if (probe := prober.probe(edit)) is not None
    ]
    tracer, *_ = traced(path, SOURCE, [probe for _, probe in probes], lambda space: eval(call, space))
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

    given: Iterator[Ranked] = Untried(lambda _: program, [*suspect], rank, float("inf"), *([sifted] if sift else []))
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


def noting(name, answer):
    def noted(*arguments):
        CALLED.append(name)
        return answer

    return noted


class Odd:
    def __init__(self, numbers):
        self.rows = (number for number in numbers)
        self.lines = iter(numbers)

    __hash__ = None
    gone = property(noting("gone", 0))


for name, answer in {"getattr": 1, "eq": True, "bool": True, "len": 3, "iter": iter([1]), "getitem": 0,
                     "contains": True, "add": 1, "lt": True, "str": "odd"}.items():
    setattr(Odd, f"__{name}__", noting(name, answer))


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
    whole = ATTACK.index("held = [odd]") + len("held = ")
    asked, case = ATTACK.index("[here, *odd"), ATTACK.index("    return [here")
    places = [(whole, whole + len("[odd]"), text), (asked + 1, asked + 5, text)]
    probes = probed(ATTACK, [*places, (case, case, f"    if {text}:\n        return 1\n")])
    assert probes

    def call(space: dict[str, Any]) -> object:
        return space["looked"](space["Odd"]([1, 2]), space["Made"](), space["Count"](1))

    _, space, answer = traced(tmp_path / "odd.py", ATTACK, probes, call)
    assert space["CALLED"] == []
    assert answer == [1, 1, 2, 1, 2]


def test_a_look_goes_on_after_code_that_it_did_not_enter(tmp_path: Path) -> None:
    source = (
        "class Odd:\n    @property\n    def gone(self):\n        return 0\n\n\n"
        "def looked(odd, number):\n    first = odd.gone\n    return number\n"
    )
    first, last = source.index("odd.gone"), source.rindex("number")
    after = last + len("number")
    probes = probed(
        source, [(first, first + 8, "odd.gone + 0"), (last, after, "number + 0"), (last, after, "number + 1")]
    )
    assert len(probes) == 3
    tracer, *_ = traced(tmp_path / "odd.py", source, probes, lambda space: space["looked"](space["Odd"](), 4))
    assert tracer.seen() == {"vain": {"test": [1]}}


def test_a_class_body_is_not_looked_at_whose_names_lie_in_a_mapping_of_the_program(tmp_path: Path) -> None:
    source = (
        "ASKED = []\n\n\nclass Names(dict):\n    def __iter__(self):\n        ASKED.append('iter')\n"
        "        return super().__iter__()\n\n    def keys(self):\n        ASKED.append('keys')\n"
        "        return super().keys()\n\n\n"
        "class Meta(type):\n    @classmethod\n    def __prepare__(cls, name, bases):\n        return Names()\n\n\n"
        "def looked():\n    class Made(metaclass=Meta):\n        size = 3\n        other = size\n\n    return Made\n"
    )
    start = source.rindex("size")
    probes = probed(source, [(start, start + 4, "size + 1")])
    assert probes
    found = [traced(tmp_path / "odd.py", source, each, lambda space: space["looked"]())[1] for each in ([], probes)]
    assert found[0]["ASKED"] == found[1]["ASKED"]
