"""Hold the rest of a project's tests against a change: what passed before passes still, as far as there is time."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ratchet.healing.episode import Task, Verdict
from ratchet.healing.testruns import Read, SuiteRun, suite_run

SHARE = 0.3  # of the time that is left, what the first run of all tests may take: without it a wrong patch passes
ASKED_SHARE = 0.4  # the same, where they must be run
_NAMED = 3  # tests that a reason names
_LOOKED_AT = 40  # tests that are run once more where they fail with a change: they may be flaky

Run = Callable[[Task, float], Verdict]
"""Judge a task's check within some seconds, on the files under judgement."""


@dataclass(frozen=True, slots=True)
class SuiteVerdict:
    """Answer of all tests to a change: how many others pass as before, and why it is refused ("" where it is not)."""

    kept: int = 0
    broken: str = ""


def whole_suite(task: Task, read: Read) -> tuple[str, ...]:
    """The command that runs all tests, where a check runs some of pytest's; () else."""
    run = suite_run(task.check, read)
    some = any("::" in each or each.endswith(".py") for each in run.arguments)
    if run.runner != "pytest" or run.cwd or not some:
        return ()
    return _pytest(run)


def one_test(task: Task, read: Read, test: str) -> tuple[str, ...]:
    """The command that runs one test of a check, or one file; () where the check does not run pytest."""
    run = suite_run(task.check, read)
    return _pytest(run, test) if run.runner == "pytest" and not run.cwd else ()


def _pytest(run: SuiteRun, *arguments: str) -> tuple[str, ...]:
    assigned = tuple(f"{name}={value}" for name, value in run.environ.items())
    return (*(("env",) if assigned else ()), *assigned, run.python or "python", "-m", "pytest", "-q", *arguments)


def silent(task: Task, before: Verdict | None) -> str:
    """Why a first run of all tests says nothing that a change could be held against; "" where it does."""
    if before is None or before.passed:
        return ""
    if before.tests is not None and not before.killed:
        return ""
    return f"nothing can be said of the project's own tests ({shlex.join(task.check)}): {before.reason}"


def compared(task: Task, before: Verdict, run: Run, wall_s: float) -> SuiteVerdict:
    """Run all tests on a change, and those that fail now once more. Tests that the check names are its own affair."""
    tests = before.tests
    after = run(task, wall_s)
    if tests is None and before.passed and not after.passed and not after.killed:
        return SuiteVerdict(broken=f"{shlex.join(task.check)} passed before and not with it: {after.reason}")
    if tests is None or after.tests is None or after.killed:
        return SuiteVerdict()
    lost = _missing(tests.passed_ids, after)
    if lost and len(lost) <= _LOOKED_AT:
        again = run(replace(task, selected=tuple(lost)), wall_s)
        lost = _missing(lost, again) if again.tests is not None and not again.killed else lost
    kept = len(tests.passed_ids) - len(lost)
    if not lost:
        return SuiteVerdict(kept=kept)
    shown = ", ".join(lost[:_NAMED])
    count = f"{len(lost)} tests" if len(lost) > 1 else "a test"
    return SuiteVerdict(kept=kept, broken=f"{count} beside the check passed before and not with it: {shown}")


def _missing(names: Sequence[str], verdict: Verdict) -> list[str]:
    passed = set(verdict.tests.passed_ids) if verdict.tests is not None else set()
    return [name for name in names if name not in passed]


def effect(before: Verdict, after: Verdict) -> str:
    """Tell what a change made of the tests: those that pass with it, those that fail with it only; "" for no change."""
    if before.tests is None or after.tests is None or after.refused:
        return ""
    mended = [name for name in before.tests.failed_ids if name in after.tests.passed_ids]
    broken = [name for name in before.tests.passed_ids if name in after.tests.failed_ids]
    told = (("it mends", mended), ("it breaks", broken))
    return "; ".join(f"{what} {len(names)}: {', '.join(names[:_NAMED])}" for what, names in told if names)
