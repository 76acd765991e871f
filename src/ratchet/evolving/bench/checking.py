"""Checks that tasks can measure: a right answer passes, and doing nothing does not, each time anew."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.bench.measuring import Measuring
from ratchet.evolving.scorers.scored import Scored
from ratchet.ports import Sandbox
from ratchet.sandbox.command import Command, Limits

TIMES = 2
"""Runs of each answer: a grader that says now this, now that, judges by luck."""

Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFault:
    """A task that cannot measure, and why, in words."""

    task: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCheck:
    """A check of a benchmark's tasks. `unproven` are those without a right answer: only doing nothing was tried."""

    tasks: int
    unproven: int
    faults: Sequence[TaskFault]


def check_tasks(
    tasks: Sequence[BenchTask],
    measuring: Measuring,
    *,
    unsafe: bool = False,
    parallel: int = 2,
    told: Told = lambda _done, _planned: None,
) -> BenchCheck:
    """Score each task's reference, and its files as they are, `TIMES` times each, in the sandbox."""
    done = 0
    faults: list[TaskFault] = []
    sandbox = measuring.sandbox(unsafe)
    scratch = Path(tempfile.mkdtemp(prefix="ratchet-check-"))
    told(0, len(tasks))
    try:
        with ThreadPoolExecutor(parallel, thread_name_prefix="ratchet-check") as pool:
            for task, reason in zip(
                tasks, pool.map(lambda each: _fault(each, measuring, sandbox, scratch), tasks), strict=True
            ):
                done += 1
                told(done, len(tasks))
                if reason:
                    faults.append(TaskFault(task=task.id, reason=reason))
    finally:
        measuring.removed(scratch)
    return BenchCheck(tasks=len(tasks), unproven=sum(not _is_proven(each) for each in tasks), faults=faults)


def _is_proven(task: BenchTask) -> bool:
    return bool(task.reference or task.removes)


def _fault(task: BenchTask, measuring: Measuring, sandbox: Sandbox, scratch: Path) -> str:
    """Say what is wrong with a task; "" if nothing is."""
    if _is_proven(task):
        right = [_scored(task, measuring, sandbox, scratch, answered=True) for _ in range(TIMES)]
        bad = next((each for each in right if not each.passed), None)
        if bad is not None:
            often = "at times " if any(each.passed for each in right) else ""
            return f"its right answer {often}fails: {bad.reason or f'it scores {bad.score:g}'}"
    idle = [_scored(task, measuring, sandbox, scratch, answered=False) for _ in range(TIMES)]
    if passed := sum(each.passed for each in idle):
        return "it passes before anything is done" if passed == TIMES else "doing nothing passes at times"
    return ""


def _scored(task: BenchTask, measuring: Measuring, sandbox: Sandbox, scratch: Path, *, answered: bool) -> Scored:
    """Score the right answer to a task, or none."""
    place = Path(tempfile.mkdtemp(dir=scratch))
    workspace = measuring.laid(task, sandbox, place)
    try:
        if answered:
            if task.removes:
                sandbox.run(Command(argv=("rm", "--", *task.removes), view=workspace.view()))
            for path, text in task.reference.items():
                workspace.write(path, text.encode("utf-8", "surrogateescape"))
        limits = Limits(wall_s=task.wall_s)
        return measuring.score(task, workspace, sandbox, limits=limits, cancelled=lambda: False)
    finally:
        workspace.close()
        measuring.removed(place)
