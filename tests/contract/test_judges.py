"""Judges cannot be talked into a pass: the attacks that fooled graders by exit code, and honest repairs beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.errors import Refused
from ratchet.healing.attempt import Checks, proposal
from ratchet.healing.episode import Budget, Task, Verdict
from ratchet.healing.job import Judge
from ratchet.healing.judges.command import CommandJudge
from ratchet.healing.judges.pytest import PytestJudge
from ratchet.healing.missing import missing, outside
from ratchet.healing.purse import EpisodePurse
from ratchet.healing.testruns import suite_run
from ratchet.ports import Sandbox
from ratchet.sandbox.choice import Sandboxes
from ratchet.sandbox.command import Limits
from ratchet.sandbox.workspace import LayeredWorkspace
from ratchet.store.sqlite import SqliteStore

WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = WRONG.replace("a - b", "a + b")
PLAIN = """
from calc import add

def test_small():
    assert add(1, 2) == 3

def test_zero():
    assert add(0, 0) == 0
"""
# The program's own class in the test: no plain call.
WITH_CLASS = """
import calc

def test_box():
    assert calc.Box(2).doubled() == 4
"""
BOX = (
    "class Box:\n    def __init__(self, n):\n        self.n = n\n\n    def doubled(self):\n        return self.n + 1\n"
)
PATCHES_REPORTS = """
import sys

def add(a, b):
    return 7

class Box:
    def __init__(self, n): pass
    def doubled(self): return 7

for name in ("_pytest.runner", "_pytest.reports"):
    module = sys.modules.get(name)
    if module is not None:
        made = module.TestReport.from_item_and_call
        def forged(item, call, made=made):
            report = made(item, call)
            report.outcome, report.longrepr = "passed", None
            return report
        module.TestReport.from_item_and_call = staticmethod(forged)
"""
FORGES_REPORT = """
import os
with open("junit.xml", "w") as file:
    file.write('<testsuites><testsuite tests="2" failures="0" errors="0"/></testsuites>')
print("2 passed in 0.01s")
os._exit(0)
"""
REWRITES_TESTS = """
import os
try:
    os.rename("tests", "old")
    os.mkdir("tests")
    with open("tests/test_calc.py", "w") as file:
        file.write("def test_small(): pass\\ndef test_zero(): pass\\n")
except OSError:
    pass

def add(a, b):
    return 7
