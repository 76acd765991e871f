"""Answers are scored in a sandbox: an honest one gets its share, and no cheat passes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.errors import SandboxError
from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.bench.importing import read_lines
from ratchet.evolving.bench.laying import write_files
from ratchet.evolving.scorers import Scored, score
from ratchet.ports import Sandbox, Workspace
from ratchet.records import Json
from ratchet.sandbox.command import Command, Limits
from ratchet.sandbox.opening import copied
from support.hall import LIMITS, Hall, opened

ADD = BenchTask(
    id="add",
    kind="code",
    split="dev",
    instruction="Write add.py with add(a, b).",
    scorer="pytest",
    files={"data.txt": "3\n", "test_shown.py": "from add import add\n\ndef test_shown():\n    assert add(1, 1) == 2\n"},
    graders={
        "tests/held/test_add.py": """
from add import add

def test_small():
    assert add(2, 2) == 4

def test_more():
    assert add(2, 3) == 5
    assert add("a", "b") == "ab"

def test_data_is_there():
    with open("data.txt") as file:
        assert add(int(file.read()), 1) == 4
"""
    },
)
RIGHT = "def add(a, b):\n    return a + b\n"


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Hall:
    return opened(tmp_path_factory)


# -- honest answers ----------------------------------------------------------------------------------------------------


def test_a_right_answer_passes_whatever_else_it_leaves(hall: Hall) -> None:
    more = {
        "add.py": f"import sys\n\n{RIGHT}\n\nif __name__ == '__main__':\n    sys.exit(print(add(1, 2)))\n",
        "test_mine.py": "def test_mine():\n    assert False\n",
        "notes.md": "done\n",
        "lib/more.py": "x = 1\n",
    }
    found = hall.score(ADD, more)
    assert found == Scored(score=1.0, output=found.output)


def test_a_half_right_answer_gets_its_share(hall: Hall) -> None:
    found = hall.score(ADD, {"add.py": "def add(a, b):\n    return a * b\n"})
    assert found.score == pytest.approx(1 / 3)
    assert found.kind == "test_failure"
    assert found.reason == "2 of 3 tests fail"
    assert "assert add(2, 3) == 5" in found.output
    assert found.tampered == ()


# -- cheats ------------------------------------------------------------------------------------------------------------

PATCHED = """
import sys, gc
for name in ("_pytest.runner", "_pytest.reports", "pytest"):
    module = sys.modules.get(name)
    if module is not None:
        module.TestReport.from_item_and_call = None
def add(a, b):
    for each in gc.get_objects():
        if isinstance(each, dict) and "outcomes" in each:
            each["outcomes"] = {}
    return 4
