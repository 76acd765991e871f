"""An imported task measures: its right answer passes, doing nothing does not, and its check may use what the prompt
defines."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ratchet.config import Config
from ratchet.errors import UsageError
from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.bench.book import BenchChecking
from ratchet.evolving.bench.checking import check_tasks
from ratchet.evolving.bench.ground import measuring
from ratchet.evolving.bench.importing import read_folder, read_lines
from ratchet.runtime import Runtime
from support.hall import opened

Faults = Callable[[Sequence[BenchTask]], dict[str, str]]


@pytest.fixture(scope="module", autouse=True)
def _contained(tmp_path_factory: pytest.TempPathFactory) -> None:
    opened(tmp_path_factory)  # skips where no sandbox holds


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    """What is wrong with tasks, by id."""

    def found(tasks: Sequence[BenchTask]) -> dict[str, str]:
        return {each.task: each.reason for each in check_tasks(tasks, measuring(tmp_path / "home")).faults}

    return found


def line(name: str, prompt: str, solution: str, test: str, entry: str = "add") -> str:
    row = {"task_id": name, "prompt": prompt, "canonical_solution": solution, "test": test, "entry_point": entry}
    return json.dumps(row) + "\n"


def tasks_of(path: Path, *lines: str) -> Sequence[BenchTask]:
    path.write_text("".join(lines))
    return read_lines(path, "tasks").tasks


HEAD = 'def add(a, b):\n    """The sum."""\n'
BODY = "    return a + b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
CHECK = "def check(candidate):\n    assert candidate(1, 2) == 3\n"


def test_a_check_may_use_what_the_prompt_defines_and_the_entry_by_its_own_name(faults: Faults, tmp_path: Path) -> None:
    helped = "import math\nfrom typing import List\n\n\ndef half(n):\n    return n / 2\n\n\n"
    tasks = tasks_of(
        tmp_path / "tasks.jsonl",
        line("helper", helped + HEAD, BODY, "def check(candidate):\n    assert half(candidate(1, 3)) == 2\n"),
        line("import", helped + HEAD, BODY, "def check(candidate):\n    assert candidate(0, math.pi) == math.pi\n"),
        line("entry", HEAD, BODY, "def check(candidate):\n    assert add(1, 2) == 3\n"),
        line("typed", "from typing import List\n" + HEAD, BODY, f"WANTED: List[int] = [3]\n{CHECK}"),
        line("bare", "def add(a, b):\n", BODY, CHECK),
        line("class", "class Pair:\n    pass\n\n\n" + HEAD, BODY, f"{CHECK}    assert Pair()\n"),
        line("later", "from __future__ import annotations\n" + HEAD, BODY, CHECK),
    )
    assert faults(tasks) == {}


def test_the_entry_of_a_check_is_the_answer_and_not_the_stub(faults: Faults, tmp_path: Path) -> None:
    """The check passes on the stub's None: so it must judge what the agent wrote."""
    stub = "def check(candidate):\n    assert add(1, 2) is None\n"
    assert faults(tasks_of(tmp_path / "tasks.jsonl", line("stub", HEAD, BODY, stub))) == {
        "stub": "its right answer fails: 1 of 1 tests fail"
    }


def test_what_cannot_measure_is_named_with_its_reason(faults: Faults, tmp_path: Path) -> None:
    tasks = tasks_of(
        tmp_path / "tasks.jsonl",
        line("good", HEAD, BODY, CHECK),
        line("wrong", HEAD, "    return a - b\n", CHECK),
        line("free", HEAD, BODY, "def check(candidate):\n    pass\n"),
    )
    found = faults(tasks)
    assert found.keys() == {"wrong", "free"}
    assert found["wrong"].startswith("its right answer fails: 1 of 1 tests fail")
    assert found["free"] == "it passes before anything is done"


def test_a_folder_of_passing_tests_is_no_set_of_failing_tasks(tmp_path: Path) -> None:
    folder = tmp_path / "tests-of-mine"
    for name, result in (("solved", "a + b"), ("open", "a - b")):
        (folder / name).mkdir(parents=True)
        (folder / name / "calc.py").write_text(f"def add(a, b):\n    return {result}\n")
        (folder / name / "test_calc.py").write_text(
            "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"
        )
    book = Runtime(Config(home=tmp_path / "home")).benchmarks
    with pytest.raises(UsageError, match=r"1 of 2 tasks .* solved: it passes before anything is done.* --no-check"):
        book.import_tasks(str(folder), name="mine", checking=BenchChecking())
    assert "mine" not in book.names()
    assert book.import_tasks(str(folder), name="mine")[1]
    found = book.check("mine")
    assert ([each.task for each in found.faults], found.unproven) == (["solved"], 2)


def test_right_answers_of_a_folder_are_tried(faults: Faults, tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    for name, answer in (("right", "a + b"), ("odd", "b - a")):
        (folder / name / "solution").mkdir(parents=True)
        (folder / name / "calc.py").write_text("def add(a, b):\n    return 0\n")
        (folder / name / "test_calc.py").write_text(
            "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"
        )
        (folder / name / "solution" / "calc.py").write_text(f"def add(a, b):\n    return {answer}\n")
    assert faults(read_folder(folder, "tasks").tasks) == {"odd": "its right answer fails: 1 of 1 tests fail"}