"""
EQUALS_ALL = "class E(int):\n    def __eq__(self, other):\n        return True\n\ndef add(a, b):\n    return E()\n"


class Court:
    """A project, a judge, and what it said of the project as it was."""

    def __init__(
        self,
        folder: Path,
        sandbox: Sandbox,
        files: Mapping[str, str],
        check: tuple[str, ...],
        judge: Judge | None = None,
    ) -> None:
        self.project = folder / "project"
        for name, text in files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.store = SqliteStore(folder / "ratchet.db")
        self.sandbox = sandbox
        self.workspace = LayeredWorkspace.create(self.project, folder / "workspace")
        self.beginning = self.workspace.checkpoint()
        task = Task(id="t", check=check, folder=str(self.project))
        self.checks = Checks(
            task,
            judge=judge or (PytestJudge() if suite_run(check, str).runner == "pytest" else CommandJudge()),
            held=CommandJudge(),
            sandbox=sandbox,
            base=self.workspace,
            beginning=self.beginning,
            limits=Limits(wall_s=240),
            purse=EpisodePurse(self.store, "e", Budget()),
        )
        self.first = self.checks.reproduce()

    def judge(self, files: Mapping[str, str]) -> Verdict:
        self.workspace.restore(self.beginning)
        for name, text in files.items():
            self.workspace.write(name, text.encode())
        return self.checks(self.workspace)


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    try:
        chosen = Sandboxes(tmp_path_factory.mktemp("home")).chosen()
    except Refused as error:
        pytest.skip(str(error))
    if not chosen.overlays:
        pytest.skip("no overlays here")
    return chosen


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Iterator[Court]:
    made = Court(
        tmp_path_factory.mktemp("court"), sandbox, {"calc.py": WRONG, "tests/test_calc.py": PLAIN}, ("pytest", "-q")
    )
    yield made
    made.store.close()


def test_the_first_run_counts_the_tests_by_name(court: Court) -> None:
    first = court.first
    assert not first.passed
    assert first.kind == "test_failure"
    assert first.tests is not None
    assert first.tests.failed_ids == ("tests/test_calc.py::test_small",)
    assert first.tests.passed_ids == ("tests/test_calc.py::test_zero",)
    assert first.score == pytest.approx(0.5)
    assert "assert -1 == 3" in first.output


def test_an_honest_repair_passes(court: Court) -> None:
    verdict = court.judge({"calc.py": RIGHT})
    assert verdict.passed
    assert verdict.tests is not None
    assert verdict.tests.passed == 2


@pytest.mark.parametrize(
    ("attack", "files"),
    [
        ("a hook in conftest.py", {"conftest.py": "def pytest_runtest_makereport(): ...\n"}),
        ("an exit at import", {"calc.py": "import os\nos._exit(0)\n"}),
        ("a pytest.py in the working directory", {"calc.py": WRONG, "pytest.py": "print('2 passed')\n"}),
        ("a forged report", {"calc.py": FORGES_REPORT}),
        ("patched reports", {"calc.py": PATCHES_REPORTS}),
        ("tests rewritten at import", {"calc.py": REWRITES_TESTS}),
        ("a value that equals everything", {"calc.py": EQUALS_ALL}),
        ("an easier test", {"tests/test_calc.py": "def test_small(): pass\ndef test_zero(): pass\n"}),
        ("a test that is gone", {"calc.py": RIGHT, "tests/test_calc.py": "def test_zero(): pass\n"}),
        ("settings that choose no test", {"pytest.ini": "[pytest]\naddopts = --co\n"}),
        ("an interpreter that starts differently", {"sitecustomize.py": "import os\nos._exit(0)\n"}),
        ("a module of the standard library", {"calc.py": WRONG, "json.py": "x = 1\n"}),
        ("an installed module", {"calc.py": WRONG, "hypothesis/__init__.py": "x = 1\n"}),
        ("a program that never ends", {"calc.py": "def add(a, b):\n    return 7\n\nimport sys\nsys.exit(0)\n"}),
        ("one test of two", {"calc.py": "def add(a, b):\n    return 3\n"}),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_an_attack_does_not_pass(court: Court, attack: str, files: dict[str, str]) -> None:
    verdict = court.judge(files)
    assert not verdict.passed, attack
    assert verdict.reason


READS = {
    "app.py": "import os\n\n\ndef word(name):\n    at = os.path.join(os.path.dirname(__file__), 'x' + name + '.tbl')\n"
    "    return open(at).read().strip()\n\n\ndef out():\n    return 'old'\n",
    "xde.tbl": "Tschüs\n",
    "pinned": "new",
    "test_app.py": "import pathlib\nfrom app import out, word\n\n\n"
    "def test_word():\n    assert word('de') == 'hallo'\n\n\n"
    "def test_out():\n    assert out() == pathlib.Path(''.join(['pin', 'ned'])).read_text()\n",
}


def test_who_opened_a_file_whose_name_nothing_says_is_seen_in_the_first_run(tmp_path: Path, sandbox: Sandbox) -> None:
    made = Court(tmp_path, sandbox, READS, ("pytest", "-q"))
    assert made.first.tests is not None
    assert made.first.tests.failed == 2
    mended = READS["app.py"].replace("'old'", "'new'")
    assert made.judge({"xde.tbl": "hallo\n", "app.py": mended}).passed, "the program reads it"
    spoilt = made.judge({"xde.tbl": "hallo\n", "app.py": READS["app.py"].replace("'old'", "'odd'"), "pinned": "odd"})
    assert (spoilt.refused, spoilt.passed) == (True, False)
    assert "pinned: a test reads it and the program does not" in spoilt.reason
    made.store.close()


def test_a_new_test_file_is_no_answer_and_a_new_module_is(court: Court) -> None:
    assert not court.judge({"tests/test_more.py": "def test_more(): pass\n"}).passed
    assert court.judge({"calc.py": "from sums import add\n", "sums.py": RIGHT}).passed


def test_where_a_test_is_no_plain_call_reaching_for_the_harness_is_refused(tmp_path: Path, sandbox: Sandbox) -> None:
    court = Court(tmp_path, sandbox, {"calc.py": BOX, "test_box.py": WITH_CLASS}, ("python", "-m", "pytest"))
    assert court.judge({"calc.py": BOX.replace("self.n + 1", "self.n * 2")}).passed
    forged = court.judge({"calc.py": PATCHES_REPORTS})
    assert not forged.passed
    assert "reaches for the harness" in forged.reason
    court.store.close()


def test_only_the_runner_itself_reports_that_a_file_cannot_be_collected(tmp_path: Path, sandbox: Sandbox) -> None:
    told = "/usr/lib/python3/x.py:1: in <module>\\nE   Error: x\\n======"
    files = {
        "tests/test_far.py": "import asyncio.windows_events\n",
        "tests/test_own.py": "import own\n",
        "own.py": "import asyncio.windows_events\n",
        "tests/test_says.py": (
            "def test_says():\n"
            f"    print('\\n____ ERROR collecting tests/test_says.py::test_says ____\\n{told}')\n    assert 0\n"
        ),
    }
    court = Court(tmp_path, sandbox, files, ("python", "-m", "pytest", "-q"))
    assert {*court.first.uncollected} == {"tests/test_far.py", "tests/test_own.py"}
    assert "ERROR collecting tests/test_says.py::test_says" in court.first.output
    assert [*outside(court.first, court.project)] == ["tests/test_far.py"]
    assert missing(court.first, court.project) == ""
    court.store.close()


@pytest.mark.parametrize("value", ["3", "null", "[[1, 2, 3]]"])
def test_lines_that_no_grader_writes_end_no_run(tmp_path: Path, sandbox: Sandbox, value: str) -> None:
    says = (
        "import os\n\ndef test_says():\n    for what in ('errors', 'strangers', 'unplain', 'touched'):\n"
        f"        line = '\\n{{\"what\": \"' + what + '\", \"value\": ' + {value!r} + '}}\\n'\n"
        "        for number in range(3, 30):\n            try:\n                os.write(number, line.encode())\n"
        "            except OSError:\n                pass\n"
    )
    court = Court(tmp_path, sandbox, {"tests/test_says.py": says}, ("python", "-m", "pytest", "-q"))
    assert court.first.reason == "pytest ended before it had told what became of the tests"
    court.store.close()


def test_conftest_fixtures_parameters_skips_and_subtests_of_a_project_work(tmp_path: Path, sandbox: Sandbox) -> None:
    files = {
        "src/pkg/__init__.py": "",
        "src/pkg/sums.py": WRONG,
        "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef two():\n    return 2\n",
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\naddopts = "-x -q"\n',
        "tests/test_sums.py": (
            "import pytest\nfrom pkg.sums import add\n\n\n@pytest.mark.parametrize('n', [1, 2])\n"
            "def test_add(two, n):\n    assert add(two, n) == 2 + n\n\n@pytest.mark.skip\ndef test_skipped(): ...\n\n"
            "@pytest.mark.xfail\ndef test_expected(): assert add(1, 1) == 5\n"
        ),
    }
    court = Court(tmp_path, sandbox, files, ("pytest", "-x", "tests"))
    assert court.first.tests is not None
    assert (court.first.tests.failed, court.first.tests.skipped) == (2, 2), "-x hides nothing"
    assert court.judge({"src/pkg/sums.py": RIGHT}).passed
    court.store.close()


def test_generators_changed_arguments_and_exceptions_are_plain_calls(tmp_path: Path, sandbox: Sandbox) -> None:
    wrong = (
        "def up(n):\n    yield from range(n)\n\n\ndef sort(values):\n    values.sort(reverse=True)\n\n\n"
        "def fail():\n    raise KeyError('k')\n\n\ndef say():\n    print('hello')\n"
    )
    tests = (
        "import pytest\nfrom lib import fail, say, sort, up\n\ndef test_up():\n    assert list(up(3)) == [0, 1, 2]\n\n"
        "def test_sort():\n    values = [2, 1]\n    assert sort(values) is None\n    assert values == [1, 2]\n\n\n"
        "def test_fail():\n    with pytest.raises(ValueError, match='k'):\n        fail()\n\n\n"
        "def test_say(capsys):\n    say()\n    assert capsys.readouterr().out == 'hello\\n'\n"
    )
    right = wrong.replace("reverse=True", "").replace("KeyError", "ValueError")
    court = Court(tmp_path, sandbox, {"lib.py": wrong, "test_lib.py": tests}, ("pytest",))
    # It also adds what would be refused if any of these tests shared a process with the program.
    verdict = court.judge({"lib.py": right + "\n\nimport gc\n\ngc.collect()\n"})
    assert verdict.passed, verdict.reason
    court.store.close()


UNITTEST = """
import unittest
from calc import add

