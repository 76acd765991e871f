"""`ratchet run` and `ratchet episodes` as a shell and a script see them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from ratchet.errors import Refused
from ratchet.sandbox.choice import Sandboxes

WRONG = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
SOLVER = """
from ratchet.testing.healing import ScriptedSolver

RIGHT = "def add(a, b):\\n    return a + b\\n"

def solver(options):
    return ScriptedSolver([{"calc.py": "def add(a, b):\\n    return 0\\n"}, {"calc.py": RIGHT}])

def slow(options):
    def waits(job):
        import time
        while not job.cancelled():
            time.sleep(0.05)
        from ratchet.healing.job import Solved
        return Solved(status="gave_up")
    return ScriptedSolver([waits])
"""
JUDGE = """
from dataclasses import replace

from ratchet.healing.judges.command import CommandJudge

class Never(CommandJudge):
    name = "never"

    def judge(self, *files, **more):
        return replace(super().judge(*files, **more), passed=False, score=0.0, reason="no change is good enough")
"""
FIELDS = {"id", "status", "attempts", "candidates", "diff", "cost_usd", "duration_s", "lessons_used"}
ATTEMPT_FIELDS = {"n", "status", "signature", "kind", "cause", "fix", "candidates", "cost_usd", "duration_s"}


class Shell:
    """Runs `ratchet` in a project with a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        (self.project / "tests").mkdir(parents=True)
        (self.project / "calc.py").write_text(WRONG)
        (self.project / "tests" / "test_calc.py").write_text(TEST)
        (folder / "plugin").mkdir()
        (folder / "plugin" / "script_solver.py").write_text(SOLVER)
        (folder / "plugin" / "own_judge.py").write_text(JUDGE)

    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.folder),
            "RATCHET_HOME": str(self.folder / "home"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.folder / "plugin"),
            "COLUMNS": "160",
            "LC_ALL": "C.UTF-8",
        }

    def started(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "ratchet", *words]
        streams: Mapping[str, int] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        return subprocess.Popen(command, cwd=self.project, env=self.environ(), text=True, **streams)  # type: ignore[call-overload, no-any-return]

    def run(self, *words: str) -> tuple[int, str, str]:
        process = self.started(*words)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def json(self, *words: str) -> tuple[int, dict[str, object]]:
        code, out, err = self.run(*words, "--json")
        assert out.count("\n") == 1, (out, err)
        return code, json.loads(out)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    try:
        Sandboxes(tmp_path / "home").chosen()
    except Refused as error:
        pytest.skip(str(error))
    return Shell(tmp_path)


CHECK = ("--check", "python -c 'import calc; assert calc.add(1, 2) == 3'")  # quicker than a runner of tests
HEALS = (*CHECK, "--solver", "script_solver:solver")


def test_the_own_check_is_named_and_the_timeline_is_red_red_green(shell: Shell) -> None:
    code, out, _ = shell.run("run", "--solver", "script_solver:solver")
    assert code == 0, out
    lines = [line.strip() for line in out.splitlines()]
    assert lines[0] == "check: python -m pytest -q (told by tests/test_calc.py)"
    words = [line.split()[1:] if line[:1].isdigit() else line.split() for line in lines]
    colours = [each[0] for each in words if each[:1] in (["red"], ["green"])]
    assert colours == ["red", "red", "green"]
    assert "+    return a + b" in lines
    assert "Nothing in your project changed" in out
    assert (shell.project / "calc.py").read_text() == WRONG


def test_a_home_may_be_named_from_here(shell: Shell) -> None:
    code, out, err = shell.run("--home", "./kept", "run", *HEALS)
    assert code == 0, out + err
    assert (shell.project / "kept" / "ratchet.db").is_file()


def test_json_is_one_object_and_its_diff_applies(shell: Shell) -> None:
    code, said = shell.json("run", *HEALS)
    assert code == 0
    assert said.keys() >= FIELDS
    attempts = said["attempts"]
    assert isinstance(attempts, list)
    assert all(each.keys() >= ATTEMPT_FIELDS for each in attempts)
    assert [each["status"] for each in attempts] == ["failed", "passed"]
    done = subprocess.run(
        ["git", "apply", "-p1", "-"], cwd=shell.project, input=str(said["diff"]), text=True, check=False
    )
    assert done.returncode == 0
    assert shell.json("run", *HEALS)[1]["status"] == "already_passing"


def test_json_is_one_object_on_refusal_too(shell: Shell) -> None:
    for words in (
        ("--solver", "nobody"),
        ("--judge", "nobody"),
        ("--in", "nowhere"),
        ("--apply", "--branch", "x"),
        ("--resume", "none"),
        ("--check", "  "),
        ("--pass-env", "NOT_SET_ANYWHERE"),
        ("--check", "no-such-program -q"),
        ("--branch", "in-no-repository"),
        ("--patch", "nowhere/it.patch"),
        ("--attempts", "0"),
        ("--budget-s", "nan"),
        ("--budget-usd", "inf"),
        ("--no-such-option",),
    ):
        code, said = shell.json("run", *words)
        assert code != 0, words
        assert said.keys() >= FIELDS
        assert said["status"] == "refused"
        assert said["reason"]