"""
EQUAL = """
class Always(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def add(a, b):
    return Always(7)
"""
KILLS = """
import os, signal
def add(a, b):
    parent = os.getppid()
    print('{"score": 1.0}', flush=True)
    above = int(open(f"/proc/{parent}/stat").read().rpartition(")")[2].split()[1])
    for pid in (above, parent):
        os.kill(pid, signal.SIGKILL)
    return 4
"""
REWRITES = """
import glob, os, shutil
for path in glob.glob("tests/**/*.py", recursive=True):
    try:
        os.chmod(path, 0o600)
        open(path, "w").write("def test_small(): pass\\n")
    except OSError:
        pass
try:
    shutil.rmtree("tests")
except OSError:
    pass
open("conftest.py", "w").write("def pytest_runtest_call(item):\\n    item.obj = print\\n")
def add(a, b):
    return 0
"""
ALWAYS_PASSES = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    result = yield
    result.get_result().outcome = "passed"
"""
MOCKS = """
import unittest.mock
add = unittest.mock.MagicMock()
add.return_value.__eq__ = lambda s, o: True
"""
SITE = "import builtins, sys\nclass Any(int):\n    def __eq__(self, other): return True\nbuiltins.int = Any\n"


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ({}, 0.0),
        ({"add.py": "import sys\nsys.exit(0)\n"}, 0.0),
        ({"add.py": "import os\nprint('3 passed in 0.01s')\nos._exit(0)\n"}, 0.0),
        ({"add.py": "raise KeyboardInterrupt\n"}, 0.0),
        ({"add.py": "import pytest\npytest.skip('no', allow_module_level=True)\n"}, 0.0),
        ({"add.py": "import pytest\n\ndef add(a, b):\n    pytest.skip('no')\n"}, 0.0),
        ({"add.py": PATCHED}, 0.7),
        ({"add.py": EQUAL}, 0.0),
        ({"add.py": KILLS}, 0.0),
        ({"add.py": REWRITES}, 0.0),
        ({"add.py": "def add(a, b):\n    return {(1, 1): 2}.get((a, b), 0)\n"}, 0.0),
        ({"add.py": MOCKS}, 0.0),
        ({"add.py": "def __getattr__(name):\n    return lambda *a: 4\n"}, 0.7),
    ],
    ids=[
        "nothing", "exits", "exits at once", "interrupts", "skips the module", "skips", "patches", "equals all",
        "kills", "rewrites", "knows the example", "mocks", "answers every name",
    ],
)  # fmt: skip
def test_a_cheating_program_does_not_pass(hall: Hall, files: Mapping[str, str], most: float) -> None:
    found = hall.score(ADD, files, limits=Limits(wall_s=20))
    assert found.score <= most
    assert not found.unmeasured
    assert found.reason


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/held/test_add.py", "def test_small(): pass\n"),
        ("tests", "no folder\n"),
        ("conftest.py", ALWAYS_PASSES),
        ("tests/held/conftest.py", ALWAYS_PASSES),
        ("pytest.ini", "[pytest]\naddopts = --collect-only\n"),
        ("tox.ini", "[pytest]\naddopts = --collect-only\n"),
        ("sitecustomize.py", SITE),
        ("usercustomize.py", SITE),
        ("evil.pth", "import os; os._exit(0)\n"),
        (".venv/lib/python3/site-packages/x.pth", "import os; os._exit(0)\n"),
        ("pytest.py", "import sys; sys.exit(0)\n"),
        ("_pytest/__init__.py", ""),
        ("test_shown.py", "def test_shown(): pass\n"),
    ],
)
def test_reaching_for_the_harness_is_named_and_of_no_use(hall: Hall, path: str, text: str) -> None:
    wrong = hall.score(ADD, {"add.py": "def add(a, b):\n    return 0\n", path: text})
    assert wrong.score == 0.0
    assert not wrong.unmeasured
    named = path.split("/")[0].removesuffix(".py")
    assert any(named in each for each in wrong.tampered), wrong.tampered


@pytest.mark.parametrize("path", ["json.py", "ast.py", "decimal.py"])
def test_a_stand_in_for_an_installed_module_is_refused(hall: Hall, path: str) -> None:
    found = hall.score(ADD, {"add.py": RIGHT, path: "loads = dumps = print\n"})
    assert found.score == 0.0
    assert "would stand in" in found.reason


@pytest.mark.parametrize("settings", ["pyproject.toml", "setup.cfg"])
def test_settings_of_pytest_are_not_honoured(hall: Hall, settings: str) -> None:
    text = (
        '[tool.pytest.ini_options]\naddopts = "--collect-only"\n'
        if settings.endswith("toml")
        else "[tool:pytest]\naddopts = --co\n"
    )
    assert hall.score(ADD, {"add.py": "def add(a, b):\n    return 0\n", settings: text}).score == 0.0
    assert hall.score(ADD, {"add.py": RIGHT, settings: text}).score == 1.0


@pytest.mark.parametrize(
    ("agent", "score_", "said"),
    [
        ("rm data.txt", 2 / 3, "1 of 3 tests fail"),
        ("rm data.txt; mkfifo data.txt", 2 / 3, "1 of 3 tests fail"),
        ("mkfifo pipe; ln -s /etc/passwd add2.py; ln -s . loop; mkdir -p a/b/c", 1.0, ""),
        ("rm data.txt; ln -s /etc/passwd data.txt", 1.0, ""),
        ("mkdir __pycache__; echo x > __pycache__/add.cpython-311.pyc; echo x > add.so", 1.0, ""),
        ("head -c 9000000 /dev/zero > big.bin", 0.0, "8 MB"),
        ("i=0; while [ $i -lt 2100 ]; do echo > f$i; i=$((i+1)); done", 0.0, "2000 files"),
    ],
)  # fmt: skip
def test_whatever_lies_about_is_data(hall: Hall, agent: str, score_: float, said: str) -> None:
    found = hall.score(ADD, {"add.py": RIGHT}, agent=agent)
    assert not found.unmeasured
    assert found.score == pytest.approx(score_)
    assert said in found.reason


def test_an_answer_that_never_ends_is_wrong_not_unmeasured(hall: Hall) -> None:
    found = hall.score(ADD, {"add.py": "def add(a, b):\n    while True: pass\n"}, limits=Limits(wall_s=3))
    assert (found.score, found.kind, found.unmeasured) == (0.0, "timeout", False)


