"""`ratchet bench` as a shell and a script see it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ratchet.cli import main
from ratchet.errors import Refused
from ratchet.sandbox.choice import Sandboxes

AGENT = """
import json, os, pathlib, sys, time

settings = json.loads(os.environ["RATCHET_AGENT_SETTINGS"])
seed = int(os.environ["RATCHET_SEED"])
time.sleep(settings.get("sleep_s", 0))
number = pathlib.Path("number.txt").read_text().strip()
if int(number) % settings["knows"] == 0:
    pathlib.Path("answer.txt").write_text(number)
if int(number) == settings.get("down_on", -1):
    sys.exit(75)
pathlib.Path("usage.json").write_text(json.dumps({"cost_usd": 0.01, "tokens": 10}))
"""
GRADER = """
import pathlib

answer = pathlib.Path("answer.txt")
print(1.0 if answer.exists() and answer.read_text() == pathlib.Path("number.txt").read_text().strip() else 0.0)
"""


PARALLEL = ("--bench", "copying", "--parallel", "3")


class Shell:
    """Runs `ratchet` with a home of its own, which holds a benchmark of `tasks` quick tasks."""

    def __init__(self, folder: Path, tasks: int = 6) -> None:
        self.folder = folder
        self.environ = {**os.environ, "RATCHET_HOME": str(folder / "home"), "HOME": str(folder), "COLUMNS": "200"}
        self._freeze(tasks)

    def _freeze(self, tasks: int) -> None:
        from ratchet.evolving.bench.benchmark import Benchmark, BenchTask
        from ratchet.evolving.bench.shelf import BenchShelf

        made = tuple(
            BenchTask(
                id=f"copy-{n}",
                kind="code",
                split="gate",
                instruction="Copy the number into answer.txt.",
                scorer="command",
                files={"number.txt": f"{n}\n"},
                graders={"grader.py": GRADER},
                spec={"command": ["python", "grader.py"]},
            )
            for n in range(tasks)
        )
        BenchShelf(self.folder / "home").keep(Benchmark(name="copying", title="Copying numbers", tasks=made))

    def agent(self, name: str, **settings: float) -> str:
        folder = self.folder / name
        folder.mkdir()
        (folder / "agent.py").write_text(AGENT)
        lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
        (folder / "ratchet-agent.toml").write_text(f'command = "python agent.py"\n[settings]\n{lines}')
        return str(folder)

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "ratchet", "bench", *words]

    def __call__(self, *words: str, code: int = 0) -> str:
        ran = subprocess.run(self.argv(*words), env=self.environ, cwd=self.folder, capture_output=True, text=True)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout if code == 0 or "--json" in words else ran.stdout + ran.stderr

    def json(self, *words: str, code: int = 0) -> dict[str, object]:
        found = json.loads(self(*words, "--json", code=code))
        assert isinstance(found, dict)
        return found


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    try:
        Sandboxes(tmp_path).chosen()
    except Refused as error:
        pytest.skip(f"needs a sandbox: {error}")
    return Shell(tmp_path)


def test_an_agent_is_measured_shown_and_remembered(shell: Shell) -> None:
    agent = shell.agent("half", knows=2)
    found = shell.json("run", "--agent", agent, "--bench", "copying", "--parallel", "2")
    score = found["score"]
    assert isinstance(score, dict)
    assert (score["mean"], score["n"], found["state"], found["unmeasured"]) == (0.5, 6, "ended", 0)
    assert (found["cost_usd"], found["tokens"], found["benchmark"]) == (0.06, 60, "copying")
    by_task = found["by_task"]
    assert isinstance(by_task, list)
    assert {each["task"]: each["score"]["mean"] for each in by_task}["copy-3"] == 0.0
    text = shell("show", str(found["id"]))
    assert "50.0 %" in text
    assert "copy-3" in text
    assert str(found["id"]) in shell("history")
    every = shell.json("show", str(found["id"]), "--evaluations")["evaluations"]
    assert isinstance(every, list)
    assert {each["isolation"] for each in every} <= {"bubblewrap", "landlock"}


def test_two_versions_are_compared_and_what_cannot_be_seen_is_said(shell: Shell) -> None:
    runs = [
        str(shell.json("run", "--agent", shell.agent(name, knows=knows), *PARALLEL)["id"])
        for name, knows in (("few", 3), ("all", 1))
    ]
    found = shell.json("compare", *runs)
    assert (found["pairs"], found["better"], found["worse"], found["resolves"]) == (6, 4, 0, False)
    text = shell("compare", *runs)
    assert "cannot resolve 5 points" in text
    assert "to show them in 80% of cases needs" in text
    assert "noise floor: not measured" in text


def test_what_differs_between_two_runs_of_one_agent_is_said(shell: Shell) -> None:
    agent = shell.agent("one", knows=3)
    runs = [str(shell.json("run", "--agent", agent, *PARALLEL)["id"])]
    place = shell.folder / "one"
    (place / "ratchet-agent.toml").write_text('command = "python agent.py"\n[settings]\nknows = 1\n')
    (place / "agent.py").write_text(f"{AGENT}\n# and more\n")
    runs.append(str(shell.json("run", "--agent", agent, *PARALLEL)["id"]))
    said = "knows 3 -> 1; files changed: agent.py, ratchet-agent.toml"
    text = shell("compare", *runs)
    assert f"what differs: {said}" in text
    assert "A 33.3 %" in text
    assert "B 100.0 %" in text
    found = shell.json("compare", *runs)
    assert found["differences"] == said.split("; ")
    assert [round(each["mean"], 3) for each in found["scores"]] == [0.333, 1.0]  # type: ignore[attr-defined]
    assert shell("history").count("unlike ") == 1
    assert f"unlike {runs[0]}: {said}" in shell("history")
    alike = str(shell.json("run", "--agent", agent, *PARALLEL)["id"])
    assert "what differs: nothing" in shell("compare", runs[1], alike)
    assert "what differs: seed 0 -> 4" in shell(
        "compare", alike, str(shell.json("run", "--agent", agent, *PARALLEL, "--seed", "4")["id"])
    )


def test_an_agent_against_itself_prints_the_noise_floor(shell: Shell) -> None:
    agent = shell.agent("half", knows=2)
    assert "noise floor" in shell("run", "--agent", agent, "--bench", "copying", "--aa", "--tasks", "copy-[0-3]")
    assert "A/A" in shell("history")


def test_what_the_machine_did_wrong_is_no_wrong_answer(shell: Shell) -> None:
    found = shell.json("run", "--agent", shell.agent("down", knows=1, down_on=2), *PARALLEL)
    score = found["score"]
    assert isinstance(score, dict)
    assert (found["unmeasured"], score["mean"], score["n"]) == (1, 1.0, 5)
    nothing = shell.json(
        "run", "--agent", shell.agent("off", knows=1, down_on=1), "--bench", "copying", "--tasks", "copy-1", code=6
    )
    assert (nothing["unmeasured"], nothing["runs"]) == (1, 1)


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_executors_come_to_the_same_scores(shell: Shell, executor: str) -> None:
    agent = shell.agent("half", knows=2)
    found = shell.json(
        "run",
        "--agent",
        agent,
        "--bench",
        "copying",
        "--executor",
        executor,
        "--parallel",
        "2",
        "--tasks",
        "copy-[0-2]",
    )
    by_task = found["by_task"]
    assert isinstance(by_task, list)
    assert [each["score"]["mean"] for each in by_task] == [1.0, 0.0, 1.0]


def test_many_at_once_cost_no_more_than_there_is(shell: Shell) -> None:
    told = shell.json("run", "--agent", shell.agent("dear", knows=1), *PARALLEL, "--budget-usd", "0.024", code=1)
    assert told["state"] == "budget"
    assert isinstance(told["cost_usd"], float)
    assert told["cost_usd"] <= 0.024
    assert told["runs"] == 1  # another might cost half as much again


def test_ctrl_c_once_lets_what_is_under_way_end_and_the_run_goes_on_later(shell: Shell) -> None:
    agent = shell.agent("slow", knows=1, sleep_s=1)
    process = _started(shell, "run", "--agent", agent, "--bench", "copying")
    _until_begun(shell)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "--resume" in out
    held = json.loads(shell("history", "--json"))[0]
    assert (held["state"], 0 < held["runs"] < 6) == ("cancelled", True)
    ended = shell.json("run", "--resume", held["id"])
    assert (ended["state"], ended["runs"]) == ("ended", 6)


def test_ctrl_c_twice_stops_at_once_and_leaves_no_process(shell: Shell) -> None:
    agent = shell.agent("sleeper", knows=1, sleep_s=77)
    process = _started(shell, "run", "--agent", agent, "--bench", "copying", "--parallel", "2")
    _until_begun(shell)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    held = json.loads(shell("history", "--json"))[0]
    assert (held["state"], held["runs"]) == ("cancelled", 0)
    assert not [line for line in _command_lines() if str(shell.folder) in line]
    assert not list((shell.folder / "home" / "bench" / "places").iterdir())


def test_a_benchmark_is_shown_without_what_judges_it(shell: Shell) -> None:
    for words in (("show", "copying"), ("show", "copying", "copy-1"), ("show", "copying", "--json"), ("list",)):
        text = shell(*words)
        assert "grader" not in text
        assert "answer.exists" not in text
    assert "copying" in shell("list")
    assert "Copy the number" in shell("show", "copying", "copy-1")


def test_tasks_of_others_are_imported_and_measured(shell: Shell) -> None:
    row = {
        "task_id": "T/0",
        "prompt": "def double(n):\n",
        "canonical_solution": "    return 2 * n\n",
        "test": "def check(candidate):\n    assert candidate(2) == 4\n",
        "entry_point": "double",
    }
    (shell.folder / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    assert shell.json("import", "tasks.jsonl")["fresh"] is True
    assert shell.json("import", "tasks.jsonl")["fresh"] is False
    (shell.folder / "solve.py").write_text("open('solution.py', 'w').write('def double(n):\\n    return n + n\\n')\n")
    found = shell.json("run", "--agent", "python solve.py", "--bench", "tasks")
    score = found["score"]
    assert isinstance(score, dict)
    assert score["mean"] == 1.0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run",), 2, "--agent"),
        (("run", "--agent", "x", "--resume", "y"), 2, "--agent"),
        (("run", "--agent", "no-such-thing-here"), 3, "no program"),
        (("run", "--agent", "true", "--bench", "nothing"), 3, "no benchmark"),
        (("run", "--agent", "true", "--bench", "copying", "--tasks", "zzz"), 2, "no task"),
        (("run", "--agent", "."), 2, "ratchet-agent.toml"),
        (("run", "--resume", "none"), 3, "no bench run"),
        (("run", "--agent", "true", "--bench", "copying", "--ro", "home"), 2, "would show what judges the agent"),
        (("run", "--agent", "true", "--bench", "copying", "--ro", "."), 2, "would show what judges the agent"),
        (("run", "--agent", "true", "--bench", "copying", "--budget-usd", "nan"), 2, "not finite"),
        (("run", "--agent", "true", "--bench", "copying", "--budget-s", "inf"), 2, "not finite"),
        (("show", "nothing"), 3, "no benchmark"),
        (("show", "copying", "zzz"), 3, "no task"),
        (("show", "none"), 3, "no benchmark"),
        (("compare", "none", "other"), 3, "no bench run"),
        (("import", "nothing"), 3, "no file"),
        (("import", "bad.jsonl"), 2, "bad.jsonl:1"),
        (("import", "bad.json"), 2, "bad.json"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_remedy(
    shell: Shell,
    words: tuple[str, ...],
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (shell.folder / "bad.jsonl").write_text("{}\n")
    (shell.folder / "bad.json").write_text("{\n")
    monkeypatch.chdir(shell.folder)
    monkeypatch.setenv("RATCHET_HOME", str(shell.folder / "home"))
    monkeypatch.setattr(sys, "argv", ["ratchet", "bench", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert said in capsys.readouterr().err


def _started(shell: Shell, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        shell.argv(*words),
        env=shell.environ,
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _until_begun(shell: Shell) -> None:
    """Wait until something is being measured."""
    places = shell.folder / "home" / "bench" / "places"
    for _ in range(600):
        if list(places.glob("*/scratch/*")):
            return
        time.sleep(0.05)
    pytest.fail("nothing was begun within 30 s")


def _command_lines() -> list[str]:
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(each.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found
