"""The benchmark that ships: enough of every kind, whole, and its plans and calls right by their own scorers."""

from __future__ import annotations

import ast
import itertools
import json
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import get_args

import pytest

from ratchet.errors import NotFound
from ratchet.evolving.bench.benchmark import Benchmark, BenchTask, Split, TaskKind
from ratchet.evolving.bench.laying import write_files
from ratchet.evolving.bench.shipped import names, shipped
from ratchet.evolving.scorers import SCORERS, Scored, score
from ratchet.healing.judges.protection import is_harness, is_test
from ratchet.sandbox.copied import CopiedWorkspace
from ratchet.sandbox.plain import Plain

CORE = shipped("core")
DATA = [task for task in CORE.tasks if task.scorer in ("plan", "calls")]


def by_id(task: BenchTask) -> str:
    return task.id


def answered(folder: Path, task: BenchTask, answer: str | None) -> Scored:
    write_files(folder / "project", task.files)
    workspace = CopiedWorkspace.create(folder / "project", folder / "place")
    if answer is not None:
        workspace.write("answer.json", answer.encode())
    return score(task, workspace, Plain())


def test_there_are_enough_of_every_kind_in_every_split() -> None:
    kinds = Counter(task.kind for task in CORE.tasks)
    assert set(kinds) == set(get_args(TaskKind))
    assert min(kinds.values()) >= 12
    assert len(CORE.tasks) >= 66
    shares = {"dev": (0.15, 0.25), "gate": (0.43, 0.57), "sealed": (0.24, 0.36)}
    for kind, split in itertools.product(get_args(TaskKind), get_args(Split)):
        share = sum(task.kind == kind for task in CORE.of(split)) / kinds[kind]
        low, high = shares[split]
        assert low <= share <= high, (kind, split, share)


def test_there_are_few_smoke_tasks_of_every_kind() -> None:
    smoke = [task for task in CORE.tasks if task.smoke]
    assert 5 <= len(smoke) <= 6
    assert {task.kind for task in smoke} == set(get_args(TaskKind))


def test_ids_and_questions_are_asked_once() -> None:
    assert len({task.id for task in CORE.tasks}) == len(CORE.tasks)
    assert len({(task.instruction, *task.files.items()) for task in CORE.tasks}) == len(CORE.tasks)


def test_the_hash_names_what_is_asked() -> None:
    assert shipped("core").hash == CORE.hash
    fewer = Benchmark(name="core", title=CORE.title, tasks=CORE.tasks[1:])
    assert fewer.hash != CORE.hash


@pytest.mark.parametrize("name", ["nothing", "../core", ""])
def test_another_name_is_no_benchmark(name: str) -> None:
    assert "core" in names()
    with pytest.raises(NotFound, match="core"):
        shipped(name)


@pytest.mark.parametrize("task", CORE.tasks, ids=by_id)
def test_a_task_is_whole(task: BenchTask) -> None:
    assert task.title
    assert len(task.instruction) > 80
    assert task.scorer in SCORERS
    assert task.reference or task.removes
    for path in (*task.files, *task.graders, *task.reference, *task.removes):
        pure = PurePosixPath(path)
        assert not pure.is_absolute()
        assert ".." not in pure.parts
        assert not is_harness(path)
    assert set(task.removes) <= set(task.files)
    assert all(is_test(path) for path in task.graders)
    assert not set(task.graders) & set(task.files)
    assert not any(is_test(path) for path in task.reference)
    if task.scorer == "pytest":
        assert task.graders


@pytest.mark.parametrize("task", CORE.tasks, ids=by_id)
def test_graders_and_references_can_be_read(task: BenchTask) -> None:
    for path, text in (*task.graders.items(), *task.reference.items()):
        if path.endswith(".py"):
            ast.parse(text)
        if path == "answer.json":
            json.loads(text)


@pytest.mark.parametrize("task", DATA, ids=by_id)
def test_what_is_asked_for_does_not_hold_the_answer(task: BenchTask) -> None:
    shown = "\n".join([task.instruction, *task.files.values()])
    for text in task.reference.values():
        assert "".join(text.split()) not in "".join(shown.split())
    if task.scorer == "calls":
        assert '"calls"' not in shown


@pytest.mark.parametrize("task", DATA, ids=by_id)
def test_the_reference_is_right_and_nothing_is_not(task: BenchTask, tmp_path: Path) -> None:
    right = answered(tmp_path / "right", task, task.reference["answer.json"])
    assert right == Scored(score=1.0)
    for name, answer in (("none", None), ("list", "[]"), ("object", "{}")):
        assert answered(tmp_path / name, task, answer).score == 0.0


@pytest.mark.parametrize("task", DATA, ids=by_id)
def test_a_part_of_the_reference_is_not_all(task: BenchTask, tmp_path: Path) -> None:
    whole = json.loads(task.reference["answer.json"])
    part = whole[:-1] if isinstance(whole, list) else dict(list(whole.items())[1:])
    if not part and task.kind == "tools":
        return
    found = answered(tmp_path, task, json.dumps(part))
    assert found.score < 1.0
    assert found.reason


@pytest.mark.parametrize("task", [task for task in DATA if task.kind == "tools"], ids=by_id)
def test_calls_asked_for_fit_their_schemas(task: BenchTask) -> None:
    tools = {tool["name"]: tool["parameters"] for tool in json.loads(task.files["tools.json"])}
    for call in json.loads(task.reference["answer.json"]):
        schema = tools[call["tool"]]
        assert set(schema["required"]) <= set(call["arguments"]) <= set(schema["properties"])
        for name, value in call["arguments"].items():
            assert "enum" not in schema["properties"][name] or value in schema["properties"][name]["enum"]
