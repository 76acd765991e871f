"""The judge of pytest: counts what became of each test in a process that the program under test cannot speak for.

Grading pytest by its exit code is fooled by a conftest hook, an `os._exit(0)` at import, a `pytest.py` in the working
directory, a forged report and patched reports (5 of 5 in our trials). Here the tests are the untouched ones, mounted
read-only; a plugin tells their outcomes to a process that holds a one-time token; all tests that were there must be
there and pass; and where a test is a plain call, the program runs in another process than the assertion. For any other
test a change that reaches for the harness is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ratchet.healing.episode import RunnerCounts, Task, Verdict
from ratchet.healing.job import Purse
from ratchet.healing.judges.contradictions import contradiction
from ratchet.healing.judges.grading import PASSED, Graded, Grader, graded_untouched
from ratchet.healing.judges.reaching import reaches
from ratchet.healing.judges.readers import untouched
from ratchet.healing.judges.verdicts import failed, text_of
from ratchet.healing.testruns import reading, suite_run
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import FileChange, Limits, Ran, View


class PytestJudge:
    """Port `Judge` for a check that runs pytest.

    `apart_only`: a test counts only where it passed with the program in another process; one that is no plain call of
    the program does not pass. Then no change can reach for the harness, and none is refused for trying. Without
    `plugins`, none is loaded that happens to be installed. `held` are texts of test modules in whose places the
    workspace holds empty files: only the grader is told them, so that the program cannot look up what is asked for.
    `right` runs something with the files of a program that is known to be right: tests that are plain calls of that one
    are plain calls of any.
    """

    name = "pytest"

    def __init__(
        self,
        *,
        apart_only: bool = False,
        plugins: bool = True,
        held: Mapping[str, str] | None = None,
        right: Callable[[Callable[[View], Graded | None]], Graded | None] | None = None,
    ) -> None:
        self._apart_only = apart_only
        self._plugins = plugins
        self._held = dict(held or {})
        self._right = right

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
        changes = workspace.diff()
        view = workspace.view()
        grade = Grader(
            sandbox=sandbox,
            task=task,
            run=suite_run(task.check, reading(untouched(view))),
            limits=limits,
            cancelled=purse.cancelled,
            plugins=self._plugins,
            held=self._held,
        )
        ran, graded = grade(view, changes, apart=bool(changes) or self._apart_only, together=not self._apart_only)

        def known() -> Graded | None:
            if self._right is not None:
                return self._right(grade.both)
            return graded_untouched(workspace, grade) if first is not None else None

        against = contradiction(graded, known, right=self._right is not None) if graded and changes else ""
        told = _Judged(ran=ran, graded=graded, changes=changes, limits=limits, first=first, against=against).verdict()
        skipped = told.tests.skipped_ids if told.passed and told.tests is not None else ()
        if skipped and first is not None and first.tests is None:  # it was cut short, and told of no test
            found = graded_untouched(workspace, replace(grade, task=replace(task, selected=skipped)))
            runs = (found.apart, found.together) if found is not None else ()
            before = {name: said for each in runs if each is not None for name, said in each.outcomes.items()}
            off = next((name for name in skipped if before.get(name) not in ("skipped", "xfailed")), "")
            return replace(told, passed=False, score=0.99, reason=f"{off} is skipped now") if off else told
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    ran: Ran
    graded: Graded | None
    changes: Sequence[FileChange]
    limits: Limits
    first: Verdict | None
    against: str

    def verdict(self) -> Verdict:
        graded = self.graded
        if graded is None or self.ran.killed:
            reason = "pytest ended before it had told what became of the tests"
            return self._failed(text_of(self.ran), reason)
        if graded.missing:
            return self._failed(graded.output, "No module named 'pytest' in the Python that runs the check")
        if graded.shadows:
            return _refused(f"it would stand in for the installed module {graded.shadows[0]}")
        if self.against:
            return _refused(self.against)
        outcomes, tests = self._merged(graded)
        reason = self._objection(graded, outcomes, tests)
        if reason:
            return self._failed(graded.output, reason, tests)
        by_whom = graded.together.outcomes if graded.together is not None else {}
        apart = graded.apart.outcomes if graded.apart is not None else {}
        if self.changes and any(apart.get(name) not in PASSED for name in by_whom if by_whom[name] in PASSED):
            reached = reaches(self.changes)
            if reached:
                return _refused(reached)
        return Verdict(
            passed=True,
            score=1.0,
            output=graded.output,
            exit_code=0,
            tests=tests,
            isolation=self.ran.isolation,
            duration_s=self.ran.wall_s,
            python=graded.python,
        )

    def _merged(self, graded: Graded) -> tuple[dict[str, str], RunnerCounts]:
        """The outcome of each test: the one with the program apart where it passed so, else the other."""
        outcomes: dict[str, str] = {}
        if graded.together is not None:
            outcomes = {name: graded.together.outcomes.get(name, "not run") for name in graded.together.ids}
        if graded.apart is not None and graded.apart.finished:
            passed = {name: said for name, said in graded.apart.outcomes.items() if said in (*PASSED, "skipped")}
            if graded.together is None or outcomes:
                outcomes = {
                    name: passed.get(name, outcomes.get(name, "not run")) for name in graded.apart.ids or outcomes
                }
        told = graded.together or graded.apart
        errors = told.errors if told is not None else {}
        bad = [name for name, said in outcomes.items() if said in ("failed", "error", "not run")]
        good = [name for name, said in outcomes.items() if said in ("passed", "xpassed")]
        skipped = [name for name, said in outcomes.items() if said in ("skipped", "xfailed")]
        counts = RunnerCounts(
            passed=len(good),
            failed=len(bad),
            errors=len(errors),
            skipped=len(skipped),
            failed_ids=(*errors, *bad),
            passed_ids=tuple(good),
            skipped_ids=tuple(skipped),
        )
        return outcomes, counts

    def _objection(self, graded: Graded, outcomes: dict[str, str], tests: RunnerCounts) -> str:
        """Why this is no pass, "" where it is one."""
        for told in filter(None, (graded.apart, graded.together)):
            if told.strangers:
                return f"{told.strangers[0]} is no conftest of the project"
        last = graded.together or graded.apart
        if last is not None and not last.finished:
            return "pytest ended before its tests did"
        if tests.errors:
            return f"{tests.failed_ids[0]} cannot be collected"
        if not tests.total:
            return "0 tests were collected"
        if tests.failed:
            return f"{tests.failed} of {tests.total} tests fail"
        before = self.first.tests if self.first is not None else None
        if before is None:
            return ""
        known = {*before.passed_ids, *before.failed_ids, *before.skipped_ids}
        gone = sorted(name for name in known if "::" in name and name not in outcomes)
        if gone:
            return f"{len(gone)} tests are gone, {gone[0]} among them"
        off = sorted(
            set(tests.skipped_ids) - set(before.skipped_ids) & known | set(tests.skipped_ids) & set(before.passed_ids)
        )
        return f"{off[0]} is skipped now" if off else ""

    def _failed(self, output: str, reason: str, tests: RunnerCounts | None = None) -> Verdict:
        verdict = failed(
            output or reason,
            exit_code=self.ran.exit_code or 1,
            killed=self.ran.killed,
            wall_s=self.limits.wall_s,
            tests=tests,
            isolation=self.ran.isolation,
            duration_s=self.ran.wall_s,
        )
        told = self.graded.together if self.graded is not None else None
        python = self.graded.python if self.graded is not None else ""
        verdict = replace(verdict, reads=told.reads if told is not None else None, python=python)
        last = told or (self.graded.apart if self.graded is not None else None)
        verdict = replace(verdict, uncollected=last.errors if last is not None else {})
        return verdict if self.ran.killed else replace(verdict, reason=reason)


def _refused(reason: str) -> Verdict:
    return Verdict(passed=False, score=0.0, reason=f"refused: {reason}", refused=True)
