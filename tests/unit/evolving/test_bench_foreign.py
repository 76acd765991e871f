"""Problems of EvalPlus and tests of promptfoo become tasks that tell right from wrong, or are refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from ratchet.errors import UsageError
from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.bench.importing import read_lines, read_promptfoo

HALF = {
    "task_id": "HumanEval/1",
    "prompt": 'def half(n):\n    """Half of n."""\n',
    "entry_point": "half",
    "canonical_solution": "    return n / 2\n",
    "base_input": [[4], [1]],
    "plus_input": [[0.3], [-7]],
    "atol": 0,
}
REVERSED = {
    "task_id": "Mbpp/2",
    "prompt": '"""\nReverse a list.\nassert rev([1, 2]) == [2, 1]\n"""\n',
    "entry_point": "rev",
    "canonical_solution": "\ndef rev(a):\n    return a[::-1]\n",
    "base_input": [[[1, 2]]],
    "plus_input": [[[]], [["a"]]],
    "atol": 0,
}


def lines(folder: Path, *rows: Mapping[str, object]) -> Path:
    path = folder / "plus.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    return path


def passes(task: BenchTask, answer: Mapping[str, str], folder: Path) -> bool:
    """Whether the graders' tests pass beside an answer."""
    files = {**task.files, **answer, **task.graders}
    for path, text in files.items():
        (folder / path).write_text(text)
    solution = ModuleType("solution")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setitem(sys.modules, "solution", solution)
        exec(files.get("solution.py", ""), solution.__dict__)
        for grader in task.graders.values():
            held: dict[str, object] = {}
            exec(grader, held)
            for name, test in list(held.items()):
                if name.startswith("test_") and callable(test):
                    try:
                        test()
                    except (AssertionError, ImportError):
                        return False
    return True


def test_a_problem_of_evalplus_is_judged_on_all_its_inputs(tmp_path: Path) -> None:
    half, reverse = read_lines(lines(tmp_path, HALF, REVERSED), "plus").tasks
    assert passes(half, half.reference, tmp_path)
    assert passes(half, {"solution.py": "def half(n):\n    return n * 0.5 + 1e-9\n"}, tmp_path)
    assert not passes(half, {"solution.py": "def half(n):\n    return abs(n) / 2\n"}, tmp_path)
    assert not passes(half, {}, tmp_path)
    assert passes(reverse, reverse.reference, tmp_path)
    assert not passes(reverse, {"solution.py": "def rev(a):\n    return tuple(a[::-1])\n"}, tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"canonical_solution": " "}, "canonical_solution"),
        ({"base_input": [], "plus_input": []}, "no inputs"),
        ({"base_input": [4]}, "list of lists"),
        ({"atol": "much"}, "atol"),
    ],
)
def test_a_problem_that_cannot_be_judged_is_refused_by_its_line(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        read_lines(lines(tmp_path, {**HALF, **change}), "plus")


def config(folder: Path, **keys: object) -> Path:
    path = folder / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": ["Say {{what}}"], **keys}))
    return path


@pytest.mark.parametrize(
    ("asserted", "right", "wrong"),
    [
        ([{"type": "equals", "value": "{{what}}"}], "hello", "hello you"),
        ([{"type": "contains", "value": "ello"}, {"type": "starts-with", "value": "he"}], "hello", "yellow"),
        ([{"type": "icontains-all", "value": ["HEL", "LO"]}], "hello", "help"),
        ([{"type": "contains-any", "value": "hello,bye"}], "bye", "good day"),
        ([{"type": "regex", "value": "^h.*o$"}], "hello", "hell"),
        ([{"type": "is-json"}], '{"a": 1}', "{a: 1}"),
        ([{"type": "not-contains", "value": "As an AI"}], "hello", "As an AI, hello"),
        ([{"type": "equals", "value": 'it\'s "so"\\n'}], 'it\'s "so"\\n', "so"),
    ],
)
def test_an_assertion_of_promptfoo_tells_right_from_wrong(
    tmp_path: Path, asserted: list[dict[str, object]], right: str, wrong: str
) -> None:
    (task,) = read_promptfoo(config(tmp_path, tests=[{"vars": {"what": "hello"}, "assert": asserted}]), "p").tasks
    assert task.instruction.startswith("Say hello\n")
    assert passes(task, {"answer.txt": f"{right}\n"}, tmp_path)
    assert not passes(task, {"answer.txt": wrong}, tmp_path)
    (tmp_path / "answer.txt").unlink()
    assert not passes(task, {}, tmp_path)
    if task.reference:
        assert passes(task, task.reference, tmp_path)


def test_defaults_lists_of_values_and_files_make_the_tests_that_promptfoo_makes(tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text(json.dumps({"vars": {"what": "c"}, "description": "the last"}) + "\n")
    (tmp_path / "prompt.txt").write_text("Please say {{ what }}.")
    given = config(
        tmp_path,
        prompts=["file://prompt.txt"],
        defaultTest={"assert": [{"type": "icontains", "value": "{{what}}"}]},
        tests=[{"vars": {"what": ["a", "b"]}}, "file://more.jsonl"],
    )
    found = read_promptfoo(given, "p").tasks
    assert [each.instruction.split("\n")[0] for each in found] == [f"Please say {each}." for each in "abc"]
    assert [each.reference["answer.txt"] for each in found] == ["a", "b", "c"]
    assert found[2].title == "the last"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"tests": [{"vars": {"what": "x"}, "assert": [{"type": "llm-rubric", "value": "polite"}]}]}, "llm-rubric"),
        ({"tests": [{"vars": {"what": "x"}}]}, "test 1 asserts nothing"),
        ({"tests": [{"assert": [{"type": "is-json"}]}]}, "no variable 'what'"),
        ({"prompts": ["a", "b"], "tests": []}, "2 prompts"),
        ({"tests": []}, "holds no tests"),
        ({"prompts": ["{% if x %}a{% endif %}"], "tests": [{"assert": [{"type": "is-json"}]}]}, "more than a variable"),
        ({"tests": [{"vars": {"what": "x"}, "assert": [{"type": "regex", "value": "("}]}]}, "regular expression"),
        ({"tests": [{"vars": {"what": "x"}, "threshold": 0.5, "assert": [{"type": "is-json"}]}]}, "threshold"),
        ({"tests": "file://tests.csv"}, "cannot be read"),
    ],
)
def test_what_of_promptfoo_is_not_read_is_refused_by_its_name(
    tmp_path: Path, keys: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        read_promptfoo(config(tmp_path, **keys), "p")