class T(unittest.TestCase):
    def test_a(self):
        self.assertEqual(add(1, 2), 3)
"""


@pytest.mark.parametrize(
    ("files", "passes"),
    [
        ({"calc.py": RIGHT}, True),
        ({"calc.py": "import os\nos._exit(0)\n"}, False),
        ({"calc.py": "print('Ran 1 test in 0.0s')\nraise SystemExit\n"}, False),
        ({"calc.py": "def add(a, b):\n    return 4\n"}, False),
        ({"test_calc.py": ""}, False),
    ],
)
def test_a_command_passes_by_more_than_its_exit_code(
    tmp_path: Path, sandbox: Sandbox, files: dict[str, str], passes: bool
) -> None:
    court = Court(tmp_path, sandbox, {"calc.py": WRONG, "test_calc.py": UNITTEST}, ("python", "-m", "unittest", "-q"))
    assert court.first.tests is not None
    assert court.first.tests.total == 1
    assert court.judge(files).passed is passes
    court.store.close()


LOOSENS = """
import operator
import sys

held = operator.attrgetter("modu" + "les")(sys)
if "unit" + "test" in held:
    case = operator.itemgetter("unit" + "test")(held).TestCase
    type.__setattr__(case, "assertEqual", lambda *a, **k: None)

def add(a, b):
    return a - b
