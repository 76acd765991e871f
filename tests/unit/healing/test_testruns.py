"""A check is read, never run, to know how it runs the project's tests."""

from __future__ import annotations

import pytest

from ratchet.healing.project_check import argv_of
from ratchet.healing.testruns import SuiteRun, suite_run

FILES = {
    "Makefile": "PY ?= python3\nlint:\n\truff check\n\ntest: lint\n\t@$(PY) -m pytest -q \\\n\t  tests\n\n"
    "check:\n\truff .\n\tpytest tests\n\nnothing:\n\techo\n",
    "tox.ini": "[tox]\nenvlist = py3\n[testenv]\ndeps = pytest\ncommands =\n  {envpython} -m pytest {posargs:tests}\n",
    "noxfile.py": "import nox\n@nox.session\ndef tests(session):\n    session.install('.')\n"
    "    session.run('pytest', '-q', *session.posargs)\n",
    "run.sh": "#!/bin/sh\nset -e\ncd sub\npython -m unittest -q\n",
    "pyproject.toml": '[tool.pdm.scripts]\ntest = "pytest -x"\n'
    '[tool.hatch.envs.default.scripts]\nunit = "pytest {args:tests}"\n',
}


def run_of(check: str) -> SuiteRun:
    return suite_run(argv_of(check), lambda path: FILES.get(path.removeprefix("./"), ""))


@pytest.mark.parametrize(
    ("check", "runner", "arguments"),
    [
        ("pytest -q", "pytest", "-q"),
        ("python -m pytest tests", "pytest", "tests"),
        ("/usr/bin/python3.11 -B -W error -m pytest", "pytest", ""),
        ("uv run --extra x --with=y pytest a.py", "pytest", "a.py"),
        ("poetry run python -m pytest", "pytest", ""),
        ("python -m coverage run --source=x -m pytest a", "pytest", "a"),
        ("coverage run -m unittest", "unittest", ""),
        ("timeout 60 env A=1 pytest", "pytest", ""),
        ("cd . && pytest 2>&1", "pytest", ""),
        ("cd . && pytest 'a.py::b[<lambda>; (x)]' 2>&1", "pytest", "a.py::b[<lambda>; (x)]"),
        (". .venv/bin/activate && pytest -q", "pytest", "-q"),
        ("python checks/run.py fast", "script", "checks/run.py fast"),
        ("python -m doctest a.py", "module", "doctest a.py"),
    ],
)
def test_a_check_that_is_one_run_of_tests_is_known_exactly(check: str, runner: str, arguments: str) -> None:
    found = run_of(check)
    assert (found.runner, " ".join(found.arguments), found.exact) == (runner, arguments, True)


@pytest.mark.parametrize(
    ("check", "runner", "arguments"),
    [
        ("make test", "pytest", "-q tests"),
        ("make check", "pytest", "tests"),
        ("tox -e py311 -- -k foo", "pytest", "-k foo"),
        ("tox", "pytest", "tests"),
        ("nox -s tests", "pytest", "-q"),
        ("sh run.sh", "unittest", "-q"),
        ("./run.sh", "unittest", "-q"),
        ("pdm run test", "pytest", "-x"),
        ("hatch run unit", "pytest", "tests"),
        ("hatch test", "pytest", ""),
        ("ruff check && pytest", "pytest", ""),
        ("pytest -q | tail -3", "pytest", "-q"),
    ],
)
def test_a_check_that_does_more_is_searched_by_its_run_of_tests_and_judged_as_it_stands(
    check: str, runner: str, arguments: str
) -> None:
    found = run_of(check)
    assert (found.runner, " ".join(found.arguments), found.exact) == (runner, arguments, False)


@pytest.mark.parametrize(
    "check",
    ["npm test", "make nothing", "pytest a && pytest b", "pytest $(ls)", "cd /elsewhere && pytest", "sh gone.sh"],
)
def test_what_cannot_be_read_is_a_command(check: str) -> None:
    assert run_of(check) == SuiteRun(runner="command", arguments=argv_of(check))


def test_folder_variables_and_interpreter_of_a_run_are_kept() -> None:
    found = run_of("cd sub && export A=1 && PYTHONPATH=src ../.venv/bin/python -m pytest")
    assert (found.cwd, found.environ, found.python) == ("sub", {"A": "1", "PYTHONPATH": "src"}, "../.venv/bin/python")
    assert run_of(".venv/bin/pytest").python == ".venv/bin/python"