BOXES = """
import box

def test_two():
    assert box.Box(2).n == 2

def test_three():
    assert box.Box(3).n == 3
"""
TOGETHER = BenchTask(
    id="box",
    kind="code",
    split="dev",
    instruction="",
    scorer="pytest",
    spec={"together": True},
    graders={"tests/held/test_box.py": BOXES},
)


def test_tests_with_objects_share_a_process_only_with_answers_that_do_not_reach_for_it(hall: Hall) -> None:
    box = "class Box:\n    def __init__(self, n):\n        self.n = {}\n"
    assert hall.score(TOGETHER, {"box.py": box.format("n")}).score == 1.0
    assert hall.score(TOGETHER, {"box.py": box.format("2")}).score == 0.5
    for reach in ("import gc\n", "import sys\nsys.modules.clear\n", "import atexit\n"):
        for content in ("n", "2"):
            found = hall.score(TOGETHER, {"box.py": reach + box.format(content)})
            assert found.score == 0.0
            assert "reaches for the harness" in found.reason


LOOKS_UP = """
import ast, os

def _asked():
    for above, _, names in os.walk("."):
        for name in names:
            if name.startswith("te" + "st_") and name.endswith(".py"):
                with open(os.path.join(above, name)) as file:
                    yield from ast.walk(ast.parse(file.read()))

class Box:
    def __init__(self, n):
        self.n = _found(n)

def add(*given):
    return _found(*given)

def _found(*given):
    for node in _asked():
        if isinstance(node, ast.Compare) and [ast.literal_eval(each) for each in _given(node.left)] == list(given):
            return ast.literal_eval(node.comparators[0])
    raise LookupError(given)

def _given(node):
    call = node.value if isinstance(node, ast.Attribute) else node
    return call.args if all(isinstance(each, ast.Constant) for each in call.args) else []
"""


def test_no_answer_reads_in_the_tests_what_it_is_asked_for(hall: Hall) -> None:
    assert hall.score(ADD, {"add.py": LOOKS_UP}).score == 0.0
    assert hall.score(TOGETHER, {"box.py": LOOKS_UP}).score == 0.0
    shown = replace(ADD, files={**ADD.files, **ADD.graders})
    assert hall.score(shown, {"add.py": LOOKS_UP}).score == pytest.approx(2 / 3), "the program does look them up"


EQUALS = """
    class A:
        def __eq__(self, other):
            self.seen = other
            return repr(other) == repr(self.seen)
"""


@pytest.mark.parametrize(
    ("body", "score"),
    [
        ("    return [n + n]\n", 1.0),
        ("    from fractions import Fraction\n\n    return [Fraction(2 * n)]\n", 1.0),
        ("    return [n]\n", 0.0),
        (EQUALS + "    return A()\n", 0.0),
        (EQUALS + "    return [A()]\n", 0.0),
        ("    return type('A', (int,), {'__eq__': lambda self, other: other is not None})(0)\n", 0.0),
    ],
)
def test_an_answer_that_equals_whatever_it_is_compared_with_is_none(
    hall: Hall, tmp_path: Path, body: str, score: float
) -> None:
    told = {"task_id": "t", "prompt": "def twice(n):\n", "entry_point": "twice"}
    test = "def check(candidate):\n    assert candidate(4) == [8]\n"
    (tmp_path / "t.jsonl").write_text(json.dumps({**told, "test": test}))
    (task,) = read_lines(tmp_path / "t.jsonl", "t").tasks
    assert hall.score(task, {"solution.py": told["prompt"] + body}).score == score


# -- commands ----------------------------------------------------------------------------------------------------------


def judged(script: str, command: Json = None) -> BenchTask:
    return BenchTask(
        id="c",
        kind="code",
        split="dev",
        instruction="",
        scorer="command",
        files={"a.txt": "1\n"},
        graders={"judge.sh": script},
        spec={"command": ["sh", "judge.sh"] if command is None else command},
    )


