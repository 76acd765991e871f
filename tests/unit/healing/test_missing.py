"""What is not installed, or no Python, is named with its remedy; what an edit can bring is left to the search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.healing.episode import RunnerCounts, Verdict
from ratchet.healing.missing import missing, outside
from ratchet.healing.solvers.unreadable import unreadable
from ratchet.healing.testruns import reading


def said(output: str) -> Verdict:
    return Verdict(passed=False, score=0.0, reason="1 of 1 tests fail", output=output)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src" / "shop").mkdir(parents=True)
    (tmp_path / "src" / "shop" / "__init__.py").write_text("")
    (tmp_path / "prices.py").write_text("")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "shop"\ndependencies = ["jsons"]\n')
    return tmp_path


@pytest.mark.parametrize(
    ("output", "named"),
    [
        ("E   ModuleNotFoundError: No module named 'six'", "install -e . pytest six"),
        ("E   ModuleNotFoundError: No module named 'yaml.constructor'", "install -e . pytest pyyaml"),
        ("E   ModuleNotFoundError: No module named 'jsons'", "install -e . pytest jsons"),
        ("/x/python: No module named pytest", "install -e . pytest"),
        ("pytest: error: unrecognized arguments: --timeout=60", "install -e . pytest pytest-timeout"),
        ("E       fixture 'mocker' not found", "install -e . pytest pytest-mock"),
        ("No module named 'six'\nNo module named 'attr'", "install -e . pytest six attrs"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(project: Path, output: str, named: str) -> None:
    found = missing(said(output), project)
    assert found.startswith("dependency_missing: ")
    assert found.endswith(named)


@pytest.mark.parametrize(
    "output",
    [
        "E   ModuleNotFoundError: No module named 'shop.basket'",
        "E   ModuleNotFoundError: No module named 'price'",
        "E   ModuleNotFoundError: No module named 'jsn'",
        "E   ModuleNotFoundError: No module named 'ittertools'",
        "E   assert 1 == 2",
        "E       fixture 'basket' not found",
    ],
)
def test_what_the_project_holds_or_misspells_is_a_fault_of_the_program(project: Path, output: str) -> None:
    assert missing(said(output), project) == ""


def test_a_submodule_that_is_not_checked_out_is_named(project: Path) -> None:
    (project / ".gitmodules").write_text(
        '[submodule "cases"]\n\tpath = tests/cases\n\turl = https://example.org/cases\n'
    )
    failed = said("E   FileNotFoundError: [Errno 2] No such file or directory: '/work/tests/cases/list.txt'")
    assert missing(failed, project).endswith("; git submodule update --init tests/cases")
    (project / "tests" / "cases").mkdir(parents=True)
    assert missing(failed, project)
    (project / "tests" / "cases" / "other.txt").write_text("")
    assert missing(failed, project) == ""


def test_the_remedy_names_the_environment_that_is_there(project: Path) -> None:
    (project / ".venv").mkdir()
    (project / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    assert missing(said("No module named 'six'"), project).endswith(".venv/bin/python -m pip install six")
    (project / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.4.0\n")
    assert missing(said("No module named 'six'"), project).endswith("uv pip install --python .venv six")


@pytest.mark.parametrize(
    ("file", "text", "output", "asked"),
    [
        ("test-requirements.txt", "pytest\ndelegator.py\n", "No module named 'delegator'", "-r test-requirements.txt"),
        ("tox.ini", "[testenv]\ndeps =\n    delegator.py\n", "No module named 'delegator'", "delegator.py"),
        ("setup.py", "setup(install_requires=['six>=1.8.0'])\n", "No module named 'six'", "'six>=1.8.0'"),
        (
            "pyproject.toml",
            '[project]\nname = "x"\noptional-dependencies.testing = ["docopt"]\n',
            "No module named 'docopt'",
            "'.[testing]'",
        ),
        ("pyproject.toml", '[dependency-groups]\ndev = ["docopt==1"]\n', "No module named 'docopt'", "--group dev"),
    ],
)
def test_the_remedy_is_what_the_project_asks_for(tmp_path: Path, file: str, text: str, output: str, asked: str) -> None:
    (tmp_path / file).write_text(text)
    assert missing(said(output), tmp_path).endswith(f" {asked}")
    assert missing(said(output), tmp_path, declared=True).endswith(f" {asked}")
    assert missing(said("No module named 'unheard'"), tmp_path, declared=True) == ""


BROKEN = """\
==================================== ERRORS ====================================
_____________________ ERROR collecting tests/test_far.py _______________________
tests/test_far.py:4: in <module>
    from whatever import _
