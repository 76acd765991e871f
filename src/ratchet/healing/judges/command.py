"""The judge of any command: it passes by its exit code, if it asked for no less than before."""

from __future__ import annotations

from dataclasses import replace

from ratchet.healing.episode import RunnerCounts, Task, Verdict
from ratchet.healing.job import Purse
from ratchet.healing.judges.contradictions import contradiction
from ratchet.healing.judges.grading import Grader, graded_untouched
from ratchet.healing.judges.reaching import reaches
from ratchet.healing.judges.readers import untouched
from ratchet.healing.judges.verdicts import counted, failed, ran_nothing, text_of
from ratchet.healing.testruns import reading, suite_run
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Command, Limits


class CommandJudge:
    """Port `Judge` for a check that is a command.

    Exit code 0 is not enough where a runner counts its tests: none run, or fewer than on the untouched project, is a
    failure. The program under work shares a process with the check, so a change that adds a way to end or to patch that
    process is refused.
    """

    name = "command"

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
        reached = reaches(workspace.diff())
        if reached:
            return Verdict(passed=False, score=0.0, reason=f"refused: {reached}", refused=True)
        command = Command(argv=task.check, view=workspace.view(), limits=limits)
        ran = sandbox.run(command, cancelled=purse.cancelled)
        output = text_of(ran)
        tests = counted(output)
        less = asks_for_less(output, tests, first)
        if ran.exit_code == 0 and not ran.killed and not less:
            against = _against(workspace, sandbox, task, limits=limits, purse=purse)
            if against:
                return Verdict(passed=False, score=0.0, reason=f"refused: {against}", refused=True)
            return Verdict(
                passed=True,
                score=1.0,
                output=output,
                exit_code=0,
                tests=tests,
                isolation=ran.isolation,
                duration_s=ran.wall_s,
            )
        verdict = failed(
            output,
            reason=_failing(tests),
            exit_code=ran.exit_code,
            killed=ran.killed,
            wall_s=limits.wall_s,
            tests=tests,
            isolation=ran.isolation,
            duration_s=ran.wall_s,
        )
        if ran.exit_code in (126, 127) and first is None and not ran.killed:
            # A program of the project may be what is to be mended; one of the system cannot be.
            hopeless = "/" not in task.check[0] and ran.stderr.startswith(b"ratchet: cannot start ")
            reason = f"the check could not be started: {verdict.reason}"
            if hopeless:
                reason = f"{reason}; the sandbox has the system's programs and the project's virtual environment"
            return replace(verdict, reason=reason, refused=hopeless)
        return replace(verdict, reason=less, score=0.0) if less and not ran.killed and ran.exit_code == 0 else verdict


def _against(workspace: Workspace, sandbox: Sandbox, task: Task, *, limits: Limits, purse: Purse) -> str:
    """Name what contradicts a pass of tests in Python that ran in one process with the program: they run again, with it
    in another."""
    changes, view = workspace.diff(), workspace.view()
    run = suite_run(task.check, reading(untouched(view)))
    if not changes or run.runner not in ("unittest", "script", "code"):
        return ""
    grade = Grader(sandbox=sandbox, task=task, run=run, limits=limits, cancelled=purse.cancelled)
    graded = grade(view, changes, apart=True, together=True)[1]
    return contradiction(graded, lambda: graded_untouched(workspace, grade)) if graded is not None else ""


def _failing(tests: RunnerCounts | None) -> str:
    """Names what fails where the runner does; "" where it does not."""
    if tests is None or not tests.failed_ids:
        return ""
    first = tests.failed_ids[0]
    return f"{tests.failed} of {tests.total} tests fail, {first} among them" if tests.total else f"{first} fails"


def asks_for_less(output: str, tests: RunnerCounts | None, first: Verdict | None) -> str:
    """Why an exit code of 0 is not believed, "" where it is."""
    if ran_nothing(output):
        return "no test was run"
    before = first.tests if first is not None else None
    if before is None or not before.total:
        return ""
    if tests is None:
        return f"the check no longer says how many tests it ran ({before.total} before)"
    if tests.total < before.total:
        return f"{tests.total} tests were run, {before.total} before"
    gone = sorted({*before.passed_ids} - {*tests.passed_ids, *tests.failed_ids, *tests.skipped_ids})
    if tests.passed_ids and gone:
        return f"{len(gone)} tests are gone, {gone[0]} among them"
    if tests.skipped > before.skipped:
        return f"{tests.skipped} tests were skipped, {before.skipped} before"
    return ""