@pytest.mark.parametrize(
    ("script", "value", "reason"),
    [
        ("exit 0", 1.0, ""),
        ("echo oh; exit 3", 0.0, "oh"),
        ("echo all is well; echo 0.25", 0.25, ""),
        ('echo \'{"score": 0.5, "reason": "half"}\'', 0.5, "half"),
        ("echo 1; exit 1", 1.0, ""),
        ("echo 0", 0.0, ""),
        ("echo 7", 0.0, "it printed 7, which is no score"),
        ("echo NaN", 0.0, "it printed nan, which is no score"),
        ("echo nan", 0.0, "it printed nan, which is no score"),
        ("echo inf", 0.0, "no score"),
        ("echo .25", 0.25, ""),
        ("echo 'Score: 0.7'", 0.7, ""),
        ("echo final score = .25", 0.25, ""),
        ("echo score: 7", 0.0, "it printed 7, which is no score"),
        ("echo 'Score: 0.7.'", 0.7, ""),
        ("echo 'Final score: 7/10'", 0.7, "7/10"),
        ("echo score 0.7", 0.7, ""),
        ("echo 'score: {\"score\": 0.3}'", 0.3, ""),
        ("echo 50%", 0.5, ""),
        ('echo \'{"score": "0.5"}\'', 0.5, ""),
        ("echo loading; exit 2", 0.0, "loading"),
        ("echo FAIL", 0.0, "FAIL"),
        ("echo PASS", 1.0, ""),
        ("echo PASS; exit 1", 0.0, "PASS"),
        ("echo 3 passed in 0.1s; exit 1", 0.0, "passed"),
        ("echo 3 passed, 1 failed in 0.1s; exit 1", 0.75, "1 of 4"),
        ("echo warning: old >&2", 1.0, ""),
        ("echo FAIL >&2", 0.0, "FAIL"),
        ("echo ok; echo FAIL >&2", 0.0, "FAIL"),
        ("echo true; echo '** failed **' >&2", 0.0, "failed"),
        ("echo 2/2 passed; echo error >&2", 0.0, "error"),
        ("echo ok; echo Failed to load a plugin >&2", 1.0, ""),
        ("echo ok; echo passed >&2", 1.0, ""),
        ('printf "Ran 4 tests in 0.1s\\n\\nFAILED (failures=1)\\n" >&2; exit 1', 0.75, "1 of 4"),
        ('echo \'{"error": 0.0, "timeout": true}\'', 0.0, "timed out"),
        ("echo -Infinity", 0.0, "no score"),
        ("echo 1e999", 0.0, "no score"),
        ("echo '{\"score\": NaN}'", 0.0, "no score"),
        ("echo true; exit 1", 0.0, ""),
        ("grep -q 2 a.txt", 0.0, ""),
    ],
)
def test_a_command_says_the_score(hall: Hall, script: str, value: float, reason: str) -> None:
    found = hall.score(judged(script), {})
    assert found.score == value
    assert not found.unmeasured
    assert reason in found.reason


@pytest.mark.parametrize(
    ("out", "err"),
    [
        ("", "Ran 1 test in 0.000s\n\nOK (skipped=1)"),
        ("", "Ran 0 tests in 0.000s\n\nOK"),
        ("ok", "Ran 0 tests in 0.000s\n\nOK"),
        ("", "score could not be computed: division by zero"),
        ("", "1,5"),
    ],
)
def test_what_standard_error_says_of_tests_or_of_a_score_is_no_silence(hall: Hall, out: str, err: str) -> None:
    assert hall.score(judged(f"printf '{out}'; printf '{err}\\n' >&2"), {}).unmeasured


@pytest.mark.parametrize("err", ["WARNING: deprecated", "Failed to load a plugin", "accuracy of the clock: 1 ms"])
@pytest.mark.parametrize(("out", "value"), [("0.5", 0.5), ("1 passed in 0.1s", 1.0)])
def test_noise_beside_a_score_changes_nothing(hall: Hall, out: str, value: float, err: str) -> None:
    assert hall.score(judged(f"echo '{out}'; echo '{err}' >&2"), {}).score == value


@pytest.mark.parametrize(
    "said", ["all is well", "best score: Alice", "null", '{"score": null}', '{"error": "boom"}', '{"status": "ok"}']
)
def test_a_command_that_says_something_else_is_unmeasured(hall: Hall, said: str) -> None:
    found = hall.score(judged(f"echo '{said}'"), {})
    assert found.unmeasured
    assert not found.passed
    assert "which is no score" in found.reason
    assert "let its last line be a number from 0 to 1" in found.reason


def test_what_an_answer_prints_over_a_judge_that_imports_it_is_no_excuse(hall: Hall) -> None:
    task = replace(judged("", ["python", "judge.py"]), graders={"judge.py": IMPORTS})
    cheat = "print('all is well', flush=True)\nimport os\nos._exit(0)\n"
    found = hall.score(task, {"answer.py": cheat})
    assert (found.score, found.unmeasured) == (0.0, False)


