"""Memory against none and against a placebo: the same tasks, order and limits, in pairs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.cli.show_heal import verdict
from ratchet.errors import NotFound, UsageError
from ratchet.healing.book import HealMeans
from ratchet.healing.comparison import (
    Arm,
    ArmRun,
    Compare,
    Compared,
    again,
    begin,
    compare,
    median_effort,
    projects,
    ratio_of,
)
from ratchet.healing.job import Solved, SolveJob
from ratchet.runtime import unwatched
from support.healing import CHECK, RIGHT, WRONG, Bench


class Learner:
    """Tries many changes, unless it is handed one that passed on the very failure."""

    name = "learner"

    def solve(self, job: SolveJob) -> Solved:
        known = any(memo.signature == job.failure.signature and memo.note.get("fix") == "plus" for memo in job.memos)
        job.workspace.write("calc.py", RIGHT.encode())
        return Solved(status="proposed", candidates=1 if known else 10, memo={"fix": "plus"})


def test_a_memory_that_pays_shows_and_what_is_remembered_here_stays_as_it_was(bench: Bench, tmp_path: Path) -> None:
    for number in range(4):
        project = tmp_path / "tasks" / f"t{number}" / "project"
        project.mkdir(parents=True)
        (project / "calc.py").write_text(WRONG)
    asked = Compare(folder=tmp_path / "tasks", check=CHECK, seeds=1)
    found = compare(asked, bench.book, HealMeans(solver=Learner()), unwatched)
    assert (found.tasks, len(found.runs)) == (4, 12)
    assert [sum(each.effort for each in found.of(arm)) for arm in ("none", "shuffled", "memory")] == [40, 40, 13]
    assert median_effort(found.of("memory")) == 1
    first = found.ratios[0]
    assert (first.of, first.over) == ("memory", "none")
    assert first.ratio == pytest.approx(13 / 40)
    assert first.low <= first.ratio
    assert bench.book.list() == []
    assert not list((bench.home / "beside").iterdir())


def test_a_comparison_that_was_cut_short_goes_on_and_runs_nothing_twice(bench: Bench, tmp_path: Path) -> None:
    for number in range(3):
        project = tmp_path / "tasks" / f"t{number}" / "project"
        project.mkdir(parents=True)
        (project / "calc.py").write_text(WRONG)
    asked = Compare(folder=tmp_path / "tasks", check=CHECK, seeds=1)
    whole = compare(asked, bench.book, HealMeans(solver=Learner()), unwatched)
    name, place = begin(tmp_path / "ab", asked)
    part = compare(
        asked, bench.book, HealMeans(solver=Stopped(4)), unwatched, place=place, stopping=lambda: len(made) > 3
    )
    assert len(part.runs) == 4
    assert part.solved("memory", "none").runs == 1
    broken = Stopped(6)
    with pytest.raises(Killed):
        compare(asked, bench.book, HealMeans(solver=broken), unwatched, place=place)
    held, found_at = again(tmp_path / "ab", name)
    assert (held, found_at) == (asked, place)
    found = compare(held, bench.book, HealMeans(solver=Stopped(99)), unwatched, place=place)
    assert len(made) == 9
    assert [(each.arm, each.task, each.effort) for each in found.runs] == [
        (each.arm, each.task, each.effort) for each in whole.runs
    ]
    with pytest.raises(NotFound, match=name):
        again(tmp_path / "ab", "ab0")


made: list[str] = []
"""Tasks that were solved, across processes that die."""


class Killed(BaseException):
    """A process that is gone: nobody catches it."""


class Stopped(Learner):
    """Dies in the run after so many."""

    def __init__(self, after: int) -> None:
        self.after = after

    def solve(self, job: SolveJob) -> Solved:
        if len(made) == self.after:
            raise Killed
        made.append(job.task.id)
        return super().solve(job)


def test_the_verdict_counts_what_was_solved_before_what_it_took() -> None:
    def compared(memory: int, none: int, effort: int) -> str:
        runs = [replace(run("memory", f"{n}", effort), status="passed" if n < memory else "failed") for n in range(20)]
        runs += [replace(run("none", f"{n}", 10), status="passed" if n < none else "failed") for n in range(20)]
        return verdict(Compared(tasks=20, seeds=1, runs=tuple(runs), ratios=(ratio_of(runs, "memory", "none"),)))

    assert compared(18, 4, 10).startswith("Memory pays here: with memory 18 of 20 solved, without 4")
    assert compared(4, 18, 5).startswith("Memory costs here")  # it gives up sooner
    assert compared(18, 18, 5).startswith("Memory pays here")
    assert compared(16, 18, 5).startswith("Nothing is proven: with memory 16 of 20 solved, without 18, and less effort")
    assert compared(18, 18, 10).startswith("Nothing is proven")


def run(arm: Arm, task: str, effort: int) -> ArmRun:
    return ArmRun(
        arm=arm,
        seed=0,
        task=task,
        status="passed",
        effort=effort,
        attempts=1,
        same_mistakes=0,
        cost_usd=0,
        duration_s=0,
    )


def test_ratios_pair_by_task_and_leave_out_what_has_no_pair() -> None:
    runs = [run("none", "a", 10), run("none", "b", 10), run("memory", "a", 5), run("memory", "c", 99)]
    assert ratio_of(runs, "memory", "none").ratio == pytest.approx(0.5)
    assert ratio_of([], "memory", "none").ratio == 1.0


def test_an_interval_is_wide_where_tasks_differ_and_narrow_where_they_agree() -> None:
    alike = [run(arm, f"{n}", 5 if arm == "memory" else 10) for n in range(20) for arm in ("none", "memory")]
    ratio = ratio_of(alike, "memory", "none")
    assert ratio.ratio == 0.5
    assert ratio.high is not None
    assert 0.3 < ratio.low < 0.5 < ratio.high < 0.7  # twenty tasks that agree are not all that there are
    mixed = [
        *alike[:20],
        *(run(arm, f"m{n}", 20 if arm == "memory" else 10) for n in range(10) for arm in ("none", "memory")),
    ]
    wide = ratio_of(mixed, "memory", "none")
    assert wide.high is not None
    assert wide.low < 1 < wide.high


def test_runs_of_one_task_are_one_piece_of_evidence() -> None:
    once = [run(arm, f"{n}", 5 + 3 * (n % 3) * (arm == "memory")) for n in range(6) for arm in ("none", "memory")]
    often = [replace(each, seed=seed) for each in once for seed in range(20)]
    few, many = ratio_of(once, "memory", "none"), ratio_of(often, "memory", "none")
    assert many.low == pytest.approx(few.low)
    assert many.high == pytest.approx(few.high)


def test_four_tasks_bound_little_and_the_verdict_says_so() -> None:
    runs = [run(arm, f"{n}", 1 if arm == "memory" else 9) for n in range(4) for arm in ("none", "memory")]
    ratios = (ratio_of(runs, "memory", "none"),)
    said = verdict(Compared(tasks=4, seeds=1, runs=tuple(runs), ratios=ratios))
    assert "with memory 4 of 4 solved, without 4" in said


def test_a_folder_without_tasks_is_a_usage_error(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UsageError):
            projects(folder)
