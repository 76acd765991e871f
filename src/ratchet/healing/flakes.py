"""Tell flaky tests from broken ones, by running them again before anything is edited.

A test that passes in one run of the same files and fails in another says nothing of any edit. Runs differ as they do
elsewhere: another hash seed in each process, the failing tests alone, all of them in the other order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ratchet.healing.episode import Flake, RunnerCounts, Verdict

Again = Callable[[Sequence[str]], Verdict]
"""Run the check of the untouched files again: of these tests only, in this order; of all, as it stands, for none."""

_FIRST, _QUIET, _UNNAMED = 3, 8, 2
"""Runs in a row that tell nothing new, after which one stops: where no flake was told yet (one that fails half the time
is missed once in 8), where there are some, so that there may be more (once in 256), and where a check does not name its
tests."""
WHOLE = "the check"
"""Stands for a test where a check does not name its tests."""
_MOST_RUNS = 30
_MOST_NAMED = 1_500  # tests that one command names
_FLAKES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Repeats:
    """Count how often each test failed, and in how many runs it had an outcome."""

    failed: dict[str, int]
    ran: dict[str, int]

    def add(self, tests: RunnerCounts) -> None:
        for name in (*tests.failed_ids, *tests.passed_ids):
            self.ran[name] = self.ran.get(name, 0) + 1
            self.failed[name] = self.failed.get(name, 0) + (name in tests.failed_ids)

    def flakes(self) -> tuple[Flake, ...]:
        return tuple(
            Flake(test=name, failed=bad, runs=self.ran[name])
            for name, bad in sorted(self.failed.items())
            if 0 < bad < self.ran[name]
        )


def told_apart(first: Verdict, again: Again, may_go_on: Callable[[], bool], quiet: int = 0) -> tuple[Flake, ...]:
    """Repeat a check that fails until `quiet` runs in a row tell of no other flake (0: some); return all of them.

    In turn the failing tests alone, which costs little, the check as it stands, and all tests in the other order. Once
    a flake is told, all tests each time: so those are told, too, which happened to pass.
    """
    tests = first.tests
    named = [name for name in tests.failed_ids if "::" in name] if tests is not None else []
    if tests is None or not named or len(tests.passed_ids) < tests.passed:  # some are not named
        return _as_a_whole(again, may_go_on, quiet or _UNNAMED)
    runs = _Repeats({}, {})
    runs.add(tests)
    everything = [*tests.passed_ids, *named]
    backwards = everything[::-1] if len(everything) <= _MOST_NAMED else []
    plans = ([named, [], backwards], [[], backwards])
    since, known = 0, 0
    for at in range(_MOST_RUNS):
        if since >= (quiet or (_QUIET if known else _FIRST)) or not may_go_on():
            break
        plan = plans[known > 0]
        told = again(plan[at % len(plan)]).tests
        if told is not None:
            runs.add(told)
        since = since + 1 if len(runs.flakes()) == known else 0
        known = len(runs.flakes())
    return runs.flakes()


def _as_a_whole(again: Again, may_go_on: Callable[[], bool], most: int) -> tuple[Flake, ...]:
    """A check that names no tests: flaky as it is, where it passes once."""
    for runs in range(2, 2 + most):
        if not may_go_on():
            break
        if again(()).passed:
            return (Flake(test=WHOLE, failed=runs - 1, runs=runs),)
    return ()


def without(verdict: Verdict, quarantined: Sequence[str]) -> Verdict:
    """The verdict as if some tests were not there: passed where nothing else fails."""
    tests = verdict.tests
    if WHOLE in quarantined:
        return replace(verdict, passed=True, score=1.0, reason="")
    if tests is None or not quarantined:
        return verdict
    gone = frozenset(quarantined)
    failed, passed, skipped = (
        tuple(name for name in names if name not in gone)
        for names in (tests.failed_ids, tests.passed_ids, tests.skipped_ids)
    )
    left = replace(
        tests, passed=len(passed), failed=len(failed) - tests.errors, skipped=len(skipped), failed_ids=failed,
        passed_ids=passed, skipped_ids=skipped,
    )  # fmt: skip
    if failed or verdict.passed:
        return replace(verdict, tests=left)
    return replace(verdict, tests=left, passed=True, score=1.0, reason="", kind="", signature="", template="")


def rates(flakes: Sequence[Flake]) -> str:
    """Flaky tests and how often each failed."""
    shown = ", ".join(f"{each.test} failed in {each.failed} of {each.runs} runs" for each in flakes[:_FLAKES_SHOWN])
    more = len(flakes) - _FLAKES_SHOWN
    return f"{shown} and {more} others are flaky, too" if more > 0 else shown
