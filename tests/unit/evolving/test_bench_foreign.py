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


def written(folder: Path, text: str) -> Path:
    path = folder / "promptfooconfig.yaml"
    path.write_text(text)
    return path


def folded(depth: int) -> str:
    """YAML in which `z` names nine to the power of `depth` values."""
    lists = [f"a{n}: &a{n} [{', '.join(['x' if n == 0 else f'*a{n - 1}'] * 9)}]" for n in range(depth)]
    return "\n".join([*lists, f"z: *a{depth - 1}\n"])


def merged(depth: int) -> str:
    maps = [f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}" for n in range(1, depth)]
    return "\n".join(["m0: &m0 {k: x}", *maps, ""])


ODD = {
    "an alias within an alias": f"{folded(9)}prompts: [x]\ntests: []\n",
    "aliases as a value": f"{folded(9)}prompts: [x]\ntests: [{{vars: {{v: *a8}}, assert: [{{type: is-json}}]}}]\n",
    "merged maps": f"{merged(9)}prompts: [x]\ntests: []\n",
    "a value within itself": "prompts: [x]\ntests: [{vars: &v {a: *v}, assert: [{type: equals, value: x}]}]\n",
    "itself": "&a\nprompts: [x]\ntests: [*a]\n",
    "a day": "prompts: [x]\ntests: [{vars: {a: 1}, assert: [{type: equals, value: 2020-01-01}]}]\n",
    "bytes": "prompts: [x]\ntests: [{vars: {a: !!binary aGk=}, assert: [{type: equals, value: x}]}]\n",
    "a set": "prompts: [x]\ntests: [{vars: {a: !!set {b}}, assert: [{type: equals, value: x}]}]\n",
    "a large repetition": "prompts: [x]\ntests: [{assert: [{type: regex, value: 'a{4294967296}'}]}]\n",
    "nested groups": f"prompts: [x]\ntests: [{{assert: [{{type: regex, value: '{'(' * 4000}{')' * 4000}'}}]}}]\n",
    "a thousand million tests": "prompts: [x]\ntests: [{vars: {"
    + ", ".join(f"v{n}: [{', '.join('0123456789')}]" for n in range(9))
    + "}, assert: [{type: equals, value: x}]}]\n",
    "a file as a value": "prompts: [x]\ntests: [{assert: [{type: equals, value: 'file://right.txt'}]}]\n",
    "a file as a variable": "prompts: [x]\ntests: [{vars: {v: 'file:///etc/hosts'}, assert: [{type: is-json}]}]\n",
    "a prompt above": "prompts: ['file://../secret.txt']\ntests: [{assert: [{type: is-json}]}]\n",
    "a prompt elsewhere": "prompts: ['file:///etc/x.txt']\ntests: [{assert: [{type: is-json}]}]\n",
    "a prompt behind a link": "prompts: ['file://link.txt']\ntests: [{assert: [{type: is-json}]}]\n",
    "a prompt that is no text": "prompts: ['file://latin.txt']\ntests: [{assert: [{type: is-json}]}]\n",
    "tests above": "prompts: [x]\ntests: ['file://../tests.yaml']\n",
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_configuration_of_promptfoo_is_refused_at_once_with_the_remedy(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("the secret")
    (tmp_path / "tests.yaml").write_text("- assert: [{type: is-json}]\n")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "right.txt").write_text("right")
    (folder / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(UsageError) as caught:
        read_promptfoo(written(folder, ODD[name]), "p")
    assert "the secret" not in str(caught.value)


def test_aliases_of_a_template_and_keys_that_are_numbers_are_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "prompts: ['{{a}} {{b}}']\nmine: &mine [{type: contains, value: ok}]\n"
        "tests: [{vars: {a: x, b: y, 1: z}, assert: *mine}, {vars: {a: z, b: y}, assert: *mine}]\n",
    )
    assert len(read_promptfoo(path, "p").tasks) == 2