.venv/lib/python3.11/site-packages/whatever.py:30: in <module>
    __code__ = CodeType(1, 0)
E   TypeError: code expected at least 16 arguments, got 14
_____________________ ERROR collecting tests/test_near.py ______________________
tests/test_near.py:1: in <module>
    import prices
prices.py:2: in <module>
    from whatever import _
.venv/lib/python3.11/site-packages/whatever.py:30: in <module>
    __code__ = CodeType(1, 0)
E   TypeError: code expected at least 16 arguments, got 14
=========================== short test summary info ============================
"""


def test_an_error_in_a_package_that_a_test_imports_is_nothing_to_edit_for(project: Path) -> None:
    (project / "tests").mkdir()
    for name in ("far", "near"):
        (project / "tests" / f"test_{name}.py").write_text("")
    found = outside(said(BROKEN), project)
    assert [*found] == ["tests/test_far.py"]
    assert "whatever.py raises TypeError: code expected" in found["tests/test_far.py"]
    alone = replace(said(BROKEN), tests=RunnerCounts(errors=1, failed_ids=("tests/test_far.py",)))
    assert missing(alone, project).startswith("dependency_broken: .venv/lib/python3.11/site-packages/whatever.py")
    both = replace(said(BROKEN), tests=RunnerCounts(failed=1, failed_ids=("tests/test_far.py", "tests/test_near.py")))
    assert missing(both, project) == ""


COLLECTED = """\
tests/test_shop.py:1: in <module>
    from shop import total
E     File "/home/ada/shop/src/shop/__init__.py", line 4
E       total = sum(each for each in (1, 2), 0)
E                   ^^^^^^^^^^^^^^^^^^^^^^^^^^
E   SyntaxError: Generator expression must be parenthesized
"""
PLAIN = """\
Traceback (most recent call last):
  File "run.py", line 1, in <module>
    import prices
  File "/home/ada/shop/prices.py", line 2
    return 1
IndentationError: unexpected indent
"""


@pytest.mark.parametrize(("output", "told"), [(COLLECTED, "src/shop/__init__.py"), (PLAIN, "prices.py")])
def test_a_file_that_is_no_python_is_named_with_its_line(project: Path, output: str, told: str) -> None:
    (project / "src" / "shop" / "__init__.py").write_text("x = 1\n")
    (project / "prices.py").write_text("x = 1\n")
    said_of_it = unreadable(said(output), reading(project))
    assert said_of_it.startswith(f"{told} cannot be read by ")
    assert "Error: " in said_of_it


@pytest.mark.parametrize(
    "output",
    [
        'E     File "<unknown>", line 1\nE       1 +\nE         ^\nE   SyntaxError: invalid syntax\n',
        '  File "/usr/lib/python3.11/ast.py", line 1\n    x\nSyntaxError: invalid syntax\n',
        '  File "prices.py", line 3, in total\n    return parse(x)\nKeyError: 3\n',
        '  File "../../prices.py", line 3\n    x\nNameError: SyntaxError\n',
    ],
)
def test_what_a_program_reads_or_another_error_is_no_file_of_the_project(project: Path, output: str) -> None:
    (project / "prices.py").write_text("x = 1\n")
    assert unreadable(said(output), reading(project)) == ""
