"""A pass that the program cannot have earned by what it answers is none."""

from __future__ import annotations

import unittest.mock
from collections.abc import Mapping

import pytest

from ratchet.healing.episode import Reads
from ratchet.healing.judges.contradictions import contradiction
from ratchet.healing.judges.grading import Graded, GradedRun
from ratchet.healing.judges.inside.keeping import HarnessWatch

SMALL, ZERO, OTHER = "test_calc.py::test_small", "test_calc.py::test_zero", "test_box.py::test_box"


def told(outcomes: Mapping[str, str], **more: object) -> GradedRun:
    known: dict[str, object] = {"ids": tuple(outcomes), "errors": (), "strangers": (), "finished": True}
    return GradedRun(outcomes=dict(outcomes), reads=Reads(), **{**known, **more})  # type: ignore[arg-type]


def graded(apart: GradedRun | None, together: GradedRun | None) -> Graded:
    return Graded(output="", shadows=(), missing=False, python="", apart=apart, together=together)


def never() -> Graded | None:
    raise AssertionError("it is not asked")


FAILING = graded(told({SMALL: "failed", ZERO: "passed"}), told({SMALL: "failed"}))


def test_a_plain_call_that_passes_only_beside_the_program_is_no_pass() -> None:
    cheat = graded(told({SMALL: "failed", ZERO: "passed"}), told({SMALL: "passed"}))
    assert SMALL in contradiction(cheat, lambda: FAILING)
    assert SMALL in contradiction(cheat, lambda: None)


def test_tests_that_passed_with_the_program_apart_are_believed_without_another_run() -> None:
    assert contradiction(graded(told({SMALL: "passed", ZERO: "passed"}), None), never) == ""


def test_a_test_of_the_programs_own_classes_is_judged_beside_it() -> None:
    noted = told({OTHER: "failed"}, unplain=((OTHER, "calc.Box is no plain function or value"),))
    assert contradiction(graded(noted, told({OTHER: "passed"})), never) == ""
    of_a_file = told({OTHER: "failed"}, unplain=(("test_box.py", "calc.Box is no plain function or value"),))
    assert contradiction(graded(of_a_file, told({OTHER: "passed"})), never) == ""


def test_a_file_in_which_the_untouched_program_fails_apart_for_no_reason_is_judged_beside_it() -> None:
    cheat = graded(told({SMALL: "failed", ZERO: "failed"}), told({SMALL: "passed", ZERO: "passed"}))
    before = graded(told({SMALL: "failed", ZERO: "failed"}), told({SMALL: "failed", ZERO: "passed"}))
    assert contradiction(cheat, lambda: before) == ""


@pytest.mark.parametrize(("answers", "refused"), [(frozenset([SMALL]), True), (frozenset(), False)])
def test_a_test_of_plain_values_does_not_become_one_of_objects(answers: frozenset[str], refused: bool) -> None:
    noted = told({SMALL: "failed"}, unplain=((SMALL, "a value of type Any"),))
    before = graded(told({SMALL: "failed"}, answers=answers), told({SMALL: "failed"}))
    assert bool(contradiction(graded(noted, told({SMALL: "passed"})), lambda: before)) is refused


def test_a_test_that_asks_an_object_for_an_attribute_may_be_given_one() -> None:
    noted = told({SMALL: "failed"}, unplain=((SMALL, "x of a value of type Point"),))
    assert contradiction(graded(noted, told({SMALL: "passed"})), never) == ""


def test_what_the_right_program_does_plainly_an_answer_does_plainly() -> None:
    noted = told({SMALL: "failed"}, unplain=((SMALL, "a value of type Any"),))
    right = graded(told({SMALL: "passed"}), None)
    assert SMALL in contradiction(graded(noted, told({SMALL: "passed"})), lambda: right, right=True)
    unlike = graded(told({SMALL: "failed"}), told({SMALL: "passed"}))
    assert contradiction(graded(noted, told({SMALL: "passed"})), lambda: unlike, right=True) == ""


def test_an_assertion_that_is_another_one_than_before_is_named() -> None:
    touched = told({OTHER: "passed"}, touched=("unittest.case.TestCase.assertEqual",))
    apart = told({OTHER: "failed"}, unplain=((OTHER, "Box"),))
    assert "TestCase.assertEqual" in contradiction(graded(apart, touched), lambda: FAILING)
    always = graded(told({OTHER: "failed"}), told({OTHER: "failed"}, touched=touched.touched))
    assert contradiction(graded(apart, touched), lambda: always) == "", "a plugin of the project does that"


def test_a_file_that_loads_only_beside_the_program_is_no_pass() -> None:
    cheat = graded(told({}, errors=("test_calc.py",)), told({SMALL: "passed"}))
    assert "test_calc.py" in contradiction(cheat, lambda: FAILING)
    before = graded(told({}, errors=("test_calc.py",)), told({SMALL: "failed"}))
    assert contradiction(cheat, lambda: before) == ""


def test_what_tests_take_from_pytest_by_name_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    assert unittest.mock.call.__func__ is not unittest.mock.call.__func__, "it makes up attributes"
    watch = HarnessWatch(lambda *said: told.append(said), lambda: True)  # type: ignore[no-untyped-call]
    watch.look("before")  # type: ignore[no-untyped-call]
    monkeypatch.setattr(pytest, "approx", lambda value: value)
    watch.look("after")  # type: ignore[no-untyped-call]
    assert told == [("touched", ["after", "pytest.approx"])]