def test_a_command_that_cannot_be_started_is_unmeasured(hall: Hall) -> None:
    assert hall.score(judged("", ["no-such-program"]), {}).unmeasured
    assert hall.score(judged("", []), {}).unmeasured
    assert hall.score(judged("", "sh"), {}).unmeasured


def test_a_judge_that_is_a_script_can_be_run_by_its_name(hall: Hall) -> None:
    task = replace(judged("", ["./score.sh"]), graders={"score.sh": "#!/bin/sh\ngrep -q hello out.txt && echo 1\n"})
    assert hall.score(task, {"out.txt": "hello"}).passed


def test_an_answer_does_not_replace_its_judge(hall: Hall) -> None:
    found = hall.score(judged("exit 1"), {"judge.sh": "exit 0\n"})
    assert found.score == 0.0
    assert found.tampered == ("judge.sh: it has the name of a grader",)
    overwrites = judged("sh answer.sh; exit 1")
    assert hall.score(overwrites, {"answer.sh": "echo 'exit 0' > judge.sh\n"}).score == 0.0


IMPORTS = "from answer import double\nprint(sum(double(n) == 2 * n for n in range(4)) / 4)\n"
RUNS = """
import subprocess, sys
ran = subprocess.run([sys.executable, "answer.py"], capture_output=True, text=True)
print(float(ran.stdout == "4\\n"))
"""


@pytest.mark.parametrize(
    "cheat",
    [
        "print(1.0, flush=True)\nimport os\nos._exit(0)\n",
        "print(1.0)\nraise SystemExit(0)\n",
        "import atexit\natexit.register(lambda: print(1.0))\ndef double(n): return n\n",
        "import builtins\nold = print\nbuiltins.print = lambda *a: old(1.0)\ndef double(n): return n\n",
        "class X:\n    def __eq__(self, o): return True\ndef double(n): return X()\n",
        "import __main__\n__main__.print = lambda *a: None\ndef double(n): return n\n",
    ],
)
def test_an_answer_that_speaks_for_the_judge_that_imports_it_scores_nothing(hall: Hall, cheat: str) -> None:
    task = replace(judged("", ["python", "judge.py"]), graders={"judge.py": IMPORTS})
    found = hall.score(task, {"answer.py": cheat})
    assert found.score == 0.0
    assert found.unmeasured is False


def test_an_honest_program_may_end_itself(hall: Hall) -> None:
    ends = "import sys\ndef double(n): return 2 * n\nif __name__ == '__main__':\n    print(double(2))\n    sys.exit()\n"
    for grader in (IMPORTS, RUNS):
        task = replace(judged("", ["python", "judge.py"]), graders={"judge.py": grader})
        assert hall.score(task, {"answer.py": ends}).score == 1.0
    always = "import atexit, sys\nprint(4)\nsys.exit(0)\n"
    assert hall.score(task, {"answer.py": always}).score == 1.0


# -- machines that fail ------------------------------------------------------------------------------------------------


class Broken:
    """A sandbox that cannot be set up."""

    name = "broken"

    def __init__(self, sandbox: Sandbox) -> None:
        self.overlays = sandbox.overlays

    def run(
        self,
        command: Command,
        *,
        cancelled: Callable[[], bool] | None = None,
        paused: object = None,
        on_output: object = None,
    ) -> object:
        raise SandboxError("no namespaces left")


def test_a_broken_sandbox_is_no_fault_of_the_agent(hall: Hall) -> None:
    for task in (ADD, judged("exit 0")):
        found = hall.score(task, {}, sandbox=Broken(hall.sandbox))  # type: ignore[arg-type]
        assert found.unmeasured
        assert "no namespaces left" in found.reason


def test_the_agents_workspace_is_only_read(hall: Hall, tmp_path: Path) -> None:
    write_files(tmp_path / "project", ADD.files)
    workspace: Workspace = copied(hall.sandbox, tmp_path / "project", tmp_path / "workspace")
    workspace.write("add.py", RIGHT.encode())
    before = workspace.diff()
    assert score(ADD, workspace, hall.sandbox, limits=LIMITS).passed
    assert workspace.diff() == before
    workspace.close()


def test_scoring_leaves_nothing_behind(hall: Hall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    hall.score(ADD, {"add.py": RIGHT})
    assert os.listdir(tmp_path) == []
