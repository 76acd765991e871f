"""Every task of the shipped benchmark that is scored in a sandbox can be done, and is not done from the beginning."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from ratchet import tasks
from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.bench.shipped import shipped
from ratchet.evolving.scorers import Scored
from support.hall import Hall, opened

RUN = [task for task in shipped("core").tasks if task.scorer == "pytest"]


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Hall:
    return opened(tmp_path_factory)


@pytest.fixture(scope="module")
def scored(hall: Hall) -> dict[str, tuple[Scored, Scored]]:
    """Task -> what its reference gets, and what its files get as they are; two at a time."""

    def both(task: BenchTask) -> tuple[Scored, Scored]:
        return hall.score(task, task.reference, removes=task.removes), hall.score(task, {})

    with ThreadPoolExecutor(2) as pool:
        return dict(zip([task.id for task in RUN], pool.map(both, RUN), strict=True))


@pytest.mark.parametrize("name", [task.id for task in RUN])
def test_the_reference_is_right_and_what_was_there_is_not(scored: dict[str, tuple[Scored, Scored]], name: str) -> None:
    right, before = scored[name]
    assert (right.score, right.reason, right.tampered) == (1.0, "", ())
    assert not before.unmeasured
    assert before.score < 1.0
    assert before.reason
    assert before.kind
    assert before.signature


@pytest.mark.parametrize("name", ["bank_account", "counters", "lru_store", "workdays"])
def test_programs_whose_tests_make_their_objects_can_be_right(hall: Hall, name: str) -> None:
    task = next(each for each in shipped("repair").tasks if each.id == f"fix-{name}")
    assert dict(task.reference) == dict(tasks.task(name).fixed)
    assert hall.score(task, task.reference).score == 1.0
    assert hall.score(task, {}).score < 1.0
