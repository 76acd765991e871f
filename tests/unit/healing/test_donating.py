"""Parts of other implementations, and what speaks for a patch."""

from __future__ import annotations

import ast

import pytest

from ratchet.healing.solvers.repairing.choosing import agreed, chosen
from ratchet.healing.solvers.repairing.differing import NOTHING, Input
from ratchet.healing.solvers.repairing.donating import Donation, donations, donors_of
from ratchet.healing.solvers.repairing.grounds import PatchGrounds
from ratchet.healing.solvers.repairing.marks import differences
from ratchet.healing.solvers.repairing.program import FUNCTIONS, Program
from ratchet.healing.solvers.repairing.wanted import Patch

WRONG = '''import math


def area(radius, scale):
    """How much there is."""
    total = 0  # of all

    for step in range(scale):
        total += radius * step
    return total
'''
DONOR = """LIMIT = 3


def bounded(value):
    return min(value, LIMIT)


def area(r, n):
    result = 0
    for i in range(n):
        result += bounded(r * i)
    return result * 2
"""


def given(wrong: str, *donors: str) -> tuple[Program, list[Donation]]:
    program = Program("shapes.py", wrong.encode())
    function = next(each for each in program.nodes if isinstance(each, FUNCTIONS))
    held = donors_of({str(at): text for at, text in enumerate(donors)})
    return program, donations(program, function, held.get(program.qualname(function), ()))


def test_a_donors_lines_come_in_the_functions_own_names_and_bring_what_they_need() -> None:
    program, found = given(WRONG, DONOR)
    whole = program.encoded(found[-1].edits).decode()
    assert found[-1].whole
    assert "total += bounded(radius * step)" in whole
    assert "return total * 2" in whole
    assert whole.index("LIMIT = 3") < whole.index("def bounded(value)") < whole.index("def area(radius, scale)")


def test_lines_that_are_alike_stay_as_they_are_and_each_difference_is_an_edit_of_its_own() -> None:
    program, found = given(WRONG, DONOR)
    texts = [program.encoded(each.edits).decode() for each in found]
    assert all('"""How much there is."""\n    total = 0  # of all\n\n    for step' in text for text in texts)
    assert [each.whole for each in found] == [False, False, True]
    assert any("return total * 2" in text and "bounded" not in text for text in texts)


@pytest.mark.parametrize(
    "wrong",
    [
        "def area(a, b): return a\n",
        "def area(a, b):\n    if a: return b\n    return a\n",
        "class C:\n\tdef area(self, a):\n\t\treturn a\n",
    ],
)
def test_a_function_in_any_form_takes_a_donor_or_nothing(wrong: str) -> None:
    right = wrong.replace("return a\n", "return a + 1\n")
    program, found = given(wrong, ast.unparse(ast.parse(right)))
    for each in found:
        ast.parse(program.encoded(each.edits))


def test_windows_line_ends_stay_in_a_program_that_takes_a_donor() -> None:
    program, found = given(WRONG.replace("\n", "\r\n"), DONOR)
    for each in found:
        assert "\n" not in program.encoded(each.edits).decode().replace("\r\n", "")


def patch(name: str) -> Patch:
    held = {"path": "a.py", "function": name, "family": "f", "shape": name, "before": "y", "text": "x"}
    return Patch(files={"a.py": name.encode()}, marks=(held,), found_at=1, plain=0.01, size=1)


def test_what_all_donors_answer_decides_between_patches() -> None:
    expected = agreed([["int:a.x", "int:b.x", "!E"], ["int:a.y", "int:b.y", "int:c.x"], None, ["", ""]])
    assert expected == ["int:a", "int:b", ""]
    answers = {"right": ["int:a.z", "int:b.z", "int:d.z"], "wrong": ["int:a.x", "int:z.x", "int:c.x"]}
    best = chosen(
        [patch("wrong"), patch("right")], lambda each: answers[each.marks[0]["function"]] if each else [], expected
    )
    assert best.patches[0].marks[0]["function"] == "right"
    assert (best.grounds.asked, best.grounds.contradicted) == (2, 0)


