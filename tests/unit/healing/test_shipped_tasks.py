"""The tasks that ship, and the faults that are made of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ratchet import tasks
from ratchet.errors import NotFound, UsageError
from ratchet.tasks import ShippedTask, faults


def test_there_are_enough_of_every_sort() -> None:
    every = tasks.all_tasks()
    single = [task for task in every if task.kind != "multi-file"]
    assert len(single) >= 40
    assert len(every) - len(single) >= 10
    assert sum(task.edits > 1 for task in single) >= 10
    assert len({task.kind for task in every}) >= 15


@pytest.mark.parametrize("name", tasks.names())
def test_a_task_is_whole(name: str) -> None:
    task = tasks.task(name)
    assert any(path.startswith("test_") for path in task.project)
    assert task.held
    assert task.fixed
    for path, text in task.fixed.items():
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(task.project[path]))
    for text in (*task.held.values(), *task.project.values()):
        ast.parse(text)
    assert all(len(sources.splitlines()) < 60 for sources in task.sources.values())


def test_a_task_is_laid_out_once(tmp_path: Path) -> None:
    task = tasks.task("towers")
    folder = task.lay_out(tmp_path / "new")
    assert (folder / "towers.py").read_text() == task.project["towers.py"]
    with pytest.raises(UsageError):
        task.lay_out(folder)
    held = task.lay_out_held(tmp_path / "held")
    assert [each.name for each in held.iterdir()] == ["test_held_towers.py"]


@pytest.mark.parametrize("name", ["nothing", "../towers", ""])
def test_another_name_is_no_task(name: str) -> None:
    with pytest.raises(NotFound):
        tasks.task(name)


@pytest.mark.slow
def test_every_class_of_fault_finds_a_program_that_it_fits() -> None:
    seen = {fault.fault for task in tasks.all_tasks() for fault in faults.faulty(task.sources)}
    assert seen == set(faults.CLASSES)


def always(_task: ShippedTask) -> bool:
    return True


def test_a_stream_can_be_made_again_and_keeps_to_its_classes() -> None:
    every = tasks.all_tasks()
    one = list(faults.stream(every, always, length=20, seed=3, classes=("boundary",)))
    assert one == list(faults.stream(every, always, length=20, seed=3, classes=("boundary",)))
    assert {task.fault for task in one} == {"boundary"}
    assert len({task.name for task in one}) == 20
    for task in one:
        (path,) = task.fixed
        assert task.project[path] != task.fixed[path]


def test_a_diverse_stream_has_many_classes() -> None:
    made = list(faults.stream(tasks.all_tasks(), always, length=27, seed=1, recurring=False))
    assert len({task.fault for task in made}) >= 8
