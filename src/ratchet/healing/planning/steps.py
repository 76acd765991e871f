"""Judge a plan: its checks one after another, the first that fails is what is worked on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ratchet.healing.episode import PlanStep, Task, Verdict
from ratchet.healing.job import Judge, Purse
from ratchet.healing.planning.plan import check_text
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Limits


class StepsJudge:
    """Port `Judge` over the checks of a plan. Each runs on a copy of its own, so that none sees what another left.

    `judge_of` gives the judge of one check. The score is the share of the steps that are done; `Verdict.step` counts
    from 1 and names the first that is not.
    """

    name = "steps"

    def __init__(self, judge_of: Callable[[Task], Judge]) -> None:
        self._judge_of = judge_of
        self._firsts: dict[int, Verdict] = {}

    def judge(
        self,
        workspace: Workspace,
        sandbox: Sandbox,
        task: Task,
        *,
        limits: Limits,
        purse: Purse,
        first: Verdict | None = None,
    ) -> Verdict:
        """See `Judge`. The untouched project is asked all checks, since later verdicts are held against these."""
        token = workspace.checkpoint()
        failing: Verdict | None = None
        last = Verdict(passed=True, score=1.0)
        for n, step in checked(task.steps):
            asked = for_step(task, step)
            copy = workspace.fork(token)
            try:
                before = self._firsts.get(n) if first is not None else None
                last = self._judge_of(asked).judge(copy, sandbox, asked, limits=limits, purse=purse, first=before)
            finally:
                copy.close()
            if last.killed == "cancel":
                return last
            if first is None:
                self._firsts[n] = last
            if not last.passed and failing is None:
                failing = self._failing(task, n, step, last)
            if failing is not None and first is not None:
                break
        # Later runs are given time by the first: by the slowest of its checks.
        slowest = max((each.duration_s for each in self._firsts.values()), default=last.duration_s)
        return replace(failing, duration_s=slowest) if failing else replace(last, step=0, duration_s=slowest)

    def _failing(self, task: Task, n: int, step: PlanStep, verdict: Verdict) -> Verdict:
        numbers = [each for each, _step in checked(task.steps)]
        done = numbers.index(n)
        reason = f"step {n} of {len(task.steps)} ({check_text(step.check)[:80]}): {verdict.reason}"
        score = min(0.99, (done + min(verdict.score, 0.99)) / len(numbers))
        return replace(verdict, score=score, reason=reason if len(numbers) > 1 else verdict.reason, step=n)


def checked(steps: Sequence[PlanStep]) -> list[tuple[int, PlanStep]]:
    """The steps that have a check, with their numbers in the plan."""
    return [(n, step) for n, step in enumerate(steps, 1) if step.check]


NOW = "\n\nNow: "
"""Between the words of a whole task and those of the step that is worked on."""


def for_step(task: Task, step: PlanStep) -> Task:
    """The task as it is while one step is worked on: its check, and its words beside those of the whole."""
    words = step.do if step.do == task.instruction else f"{task.instruction}{NOW}{step.do}".strip()
    return replace(task, check=step.check, instruction=words, steps=(), judge="")


def so_far(verdict: Verdict, step: int) -> Verdict:
    """The verdict for whoever works on a step: done when nothing up to it fails."""
    return replace(verdict, passed=True, score=1.0, reason="") if verdict.step > step else verdict