def test_lines_that_say_the_same_the_other_way_round_stay() -> None:
    mine = "def f(a, b):\n    if a == b:\n        return 1\n    if a < b:\n        return 2\n    return 0\n"
    donor = "def f(a, b):\n    if b == a:\n        return 1\n    if b > a:\n        return 2\n    return 3\n"
    program, found = given(mine, donor)
    assert program.encoded(found[-1].edits).decode() == mine.replace("return 0", "return 3")


def test_an_exception_that_the_failing_test_asks_for_is_not_held_against_a_patch() -> None:
    def answers(each: Patch | None) -> list[str]:
        return ["int:a.x", "!ValueError"] if each else ["int:a.x", "int:b.x"]

    assert chosen([patch("one")], answers).grounds.raising == 1
    assert chosen([patch("one")], answers, raised={"ValueError"}).grounds.raising == 0


def test_a_patch_of_somebody_else_is_marked_by_its_lines() -> None:
    before, after = b"a = 1\n\nb = 2\nc = 3\n", b"a = 1\n\nif a:\n    b = 0\nb = 2\n"
    found = differences("m.py", before, after)
    assert [(each["family"], each["line"]) for each in found] == [
        ("guarding", "1"),
        ("guarding", "3"),
        ("deletion", "4"),
    ]
    assert differences("m.py", before, before.replace(b"3", b"4"))[0]["family"] == "rewriting"


def test_a_patch_that_returns_another_type_of_value_is_doubtful() -> None:
    best = chosen(
        [patch("one")], lambda each: ["int:a.x" if each else "bool:b.x", "bool:b.x"], (), [Input("m", "f", "", 0)] * 2
    )
    assert [*PatchGrounds(failing=3, passing=1, strange=9 * best.grounds.strange).doubts(["f"])]
    silent = chosen(
        [patch("one")], lambda each: ["int:a.x" if each else f"{NOTHING}:b.x"], (), [Input("m", "f", "", 0)]
    )
    assert not silent.grounds.strange
    mended = chosen(
        [patch("one")],
        lambda each: ["tuple:a.x" if each else "!TypeError", "int:b.x"],
        (),
        [Input("m", "f", "", 0)] * 2,
    )
    assert not mended.grounds.strange, "it had no answer"


@pytest.mark.parametrize(
    ("grounds", "family", "sure"),
    [
        (PatchGrounds(inputs=20, failing=2, passing=5), "comparison", True),
        (PatchGrounds(inputs=20, failing=1, passing=1), "comparison", False),
        (PatchGrounds(inputs=20, failing=2, passing=5), "deletion", False),
        (PatchGrounds(inputs=20, failing=2, passing=5, allies=1), "deletion", True),
        (PatchGrounds(inputs=20, failing=2, passing=5, share=0.5, rivals=3), "comparison", False),
        (PatchGrounds(inputs=9, failing=2, passing=5, raising=3), "comparison", False),
        (PatchGrounds(inputs=20, failing=2, passing=5, healthy=20, turned=6), "extension", True),
        (PatchGrounds(inputs=20, failing=1, passing=6, healthy=20, turned=10), "extension", False),
        (PatchGrounds(inputs=20, failing=1, passing=1, forms=40), "comparison", True),
        (PatchGrounds(inputs=20, failing=1, passing=0, forms=40), "comparison", False),
        (PatchGrounds(inputs=20, failing=3, passing=0, forms=40, alive=2), "rewriting", True),
        (PatchGrounds(failing=3, passing=0, forms=40, alive=2), "rewriting", False),
        (PatchGrounds(inputs=20, failing=3, passing=0, forms=40, alive=2, searched=False), "rewriting", False),
        (PatchGrounds(inputs=20, failing=1, asked=50, contradicted=1), "deletion", True),
        (PatchGrounds(inputs=20, failing=2, passing=5, asked=50, contradicted=2), "comparison", False),
    ],
)
def test_how_sure_an_answer_is_follows_from_its_figures(grounds: PatchGrounds, family: str, sure: bool) -> None:
    assert (not [*grounds.doubts([family])]) is sure
    assert f"{grounds.failing} test" in grounds.told()
