"""A bug that comes back is known: by its test, by the place where the program broke, by what the failure says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ratchet.failures.failed_tests import MOST, name_of, names_of
from ratchet.healing.book import HealRequest
from ratchet.healing.episode import Budget, Episode
from ratchet.healing.report import markdown
from ratchet.lessons.lookup import matching
from ratchet.runtime import Runtime
from support.healing import needs_sandbox

PROGRAM = """\
def total(prices):
    result = 0
    for price in prices:
        result -= price
    return result


def half(number):
    return number / 2
"""
TESTS = """\
from shop import half, total


def test_total():
    assert total([1, 2]) == 3


def test_one():
    assert total([7]) == 7


def test_many():
    assert total([1, 1, 1, 4]) == 7


def test_none():
    assert total([]) == 0


def test_half():
    assert half(4) == 2


def test_zeros():
    assert total([0, 0]) == 0


def test_a_zero():
    assert total([0]) == 0
"""
CHECK = ("python", "-m", "pytest", "-q")
ANOTHER_MESSAGE = (
    "_______ test_one _______\nValueError: 12 apples\n\nFAILED test_shop.py::test_one - ValueError: 12 apples\n"
)


@dataclass
class Bug:
    """A project with a bug that is healed again and again, since nothing is applied."""

    home: Path
    project: Path

    def heal(self) -> Episode:
        with Runtime.open(home=self.home) as runtime:
            asked = HealRequest(check=CHECK, folder=self.project, solver="repair", budget=Budget(candidates=400))
            return runtime.episodes.run(asked)


@pytest.fixture
def bug(home: Path, tmp_path: Path) -> Bug:
    needs_sandbox(home)
    project = tmp_path / "project"
    project.mkdir()
    (project / "shop.py").write_text(PROGRAM)
    (project / "test_shop.py").write_text(TESTS)
    return Bug(home, project)


def test_a_bug_that_comes_back_is_known_to_pytest_to_hooks_and_to_the_next_run(bug: Bug) -> None:
    first = bug.heal()
    assert first.status == "passed", first.reason
    assert first.first is not None
    assert f"{sys.version_info.major}.{sys.version_info.minor}." in first.first.python, "the interpreter is named"
    assert "run under Python" in markdown(first)
    assert first.attempts[-1].standing == "sure", first.attempts[-1].evidence

    # The same test fails, and says something else.
    (bug.project / "test_shop.py").write_text(TESTS.replace("total([7]) == 7", 'total([7]) == 7, "too little"'))
    plugins = ["-p", "ratchet.integrations.pytest_plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, "--ratchet", f"--ratchet-home={bug.home}"]
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=bug.project, env=environ, capture_output=True, text=True, check=False)
    under = done.stdout
    assert "the wrong operator in `total` at shop.py: `-=` became `+=`" in under

    assert not _told(bug, ANOTHER_MESSAGE), "a hook waits until it has helped twice"
    second = bug.heal()
    assert second.candidates == 1, "the edit that mended one of these tests comes first"
    assert second.attempts[-1].standing == "sure", second.attempts[-1].evidence
    assert second.learnt == first.learnt
    assert not _told(bug, ANOTHER_MESSAGE), "one bug that is mended twice has helped once"

    elsewhere = Bug(bug.home, bug.project.with_name("elsewhere"))
    shutil.copytree(bug.project, elsewhere.project)
    assert elsewhere.heal().learnt == first.learnt
    (row,) = _told(bug, ANOTHER_MESSAGE)
    assert (row["tried"], row["worked"]) == (2, 2)
    assert row["id"] == first.learnt[0]
    assert not _told(bug, ANOTHER_MESSAGE.replace("test_one", "test_half"))


def _told(bug: Bug, message: str) -> list[dict[str, object]]:
    """What a hook finds for an output, in this project."""
    found = matching(str(bug.home), {"message": message, "kind": "test_failure"}, project=str(bug.project))
    return [dict(row) for row in found]


TRACEBACK = """\
Traceback (most recent call last):
  File "/p/run.py", line 3, in <module>
    go()
  File "/p/calc.py", line 9, in Calc.add
    return a / b
           ~~^~~
ZeroDivisionError: by zero
"""
PRINTED_WHOLE = """\
    def test_add():
>       add(1)

test_a.py:4:
_ _ _ _ _ _

    def add(a):
>       return a / 0
E       ZeroDivisionError: by zero

src/calc.py:2: ZeroDivisionError
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("FAILED a/test_b.py::T::test_c[1-x] - KeyError: 'z'", ["test:test_b.py::T::test_c"]),
        ("ERROR a/test_b.py::test_c\n", ["test:test_b.py::test_c"]),
        ("ERROR a/test_b.py - ImportError: no c", []),
        ("FAIL: test_c (pkg.test_b.T.test_c)", ["test:pkg.test_b.T.test_c"]),
        ("ERROR: test_d (pkg.test_b.T)", ["test:pkg.test_b.T.test_d"]),
        ("--- FAIL: TestAdd (0.00s)\n    --- FAIL: TestAdd/two (0.00s)", ["test:TestAdd", "test:TestAdd/two"]),
        (TRACEBACK, ["at:calc.py::Calc.add ZeroDivisionError"]),
        (PRINTED_WHOLE, ["at:calc.py::add ZeroDivisionError"]),
        (PRINTED_WHOLE.replace("ZeroDivision", "Assertion"), []),
        ("no error here: FAILED, see a::b", []),
    ],
)
def test_tests_and_places_are_named_as_an_output_has_them(text: str, names: list[str]) -> None:
    assert names_of(text) == names


def test_names_are_few_and_short_whatever_a_program_prints() -> None:
    many = "\n".join(f"FAILED test_a.py::test_{n} - x" for n in range(1_000))
    assert len(names_of(many)) == MOST
    assert max(map(len, names_of("FAILED test_a.py::" + "x" * 250))) <= 200
    assert name_of("test_a.py::test_b[0-1]") == name_of("pkg/tests/test_a.py::test_b") == "test:test_a.py::test_b"
