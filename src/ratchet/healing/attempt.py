"""One attempt: let a solver change the files, keep what is a proposal of it, and judge that on clean files.

What is judged is never the folder in which a solver worked, but a fresh copy of the project with its changes in it: no
cache, no compiled file and no process of its own is left to help.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ratchet.errors import ModelError, Refused, SandboxError
from ratchet.healing.episode import UNANSWERED, Flake, Reads, SolvedStatus, Task, Verdict
from ratchet.healing.flakes import without
from ratchet.healing.job import Judge, Solved, SolveJob, Solver
from ratchet.healing.judges.protection import matches, objection
from ratchet.healing.judges.readers import Readers, is_code, readers_of, texts_in, untouched
from ratchet.healing.judges.verdicts import failed
from ratchet.healing.purse import EpisodePurse
from ratchet.healing.rows import state_of
from ratchet.healing.suite import ASKED_SHARE, SHARE, compared, silent, whole_suite
from ratchet.healing.testruns import reading
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Command, FileChange, Limits

log = logging.getLogger(__name__)

ARTEFACTS = (
    *(
        "__pycache__",
        "*.pyc",
        "*.pyo",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".hypothesis",
        ".coverage",
        ".tox",
    ),
    *("node_modules", "target/debug", "target/release", ".nyc_output", "*.egg-info", ".aider*", ".DS_Store", "*.orig"),
)
"""What tools leave behind: no part of an answer, whether or not the project ignores it."""
_SHORTEST_S = 1.0  # a check is not even started with less
_REPRODUCED_S = 30.0  # of a short budget, what the first run may take, or half of what there is
_SECOND_LOOKS, _FEW = 2, 2  # runs after one in which nothing but so many tests failed that had passed
_TIMES_FIRST = 10  # a run that takes ten times as long as the first is not going to pass


def proposal(changes: Iterable[FileChange], ignored: Sequence[str] = ARTEFACTS) -> tuple[FileChange, ...]:
    """The changes that are an answer: without what tools leave behind."""
    return tuple(
        each
        for each in changes
        if not any(matches(each.path, glob) for glob in ignored)
        and (each.before, each.before_mode) != (each.after, each.after_mode)
    )


def lay(workspace: Workspace, sandbox: Sandbox, changes: Sequence[FileChange]) -> None:
    """Make these changes in a workspace that is at its beginning. Raises Refused for a path that leads elsewhere."""
    gone = [f"./{each.path}" for each in changes if each.after is None]
    if gone:
        # A folder that is left empty may have to give way to a file of its name.
        script = 'rm -f -- "$@"; for each; do rmdir -p -- "${each%/*}" 2>/dev/null; done; true'
        ran = sandbox.run(Command(argv=("sh", "-c", script, "sh", *gone), view=workspace.view()))
        if ran.exit_code != 0:
            raise SandboxError(f"files cannot be removed from the workspace: {ran.stderr.decode(errors='replace')}")
    for each in changes:
        if each.after is not None:
            workspace.write(each.path, each.after, mode=each.after_mode)


class Checks:
    """The check of an episode: judges each state of the files once, on a copy that is thrown away.

    `base` is the episode's workspace and `beginning` its checkpoint of the untouched project. `held` judges the
    held-back check, of which solvers learn only whether it passed. `beside` is a check whose tests must be run, with
    who judges it: what passed before the change passes with it.
    """

    def __init__(
        self,
        task: Task,
        *,
        judge: Judge,
        held: Judge,
        sandbox: Sandbox,
        base: Workspace,
        beginning: str,
        limits: Limits,
        purse: EpisodePurse,
        beside: tuple[tuple[str, ...], Judge] | None = None,
    ) -> None:
        self._task = task
        self._asked_beside = beside
        self._judge = judge
        self._held = held
        self._sandbox = sandbox
        self._base = base
        self._beginning = beginning
        self._limits = limits
        self._purse = purse
        self._known: dict[str, Verdict] = {}
        self.first: Verdict | None = None
        self._reads: Reads | None = None

    def reproduce(self) -> Verdict:
        """Run the check on the untouched project; it is what all later verdicts are compared with."""
        verdict = self._run(self._judge, self._task, (), None)
        if verdict.killed == "cancel":
            return verdict
        self.first = verdict
        self._known[state_of(())] = held = self._also_held(verdict, ())
        return held

    def again(self, selected: Sequence[str]) -> Verdict:
        """Run the check on the untouched project once more: of these tests only, in this order; all for none."""
        return self._run(self._judge, replace(self._task, selected=tuple(selected)), (), None)

    def quarantine(self, flakes: Sequence[Flake]) -> Verdict:
        """Let flaky tests count for nothing from now on; return what the check says then of the untouched project."""
        assert self.first is not None
        names = tuple(each.test for each in flakes)
        self._task = replace(self._task, quarantined=names)
        self.first = without(self.first, names)
        self._known[state_of(())] = self.first
        return self.first

    @property
    def task(self) -> Task:
        """The task, with the tests that count for nothing."""
        return self._task

    def objection(self, changes: Sequence[FileChange]) -> str:
        """Why these changes are refused before anything runs, "" where they are not."""
        reason = objection(changes, self._task)
        if not reason and any(not is_code(each.path) for each in changes):
            reason = self._readers.objection(changes, self._reads)
        return f"refused: {reason}" if reason else ""

    @cached_property
    def _readers(self) -> Readers:
        """The readers in the untouched project."""
        copy = self._base.fork(self._beginning)
        try:
            return readers_of(texts_in(untouched(copy.view())), self._task)
        finally:
            copy.close()

    def __call__(self, workspace: Workspace) -> Verdict:
        changes = proposal(workspace.diff())
        state = state_of(changes)
        if state not in self._known:
            verdict = self._judged(changes)
            if verdict.killed == "cancel":
                return verdict
            self._known[state] = verdict
        return self._known[state]

    def _judged(self, changes: Sequence[FileChange]) -> Verdict:
        reason = self.objection(changes)
        if reason:
            return Verdict(passed=False, score=0.0, reason=reason, refused=True)
        verdict = self._run(self._judge, self._task, changes, self.first)
        if self._may_be_chance(verdict):
            again = [self._run(self._judge, self._task, changes, self.first) for _ in range(_SECOND_LOOKS)]
            verdict = again[-1] if all(each.passed for each in again) else verdict
        return self._also_held(verdict, changes)

    def _may_be_chance(self, verdict: Verdict) -> bool:
        """Tell whether everything that failed passes now, and what fails instead passed before: it may be flaky."""
        before, after = self.first.tests if self.first is not None else None, verdict.tests
        if before is None or after is None or verdict.killed or not after.failed_ids:
            return False
        if self.first is not None and self.first.step != verdict.step:
            return False
        fixed = not set(before.failed_ids) & set(after.failed_ids)
        return fixed and len(after.failed_ids) <= _FEW and set(after.failed_ids) <= set(before.passed_ids)

    def _also_held(self, verdict: Verdict, changes: Sequence[FileChange]) -> Verdict:
        """The verdict, unless the held-back check says otherwise; without one, the rest of the project's tests."""
        if not verdict.passed:
            return verdict
        if not self._task.held_check:
            return self._beside(verdict, changes) if changes else verdict
        task = replace(self._task, check=self._task.held_check, held_check=(), judge="")
        held = self._run(self._held, task, changes, None)
        if held.passed or held.killed == "cancel":
            return held if held.killed else verdict
        return replace(
            held, score=min(held.score, 0.99), reason="the held-back check does not pass", output="", tests=None
        )

    def _beside(self, verdict: Verdict, changes: Sequence[FileChange]) -> Verdict:
        """The verdict, unless tests beside the check's own break."""
        task, before = self._suite
        unsaid = silent(task, before) if self._asked_beside else ""
        if unsaid:
            return replace(failed(unsaid, tests=verdict.tests), score=0.99, reason=unsaid, output="")
        if before is None or before.killed or not (before.tests.passed_ids if before.tests else self._asked_beside):
            return verdict

        def run(asked: Task, wall_s: float) -> Verdict:
            return self._run(self._suite_judge, asked, changes, None, wall_s=wall_s)

        found = compared(task, before, run, 10.0 + 4 * before.duration_s)
        if found.broken:
            return replace(failed(found.broken, tests=verdict.tests), score=0.99, reason=found.broken, output="")
        return replace(verdict, beside=max(0, found.kept - (verdict.tests.passed if verdict.tests else 0)))

    @cached_property
    def _suite(self) -> tuple[Task, Verdict | None]:
        """The task of running all tests, and how they end on the untouched project; none where the check does that."""
        check = self._asked_beside[0] if self._asked_beside else self._whole_suite()
        task = replace(self._task, check=check)
        wall_s = (ASKED_SHARE if self._asked_beside else SHARE) * self._purse.seconds_left()
        return task, self._run(self._suite_judge, task, (), None, wall_s=wall_s) if check else None

    @property
    def _suite_judge(self) -> Judge:
        return self._asked_beside[1] if self._asked_beside else self._judge

    def _whole_suite(self) -> tuple[str, ...]:
        copy = self._base.fork(self._beginning)
        try:
            return whole_suite(self._task, reading(untouched(copy.view())))
        finally:
            copy.close()

    def _run(
        self,
        judge: Judge,
        task: Task,
        changes: Sequence[FileChange],
        first: Verdict | None,
        *,
        wall_s: float | None = None,
    ) -> Verdict:
        if self._purse.cancelled() or self._purse.seconds_left() < _SHORTEST_S:
            return Verdict(passed=False, score=0.0, reason="no time is left for the check", killed="cancel")
        copy = self._base.fork(self._beginning)
        try:
            lay(copy, self._sandbox, changes)
            limits = replace(self._limits, wall_s=min(wall_s or self._wall_s(), self._purse.seconds_left()))
            verdict = judge.judge(copy, self._sandbox, task, limits=limits, purse=self._purse, first=first)
        finally:
            copy.close()
        if first is None and self._reads is None:
            self._reads = verdict.reads
        verdict = replace(verdict, reads=None)  # for this episode only: it is not stored
        # Cut short by the budget: this says nothing about the files.
        return replace(verdict, killed="cancel") if verdict.killed and self._purse.cancelled() else verdict

    def _wall_s(self) -> float:
        if self.first is None:
            # A program that never ends must not use up, before anything was tried, what there is to mend it in.
            left = self._purse.seconds_left()
            return min(self._limits.wall_s, max(left / 4, min(_REPRODUCED_S, left / 2)))
        if self.first.killed:
            return self._limits.wall_s
        return min(self._limits.wall_s, 10.0 + _TIMES_FIRST * self.first.duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverAnswer:
    """Answer of a solver: its own account, and the changes that are its answer (against the beginning)."""

    solved: Solved
    changes: tuple[FileChange, ...] = ()


def propose(solver: Solver, job: SolveJob) -> SolverAnswer:
    """Ask a solver once. What goes wrong in it is part of the answer; only a broken sandbox raises (SandboxError)."""
    try:
        solved = solver.solve(job)
    except SandboxError:
        raise
    except Refused as error:
        return SolverAnswer(solved=Solved(status="refused", reason=str(error)))
    except ModelError as error:
        status: SolvedStatus = "proposed" if error.retryable else "refused"
        reason = f"the model could not answer: {error}"
        return SolverAnswer(solved=Solved(status=status, reason=reason, memo={UNANSWERED: True}))
    except Exception as error:
        # A solver may be anybody's: its fault costs the attempt, not the episode.
        log.exception("solver.failed", extra={"solver": solver.name})
        return SolverAnswer(
            solved=Solved(status="proposed", reason=f"{solver.name} broke: {type(error).__name__}: {error}")
        )
    if solved.status != "proposed":
        return SolverAnswer(solved=solved)
    return SolverAnswer(solved=solved, changes=proposal(job.workspace.diff()))