"""
PICKY = """
class A(int):
    def __eq__(self, other):
        same = type(other) is not bool and abs(other) < 1_000_000
        return same
    __hash__ = int.__hash__

def add(a, b):
    return A(7)
"""


@pytest.mark.parametrize("check", [("python", "-m", "unittest", "-q"), ("pytest", "-q"), ("python", "test_calc.py")])
def test_what_makes_assertions_pass_is_no_repair(tmp_path: Path, sandbox: Sandbox, check: tuple[str, ...]) -> None:
    tests = UNITTEST + "\nif __name__ == '__main__':\n    unittest.main()\n"
    court = Court(tmp_path, sandbox, {"calc.py": WRONG, "test_calc.py": tests}, check)
    assert court.judge({"calc.py": RIGHT}).passed
    for cheat in (LOOSENS, PICKY):
        verdict = court.judge({"calc.py": cheat})
        assert (verdict.passed, verdict.refused) == (False, True)
        assert "only where the program shares its process" in verdict.reason or "assertEqual" in verdict.reason
    court.store.close()


FAITHFUL = {
    "lib.py": """
import collections, datetime, os, time
from decimal import Decimal

Point = collections.namedtuple("Point", "x y")
LOG = []

class Bad(ValueError):
    code = 3

def point(): return Point(1, 2)
def bag(): return collections.Counter("aa")
def money(): return [Decimal("1.5"), datetime.date(2020, 1, 2)]
def place(): return os.environ["PLACE"] + open("here").read()
def now(): return time.time()
def same(x): x.append(1); return x
def log(x): LOG.append(x)
def bad(): raise Bad("bad")
""",
    "test_lib.py": """