def test_the_judge_that_is_named_decides(shell: Shell) -> None:
    code, said = shell.json("run", *HEALS, "--judge", "own_judge:Never", "--attempts", "2")
    assert code == 1
    attempts = said["attempts"]
    assert isinstance(attempts, list)
    assert {each["status"] for each in attempts} == {"failed"}
    assert "good enough" in json.dumps(said)


def test_what_is_no_success_is_no_exit_code_of_0(shell: Shell) -> None:
    code, said = shell.json("run", *CHECK, "--solver", "ratchet.testing.healing:idle")
    assert (code, said["status"]) == (1, "breaker")
    code, said = shell.json("run", *HEALS, "--check", "sleep 60", "--budget-s", "3")
    assert (code, said["status"]) == (1, "budget")


def test_a_project_without_a_check_is_asked_for_one(shell: Shell) -> None:
    (shell.folder / "empty").mkdir()
    code, _, err = shell.run("run", "--in", str(shell.folder / "empty"))
    assert code == 2
    assert "--check CMD" in err


def test_apply_branch_and_patch_bring_it_home(shell: Shell) -> None:
    patch = shell.folder / "it.patch"
    code, said = shell.json("run", *HEALS, "--patch", str(patch))
    assert code == 0
    assert patch.read_text() == said["diff"]
    assert (shell.project / "calc.py").read_text() == WRONG
    git = ["git", "-c", "user.name=a", "-c", "user.email=b"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], cwd=shell.project, check=True, capture_output=True)
    assert shell.run("run", "--resume", str(said["id"]), "--branch", "healed")[0] == 0
    shown = subprocess.run(
        ["git", "show", "healed:calc.py"], cwd=shell.project, capture_output=True, text=True, check=True
    )
    assert "a + b" in shown.stdout
    assert shell.run("run", "--resume", str(said["id"]), "--apply")[0] == 0
    assert "a + b" in (shell.project / "calc.py").read_text()


def test_a_result_that_collides_with_an_edit_says_passed_and_is_not_applied(shell: Shell) -> None:
    _, said = shell.json("run", *HEALS)
    (shell.project / "calc.py").write_text(WRONG.replace("a - b", "mine(a)"))
    code, again = shell.json("run", "--resume", str(said["id"]), "--apply")
    assert code == 4
    assert "same lines" in str(again["reason"])
    assert "mine(a)" in (shell.project / "calc.py").read_text()


def test_episodes_are_listed_shown_rewound_and_diffed(shell: Shell) -> None:
    _, said = shell.json("run", *HEALS)
    name = str(said["id"])
    _, out, _ = shell.run("episodes", "list", "--json")
    assert [each["id"] for each in json.loads(out)] == [name]
    code, out, _ = shell.run("episodes", "show", name)
    assert code == 0
    assert "green" in out
    _, shown = shell.json("episodes", "show", name)
    assert shown["attempts"][0]["diff"].endswith("+    return 0\n")  # type: ignore[index]
    assert shell.run("episodes", "diff", name)[1] == said["diff"]
    assert "return 0" in shell.run("episodes", "diff", name, "--attempt", "1")[1]
    code, back = shell.json("episodes", "rewind", name, "--to", "1")
    assert (code, back["status"], len(back["attempts"])) == (0, "running", 1)  # type: ignore[arg-type]
    code, again = shell.json("run", "--resume", name, *HEALS)
    assert (code, again["status"]) == (0, "passed")
    assert shell.run("episodes", "show", "none")[0] == 3


def test_an_interrupt_ends_in_order_and_can_be_resumed(shell: Shell) -> None:
    process = shell.started("run", *CHECK, "--solver", "script_solver:slow", "--json")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and "attempt" not in shell.run("episodes", "list", "--json")[1].replace(
        '"attempts": []', ""
    ):
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    said = json.loads(out)
    assert (process.returncode, said["status"]) == (130, "cancelled")


def test_a_reader_that_goes_away_cancels_and_is_no_success(shell: Shell) -> None:
    process = shell.started("run", *CHECK, "--solver", "script_solver:slow")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("ep")
    process.stdout.close()
    assert process.wait(timeout=60) == 130
    assert process.stderr is not None
    process.stderr.close()
    listed = json.loads(shell.run("episodes", "list", "--json")[1])
    assert [each["status"] for each in listed] == ["cancelled"]


def test_a_run_without_a_sandbox_says_so_in_every_attempt(shell: Shell) -> None:
    code, said = shell.json("run", *HEALS, "--unsafe-no-sandbox")
    assert code == 0
    assert [each["isolation"] for each in said["attempts"]] == ["none", "none"]  # type: ignore[attr-defined]