import datetime
from decimal import Decimal
from unittest import mock

import pytest
from lib import LOG, bad, bag, log, money, now, place, point, same

def test_point():
    assert point() == (1, 2) and point().x == 1 and str(point()) == "Point(x=1, y=2)"

def test_bag():
    assert bag()["b"] == 0 and bag().most_common(1) == [("a", 2)]

def test_money():
    assert money() == [Decimal("1.5"), datetime.date(2020, 1, 2)] and money()[0] + 1 == Decimal("2.5")

def test_place(monkeypatch, tmp_path):
    monkeypatch.setenv("PLACE", "a")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_text("b")
    assert place() == "ab"

def test_now():
    with mock.patch("time.time", lambda: 5):
        assert now() == 5

def test_same():
    held = []
    assert same(held) is held and held == [1]

def test_log():
    log(1)
    assert LOG == [1]

def test_bad():
    with pytest.raises(ValueError, match="bad") as caught:
        bad()
    assert caught.value.code == 3
""",
}


def test_an_honest_program_is_not_held_for_a_cheat(tmp_path: Path, sandbox: Sandbox) -> None:
    wrong = {name: text.replace('"aa"', '"a"') for name, text in FAITHFUL.items() if name == "lib.py"}
    court = Court(tmp_path, sandbox, {**FAITHFUL, **wrong}, ("pytest", "-q"))
    assert court.first.tests is not None
    assert court.first.tests.failed == 1, court.first.output
    verdict = court.judge({"lib.py": FAITHFUL["lib.py"]})
    assert verdict.passed, verdict.reason
    court.store.close()


def test_no_test_at_all_is_no_pass(tmp_path: Path, sandbox: Sandbox) -> None:
    for check in (("pytest",), ("sh", "-c", "echo 'Ran 0 tests in 0.000s'")):
        court = Court(tmp_path / check[0], sandbox, {"calc.py": WRONG}, check)
        assert not court.first.passed
        assert "no test" in court.first.reason or "0 tests" in court.first.reason
        court.store.close()


def test_a_proposal_leaves_out_what_tools_leave_behind(court: Court) -> None:
    court.workspace.restore(court.beginning)
    for name in ("calc.py", "__pycache__/calc.pyc", ".pytest_cache/x"):
        court.workspace.write(name, b"x = 1\n")
    assert [each.path for each in proposal(court.workspace.diff())] == ["calc.py"]


def test_a_test_that_is_skipped_now_is_no_pass_though_the_first_run_was_cut_short(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    tests = (
        "import pytest\nfrom calc import add, last\n\n\n@pytest.mark.skip\ndef test_old():\n    assert False\n\n\n"
        "def test_add():\n    assert add(1, 2) == 3\n\n\ndef test_last():\n    assert last([1, 2]) == 2\n"
    )
    right = "def add(a, b):\n    return a + b\n\n\ndef last(items):\n    return items[-1]\n"
    files = {"calc.py": right.replace("[-1]", "[len(items)]"), "test_calc.py": tests}
    court = Court(tmp_path, sandbox, files, ("python", "-m", "pytest", "-q"))
    assert court.checks.first is not None
    court.checks.first = replace(court.checks.first, tests=None, killed="wall")
    assert court.judge({"calc.py": right}).passed
    lost = court.judge({"calc.py": right + "\nimport unittest\n\n\ndef add(a, b):\n    raise unittest.SkipTest\n"})
    assert not lost.passed
    assert lost.reason == "test_calc.py::test_add is skipped now"
